"""Programs recorded from NumPy-like code on tensors: code in, program out."""

import ast

import numpy as np
import pytest
from treetext import block, text

from sdgrad.record.builder import Builder
from sdgrad.record.elements import call, element, every, where


def recorded(b):
    return text(b.program([*b.containers]))


def test_element_by_element():
    b = Builder("p")
    x, y = b.declare("x", [4], np.float64, True), b.declare("y", [4], np.float64, True)
    x.map(lambda v, w: call("exp", v) * w, y)
    assert recorded(b) == block("""
        map i0=0:4:
          v = x[i0]
          v_0 = y[i0]
          v_2 = exp(v)
          v_1 = v_2 * v_0
          t[i0] = v_1
    """)


def test_views_move_no_element():
    b = Builder("p")
    x = b.declare("x", [4, 6], np.float64, True)
    b.copy(x.transpose().slice(0, 2, 3).select(1, 1))
    assert "x[1, i0 + 2]" in recorded(b)


def test_sum_along_an_axis():
    b = Builder("p")
    b.declare("x", [4, 6], np.float64, True).sum([1])
    assert "+= " in recorded(b) and "(fresh)" in recorded(b)


def test_loops_and_blocks():
    b = Builder("p")
    x = b.declare("x", [4], np.float64, True)
    with b.loop(4) as t:
        b.fill(x.slice(0, t, 1), 0)
    assert recorded(b).startswith("loop ")


@pytest.mark.parametrize(
    ("value", "expected"), [(2, "2"), (0.5, "0.5"), (float("inf"), "1e309"), (float("nan"), "1e309 - 1e309")]
)
def test_numbers_as_code(value, expected):
    assert ast.unparse(element(value).code) == expected


def test_single_precision_is_written_with_its_type():
    assert ast.unparse(element(0.1, np.float32).code) == "dace.float32(0.1)"


def test_conditions():
    a = element(1.0)
    assert every() is None
    assert every(None, a > 0) is not None
    assert where(a > 0, 1, a).dtype == np.float64
