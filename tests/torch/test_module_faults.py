"""Faults of wrapped modules that were found, compared with eager PyTorch."""

import copy
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

import sdgrad
from sdgrad.errors import CaptureError
from sdgrad.torch.watch import STATE, Look, content


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


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = (nn.Linear(3, 3, bias=False) for _ in range(3))

    def forward(self, x):
        return self.c(x) + 2.0 * self.a(x) * self.b(x)


def tie_weights(module, name):
    module.c.weight = getattr(module, name).weight


def tie_modules(module, name):
    module.c = getattr(module, name)


@pytest.mark.parametrize("tie", [tie_weights, tie_modules])
def test_another_weight_is_shared(tie):
    """The program of the first sharing had been used for the second."""
    module, x = Tied(), torch.randn(2, 3)
    wrapped = sdgrad.Module(module)
    for name in ("a", "b"):
        tie(module, name)
        module.zero_grad()
        wrapped(x).square().sum().backward()
        found = [p.grad.clone() for p in module.parameters()]
        module.zero_grad()
        module(x).square().sum().backward()
        torch.testing.assert_close(wrapped(x), module(x))
        for mine, right in zip(found, module.parameters(), strict=True):
            torch.testing.assert_close(mine, right.grad)


def test_a_new_weight_is_no_reason_for_a_new_program():
    module, x = Tied(), torch.randn(2, 3)
    wrapped = same_as_eager(module, x)
    module.a.weight = nn.Parameter(torch.randn(3, 3))
    torch.testing.assert_close(wrapped(x), module(x))
    assert len(wrapped.__dict__[STATE].captures) == 1


def test_what_is_made_anew_is_told_by_its_content():
    """Another object may be where one was that is gone, and was taken for it."""

    def look(value):
        return content(value, Look(inside=True))

    assert look(Fraction(1, 3)) == look(Fraction(1, 3)) != look(Fraction(1, 2))
    assert look(range(3)) == look(range(3)) != look(range(4))
    assert look(slice(3)) == look(slice(3)) != look(slice(4))
    assert look(Decimal("0.5")) == look(Decimal("0.5")) != look(Decimal("0.50"))
    assert look(SimpleNamespace(a=1)) == look(SimpleNamespace(a=1)) != look(SimpleNamespace(a=2))
    first = look(object())
    assert all(look(object()) != first for _ in range(5))


@pytest.mark.parametrize("add", ["register_forward_hook", "register_forward_pre_hook"])
@pytest.mark.parametrize("everywhere", [False, True])
def test_what_a_hook_reads_is_looked_at(add, everywhere):
    factor = [2.0]

    def scale(module, given, *result):
        if isinstance(module, nn.Linear):
            return (result[0] if result else given[0]) * factor[0]
        return None

    net, x = nn.Sequential(nn.Linear(3, 3)), torch.randn(2, 3, requires_grad=True)
    owner = torch.nn.modules.module if everywhere else net[0]
    handle = getattr(owner, add.replace("register", "register_module") if everywhere else add)(scale)
    try:
        wrapped = sdgrad.Module(net)
        for _ in range(2):
            found, wanted = wrapped(x), net(x)
            torch.testing.assert_close(found, wanted)
            mine, right = (torch.autograd.grad(y.square().sum(), x)[0] for y in (found, wanted))
            torch.testing.assert_close(mine, right)
            factor[0] = 3.0
    finally:
        handle.remove()


class Noisy(nn.Module):
    def forward(self, x):
        return x * np.random.rand()  # noqa: NPY002


def test_random_numbers_of_numpy_are_refused():
    """They had stayed as they were in the first call."""
    np.random.seed(3)  # noqa: NPY002
    with pytest.raises(CaptureError, match="NumPy's random numbers"):
        sdgrad.Module(Noisy())(torch.ones(2))
    found = np.random.rand()  # noqa: NPY002
    np.random.seed(3)  # noqa: NPY002
    assert found == np.random.rand()  # noqa: NPY002
