"""A program as a function that returns some of its containers."""

import numpy as np
from treetext import block, program

from sdgrad.program.functions import returning

SOURCE = """
argument x: float64[3]
argument s: float64[3]
argument r: float64[3]
body
  map i=0:3:
    v = x[i]
    u = s[i]
    w = v * u
    r[i] = w
"""


def test_results_are_copied_and_seeds_are_one():
    found = returning(program(SOURCE), ["x"], ["r", "nothing"], ["s"], {"nothing": np.zeros(2)})
    assert found.arguments == ("x", "__return_0", "__return_1")
    assert str(found) == block("""
        program program
          argument x: float64[3]
          local s: float64[3]
          local r: float64[3]
          argument __return_0: float64[3]
          argument __return_1: float64[2]
          body
            map i0=0:3:
              v_0 = 1
              s[i0] = v_0
            map i=0:3:
              v = x[i]
              u = s[i]
              w = v * u
              r[i] = w
            map i0_0=0:3:
              v_1 = r[i0_0]
              __return_0[i0_0] = v_1
            map i0_1=0:2:
              v_2 = 0
              __return_1[i0_1] = v_2
    """)


def test_one_result_has_no_number():
    assert returning(program(SOURCE), ["x", "s"], ["r"], [], {}).arguments == ("x", "s", "__return")
