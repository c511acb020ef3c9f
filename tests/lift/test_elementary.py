"""Expressions of leaves as elementary steps."""

from treetext import block, program, text

from sdgrad.lift.elementary import elementary

DECLARATIONS = """
    argument x: float64[8]
    argument y: float64[8]
    body
"""


def test_functions_of_products_are_split():
    before = program(
        DECLARATIONS
        + """
      map i=0:8:
        u = x[i]
        g = exp(u * u) * sin(u)
        y[i] = g
    """
    )
    assert text(elementary(before)) == block("""
        map i=0:8:
          u = x[i]
          v = u * u
          v_0 = exp(v)
          v_1 = sin(u)
          g = v_0 * v_1
          y[i] = g
    """)


def test_elementary_steps_stay():
    before = program(
        DECLARATIONS
        + """
      map i=0:8:
        u = x[i]
        v = sin(u)
        w = 2.0
        g = w * v + u
        y[i] = g
    """
    )
    assert text(elementary(before)) == text(before)
