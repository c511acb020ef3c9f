"""Arguments that loops walk across: copies that lie as the loops walk."""

from dataclasses import replace

import numpy as np
import pytest
from treetext import program as tree
from treetext import text

import sdgrad
from sdgrad.config import config
from sdgrad.convert.callables import bind_arguments
from sdgrad.optimize import optimize
from sdgrad.optimize.locality.transposed_arguments import turn_arguments
from sdgrad.program.naming import all_names


@pytest.fixture(autouse=True)
def small_arrays(monkeypatch):
    monkeypatch.setattr(config, "machine", replace(config.machine, transposed_bytes=1 << 8))


def swept(x, w):
    """A recurrence along the last dimension, in all others at once; ``x`` is changed."""
    for k in range(1, x.shape[2]):
        x[:, :, k] = np.sin(x[:, :, k - 1]) * w[1:, :, k] + x[:, :, k] * w[:-1, :, k - 1]
    return np.sum(x * x)


def backwards(x, w):
    """From the end on, every second."""
    s = np.zeros((x.shape[0], x.shape[1]))
    for k in range(x.shape[2] - 1, 0, -2):
        s = np.tanh(s * x[:, :, k] + w[1:, :, k - 1])
        x[:, :, k - 1] = s
    return np.sum(s) + np.sum(x)


def partly(x, w):
    """What is not written stays."""
    for k in range(2, x.shape[2] - 2):
        x[1:-1, 2:, k] = 0.5 * x[1:-1, 2:, k - 1] + w[2:-1, 2:, k]
    return np.sum(x * x)


def known(x, w):
    """Both orders: along the last dimension it lies well."""
    s = 0.0
    for i in range(x.shape[0]):
        s += np.sum(np.sin(x[i] * w[i]))
    return s


def arguments():
    rng = np.random.default_rng(0)
    return rng.random((6, 9, 31)), rng.random((7, 9, 31))


def copies(f):
    """The arguments that the optimised gradient copies."""
    function = sdgrad.value_and_grad(f, wrt=("x", "w"))
    signature, _, _, request = function.question(bind_arguments(f, arguments(), {}))
    program = optimize(signature.gradient(request).result.program)
    return {n for n in program.containers if n.startswith("turned_")}


@pytest.mark.parametrize("f", [swept, backwards, partly, known])
def test_results(f):
    args = arguments()
    found = [a.copy() for a in args]
    value, gradients = sdgrad.value_and_grad(f, wrt=("x", "w"))(*found)
    right = [a.copy() for a in args]
    assert value == pytest.approx(f(*right), rel=1e-13)
    with config.override(without=("transposed-arguments",)):
        other = [a.copy() for a in args]
        _, expected = sdgrad.value_and_grad(f, wrt=("x", "w"))(*other)
    for mine, theirs in zip((*found, *gradients), (*other, *expected), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-14)
    rng = np.random.default_rng(1)
    for k, gradient in enumerate(gradients):
        step = 1e-6 * rng.random(gradient.shape)
        up, down = (f(*(a + s * step if j == k else a.copy() for j, a in enumerate(args))) for s in (1, -1))
        assert 2 * np.sum(gradient * step) == pytest.approx(up - down, rel=1e-6)


@pytest.mark.parametrize(("f", "least"), [(swept, {"x", "w"}), (backwards, {"x"}), (partly, {"gradient_x"})])
def test_what_is_copied(f, least):
    assert {f"turned_{n}" for n in least} <= copies(f)
    with config.override(without=("transposed-arguments",)):
        assert not copies(f)


def test_what_is_not(monkeypatch):
    assert not copies(known)
    monkeypatch.setattr(config, "machine", replace(config.machine, transposed_bytes=1 << 17))
    assert not copies(swept)


# Programs in, programs out ----------------------------------------------------------------------------

COLUMNS = """
    argument c: float64[100, 100]
    body
      loop t = 0 .. 99 step 1:
        loop k = 1 .. 99 step 1:
          map i=0:100:
            u = c[i, k - 1]
            v = {value}
            c[i, k] = v
"""


def turned(source):
    given = tree(source)
    found = turn_arguments(given, all_names(given))
    return found, text(found)


def test_a_strided_argument_is_copied_in_and_out(monkeypatch):
    monkeypatch.setattr(config, "machine", replace(config.machine, transposed_bytes=1))
    found, printed = turned(COLUMNS.format(value="2.0 * u"))
    lines = [line.strip() for line in printed.splitlines() if "[" in line]
    assert lines[1].startswith("turned_c[") and lines[2:4] == ["u = turned_c[i, k - 1]", "turned_c[i, k] = v"]
    assert lines[-1].startswith("c[")
    assert list(found.containers["turned_c"].desc.strides) == [1, 100]


def test_small_arguments_are_not_copied(monkeypatch):
    monkeypatch.setattr(config, "machine", replace(config.machine, transposed_bytes=80001))
    assert turned(COLUMNS.format(value="2.0 * u"))[1] == text(tree(COLUMNS.format(value="2.0 * u")))
