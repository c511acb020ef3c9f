"""Adjoints of maxima and products: program in, backward program out."""

from treetext import block, program

from sdgrad.autodiff.differentiate import differentiate_program
from sdgrad.autodiff.request import Request
from sdgrad.program.tree import lines

SOURCE = """
argument x: float64[8]
argument y: float64[1]
body
  map i=0:8:
    v = x[i]
    y[0] {op} v (fresh)
"""


def backward(op):
    found = differentiate_program(program(SOURCE.format(op=op)), Request(("x",), ("y",)))
    return "\n".join(line for node in found.backward for line in lines(node))


def test_equal_extremes_share_the_cotangent():
    """The ties are counted first."""
    assert backward("max=") == block("""
        map i=0:8:
          v = x[i]
          y_0 = y[0]
          r = 1 if not v < y_0 else 0
          ties_y[0] += r (fresh)
        map i=0:8:
          v = x[i]
          y_0 = y[0]
          n = ties_y[0]
          g_y = gradient_y[0]
          g = g_y / n if not v < y_0 else 0
          gradient_x[i] += g
    """)


def test_factors_get_the_product_of_the_others():
    """Products from the left are kept, those from the right multiplied to them; nothing is divided."""
    found = backward("*=")
    assert "/" not in found
    assert (
        block("""
        loop i_0 = 0 .. 7 step 1:
          do:
            v = x[i_0]
            r = running_y[0]
            before_y[i_0] = r
            r_0 = r * v
            running_y[0] = r_0
    """)
        in found
    )
    assert (
        block("""
        loop i_1 = 0 .. 7 step 1:
          do:
            v = x[7 - i_1]
            r_1 = running_y[0]
            b = before_y[7 - i_1]
            others = b * r_1
            others_y[7 - i_1] = others
    """)
        in found
    )
    assert found.endswith("g = g_y * others\n  gradient_x[i] += g")


def test_sums_need_neither():
    assert backward("+=") == block("""
        map i=0:8:
          g_y = gradient_y[0]
          gradient_x[i] += g_y
    """)
