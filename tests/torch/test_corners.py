"""In corners of their operations, modules have the values and the derivatives that PyTorch gives them."""

import pytest
import torch
from torch.nn import functional as F

import sdgrad

INF, NAN = float("inf"), float("nan")


@pytest.fixture(autouse=True)
def quickly_compiled():
    with sdgrad.config.override(optimization_level=0):
        yield


def t(*values):
    return torch.tensor(values, dtype=torch.float64)


class Applied(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *x):
        return self.function(*x)


def tensors(found):
    return found if isinstance(found, tuple) else (found,)


def same(function, *operands):
    """Values and gradients of a function beside PyTorch's."""
    module = Applied(function)
    both = []
    for run in (sdgrad.Module(module), module):
        given = [x.clone().requires_grad_(x.is_floating_point()) for x in operands]
        found = tensors(run(*given))
        real = [y for y in found if y.requires_grad]
        seeds = [torch.cos(torch.arange(y.numel(), dtype=y.dtype)).reshape(y.shape) for y in real]
        total = sum((y * s).sum() for y, s in zip(real, seeds, strict=True))
        leaves = [x for x in given if x.requires_grad]
        both.append((found, torch.autograd.grad(total, leaves, allow_unused=True) if real else ()))
    torch.testing.assert_close(*both, rtol=1e-9, atol=1e-12, equal_nan=True)


# -- integers


def test_powers_and_shifts_of_integers_are_exact():
    """Powers were computed in double precision."""
    base, exponent = torch.tensor([3, 5, -7, 1, -1, 2]), torch.tensor([37, 25, 20, 3, -3, -1])
    same(lambda x: (x**31, x**3, 3 ** x.abs(), x << 3, x >> 1), base)
    same(lambda x, n: (x**n, x << n.abs(), x >> n.abs()), base, exponent)
    same(lambda x: x**9, torch.tensor([3, 15, -17], dtype=torch.int32))
