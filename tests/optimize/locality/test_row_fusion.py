"""Row fusion: nests over the same rows become one map, and temporaries shrink to one row."""

from dataclasses import replace

import pytest
from treetext import block, program, text

from sdgrad.config import config
from sdgrad.optimize.locality.row_fusion import fuse_rows

NORMALIZED = """
    argument X: float64[20, 100]
    argument Y: float64[20, 100]
    local s: float64[20]
    body
      map i=0:20, j=0:100:
        v = X[i, j]
        s[i] += v (fresh)
      map p=0:20, q=0:100:
        w = X[p, q]
        t = s[{row}]
        u = w / t
        Y[p, q] = u
"""


@pytest.fixture(autouse=True)
def thresholds(monkeypatch):
    monkeypatch.setattr(config, "machine", replace(config.machine, fused_rows=16, fused_row=64))


def test_two_nests_share_their_rows():
    found = fuse_rows(program(NORMALIZED.format(row="p")))
    assert text(found) == block("""
        map i=0:20:
          local s: float64[1]
          map j=0:100:
            v = X[i, j]
            s[0] += v (fresh)
          map q=0:100:
            w = X[i, q]
            t = s[0]
            u = w / t
            Y[i, q] = u
    """)


def test_rows_that_an_argument_holds_are_not_contracted():
    found = fuse_rows(program(NORMALIZED.format(row="p").replace("local s", "argument s")))
    assert "s[i] += v (fresh)" in text(found) and "local s" not in text(found)


def test_independent_nodes_in_between_are_passed():
    source = """
        argument X: float64[20, 100]
        argument Y: float64[20, 100]
        argument z: float64[1]
        body
          map i=0:20, j=0:100:
            v = X[i, j]
            Y[i, j] = v
          do:
            x = 1.0
            z[0] = x
          map i=0:20, j=0:100:
            w = Y[i, j]
            u = w * w
            Y[i, j] = u
    """
    assert text(fuse_rows(program(source))) == block("""
        map i=0:20:
          map j=0:100:
            v = X[i, j]
            Y[i, j] = v
          map j=0:100:
            w = Y[i, j]
            u = w * w
            Y[i, j] = u
        do:
          x = 1.0
          z[0] = x
    """)


def unchanged(source):
    given = program(source)
    return text(fuse_rows(given)) == text(given)


@pytest.mark.parametrize("row", ["19 - p", "0"], ids=["another row", "one row"])
def test_a_dependence_across_rows_prevents_fusion(row):
    assert unchanged(NORMALIZED.format(row=row))


def test_few_or_short_rows_stay_apart():
    source = NORMALIZED.format(row="p")
    assert unchanged(source.replace("0:20", "0:4"))
    assert unchanged(source.replace("0:100", "0:10"))


def test_a_node_in_between_that_depends_on_the_first_prevents_fusion():
    lines = NORMALIZED.format(row="p").splitlines()
    k = next(k for k, line in enumerate(lines) if "map p" in line)
    between = ["      do:", "        a = s[3]", "        b = 2.0 * a", "        s[3] = b"]
    assert unchanged("\n".join([*lines[:k], *between, *lines[k:]]))


def test_rows_across_memory_stay_apart():
    """Columns: the number of a "row" has unit stride."""
    assert unchanged("""
        argument X: float64[100, 20]
        argument s: float64[20]
        argument t: float64[20]
        body
          map i=0:20, j=0:100:
            v = X[j, i]
            s[i] += v (fresh)
          map i=0:20, j=0:100:
            w = X[j, i]
            a = s[i]
            u = w * a
            t[i] += u (fresh)
    """)
