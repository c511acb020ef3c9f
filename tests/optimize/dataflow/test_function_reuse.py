"""Values of slow functions that wait where a later nest writes: the same results, with fewer calls."""

import ast

import numpy as np
import pytest
import scipy.special
from references import assert_close
from treetext import program, text

import sdgrad
from sdgrad.config import config
from sdgrad.convert.callables import bind_arguments
from sdgrad.optimize import optimize
from sdgrad.optimize.dataflow.function_reuse import reuse_functions
from sdgrad.program.tree import Leaf, walk

N = 40
X = np.random.default_rng(3).standard_normal(N)
A = np.random.default_rng(4).standard_normal((N, N))


def logsumexp(x):
    return scipy.special.logsumexp(x)


def of_rows(A):
    """Rows, and a weight each."""
    return np.sum(np.sin(scipy.special.logsumexp(A, axis=1)))


def of_columns(A):
    return np.sum(np.sin(scipy.special.logsumexp(A, axis=0)))


def of_product(x):
    """A temporary for another one: that the product's result is, which nobody needs after the sum."""
    return scipy.special.logsumexp(A @ x)


def of_two_sums(x):
    """One room for two functions."""
    return np.log(np.sum(np.exp(x))) + np.sin(np.sum(np.exp(-2.0 * x)))


def by_a_special_function(x):
    return np.log(np.sum(scipy.special.gamma(x * x + 1.0)))


def of_squares(x):
    """Nothing slow."""
    return np.log(np.sum(x * x))


def overwritten(x):
    """What the function was applied to is another one when the derivative is taken, which computes it from ``x``."""
    y = 2.0 * x
    s = np.sum(np.exp(y))
    y[:] = y * s
    return np.sum(y * y)


def in_a_loop(x):
    h = 1.0 * x
    for _ in range(3):
        h = h - 0.1 * np.log(np.sum(np.exp(h)))
    return np.sum(h * h)


def in_single(x):
    return np.log(np.sum(np.exp(x)))


CALLS = {  # exponentials and the like of the gradient's program, with the pass and without
    logsumexp: (1, 2),
    of_rows: (1, 2),
    of_columns: (1, 2),
    of_product: (1, 2),
    of_two_sums: (3, 4),
    by_a_special_function: (1, 2),
    of_squares: (0, 0),
    overwritten: (1, 2),
    in_a_loop: (1, 1),
    in_single: (1, 2),
}


def argument(f):
    return A if f in (of_rows, of_columns) else X.astype(np.float32) if f is in_single else X


def calls(f, without=()):
    """How many functions of elements the gradient's program calls."""
    x = argument(f)
    gradient = sdgrad.value_and_grad(f)
    signature, _, _, request = gradient.question(bind_arguments(gradient.f, (x,), {}))
    with config.override(without=without):
        program = optimize(signature.gradient(request).result.program)
    lets = [i.expr for n in walk(program.body) if isinstance(n, Leaf) for i in n.lets]
    found = [ast.unparse(n.func) for e in lets for n in ast.walk(e) if isinstance(n, ast.Call)]
    return sum(n.split(".")[-1] in ("exp", "tgamma") for n in found)


@pytest.mark.parametrize("f", CALLS, ids=lambda f: f.__name__)
def test_values_and_gradients(f):
    x = argument(f)
    loose = 1e5 if f is in_single else 1.0
    value, gradient = sdgrad.value_and_grad(f)(x)
    assert_close(value, f(x), 1e-12 * loose, "value")
    with config.override(without=("function-reuse",)):
        assert_close(gradient, sdgrad.grad(f)(x), 1e-12 * loose, "without")
    direction, h = np.random.default_rng(5).standard_normal(x.shape), 1e-6
    wide = x.astype(float)
    slope = (f(wide + h * direction) - f(wide - h * direction)) / (2 * h)
    assert_close(np.sum(gradient * direction), slope, 1e-6 * min(loose, 100.0), "gradient")


@pytest.mark.parametrize("f", CALLS, ids=lambda f: f.__name__)
def test_functions_are_computed_once(f):
    assert (calls(f), calls(f, ("function-reuse",))) == CALLS[f]


ARGUMENTS = """
    argument x: float64[9]
    argument other: float64[9]
    argument small: float32[9]
    argument s: float64[1]
    argument g: float64[9]
    local room: float64[9]
    local given: float64[9]
"""
FIRST = """
    map i=0:9:
      v = x[i]
      e = exp(v)
      s[0] += e
"""
SECOND = """
    map k=0:9:
      a = x[k]
      b = exp(a)
      t = s[0]
      w = b / t
      g[k] = w
"""


def pass_of(*body):
    return text(reuse_functions(program(ARGUMENTS + "body" + "".join(body))))


def test_the_value_waits_where_the_later_nest_writes():
    first, second = pass_of(FIRST, SECOND).split("map k")
    assert "g[i] = e" in first
    assert "b = g[k]" in second and "exp" not in second and "x[k]" not in second


BETWEEN = {
    "what it is computed from changes": """
    map j=0:9:
      n = other[j]
      x[j] = n
""",
    "its room is read": """
    map j=0:9:
      n = g[j]
      other[j] = n
""",
    "its room is written": """
    do:
      n = 1.0
      g[3] = n
""",
}


@pytest.mark.parametrize("name", BETWEEN)
def test_what_comes_between(name):
    assert pass_of(FIRST, BETWEEN[name], SECOND).count("exp") == 2


OTHERS = {
    "one element for all": SECOND.replace("g[k] = w", "g[0] = w"),
    "added": SECOND.replace("g[k] = w", "g[k] += w"),
    "single precision": SECOND.replace("g[k] = w", "small[k] = w"),
    "other iterations": SECOND.replace("0:9", "1:9"),
    "other elements": SECOND.replace("x[k]", "x[8 - k]"),
    "another function": SECOND.replace("exp(a)", "exp(2 * a)"),
    "read by itself": SECOND.replace("t = s[0]", "t = g[k]"),
    "written twice": SECOND + "      g[8 - k] = b\n",
    "a temporary that was not live": SECOND.replace("g[k] = w", "room[k] = w"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_nests_that_have_no_room(name):
    assert pass_of(FIRST, OTHERS[name]).count("exp") == 2


def test_a_temporary_for_another_one():
    first, second = (x.replace("x[", "given[") for x in (FIRST, SECOND.replace("g[k] = w", "room[k] = w")))
    assert pass_of(first, second).count("exp") == 1
    kept = second.replace("w = b / t", "w = b / a")  # which is read as before
    assert pass_of(first, kept).count("exp") == 2


def test_parameters_that_follow_the_loop_around():
    """In a loop, and with symbols that change between the nests."""
    inside = "".join(f"  {line}\n" for line in (FIRST + SECOND).strip("\n").split("\n"))
    assert pass_of("\n    loop t = 0 .. 3 step 1:\n", inside).count("exp") == 1
