"""Temporaries of an iteration with an element for each iteration."""

import sympy
from treetext import block, program

from sdgrad.program.names import Names
from sdgrad.program.tree import Param, lines
from sdgrad.rewrite.scalar_expansion import indexed, over_trips, share_of, wider
from sdgrad.symbolic.expr import sym

SOURCE = """
    argument x: float64[300, 400]
    local t: float64[1]
    local row: float64[5]
    local open: float64[n]
    body
      map j=0:5:
        u = t[0]
        v = row[j]
        p = u * v
        row[j] = p
"""


def iterations(start: int, stop: int, step: int) -> Param:
    return Param("i", *map(sympy.Integer, (start, stop, step)))


def test_a_scalar_becomes_a_vector_and_a_row_a_matrix():
    found = program(SOURCE)
    wide = wider(found.containers["t"], sympy.Integer(8), 100, Names({"t"}))
    rows = wider(found.containers["row"], sympy.Integer(8), 100, Names({"row"}))
    assert str(wide) == "local t_0: float64[8]"
    assert str(rows) == "local row_0: float64[8, 5]"


def test_a_container_that_grows_too_large_is_none():
    found = program(SOURCE)
    assert wider(found.containers["row"], sympy.Integer(21), 100, Names()) is None
    assert wider(found.containers["open"], sympy.Integer(2), 100, Names()) is None
    assert wider(found.containers["t"], sym("n"), 100, Names()) is None


def test_accesses_go_to_the_slice_of_the_iteration():
    found = program(SOURCE)
    (leaf,) = found.body
    leaf = indexed(leaf, found.containers["t"], "T", iterations(2, 9, 1))
    leaf = indexed(leaf, found.containers["row"], "R", iterations(2, 9, 1))
    assert "\n".join(lines(leaf)) == block("""
        map j=0:5:
          u = T[i - 2]
          v = R[i - 2, j]
          p = u * v
          R[i - 2, j] = p
    """)


def test_a_loop_that_counts_down_becomes_an_increasing_parameter():
    (leaf,) = program("""
    argument x: float64[8]
    body
      map j=0:i:
        u = x[i]
        x[j] += u
    """).body
    assert "\n".join(lines(over_trips(leaf, iterations(7, 1, -1), "k"))) == block("""
        map k=1:8, j=0:k:
          u = x[k]
          x[j] += u
    """)


def test_expansion_may_use_as_many_elements_as_the_arguments_have():
    assert share_of(program(SOURCE)) == 300 * 400
