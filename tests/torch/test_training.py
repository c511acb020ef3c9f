"""Training on generated code takes the steps that it takes in eager mode."""

import copy
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F  # noqa: N812
from torch.utils.checkpoint import checkpoint
from torch_zoo import GPT, Basic

import sdgrad

pytestmark = pytest.mark.filterwarnings("ignore")


def curves(net, optimizer, loss, batches):
    """The losses of a training run on generated code, and of the same run in eager mode, and both nets."""
    eager, found = copy.deepcopy(net), []
    for f, own in ((sdgrad.Module(net), net), (eager, eager)):
        steps, losses = optimizer(own.parameters()), []
        for arguments in batches:
            steps.zero_grad()
            value = loss(f, *arguments)
            value.backward()
            steps.step()
            losses.append(value.item())
        found.append(np.array(losses))
    return *found, net, eager


def agree(net, eager, tolerance):
    for (name, mine), right in zip(net.state_dict().items(), eager.state_dict().values(), strict=True):
        torch.testing.assert_close(mine, right, rtol=tolerance, atol=tolerance, msg=lambda m, n=name: f"{n}: {m}")


def test_moments_and_momentum():
    """A residual block in training mode, with momentum: weights and running moments after some steps."""
    torch.manual_seed(0)
    x = torch.randn(4, 3, 6, 6, dtype=torch.float64)
    mine, right, *nets = curves(
        Basic(3, 4, 1).double(),
        partial(torch.optim.SGD, lr=0.1, momentum=0.9),
        lambda f, x: (f(x) ** 2).mean(),
        [(x,)] * 5,
    )
    np.testing.assert_allclose(mine, right, rtol=1e-10)
    agree(*nets, 1e-9)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 2e-4)])
def test_digits(dtype, tolerance):
    """The network of the demo, 200 steps of Adam on mini-batches of handwritten digits."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 10)).to(dtype)
    data = load_digits()
    X, labels = torch.tensor(data.data / 16, dtype=dtype), torch.tensor(data.target)
    batches = [(X[rows], labels[rows]) for rows in (torch.randint(0, len(X), (64,)) for _ in range(200))]
    mine, right, *nets = curves(
        net, partial(torch.optim.Adam, lr=0.005), lambda f, x, y: F.cross_entropy(f(x), y), batches
    )
    np.testing.assert_allclose(mine, right, rtol=tolerance)
    assert mine[-10:].mean() < 0.1 * mine[0]
    if dtype == torch.float64:  # Adam divides by gradients that are almost nothing: rounding shows in weights
        agree(*nets, 1e-7)


def test_language_model():
    """A small GPT with tied weights learns the README of this project, letter by letter."""
    torch.manual_seed(0)
    text = (Path(__file__).parents[2] / "README.md").read_bytes()
    letters = {c: k for k, c in enumerate(sorted(set(text)))}
    ids = torch.tensor([letters[c] for c in text])
    net = GPT(len(letters), 32, 4, 2, 32)
    starts = [torch.randint(0, len(ids) - 33, (8,)).tolist() for _ in range(60)]
    batches = [
        (torch.stack([ids[s : s + 32] for s in rows]), torch.stack([ids[s + 1 : s + 33] for s in rows]))
        for rows in starts
    ]
    mine, right, *_ = curves(net, partial(torch.optim.AdamW, lr=0.003), lambda f, x, y: f(x, y)[1], batches)
    np.testing.assert_allclose(mine, right, rtol=1e-3)
    np.testing.assert_allclose(mine[:20], right[:20], rtol=1e-5)
    assert mine[-5:].mean() < 0.75 * mine[0]


def test_a_checkpoint_around_a_module_that_is_called_first():
    own = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()
    both = []
    for run in (sdgrad.Module(own), own):
        x = torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
        checkpoint(run, x, use_reentrant=False).sum().backward()
        both.append(x.grad)
    torch.testing.assert_close(*both)


def test_first_calls_in_several_threads():
    own = nn.Linear(3, 2).double()
    run, x = sdgrad.Module(own), torch.ones(2, 3, dtype=torch.float64)
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda k: run(k * x), range(3)))
    for k, y in enumerate(found):
        torch.testing.assert_close(y, own(k * x))
