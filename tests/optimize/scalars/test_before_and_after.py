"""The passes over scalars, program in and program out as text."""

import pytest
from treetext import block, program, text

from sdgrad.optimize.scalars.complex_pairs import complex_as_pairs
from sdgrad.optimize.scalars.half_precision import compute_in_single


def nest(*expressions, dtype="complex128"):
    rows = "\n".join(f"        v_{k} = {e}" for k, e in enumerate(expressions))
    return program(f"""
    argument x: {dtype}[8]
    argument y: {dtype}[8]
    local t: {dtype}[8]
    body
      map i=0:8:
        a = x[i]
        b = t[i]
{rows}
        t[i] = v_{len(expressions) - 1}
    """)


def pairs(*expressions):
    """The instructions that expressions of ``a``, a whole number, and ``b``, a pair, become."""
    rows = text(complex_as_pairs(nest(*expressions))).splitlines()
    return [row.strip() for row in rows if not row.startswith("map") and "[" not in row]


def test_a_product():
    assert text(complex_as_pairs(nest("a * b"))) == block("""
        map i=0:8:
          a = x[i]
          a_re = real(a)
          a_im = imag(a)
          b_re = t_re[i]
          b_im = t_im[i]
          v_0_re = a_re * b_re - a_im * b_im
          v_0_im = a_re * b_im + a_im * b_re
          t_re[i] = v_0_re
          t_im[i] = v_0_im
    """)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("conj(b)", ["v_0_im = -b_im"]),
        ("b + 1.0", ["v_0_re = b_re + 1.0"]),
        ("b / 2.0", ["v_0_re = b_re / 2.0", "v_0_im = b_im / 2.0"]),
        (
            "b if b == a else a",
            [
                "a_re = real(a)",
                "a_im = imag(a)",
                "c = b_re == a_re and b_im == a_im",
                "v_0_re = b_re if c else a_re",
                "v_0_im = b_im if c else a_im",
            ],
        ),
        (
            "exp(b)",
            [
                "v = exp(b_re)",
                "v_1 = 0 if v == 0 else b_im",
                "v_2 = 1 if v_1 == 0 else v",
                "v_0_re = v * sdgrad_cos(v_1)",
                "v_0_im = v_2 * sdgrad_sin(v_1)",
            ],
        ),
    ],
)
def test_operations_on_pairs(expression, expected):
    assert pairs(expression) == expected


def test_real_values_of_pairs():
    assert pairs("abs(b)", "v_0 + 1.0", "b * v_1") == [
        "v_0 = sdgrad_modulus(b_re, b_im)",
        "v_1 = v_0 + 1.0",
        "v_2_re = b_re * v_1",
        "v_2_im = b_im * v_1",
    ]


@pytest.mark.parametrize("expression", ["sin(b)", "a / b"])
def test_other_operations_take_whole_numbers(expression):
    assert pairs(expression) == [
        "b = dace.complex128(b_re, b_im)",
        f"v_0 = {expression}",
        "v_0_re = real(v_0)",
        "v_0_im = imag(v_0)",
    ]


def test_real_programs_stay():
    before = nest("a * b", dtype="float64")
    assert complex_as_pairs(before) is before


def test_half_precision_is_computed_in_single():
    assert text(compute_in_single(nest("a * b", dtype="float16"))) == block("""
        map i=0:8:
          a_0 = x[i]
          a = dace.float32(a_0)
          b_0 = t[i]
          b = dace.float32(b_0)
          v_0 = a * b
          v_0_0 = dace.float16(v_0)
          t[i] = v_0_0
    """)


def test_copies_of_half_precision_stay():
    before = program("""
    argument x: float16[8]
    argument y: float16[8]
    body
      map i=0:8:
        a = x[i]
        y[i] = a
    """)
    assert compute_in_single(before).body == before.body


def test_double_precision_stays():
    before = nest("a * b", dtype="float64")
    assert compute_in_single(before) is before
