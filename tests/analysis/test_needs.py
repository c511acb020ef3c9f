"""Primal values that the adjoint of a leaf mentions."""

import pytest
from treetext import program

from sdgrad.analysis.activity import activity
from sdgrad.analysis.needs import leaf_needs

DECLARATIONS = """
    argument x: float64[8]
    argument c: float64[8]
    argument idx: int64[8]
    argument s: float64[8]
    body
      map i=0:8:
"""


def needs(*body: str) -> set[str]:
    of = program(DECLARATIONS + "".join(f"        {row}\n" for row in body))
    return set(leaf_needs(of.body[0], (0,), activity(of, ("x",), ("s",))))


@pytest.mark.parametrize(
    "expr, found",
    [
        ("v + u", set()),
        ("v * u", {"u"}),  # u is a constant: v itself is not needed
        ("v * v", {"v"}),
        ("exp(v)", {"w"}),
        ("sin(v)", {"v"}),
        ("3.0 * v", set()),
    ],
)
def test_partials(expr, found):
    assert needs("v = x[i]", "u = c[i]", f"w = {expr}", "s[i] = w") == found


def test_an_index_from_data():
    assert needs("k = idx[i]", "v = x[k]", "s[i] += v") == {"k"}


def test_of_an_inactive_leaf_nothing_is_needed():
    assert needs("k = idx[i]", "v = c[k]", "w = v * v", "c[i] = w") == set()


def test_a_maximum_needs_its_operand():
    assert needs("v = x[i]", "s[0] max= v") == {"v"}
