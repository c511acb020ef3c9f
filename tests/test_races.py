"""No two instances of a parallel map touch one element: how that is found, and programs where it was not so."""

import dace
import numpy as np
import pytest
import sympy
import treetext
from dace import data as dt
from races import Broken, Race, hold, races, watch

import sdgrad
from sdgrad.analysis.access_relations import Inside, apart_over
from sdgrad.convert.callables import bind_arguments
from sdgrad.optimize import optimize
from sdgrad.optimize.reductions import nests, schedule
from sdgrad.program import passes
from sdgrad.program.passes import Pass, Phase, Target, run_passes
from sdgrad.program.tree import Container, Leaf, Let, Load, Param, Program, Scope, Store, walk
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import sym
from sdgrad.testing import check_grads

N = 8
I, J = sym("i"), sym("j")


def param(name, count=N):
    return Param(name, sympy.Integer(0), sympy.Integer(count - 1), sympy.Integer(1))


def program(*nodes):
    arrays = (Container(n, dt.Array(dace.float64, (N, N))) for n in "xy")
    return Program("p", {c.name: c for c in arrays}, {}, {}, nodes, ("x", "y"))


def copy(to, source, mode="set", at="x"):
    return Load("v", at, source), Store("y", to, "v", mode)


@pytest.mark.parametrize(
    ("body", "racing"),
    [
        (copy((I, J), (J, I)), False),
        (copy((I, sympy.Integer(0)), (J, I), "sum"), True),
        (copy((I, J), (J, I), at="y"), True),
        (copy((I, J), (I, J), "sum", at="y"), False),
        ((*copy((I, J), (I, J), "sum"), Store("y", (I, 3 - J), "v", "sum")), True),
        ((*copy((I, 2 * J), (I, J), "sum"), Store("y", (I, 2 * J + 1), "v", "sum")), False),
        ((Let("v", code.constant(0)), Store("y", (I, sympy.Integer(0)), "v")), False),  # the same number
        (copy((I, sympy.Mod(J * J, 3)), (I, J)), False),  # not known, and nobody is accused
    ],
)
def test_leaves(body, racing):
    half = param("j", N // 2)
    assert bool(races(program(Leaf((param("i"), half), body)))) == racing
    assert not races(program(Leaf((param("i"), half), body, sequential=True)))


@pytest.mark.parametrize(("params", "racing"), [(("i",), False), (("j",), True), (("i", "j"), True)])
def test_maps_of_nests(params, racing):
    """Rows are apart, columns meet with those on the other side."""
    both = (*copy((I, J), (I, J), "sum"), Store("y", (I, N - 1 - J), "v", "sum"))
    inner = Leaf(tuple(param(n) for n in "ij" if n not in params), both, sequential=True)
    assert bool(races(program(Scope(tuple(map(param, params)), (inner,))))) == racing


def test_pairs_of_accesses():
    i, j = param("i"), param("j")

    def inside(*index):
        return Inside(Store("y", index, "v", "sum"), (("j", j),))

    assert apart_over(inside(I, J), inside(I, N - 1 - J), (i,))
    assert not apart_over(inside(I, J), inside(N - 1 - I, J), (i,))
    assert not apart_over(inside(I, J), inside(sym("data"), J), (i,))
    assert not apart_over(inside(I, J), Inside(Store("x", (I, J), "v"), (("j", j),)), (i,))


def mirrored(A, B):
    """Each element of ``B`` is read at two places of a row."""
    return np.sum(np.tanh(np.where(A[::-1, ::-1] > 0.1, B, B[:, ::-1])) * A)


def mirrored_in_nests(A, B):
    """The same with a sum in each instance of the map."""
    total = 0.0
    for i in range(A.shape[0]):
        left = np.sum(A * np.sin(B[i])) + np.sum(A * np.cos(B[A.shape[0] - 1 - i]))
        total += np.tanh(left)
    return total


def made(f, *arguments):
    signature, _, _, request = sdgrad.value_and_grad(f, wrt=("A", "B")).question(bind_arguments(f, arguments, {}))
    return signature.differentiated(request).program


def arguments(n=N):
    rng = np.random.default_rng(0)
    return rng.uniform(-1, 1, (n, n)), rng.uniform(-1, 1, (n, n))


def in_one_nest(f):
    """The program whose sums share a nest, as both need the same slow function."""
    with sdgrad.config.override(without=("function-reuse",)):
        return optimize(made(f, *arguments()))


@pytest.mark.parametrize("f", [mirrored, mirrored_in_nests])
def test_sums_at_two_places(f):
    optimize(made(f, *arguments()))  # raises Race, as any program of a test does
    check_grads(f, arguments(), modes=("rev",))


def test_what_was_wrong(monkeypatch):
    """Each store was compared with itself alone."""
    for module in (nests, schedule):
        monkeypatch.setattr(module, "apart_over", lambda first, second, params: True)
    with pytest.raises(Race, match="gradient_B"):
        in_one_nest(mirrored)


def test_the_watch_stands_once():
    before = list(passes.observers)
    watch()
    assert passes.observers == before == [hold]
    assert any(isinstance(n, Scope) and not n.sequential for n in walk(in_one_nest(mirrored).body))


def broken(text):
    """A pass that leaves a program."""
    return Pass("broken", lambda program, target: treetext.program(text), Phase.SCHEDULED, "")


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("y[i] = w", "no value w"),
        ("y[i] = v if c", "no guard c"),
        ("y[i] += v (fresh)", "has no order"),
    ],
)
def test_a_pass_that_breaks_its_promise_is_found(statement, message):
    text = f"argument x: float64[8]\nargument y: float64[8]\nbody\n  map i=0:8:\n    v = x[i]\n    {statement}"
    with pytest.raises(Broken, match=message):
        run_passes(program(), (broken(text),), Target())
