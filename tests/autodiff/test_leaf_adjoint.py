"""The adjoint of a leaf: program in, backward program out."""

from treetext import block, program

from sdgrad.autodiff.differentiate import differentiate_program
from sdgrad.autodiff.request import Request
from sdgrad.program.tree import lines


def backward(source, accumulate=True):
    """The backward half of a program, by ``x``, of ``y``."""
    found = differentiate_program(program(source), Request(("x",), ("y",), accumulate))
    return "\n".join(line for node in found.backward for line in lines(node))


SINE = """
argument x: float64[8]
argument y: float64[8]
body
  map i=0:8:
    v = x[i]
    w = sin(v)
    y[i] = w
"""


def test_chain_rule_replays_the_values_it_needs():
    assert backward(SINE) == block("""
        map i=0:8:
          v = x[i]
          g_y = gradient_y[i]
          g = cos(v) * g_y
          gradient_x[i] += g
    """)


def test_first_contribution_to_a_zero_adjoint_is_an_assignment():
    assert "gradient_x[i] = g" in backward(SINE, accumulate=False)


def test_contribution_to_a_part_of_a_zero_adjoint_is_a_sum():
    found = backward(SINE.replace("i=0:8", "i=1:8"), accumulate=False)
    assert found.startswith("map i0=0:8:\n  v_0 = 0\n  gradient_x[i0] = v_0\n")
    assert "gradient_x[i] += g" in found


def test_loads_of_one_element_contribute_once():
    found = backward("""
        argument x: float64[8]
        argument y: float64[8]
        body
          map i=0:8:
            v = x[i]
            u = x[i]
            w = sin(v)
            z = w * u
            y[i] = z
    """)
    assert found.count("gradient_x[i] +=") == 1


def test_neighbours_are_scattered_to():
    found = backward("""
        argument x: float64[8]
        argument y: float64[8]
        body
          map i=1:8:
            v = x[i]
            u = x[i - 1]
            w = v * u
            y[i] = w
    """)
    assert found == block("""
        map i=1:8:
          v = x[i]
          u = x[i - 1]
          g_y = gradient_y[i]
          g = u * g_y
          g_0 = v * g_y
          gradient_x[i] += g
          gradient_x[i - 1] += g_0
    """)


def test_value_without_derivative_has_no_adjoint():
    found = backward(SINE.replace("sin(v)", "floor(v)"))
    assert found == ""
