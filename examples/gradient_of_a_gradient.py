"""The gradient of the squared norm of a function's gradients, against PyTorch."""

import numpy as np
import torch

import sdgrad


def simple(a, b):
    return (a + b) * b


gradients = sdgrad.grad(simple, wrt=(0, 1))


def squared_norm(a, b):
    by_a, by_b = gradients(a, b)
    return by_a * by_a + by_b * by_b


a, b = 3.0, 2.0
by_a, by_b = gradients(a, b)
print(f"gradients of simple: {by_a}, {by_b}")
assert (by_a, by_b) == (b, a + 2 * b)

# the derivatives of the squared norm: twice the Hessian times the gradient
second = [2.0 * p for p in sdgrad.hvp(simple, (a, b), (by_a, by_b))]

x, y = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (a, b))
first = torch.autograd.grad((x + y) * y, (x, y), create_graph=True)
expected = torch.autograd.grad(sum(g * g for g in first), (x, y))
print(f"gradients of the squared norm: {second}, PyTorch's: {[float(e) for e in expected]}")
assert np.allclose(second, [float(e) for e in expected])
