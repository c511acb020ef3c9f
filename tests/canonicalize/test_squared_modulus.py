"""Even powers of the modulus of complex numbers, without the modulus."""

import numpy as np
from treetext import block, program, text

import sdgrad
from sdgrad.canonicalize.squared_modulus import square_moduli

DECLARATIONS = """
    argument z: complex128[4]
    argument x: float64[4]
    argument y: float64[4]
    body
"""


def test_the_modulus_is_left_out():
    before = program(
        DECLARATIONS
        + """
      map i=0:4:
        a = z[i]
        r = abs(a)
        s = r * r
        t = r ** 6
        x[i] = s
        y[i] = t
    """
    )
    assert text(square_moduli(before)) == block("""
        map i=0:4:
          a = z[i]
          a_re = real(a)
          a_im = imag(a)
          s = a_re * a_re + a_im * a_im
          r_square = a_re * a_re + a_im * a_im
          t = r_square ** 3
          x[i] = s
          y[i] = t
    """)


def test_a_modulus_that_something_else_reads_stays():
    before = program(
        DECLARATIONS
        + """
      map i=0:4:
        a = z[i]
        r = abs(a)
        s = r ** 2
        t = sin(r)
        x[i] = s
        y[i] = t
    """
    )
    assert text(square_moduli(before)) == block("""
        map i=0:4:
          a = z[i]
          r = abs(a)
          a_re = real(a)
          a_im = imag(a)
          s = a_re * a_re + a_im * a_im
          t = sin(r)
          x[i] = s
          y[i] = t
    """)


def test_real_numbers_and_odd_powers_stay():
    before = program(
        DECLARATIONS
        + """
      map i=0:4:
        a = x[i]
        r = abs(a)
        s = r * r
        y[i] = s
      map i=0:4:
        b = z[i]
        q = abs(b)
        t = q ** 3
        x[i] = t
    """
    )
    assert square_moduli(before).body == before.body


def test_derivatives():
    z = np.array([1 + 2j, 0, -3j, 0.5])
    found = sdgrad.grad(lambda z: np.sum(np.abs(z) ** 2) + np.sum(abs(z) ** 4))(z)
    np.testing.assert_allclose(found, 2 * z + 4 * np.abs(z) ** 2 * z, 1e-14)
    x = np.array([1.0, -2.0, 0.0])
    second = sdgrad.hessian(lambda x: np.sum(np.abs(x * (1 + 1j)) ** 4))(x)
    np.testing.assert_allclose(second, np.diag(48 * x**2), 1e-13)
