"""Inputs that index axes are checked before a module runs: it read and wrote outside of tensors."""

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


def compiled(kind):
    return sdgrad.module(backward=True)(type(kind.__name__, (kind,), {}))()


X = torch.arange(25.0).reshape(5, 5) / 10


@pytest.mark.parametrize("kind", [Embedded, Indexed, IndexedTwice, Gathered, Scattered, Classified])
def test_what_lies_outside_is_an_index_error(kind):
    eager, module = kind(), compiled(kind)
    module.load_state_dict(eager.state_dict())
    x = X.clone().requires_grad_()
    given = () if kind is Embedded else (x,)
    for _ in range(2):  # the second call is a prepared one
        right = torch.tensor([4, 0, 2])
        assert torch.allclose(module(*given, right), eager(*given, right))
        with pytest.raises(IndexError, match="index 5 in .* is out of bounds for axis . with size 5"):
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
