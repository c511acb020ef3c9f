"""Arrays that loops set as a whole, part by part, before any other use."""

import pytest
from treetext import program

from sdgrad.analysis.definite_assignment import filled_in_parts


def filled(body: str) -> frozenset[str]:
    of = program(
        """
    argument x: float64[8]
    local A: float64[8, 8]
    body
    """
        + body
    )
    return filled_in_parts(of, ["A"])


TWO_TRIANGLES = """
      loop i = 0 .. 7 step 1:
        map j=0:i + 1:
          v = x[j]
          A[i, j] = v
        map j=i + 1:8:
          v = 0.0
          A[i, j] = v
"""


def test_two_triangles_fill_a_square():
    assert filled(TWO_TRIANGLES) == {"A"}


@pytest.mark.parametrize(
    "before, after",
    [
        ("j=i + 1:8", "j=i + 2:8"),  # a diagonal is missing
        ("A[i, j] = v\n        map", "A[i, j] += v\n        map"),
        ("0 .. 7 step 1", "0 .. 7 step 1 while i < 5"),
        ("v = 0.0", "v = A[j, i]"),
    ],
)
def test_declines(before, after):
    assert before in TWO_TRIANGLES
    assert filled(TWO_TRIANGLES.replace(before, after)) == frozenset()
