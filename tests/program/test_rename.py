"""Programs over other containers and symbols: program in, program out."""

import sympy
from treetext import block, program, text

from sdgrad.program.rename import renamed, renamed_program, sized
from sdgrad.program.tree import Program
from sdgrad.program.window import Axis, Window
from sdgrad.symbolic.expr import sym

SOURCE = """
argument x: float64[N]
argument y: float64[N]
body
  n := k + 1
  loop j = 0 .. n step 1:
    if c > 0 with c = x[j]:
      map i=0:N:
        v = x[i]
        w = v * n
        y[i] = w
"""


def over(places, symbols=None):
    return text(Program("p", {}, {}, {}, renamed(program(SOURCE, symbols="k n").body, places, symbols)))


def test_containers():
    assert over({"x": "a"}) == block("""
        n := k + 1
        loop j = 0 .. n step 1:
          if c > 0 with c = a[j]:
            map i=0:N:
              v = a[i]
              w = v * n
              y[i] = w
    """)


def test_symbols_in_ranges_values_and_code():
    assert over({}, {"n": sym("m"), "N": sympy.Integer(8)}) == block("""
        m := k + 1
        loop j = 0 .. m step 1:
          if c > 0 with c = x[j]:
            map i=0:8:
              v = x[i]
              w = v * m
              y[i] = w
    """)


def test_parts_of_containers():
    row = Window("A", (sympy.Integer(3), sympy.Integer(0)), (Axis(1, sympy.Integer(2)),))
    found = over({"y": row})
    assert "A[3, 2*i] = w" in found


def test_arguments_of_a_program():
    found = renamed_program(program(SOURCE, symbols="k n"), {"x": "a"})
    assert found.arguments == ("a", "y") and set(found.containers) == {"a", "y"}


def test_sizes():
    desc = program(SOURCE, symbols="k n").containers["x"].desc
    assert tuple(sized(desc, {"N": sympy.Integer(5)}).shape) == (5,)
    assert tuple(map(str, desc.shape)) == ("N",)  # the original stays
