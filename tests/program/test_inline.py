"""One program inside another: renamed, with arguments bound."""

import sympy
from treetext import block, program

from sdgrad.program.inline import inline
from sdgrad.program.names import Names
from sdgrad.program.tree import lines
from sdgrad.program.window import Axis, Window
from sdgrad.symbolic.expr import sym

SOURCE = """
argument x: float64[3]
argument s: float64[3]
argument r: float64[3]
body
  loop k = 0 .. 2 step 1:
    do:
      v = x[k]
      u = s[k]
      w = v * u
      r[k] = w
"""


def test_arguments_become_containers_or_parts_of_them():
    part = Window("big", (sympy.Integer(2), sym("j")), (Axis(0, sympy.Integer(1)),))
    body, brought = inline(program(SOURCE), {"x": "host", "s": part}, Names(["r", "k", "host", "big"]))
    assert "\n".join(x for node in body for x in lines(node)) == block("""
        loop k_0 = 0 .. 2 step 1:
          do:
            v = host[k_0]
            u = big[k_0 + 2, j]
            w = v * u
            r_0[k_0] = w
    """)
    assert {n: str(c) for n, c in brought.items()} == {"r": "local r_0: float64[3]"}
