"""Values as sums and products, and leaves with other parameters."""

import ast

import pytest
from treetext import block, program

from sdgrad.optimize.dataflow.sum_and_product_terms import addends, each_sum, factors, range_without, upright
from sdgrad.program.tree import Leaf, lines
from sdgrad.symbolic import code

DECLARATIONS = """
    argument a: float64[8]
    argument b: float64[8]
    argument y: float64[8]
    argument z: float64[8]
    body
"""


def leaf(source: str) -> Leaf:
    (found,) = program(DECLARATIONS + source).body
    return found


def printed(*leaves: Leaf) -> str:
    return "\n".join(line for n in leaves for line in lines(n))


VALUES = leaf("""
      map i=0:8:
        u = a[i]
        v = b[i]
        p = u * v
        q = p * 2.0
        s = q + u
        t = sin(s)
        w = t + s
        y[i] = w
""")


def test_addends_follow_definitions():
    assert [ast.unparse(e) for e in addends(VALUES, "w")] == ["t", "q", "u"]
    assert [ast.unparse(e) for e in addends(VALUES, "q")] == ["q"]


def test_factors_follow_definitions():
    assert [ast.unparse(e) for e in factors(VALUES, code.name("q"))] == ["u", "v", "2.0"]
    assert [ast.unparse(e) for e in factors(VALUES, code.name("t"))] == ["t"]


def test_an_offset_becomes_a_subscript():
    skewed = upright(
        leaf("""
      map q=0:4, p=0:3:
        u = a[p + q]
        y[q] += u
    """)
    )
    assert printed(skewed) == block("""
        map q=0:4, p=q:q + 3:
          u = a[p]
          y[q] += u
    """)


def test_a_parameter_that_is_also_a_subscript_is_no_offset():
    convolution = leaf("""
      map q=0:4, p=0:3:
        u = a[p + q]
        v = b[p]
        w = u * v
        y[q] += w
    """)
    assert upright(convolution) is convolution


@pytest.mark.parametrize(
    ("ranges", "projected"),
    [
        ("i=0:8, k=2:5", "k=2:5"),
        ("i=0:8, k=0:i + 1", "k=0:8"),
        ("i=0:8, k=i:8", "k=0:8"),
        ("i=0:8, k=3 - i:8", "k=-4:8"),
        ("i=0:8, k=i:i + 2", None),
        ("i=0:8, k=0:2*i + 1", None),
        ("i=0:8:3, k=0:i + 1", None),
    ],
)
def test_projected_ranges(ranges, projected):
    outer, inner = leaf(f"""
      map {ranges}:
        u = a[k]
        y[i] += u
    """).params
    found = range_without(inner, {"i"}, (outer, inner))
    assert (None if found is None else str(found)) == projected


def test_sums_into_one_array_are_distributed():
    two = leaf("""
      map i=0:7:
        u = a[i]
        y[i] += u
        y[i + 1] += u
    """)
    assert printed(*each_sum(two)) == block("""
        map i=0:7:
          u = a[i]
          y[i] += u
        map i=0:7:
          u = a[i]
          y[i + 1] += u
    """)


@pytest.mark.parametrize("second", ["z[i] += u", "y[i + 1] = u"], ids=["another array", "an assignment"])
def test_other_stores_stay_together(second):
    two = leaf(f"""
      map i=0:7:
        u = a[i]
        y[i] += u
        {second}
    """)
    assert each_sum(two) == (two,)
