"""Sums with one term more from row to row."""

import pytest
import sympy
from treetext import block, program

from sdgrad.optimize.dataflow.prefix_sums import running
from sdgrad.program.names import Names
from sdgrad.program.tree import Leaf, Param, lines


def leaf(ranges: str) -> Leaf:
    (found,) = program(f"""
        argument x: float64[8]
        argument y: float64[8]
        body
          map {ranges}:
            v = x[k]
            y[i] += v
    """).body
    return found


@pytest.mark.parametrize(
    ("ranges", "slope", "first", "newest"),
    [
        ("i=0:8, k=0:i + 1", 1, "0", "i"),
        ("i=0:8, k=i:8", -1, "7", "i"),
        ("i=0:8, k=0:8 - i", -1, "7", "7 - i"),
        ("k=0:8, i=k:8", 1, "0", "i"),
    ],
    ids=["lower triangle", "upper triangle", "falling", "columns outside"],
)
def test_rows_of_triangles(ranges, slope, first, newest):
    found = running(leaf(ranges).params, {"i"})
    assert (found.row.name, found.term.name, found.slope) == ("i", "k", slope)
    assert str(found.first) == first
    assert str(found.newest(sympy.Symbol("i", integer=True))) == newest


@pytest.mark.parametrize(
    "ranges",
    ["i=0:8, k=0:8", "i=0:8, k=0:2*i + 1", "i=0:8, k=i:i + 3", "i=0:8:2, k=0:i + 1", "i=0:8, k=0:i - 3"],
    ids=["rectangle", "two terms more", "sliding window", "every other row", "maybe fewer than none"],
)
def test_other_ranges(ranges):
    assert running(leaf(ranges).params, {"i"}) is None


def test_each_row_continues_the_sum_of_the_row_before():
    sums = running(leaf("i=0:8, k=0:i + 1").params, {"i"})
    (one, many) = program("""
        argument x: float64[8]
        argument y: float64[8]
        local s: float64[1]
        body
          map k=0:i + 1:
            v = x[k]
            s[0] += v
          map i=0:8:
            u = s[0]
            y[i] = u
    """).body
    found = "\n".join(line for n in sums.nodes(one, many, Names({"i", "k", "u", "v"})) for line in lines(n))
    assert found == block("""
        do:
          v_0 = 0
          s[0] = v_0
        map k=0:1:
          v = x[k]
          s[0] += v
        do:
          u = s[0]
          y[0] = u
        loop i_0 = 1 .. 7 step 1:
          do:
            v = x[i_0]
            s[0] += v
          do:
            u = s[0]
            y[i_0] = u
    """)


def test_the_first_row_may_have_no_term():
    sums = running(leaf("i=0:8, k=0:i").params, {"i"})
    assert isinstance(sums.term, Param)
    assert sums.terms(sums.first).count == 0
