"""Row and column sums beside single elements get temporaries."""

import pytest
from treetext import block, program, text

from sdgrad.optimize.reductions.split_sums import sum_beside
from sdgrad.program.naming import all_names

DECLARATIONS = """
argument x: float64[4, 4]
argument g: float64[4, 4]
body
"""


def split(body):
    found = program(DECLARATIONS + body)
    return text(sum_beside(found, all_names(found))), text(found)


def test_row_sums():
    found, _ = split("  map i=0:4, j=0:4:\n    t = g[i, j]\n    x[i, j] += t\n    x[i, 2] += t\n")
    assert found == block("""
        map i=0:4, j=0:4:
          t = g[i, j]
          x[i, j] += t
          sum_x[i] += t (fresh)
        map i=0:4:
          v = sum_x[i]
          x[i, 2] += v
    """)


@pytest.mark.parametrize(
    "body",
    [
        "  map i=0:4, j=0:4:\n    t = g[i, j]\n    x[i, 2] += t\n",  # nothing beside it
        "  map i=0:4, j=0:4:\n    t = x[i, j]\n    x[i, j] += t\n    x[i, 2] += t\n",  # read, too
        "  map i=0:4, j=0:4:\n    t = g[i, j]\n    x[i, j] = t\n    x[i, 2] += t\n",  # assigned, too
        "  map i=0:4, j=0:i:\n    t = g[i, j]\n    x[i, j] += t\n    x[i, 2] += t\n",  # a triangle
        "  for i=0:4, j=0:4:\n    t = g[i, j]\n    x[i, j] += t\n    x[i, 2] += t\n",  # in order already
        "  map i=0:n, j=0:4:\n    t = g[i, j]\n    x[i, j] += t\n    x[i, 2] += t\n",  # of unknown length
    ],
)
def test_declines(body):
    found, before = split(body)
    assert found == before
