"""Sums of few terms become assignments."""

import pytest
from treetext import block, program, text

from sdgrad.optimize.reductions.unrolled_sums import write_out_short_sums

PRODUCT = """
argument A: float64[3, 8]
argument B: float64[8, 5]
argument C: float64[3, 5]
body
  map i=0:3, j=0:5, k=0:2:
    a = A[i, k]
    b = B[k, j]
    t = a * b
    C[i, j] += t (fresh)
"""
UNROLLED = """
map i=0:3, j=0:5:
  a_0 = A[i, 0]
  b_0 = B[0, j]
  t_0 = a_0 * b_0
  a_1 = A[i, 1]
  b_1 = B[1, j]
  t_1 = a_1 * b_1
  t_2 = t_0 + t_1
  C[i, j] = t_2
"""


def test_fresh_sum():
    assert text(write_out_short_sums(program(PRODUCT))) == block(UNROLLED)


def test_sum_that_updates():
    found = write_out_short_sums(program(PRODUCT.replace(" (fresh)", "")))
    assert text(found) == block(UNROLLED.replace("C[i, j] =", "C[i, j] +="))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("k=0:2", "k=0:8"),  # many terms
        ("k=0:2", "k=0:1"),  # no sum
        ("k=0:2", "k=0:n"),  # an unknown number
        ("k=0:2", "k=i:i + 2"),  # bounds depend on another parameter
        ("(fresh)", "if b"),  # guarded
        ("b = B[k, j]", "b = C[i, j]"),  # reads what it changes
        ("b = B[k, j]", "b = 2.0"),  # one load
        ("C[i, j]", "C[0, 0]"),  # sums over everything
        ("  map", "  for"),  # in order already
    ],
)
def test_declines(old, new):
    found = program(PRODUCT.replace(old, new, 1))
    assert text(found) != text(program(PRODUCT))
    assert text(write_out_short_sums(found)) == text(found)
