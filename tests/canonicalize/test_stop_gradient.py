"""Containers that are read as constants."""

import pytest
from treetext import block, program, text

from sdgrad.canonicalize.stop_gradient import stop_at
from sdgrad.errors import NameNotFound

BEFORE = """
    argument x: float64[8]
    argument y: float64[8]
    local part: float64[4] view of x[0:4]
    body
      map i=0:4:
        u = x[i]
        v = y[i]
        w = u * v
        y[i] = w
      map i=0:4:
        u = part[i]
        y[i] = u
"""


def test_reads_of_a_container_and_its_views_are_detached():
    assert text(stop_at(program(BEFORE), ["x"])) == block("""
        map i=0:4:
          u_0 = x[i]
          u = sdgrad_detached(u_0)
          v = y[i]
          w = u * v
          y[i] = w
        map i=0:4:
          u_1 = part[i]
          u = sdgrad_detached(u_1)
          y[i] = u
    """)


def test_without_names_nothing_changes():
    before = program(BEFORE)
    assert stop_at(before, []) is before


def test_an_unknown_name_is_refused():
    with pytest.raises(NameNotFound, match="z"):
        stop_at(program(BEFORE), ["z"])
