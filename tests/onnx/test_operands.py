"""ONNX operators in functions, on parts of arrays: rows, columns, every other element, elements of a loop."""

import numpy as np
import pytest

import sdgrad
from sdgrad import onnx_ops as operators

torch = pytest.importorskip("torch")
RNG = np.random.default_rng(11)


def rows(x):
    y = 0.0
    for t in range(3):
        r = operators.ONNXExp(x[t])
        y += np.sum(r * r) * (t + 1.0)
    return y


def rows_by_torch(x):
    return sum((torch.exp(x[t]) ** 2).sum() * (t + 1.0) for t in range(3))


def softmax_of_columns(x):
    y = 0.0
    for t in range(1, 4):
        r = operators.ONNXSoftmax(x[:, t], axis=0)
        y += np.sum(r * r) * t
    return y


def softmax_of_columns_by_torch(x):
    return sum((torch.softmax(x[:, t], 0) ** 2).sum() * t for t in range(1, 4))


def every_other(x):
    r = operators.ONNXLogSoftmax(x[1:, ::2], axis=1)
    return np.sum(r * r)


def every_other_by_torch(x):
    return (torch.log_softmax(x[1:, ::2], 1) ** 2).sum()


def one_row_as_matrix(x):
    """Two dimensions, one of them of one element."""
    r = operators.ONNXSoftmax(x[1:2, :], axis=1)
    return np.sum(r * r)


def one_row_as_matrix_by_torch(x):
    return (torch.softmax(x[1:2], 1) ** 2).sum()


def products_of_slices(x):
    y = 0.0
    for t in range(2):
        r = operators.ONNXMatMul(x[t : t + 2], x[0, :])
        y += np.sum(r * r)
    return y


def products_of_slices_by_torch(x):
    return sum(((x[t : t + 2] @ x[0]) ** 2).sum() for t in range(2))


def gathered(x):
    idx = np.array([[0, 2, 0], [3, 1, 1]])
    y = 0.0
    for t in range(2):
        r = operators.ONNXGather(x[t], idx[t], axis=0)
        y += np.sum(r * r * r)
    return y


def gathered_by_torch(x):
    idx = torch.tensor([[0, 2, 0], [3, 1, 1]])
    return sum((x[t, idx[t]] ** 3).sum() for t in range(2))


CASES = [
    (rows, rows_by_torch),
    (softmax_of_columns, softmax_of_columns_by_torch),
    (every_other, every_other_by_torch),
    (one_row_as_matrix, one_row_as_matrix_by_torch),
    (products_of_slices, products_of_slices_by_torch),
    (gathered, gathered_by_torch),
]


@pytest.mark.parametrize(("f", "by_torch"), CASES, ids=lambda f: f.__name__)
def test_parts_of_arrays(f, by_torch):
    x = RNG.standard_normal((3, 4))
    leaf = torch.tensor(x, requires_grad=True)
    wanted = by_torch(leaf)
    wanted.backward()
    value, gradient = sdgrad.value_and_grad(f)(x)
    np.testing.assert_allclose(value, wanted.item(), rtol=1e-12)
    np.testing.assert_allclose(gradient, leaf.grad.numpy(), rtol=1e-10, atol=1e-13)
