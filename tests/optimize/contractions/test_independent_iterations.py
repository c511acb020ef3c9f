"""Loops whose iterations are independent, sums aside."""

import pytest
from treetext import program

from sdgrad.optimize.contractions.independent_iterations import independent_but_for_sums, symbols_first


def loop(statements):
    """A loop over ``i`` with these statements."""
    rows = "\n".join(8 * " " + row for row in statements.strip("\n").splitlines())
    declarations = "argument x: float64[20]\nargument y: float64[20, 5]\nbody\n  loop i = 0 .. 9 step 1:\n"
    return program(declarations + rows, symbols="i n m")


def independent(name, *statements):
    (found,) = loop("do:\n" + "\n".join(f"  {s}" for s in statements)).body
    return independent_but_for_sums(name, found.body, "i")


@pytest.mark.parametrize(
    "statements",
    [
        ("v = x[0]",),
        ("v = 1.0", "x[3] += v"),
        ("v = x[i + 1]", "x[i + 1] = v"),
        ("v = 1.0", "x[i] += v (fresh)"),
    ],
    ids=["read", "added to", "own element", "own sum"],
)
def test_independent(statements):
    assert independent("x", *statements)


@pytest.mark.parametrize(
    "statements",
    [
        ("v = x[i]", "x[i + 1] = v"),
        ("v = 1.0", "x[3] = v"),
        ("v = x[3]", "x[3] += v"),
        ("v = 1.0", "x[3] += v (fresh)"),
        ("v = 1.0", "x[2*i] = v"),
    ],
    ids=["recurrence", "overwritten", "read sum", "fresh sum", "stride"],
)
def test_dependent(statements):
    assert not independent("x", *statements)


def test_one_dimension_is_enough():
    assert independent("y", "v = y[i, 0]", "y[i, 1] = v")
    assert not independent("y", "v = y[0, i]", "y[1, i + 1] = v")


def test_symbols():
    def first(statements):
        p = loop(statements)
        return symbols_first(p.body[0], p)

    use = "do:\n  v = x[n]\n  y[i, 0] = v"
    assert first("n := i + 1\n" + use)
    assert first("m := 2*i\nn := m + 1\n" + use)
    assert not first(use + "\nn := i + 1"), "used before"
    assert not first("n := i + 1\nn := n + 1\n" + use), "assigned twice"
    assert not first("n := m + 1\n" + use), "depends on another symbol"
