"""At their kinks, modules have the derivatives that PyTorch gives them."""

import pytest
import torch
from torch.nn import functional as F

import sdgrad

FUNCTIONS = {
    "relu": F.relu,
    "relu6": F.relu6,
    "leaky_relu": F.leaky_relu,
    "hardtanh": F.hardtanh,
    "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish,
    "elu": F.elu,
    "celu": F.celu,
    "selu": F.selu,
    "softshrink": F.softshrink,
    "hardshrink": F.hardshrink,
    "abs": torch.abs,
    "std": lambda x: x.std(1),
    "std of all": lambda x: x.std() + x.std(0, keepdim=True).sum(),
    "norm": lambda x: (x - x[:, :1]).norm(dim=1),
}


class Applied(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *x):
        return self.function(*x)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivative(name):
    points = torch.tensor([[0.0, 1.0, -1.0, 3.0, -3.0, 6.0, 0.5, -0.5], [2.0] * 8], dtype=torch.float64)
    x = points.clone().requires_grad_()
    module = Applied(FUNCTIONS[name])
    found = sdgrad.Module(module)(x)
    wanted = module(x)
    torch.testing.assert_close(found, wanted)
    (mine,) = torch.autograd.grad(found.sum(), x)
    (own,) = torch.autograd.grad(wanted.sum(), x)
    torch.testing.assert_close(mine, own)
