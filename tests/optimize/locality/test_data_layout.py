"""How temporaries lie in memory, and statements that share a loop because their elements are apart."""

from dataclasses import replace

import numpy as np
import pytest
from treetext import program as tree

import sdgrad
from sdgrad.config import config
from sdgrad.convert.callables import bind_arguments
from sdgrad.optimize import optimize
from sdgrad.optimize.locality.data_layout import arrange_temporaries
from sdgrad.program.tree import Leaf, walk
from tests.optimize.reductions.test_scatter_to_gather import by_complex_step

N, M = 9, 7


def columns(x, w):
    p = np.zeros((N, M))
    for j in range(1, M):
        p[1:-1, j] = x[1:-1, j] / (2.0 + p[1:-1, j - 1] * w[2:, j])
    for j in range(M - 2, -1, -1):
        p[1:-1, j] = p[1:-1, j] * p[1:-1, j + 1] + x[:-2, j]
    return np.sum(p * w)


def rows(x, w):
    p = np.zeros((N, M))
    for i in range(1, N):
        p[i, 1:] = x[i, 1:] * p[i - 1, 1:] + w[i, :-1]
    return np.sum(p * p)


def both_ways(x, w):
    p = np.zeros((N, M))
    for i in range(1, N):
        p[i, :] = x[i, :] * p[i - 1, :] + w[i, :]
    for j in range(1, M):
        p[:, j] = np.sin(p[:, j - 1]) + p[:, j]
    return np.sum(p * w)


def multiplied(x, w):
    p = np.zeros((N, N))
    for j in range(1, M):
        p[:, j] = x[:, j] * p[:, j - 1] + w[:, j]
    return np.sum((p @ x) * w)


def three_dimensions(x, w):
    p = np.zeros((N, 3, M))
    for j in range(1, M):
        for k in range(1, 3):
            p[1:, k, j] = x[1:, j] * p[:-1, k - 1, j] + p[1:, k, j - 1] * w[1:, j] + x[1:, 0]
    return np.sum(p[:, 2, :] * w)


def later_and_earlier(x, w):
    """The first element that a trip reads is written by the next one, the other by the one before."""
    for i in range(1, N - 1):
        x[i, :] = x[i - 1, :] * w[i, :] + x[i + 1, :] * x[i, :]
        w[i + 1, 1:] = w[i, 1:] + x[i, :-1] * w[i - 1, :-1]
    return np.sum(x * x) + np.sum(w)


FUNCTIONS = [columns, rows, both_ways, multiplied, three_dimensions, later_and_earlier]


def arguments():
    rng = np.random.default_rng(0)
    return rng.random((N, M)), rng.random((N, M))


def as_complex(f):
    """The function with arrays of its own that hold complex numbers."""
    space = {"np": Complex(), "N": N, "M": M, "range": range}
    return type(f)(f.__code__, space)


class Complex:
    """NumPy, which makes complex arrays."""

    def __getattr__(self, name):
        return getattr(np, name)

    def zeros(self, shape):
        return np.zeros(shape, complex)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_gradients(f):
    x, w = arguments()
    right = by_complex_step(as_complex(f), x, w)
    value, found = sdgrad.value_and_grad(f, wrt=("x", "w"))(x.copy(), w.copy())
    assert value == pytest.approx(f(x.copy(), w.copy()), rel=1e-12)
    np.testing.assert_allclose(found, right, rtol=1e-11, atol=1e-12)


def program_of(f):
    function = sdgrad.value_and_grad(f, wrt=("x", "w"))
    signature, _, _, request = function.question(bind_arguments(function.f, arguments(), {}))
    return optimize(signature.gradient(request).result.program)


def lies(f, name="p"):
    """The strides of a temporary."""
    return tuple(map(int, program_of(f).containers[name].desc.strides))


def test_temporaries_lie_as_they_are_walked_through(monkeypatch):
    assert lies(columns) == (1, N)
    assert lies(rows) == (M, 1)
    monkeypatch.setattr(config, "machine", replace(config.machine, blas_multiplications=0))
    assert lies(multiplied) == (N, 1), "an operand of a product stays as it is"
    assert all(c.desc.strides[-1] == 1 for n, c in program_of(columns).containers.items() if not c.transient)


def test_what_is_apart_shares_a_nest():
    with config.override(without=("loop-distribution",)):
        leaves = [n for n in walk(program_of(rows).body) if isinstance(n, Leaf)]
    assert any({"p"} <= {s.container for s in n.stores} & {x.container for x in n.loads} for n in leaves)


# Programs in, programs out ----------------------------------------------------------------------------


def arranged(source):
    return {n: list(c.desc.strides) for n, c in arrange_temporaries(tree(source)).containers.items()}


COLUMNS = """
    argument x: float64[9]
    {kind} p: float64[9, 7]
    body
      loop j = 1 .. 6 step 1:
        map i=0:9:
          u = p[i, j - 1]
          v = x[i]
          w = u * v
          p[i, j] = w
"""


def test_a_temporary_follows_the_innermost_loop():
    assert arranged(COLUMNS.format(kind="local"))["p"] == [1, 9]


def test_arguments_stay():
    assert arranged(COLUMNS.format(kind="argument"))["p"] == [7, 1]


def test_temporaries_without_gain_stay():
    source = COLUMNS.format(kind="local").replace("i=0:9", "i=0:9, k=0:1").replace("p[i,", "p[j,")
    assert arranged(source)["p"] == [7, 1]
