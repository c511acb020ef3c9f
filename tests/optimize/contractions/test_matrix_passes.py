"""Pieces of nests over matrices: products and updates, one store each."""

from dataclasses import replace

import pytest
from treetext import program

from sdgrad.config import config
from sdgrad.optimize.contractions.matrix_passes import pieces, same_range, separated
from sdgrad.program.tree import lines

DECLARATIONS = """
    argument A: float64[8, 9]
    argument x: float64[9]
    argument u: float64[8]
    argument y: float64[8]
    argument z: float64[9]
    body
"""


@pytest.fixture(autouse=True)
def short_rows():
    with config.override(machine=replace(config.machine, swept_row=4)):
        yield


def nest(statements, head="i=0:8, j=0:9"):
    rows = "\n".join(8 * " " + row.strip() for row in statements.strip().splitlines())
    return program(DECLARATIONS + f"      map {head}:\n" + rows)


def found(statements, head="i=0:8, j=0:9"):
    """Of each piece: its rows, whether it is a product, its matrices, whether its result has an element per row."""
    p = nest(statements, head)
    parts = pieces(p.body[0], p)
    if parts is None:
        return None
    return [(x.row.name, x.product, x.matrices(p), x.collects_rows()) for x in parts]


def test_products_by_rows_and_by_columns():
    assert found("a = A[i, j]\nb = x[j]\nv = a * b\ny[i] += v") == [("i", True, {"A"}, True)]
    assert found("a = A[i, j]\nb = u[i]\nv = a * b\nz[j] += v") == [("i", True, {"A"}, False)]


def test_rows_come_first():
    assert found("a = A[i, j]\nb = x[j]\nv = a * b\ny[i] += v", "j=0:9, i=0:8") == [("i", True, {"A"}, True)]


def test_an_update_of_elements():
    assert found("a = u[i]\nb = x[j]\nv = a * b\nA[i, j] += v") == [("i", False, {"A"}, True)]


def test_each_term_of_a_sum_is_a_piece():
    terms = found("a = A[i, j]\nb = x[j]\nc = 2.0\nv = a * b\nw = c * a\ns = v + v\ny[i] += s")
    assert terms == [("i", True, {"A"}, True)] * 2


@pytest.mark.parametrize(
    ("statements", "head"),
    [
        ("a = A[i, j]\nv = sin(a)\ny[i] += v", "i=0:8, j=0:9"),
        ("a = A[i, j]\nb = x[j]\nv = a * b\ny[i] += v", "i=0:3, j=0:9"),
        ("a = A[i, j]\nb = x[j]\nv = a * b\ny[i] += v", "i=0:8, j=0:i+1"),
        ("a = A[j, i]\nb = u[j]\nc = A[i, j]\nA[i, j] = a", "i=0:8, j=0:8"),
        ("a = u[i]\nA[i, j] += a (fresh)", "i=0:8, j=0:9"),
    ],
    ids=["function", "few rows", "triangle", "transposed", "fresh"],
)
def test_other_nests_are_none(statements, head):
    assert found(statements, head) is None


def test_a_leaf_is_distributed_over_independent_stores():
    p = nest("a = A[i, j]\nb = x[j]\nv = a * b\ny[i] += v\nz[j] += a")
    assert [lines(x)[-1].strip() for x in separated(p.body[0], p)] == ["y[i] += v", "z[j] += a"]


@pytest.mark.parametrize(
    "statements",
    ["a = A[i, j]\nb = y[i]\ny[i] += a\nz[j] += b", "a = A[i, j]\ny[i] += a (fresh)\ny[i] += a"],
    ids=["reads a result", "order of stores"],
)
def test_dependent_stores_stay_together(statements):
    p = nest(statements)
    assert separated(p.body[0], p) is None


def test_ranges():
    i, j = nest("a = A[i, j]\nz[j] += a", "i=0:8, j=0:9").body[0].params
    assert same_range(i, replace(i, name="k"))
    assert not same_range(i, j)
