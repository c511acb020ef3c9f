"""Inverses of leaves: what they destroyed, from what they wrote."""

import pytest
from treetext import block, program

from sdgrad.program.kinds import infer
from sdgrad.program.tree import lines
from sdgrad.tape.inversion import inverse

DECLARATIONS = """
    argument k: int64[8]
    argument m: int64[8]
    argument x: float64[8]
    argument y: float64[8]
    body
      map i=0:8:
"""


def inverted(*rows: str) -> str | None:
    """The inverse of a leaf that destroys what all of its stores overwrite, as text."""
    of = program(DECLARATIONS + "".join(f"        {row}\n" for row in rows))
    (leaf,) = of.body
    written = {s.container for s in leaf.stores}
    found = inverse(
        leaf, leaf.stores, leaf.stores, of, infer(leaf.body, of.containers), lambda x: x.container not in written
    )
    return "\n".join(lines(found)) if found is not None else None


@pytest.mark.parametrize(
    "expr, back",
    [("a + b", "c_0 - b_0"), ("a - b", "c_0 + b_0"), ("b - a", "b_0 - c_0"), ("-a", "-c_0"), ("a ^ b", "c_0 ^ b_0")],
)
def test_integers(expr, back):
    found = inverted("a = k[i]", "b = m[i]", f"c = {expr}", "k[i] = c")
    assert f"a_0 = {back}" in found and found.endswith("k[i] = a_0")


@pytest.mark.parametrize("expr", ["a * b", "a * 2", "a + a", "a // 2", "max(a, b)"])
def test_integers_that_cannot_be_had(expr):
    assert inverted("a = k[i]", "b = m[i]", f"c = {expr}", "k[i] = c") is None


def test_signs_of_numbers():
    assert inverted("a = x[i]", "c = -a", "x[i] = c") == block("""
        map i=0:8:
          c_0 = x[i]
          a_0 = -c_0
          x[i] = a_0
    """)


@pytest.mark.parametrize("expr", ["a + 1.0", "a * 2.0", "sin(a)"])
def test_numbers_are_not_computed_back(expr):
    assert inverted("a = x[i]", f"c = {expr}", "x[i] = c") is None


def test_an_exchange():
    assert inverted("a = x[i]", "b = y[i]", "x[i] = b", "y[i] = a") == block("""
        map i=0:8:
          a_0 = y[i]
          b_1 = x[i]
          x[i] = a_0
          y[i] = b_1
    """)


def test_what_was_not_loaded_cannot_be_had():
    assert inverted("a = x[i]", "y[i] = a") is None
