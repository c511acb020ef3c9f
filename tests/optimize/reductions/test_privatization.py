"""Private copies of sums: the chunks and the merge as text, and what is declined."""

from dataclasses import replace

import pytest
from treetext import block, program

from sdgrad.config import config
from sdgrad.optimize.reductions.privatization import in_chunks
from sdgrad.program.naming import all_names
from sdgrad.program.tree import lines

SUM = """
argument x: float64[{n}, 2]
argument y: float64[2]
body
  map i=0:{n}, j=0:2:
    t = x[i, j]
    y[j] += t
"""
SMALL = {"private_copies": 3, "parallel_instructions": 0, "private_merge_share": 1}


def privatized(source, keep=None, **thresholds):
    found = program(source)
    leaf = found.body[0]
    row = next((p for p in leaf.params if p.name == keep), None)
    with config.override(machine=replace(config.machine, **{**SMALL, **thresholds})):
        return in_chunks(leaf, row, found, all_names(found))


def test_chunks():
    chunked, merges, copies = privatized(SUM.format(n=12))
    assert "\n".join(line for node in (chunked, *merges) for line in lines(node)) == block("""
        map chunk=0:3, turn=0:4, j=0:2:
          t = x[4*chunk + turn, j]
          part_y[chunk, j] += t (fresh)
        map chunk=0:3, j=0:2:
          v = part_y[chunk, j]
          y[j] += v
    """)
    assert [str(c) for c in copies] == ["local part_y: float64[3, 2]"]


def test_a_last_chunk_is_shorter():
    chunked, _, _ = privatized(SUM.format(n=10))
    assert [str(p) for p in chunked.params] == ["chunk=0:3", "turn=0:Min(3, 9 - 4*chunk) + 1", "j=0:2"]


@pytest.mark.parametrize(
    ("n", "keep", "thresholds"),
    [
        (12, None, {"parallel_instructions": 10**6}),  # too little work
        (12, None, {"private_elements": 5}),  # copies that are too large
        (12, None, {"private_merge_share": 100}),  # merging takes too long
        (12, "i", {}),  # the other parameter is too short
        (4, None, {}),  # chunks of one iteration
        ("n", None, {}),  # of unknown length
    ],
)
def test_declines(n, keep, thresholds):
    assert privatized(SUM.format(n=n), keep, **thresholds) is None
