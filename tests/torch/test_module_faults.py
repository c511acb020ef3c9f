"""Faults of wrapped modules that were found, compared with eager PyTorch."""

import copy

import pytest
import torch
from torch import nn

import sdgrad


@pytest.fixture(autouse=True)
def quickly_compiled():
    with sdgrad.config.override(optimization_level=0):
        yield


def same_as_eager(module, x, eager=None):
    """Compare results and gradients, and return the wrapper."""
    eager = copy.deepcopy(module) if eager is None else eager
    wrapped, given, plain = sdgrad.Module(module), x.clone().requires_grad_(), x.clone().requires_grad_()
    found, wanted = wrapped(given), eager(plain)
    found.square().sum().backward()
    wanted.square().sum().backward()
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(given.grad, plain.grad)
    for mine, right in zip(module.parameters(), eager.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, right.grad)
    return wrapped


class Shared(nn.Module):
    """A submodule under two names."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3, bias=False)
        self.c = self.a

    def forward(self, x):
        return self.c(x) + self.a(x)


def test_a_submodule_with_two_names_keeps_its_parameters():
    """It had a tensor of the trace in place of its weight after the first call."""
    module = Shared()
    weight = module.a.weight
    same_as_eager(module, torch.randn(2, 3))
    assert module.a.weight is weight


def test_a_cotangent_that_is_negated_when_it_is_read():
    """Its memory has the other sign, and had been taken as it is."""
    line = nn.Linear(3, 1)
    x = torch.randn(1, 3, requires_grad=True)
    seed = (torch.ones(1, 1, dtype=torch.complex64) * (1 + 2j)).conj().imag
    assert seed.is_neg()
    (found,) = torch.autograd.grad(sdgrad.Module(line)(x), x, seed)
    (wanted,) = torch.autograd.grad(line(x), x, seed)
    torch.testing.assert_close(found, wanted)


class Outer(nn.Module):
    """Names that are there with and without ``model.`` before."""

    def __init__(self, depth):
        super().__init__()
        self.line = nn.Linear(2, 2)
        if depth:
            self.model = Outer(depth - 1)

    def forward(self, x):
        x = self.line(x)
        return self.model(x) if hasattr(self, "model") else x


@pytest.mark.parametrize("held", [False, True])
def test_state_dicts_of_modules_with_a_child_called_model(held):
    """Names had been changed one after another, and overwrote each other."""
    net = Outer(2)
    hold = (lambda m: nn.Sequential(nn.Linear(2, 2), m)) if held else (lambda m: m)
    plain, wrapped = hold(net), hold(sdgrad.Module(net))
    if held:
        wrapped[0] = plain[0]
    state, own = wrapped.state_dict(), plain.state_dict()
    assert list(state) == list(own)
    assert all(torch.equal(state[n], own[n]) for n in own)
    other = {n: torch.full_like(t, float(k)) for k, (n, t) in enumerate(own.items())}
    wrapped.load_state_dict(other)
    assert all(torch.equal(other[n], t) for n, t in plain.state_dict().items())


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([1.5, -2.0], dtype=torch.float16))

    def forward(self, x):
        return self.weight * x


@pytest.mark.parametrize("number", [0.75, -3.0])
def test_a_half_without_dimensions(number):
    """It goes to programs as its bits."""
    same_as_eager(Scaled(), torch.tensor(number, dtype=torch.float16))
