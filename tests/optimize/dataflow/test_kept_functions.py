"""Values of very slow functions that wait in an array for a later nest: the same results, with fewer calls."""

import numpy as np
import pytest
import scipy.special
from references import assert_close
from treetext import program, text

import sdgrad
from sdgrad.config import config
from sdgrad.convert.callables import bind_arguments
from sdgrad.optimize import optimize
from sdgrad.optimize.dataflow import kept_functions
from sdgrad.optimize.dataflow.kept_functions import keep_functions, very_slow_calls
from sdgrad.program.naming import all_names
from sdgrad.program.tree import Leaf, walk

RNG = np.random.default_rng(7)
T, X = RNG.random(30), RNG.random(6)


def of_a_polynomial(x, t):
    powers = t[:, np.newaxis] ** np.arange(6)
    return np.sum((np.sign(t - 0.5) - powers @ x) ** 2)


def of_exponents(x, t):
    """The derivative by an exponent has the power in it."""
    return np.sum((t[:, np.newaxis] ** x).sum(axis=1) ** 2)


def of_bessel_functions(x, t):
    return np.sum((scipy.special.jv(2.5, np.outer(t, np.arange(1.0, 7.0))) @ x) ** 2)


def in_single(x, t):
    return np.sum((t[:, np.newaxis] ** np.linspace(0.5, 3.0, 6, dtype=np.float32) @ x) ** 2)


def of_exponentials(x, t):
    """As fast as memory."""
    return np.sum((np.exp(np.outer(t, np.arange(1.0, 7.0))) @ x) ** 2)


CALLS = {  # very slow functions of the gradient's program, with the pass and without
    of_a_polynomial: (1, 2),
    of_exponents: (1, 2),
    of_bessel_functions: (1, 2),
    in_single: (1, 2),
    of_exponentials: (0, 0),
}


def arguments(f):
    return (X.astype(np.float32), T.astype(np.float32)) if f is in_single else (X, T)


def calls(f, **settings):
    """How many very slow functions of elements the gradient's program calls."""
    gradient = sdgrad.value_and_grad(f)
    signature, _, _, request = gradient.question(bind_arguments(gradient.f, arguments(f), {}))
    with config.override(**settings):
        found = optimize(signature.gradient(request).result.program)
    return sum(very_slow_calls(n.body) for n in walk(found.body) if isinstance(n, Leaf))


@pytest.mark.parametrize("f", CALLS, ids=lambda f: f.__name__)
def test_values_and_gradients(f):
    x, t = arguments(f)
    value, gradient = sdgrad.value_and_grad(f)(x, t)
    loose = 1e5 if f is in_single else 1.0
    assert_close(value, f(X, T), 1e-12 * loose, "value")
    h, direction = 1e-6, RNG.standard_normal(X.shape)
    slope = (f(X + h * direction, T) - f(X - h * direction, T)) / (2 * h)
    assert_close(np.sum(gradient * direction), slope, 1e-7 * min(loose, 1e3), "gradient")
    with config.override(without=("kept-functions",)):
        assert_close(gradient, sdgrad.grad(f)(x, t), 1e-13 * loose, "without")


@pytest.mark.parametrize("f", CALLS, ids=lambda f: f.__name__)
def test_functions_are_computed_once(f):
    assert (calls(f), calls(f, without=("kept-functions",))) == CALLS[f]


def test_large_arrays_are_not_kept(monkeypatch):
    monkeypatch.setattr(kept_functions, "LARGEST", 30 * 6 * 8 - 1)
    assert calls(of_a_polynomial) == 2


def test_a_limit_of_memory_keeps_nothing():
    """The least memory is without the array."""
    least = sdgrad.memory_plan(of_a_polynomial, X, T).least
    assert least < 30 * 6 * 8
    assert_close(sdgrad.grad(of_a_polynomial, memory_limit="min")(X, T), sdgrad.grad(of_a_polynomial)(X, T), 1e-12, "")


NESTS = """
    argument t: float64[5]
    argument p: float64[4]
    argument r: float64[5]
    argument g: float64[4]
    body
      map i=0:5, k=1:4:
        v = t[i]
        e = p[k]
        w = v ** e
        r[i] += w
      {}
      map i=0:5, j=1:4:
        v = t[i]
        e = p[j]
        w = v ** e
        u = r[i]
        z = w * u
        g[j] += z
"""


def kept(between="do:\n        z = 1.0\n        r[0] = z"):
    made = program(NESTS.format(between))
    return text(keep_functions(made, all_names(made)))


def test_nests():
    found = kept()
    assert found.count("**") == 1
    assert "kept_w[i, k - 1] = w" in found and "w = kept_w[i, j - 1]" in found


@pytest.mark.parametrize(
    "between",
    [
        "do:\n        z = 1.0\n        t[0] = z",  # what the value is computed from
        "do:\n        z = 1.0\n        p[2] = z",
        "n := 3",  # a symbol may be in any subscript
    ],
)
def test_what_changes_in_between(between):
    found = kept(between)
    assert found.count("**") == 2 and "kept" not in found
