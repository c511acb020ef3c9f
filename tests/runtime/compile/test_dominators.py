"""Dominators are found once for each graph while its code is generated, and are what DaCe finds."""

import dace
import pytest
from dace.sdfg import utils
from dace.sdfg.state import LoopRegion

from sdgrad.runtime.compile.dominators import dominators_once


def looped() -> dace.SDFG:
    sdfg = dace.SDFG("looped")
    first = sdfg.add_state("first", is_start_block=True)
    loop = LoopRegion("loop", "i < 3", "i", "i = 0", "i = i + 1")
    sdfg.add_node(loop)
    sdfg.add_edge(first, loop, dace.InterstateEdge())
    inner, meet = loop.add_state("inner", is_start_block=True), loop.add_state("meet")
    for name in ("left", "right"):
        loop.add_edge(inner, side := loop.add_state(name), dace.InterstateEdge())
        loop.add_edge(side, meet, dace.InterstateEdge())
    sdfg.add_edge(loop, sdfg.add_state("last"), dace.InterstateEdge())
    return sdfg


def found(sdfg: dace.SDFG) -> tuple[dict, ...]:
    of_blocks: tuple[dict, ...] = ({}, {}, {}, {})
    utils.get_control_flow_block_dominators(sdfg, *of_blocks)
    return of_blocks


@pytest.fixture
def calls(monkeypatch):
    seen, find = [], utils.get_control_flow_block_dominators
    monkeypatch.setattr(utils, "get_control_flow_block_dominators", lambda s, *a: seen.append(s) or find(s, *a))
    return seen


def test_once_for_each_graph_and_as_dace_finds_them(calls):
    one, other = looped(), looped()
    expected = found(one)
    del calls[:]
    with dominators_once():
        first = found(one)
        first[1].setdefault(one.start_block, set()).add("what DaCe adds")
        assert found(one) == expected
        found(other)
    assert calls == [one, other]
    found(one)
    assert len(calls) == 3
