"""Indices that a module is given, or computes, are checked: it read and wrote outside of tensors."""

import numpy as np
import pytest
import torch
from torch import nn

import sdgrad


class Embedded(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 3)

    def forward(self, i):
        return self.table(i).sum()


class Indexed(nn.Module):
    def forward(self, x, i):
        return (x[i] ** 2).sum()


class IndexedTwice(nn.Module):
    def forward(self, x, i):
        return (x[i, i] ** 2).sum()


class Gathered(nn.Module):
    def forward(self, x, i):
        return (torch.gather(x, 1, i.reshape(1, -1)) ** 2).sum()


class Scattered(nn.Module):
    def forward(self, x, i):
        return torch.zeros(5).scatter_add(0, i, x[0, :3]).pow(2).sum()


class Classified(nn.Module):
    def forward(self, x, i):
        return nn.functional.cross_entropy(x[:3], i)


class Shifted(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 3)

    def forward(self, x, i):
        return (self.table(i * 2 - i) ** 2).sum() + x.sum()


class ByValues(nn.Module):
    def forward(self, x, i):
        return (x[(i.double() * 1.5).long() - i // 2] ** 2).sum()


class Overwritten(nn.Module):
    def forward(self, x, i):
        y = x * 2
        y[i + 1 - 1] = x[0]
        return (y**2).sum()


def compiled(kind):
    return sdgrad.module(backward=True)(type(kind.__name__, (kind,), {}))()


X = torch.arange(25.0).reshape(5, 5) / 10


KINDS = [
    *(Embedded, Indexed, IndexedTwice, Gathered, Scattered, Classified),
    *(Shifted, ByValues, Overwritten),
]


@pytest.mark.parametrize("kind", KINDS)
def test_what_lies_outside_is_an_index_error(kind):
    eager, module = kind(), compiled(kind)
    module.load_state_dict(eager.state_dict())
    x = X.clone().requires_grad_()
    given = () if kind is Embedded else (x,)
    for _ in range(2):  # the second call is a prepared one
        right = torch.tensor([4, 0, 2])
        assert torch.allclose(module(*given, right), eager(*given, right))
        with pytest.raises(
            IndexError, match="test_index_inputs.py(.|\n)*an index is out of bounds for a.* of sizes? 5"
        ):
            module(*given, torch.tensor([0, 5, 1]))
    module(*given, torch.tensor([0, 3, 1])).backward()


def test_a_class_that_is_ignored_indexes_nothing():
    module = compiled(Classified)
    x = X.clone().requires_grad_()
    target = torch.tensor([4, -100, 0])
    module(x, target).backward()
    other = X.clone().requires_grad_()
    nn.functional.cross_entropy(other[:3], target).backward()
    assert torch.allclose(x.grad, other.grad)
    with pytest.raises(IndexError):
        module(x, torch.tensor([4, -100, 7]))


def test_the_check_can_be_turned_off():
    module = compiled(Indexed)
    x = torch.arange(8.0)
    module(x[:4], torch.tensor([0, 3]))
    with sdgrad.config.override(check_indices=False):
        module(x[:4], torch.tensor([0, 5]))  # memory that is there
    with pytest.raises(IndexError):
        module(x[:4], torch.tensor([0, 5]))


def test_a_function_that_calls_a_module_is_told():
    module = compiled(Shifted)

    def loss(x, i):
        return np.sum(module(x, i) ** 2)

    gradient = sdgrad.grad(loss)
    x = X.numpy()
    assert np.all(gradient(x, np.array([0, 4])) != 0)
    with pytest.raises(IndexError, match="embedding: an index is out of bounds for an axis of size 5"):
        gradient(x, np.array([0, 5]))
