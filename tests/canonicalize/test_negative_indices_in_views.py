"""Subscripts into parts of arrays that may count from the end of the part."""

import sympy
from treetext import block, program, text

from sdgrad.canonicalize.negative_indices_in_views import within_parts
from sdgrad.program.tree import Leaf, Load, Program, Store
from sdgrad.program.window import FromEnd
from sdgrad.symbolic.expr import sym


def reading(start: int) -> Program:
    """``y[i] = part[i]`` in a loop over i from ``start``, where the part is ``x[2:8]``."""
    found = program(f"""
    argument x: float64[8]
    argument y: float64[8]
    body
      loop i = {start} .. 3 step 1:
        do:
          u = x[0]
          y[0] = u
    """)
    (loop,) = found.body
    at = FromEnd(sym("i"), sympy.Integer(6)) + 2
    leaf = Leaf((), (Load("u", "x", (at,)), Store("y", (sympy.Integer(0),), "u")))
    return Program(found.name, found.containers, found.symbols, {}, (type(loop)(**{**vars(loop), "body": (leaf,)}),))


def test_a_subscript_that_is_never_negative_is_an_offset():
    assert text(within_parts(reading(0))) == block("""
        loop i = 0 .. 3 step 1:
          do:
            u = x[i + 2]
            y[0] = u
    """)


def test_a_subscript_that_may_be_negative_is_a_remainder():
    assert text(within_parts(reading(-2))) == block("""
        loop i = -2 .. 3 step 1:
          do:
            u = x[Mod(i, 6) + 2]
            y[0] = u
    """)


def test_other_programs_stay():
    before = program("""
    argument x: float64[8]
    body
      map i=0:8:
        u = 1.0
        x[i] = u
    """)
    assert within_parts(before) == before
