"""A NumPy-style function with a loop as a part of a PyTorch model: its backward pass is generated code."""

import numpy as np
import torch

import sdgrad.torch


def smooth(signal, weight):
    """A recursive filter, element after element."""
    out = signal * 1.0
    for i in range(1, signal.shape[0]):
        out[i] = weight[0] * out[i - 1] + (1.0 - weight[0]) * signal[i]
    return out


smooth_tensor = sdgrad.torch.function(smooth)
noisy = torch.from_numpy(np.sin(np.linspace(0, 6, 50)) + np.random.default_rng(0).normal(0, 0.3, 50))
clean = torch.sin(torch.linspace(0, 6, 50, dtype=torch.float64))
weight = torch.tensor([0.1], dtype=torch.float64, requires_grad=True)
optimizer = torch.optim.Adam([weight], lr=0.05)
losses = []
for _ in range(60):
    optimizer.zero_grad()
    loss = torch.mean((smooth_tensor(noisy, weight) - clean) ** 2)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f} with weight {weight.item():.3f}")
assert losses[-1] < 0.8 * losses[0]

short = torch.rand(6, dtype=torch.float64, requires_grad=True)
assert torch.autograd.gradcheck(smooth_tensor, (short, weight))
assert torch.autograd.gradgradcheck(smooth_tensor, (short, weight))
print("gradcheck and gradgradcheck agree")
