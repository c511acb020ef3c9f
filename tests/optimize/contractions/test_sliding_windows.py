"""Products of a loop's iterations: a shared matrix, or a window of its rows, and private vectors."""

from dataclasses import replace

import pytest
import sympy
from treetext import expression, program

from sdgrad.config import config
from sdgrad.optimize.contractions.sliding_windows import Trips
from sdgrad.program.tree import Param
from sdgrad.symbolic.expr import sym

NEST = """
    argument K: float64[40, 6]
    argument c: float64[1]
    local q: float64[6]
    local s: float64[40]
    body
      map {params}:
        a = K[{row}, l]
        b = q[l]
        v = {value}
        s[k] += v (fresh)
"""


@pytest.fixture(autouse=True)
def small_products():
    with config.override(machine=replace(config.machine, strip_multiplications=8)):
        yield


def products(params="k=0:8, l=0:6", row="k", value="a * b", means=None):
    """Of iterations ``t = 0 .. 9`` with private ``q`` and ``s``: their products, and the rest."""
    p = program(NEST.format(params=params, row=row, value=value), symbols="t n")
    t = Param("t", sympy.Integer(0), sympy.Integer(9), sympy.Integer(1))
    return Trips(t, means or {}, {"q", "s"}, p).products(p.body[0])


def test_a_matrix_that_all_iterations_share():
    (product,), rest = products()
    assert rest == []
    assert [str(x) for x in (product.matrix, product.along, product.across)] == [
        "a = K[k, l]",
        "s[k] += v (fresh)",
        "b = q[l]",
    ]
    assert (product.window.first, product.window.last) == (0, 7)


def test_a_window_that_slides():
    (product,), _ = products(row="k + t")
    window = product.window
    assert window.param.name == "k"
    assert (window.shift, window.first, window.last) == (sym("t"), sym("t"), sym("t") + 7)


def test_a_window_by_a_symbol():
    (product,), _ = products(row="k + n", means={"n": expression("2*t")})
    window = product.window
    assert (window.shift, window.known) == (sym("n"), 2 * sym("t"))


def test_a_window_with_bounds_of_its_own():
    (product,), _ = products(params="k=t:t + 8, l=0:6", means={})
    assert (product.window.first, product.window.last) == (sym("t"), sym("t") + 7)


@pytest.mark.parametrize(
    "changed",
    [
        {"row": "k - t + 10"},
        {"row": "k + n", "means": {"n": sym("t") + sym("m")}},
        {"value": "sin(a) * b"},
        {"params": "k=0:2, l=0:2"},
    ],
    ids=["slides back", "unknown", "no product", "small"],
)
def test_other_nests_are_rest(changed):
    found, rest = products(**changed)
    assert found == []
    assert len(rest) == 1


def test_values_in_all_iterations():
    t = Param("t", sympy.Integer(3), sympy.Integer(1), sympy.Integer(-1))
    trips = Trips(t, {}, set(), program("body"))
    assert trips.evaluated(expression("2*t + 1")).tolist() == [3, 5, 7]
    assert trips.evaluated(sympy.Integer(4)).tolist() == [4, 4, 4]
    assert trips.evaluated(expression("t + n")) is None
