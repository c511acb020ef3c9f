"""Quotients, floors and powers of integers, as Python computes them."""

from treetext import block, program, text

from sdgrad.canonicalize.python_arithmetic import as_python_computes, divide_truly

DECLARATIONS = """
    argument n: int64[4]
    argument x: float64[4]
    body
"""


def test_a_quotient_of_integers_is_real():
    before = program(
        DECLARATIONS
        + """
      map i=0:4:
        a = n[i]
        b = a / 2
        x[i] = b
    """
    )
    assert text(divide_truly(before)) == block("""
        map i=0:4:
          a = n[i]
          b = dace.float64(a) / 2
          x[i] = b
    """)


def test_a_quotient_of_real_numbers_stays():
    before = program(
        DECLARATIONS
        + """
      map i=0:4:
        a = x[i]
        b = a / 2
        x[i] = b
    """
    )
    assert divide_truly(before).body == before.body


def test_floors_round_down_and_powers_with_real_exponents_are_real():
    before = program(
        DECLARATIONS
        + """
      map i=0:4:
        a = n[i]
        b = int_floor(a, 2)
        n[i] = b
        c = x[i]
        d = a ** c
        x[i] = d
    """
    )
    assert text(as_python_computes(before)) == block("""
        map i=0:4:
          a = n[i]
          b = py_floor(a, 2)
          n[i] = b
          c = x[i]
          d = dace.float64(a) ** c
          x[i] = d
    """)


def test_an_integer_power_stays():
    before = program(
        DECLARATIONS
        + """
      map i=0:4:
        a = n[i]
        b = a ** 2
        n[i] = b
    """
    )
    assert as_python_computes(before).body == before.body
