"""Graphs made ready for lifting."""

import dace
import pytest
from dace.libraries.blas import Dot
from dace.libraries.standard import Reduce
from dace.sdfg.state import LoopRegion

from sdgrad.errors import InvalidGraph
from sdgrad.lift.prepare import (
    clamp_indirect,
    distinct_labels,
    expand_calls,
    is_unstructured,
    prepare,
    read_single_indices,
)


def graph() -> tuple[dace.SDFG, dace.SDFGState]:
    sdfg = dace.SDFG("graph")
    sdfg.add_array("x", [8], dace.float64)
    sdfg.add_array("y", [1], dace.float64)
    sdfg.add_array("k", [1], dace.int64)
    return sdfg, sdfg.add_state("only")


def copy(state: dace.SDFGState, memlet: str) -> None:
    """An edge from ``x`` through a tasklet to ``y``."""
    tasklet = state.add_tasklet("copy", {"a"}, {"b"}, "b = a")
    state.add_edge(state.add_read("x"), None, tasklet, "a", dace.Memlet(memlet))
    state.add_edge(tasklet, "b", state.add_write("y"), None, dace.Memlet("y[0]"))


def test_the_graph_itself_stays_as_it_is():
    sdfg, state = graph()
    copy(state, "x[0]")
    assert prepare(sdfg) is not sdfg
    assert prepare(sdfg, own=True) is sdfg


def test_an_invalid_graph_is_refused():
    sdfg, state = graph()
    copy(state, "x[0]")
    state.edges()[0].data.subset = dace.subsets.Range.from_string("0, 0")
    with pytest.raises(InvalidGraph, match="'graph' is not valid"):
        prepare(sdfg)


def test_an_array_of_one_element_in_a_subscript_is_read_before():
    sdfg, state = graph()
    copy(state, "x[k]")
    read_single_indices(sdfg)
    (edge,) = sdfg.edges()
    assert edge.data.assignments == {"__sym_k": "k[0]"}
    assert str(next(e.data.subset for e in state.edges() if e.data.data == "x")) == "__sym_k"


def test_a_memlet_beyond_its_container_is_clamped():
    sdfg, state = graph()
    copy(state, "x[0:20]")
    edge = state.edges()[0]
    edge.data.volume = 1
    clamp_indirect(sdfg)
    assert str(edge.data.subset) == "0:8"


def test_a_memlet_of_a_part_is_left_alone():
    sdfg, state = graph()
    copy(state, "x[1:20]")
    edge = state.edges()[0]
    edge.data.volume = 1
    clamp_indirect(sdfg)
    assert str(edge.data.subset) == "1:20"


def test_labels_become_unique():
    sdfg, _ = graph()
    loop = LoopRegion("loop", "i < 8", "i", "i = 0", "i = i + 1")
    sdfg.add_node(loop)
    for _ in range(2):
        loop.add_state("body").label = "body"
    distinct_labels(sdfg)
    assert sorted(b.label for b in loop.nodes()) == ["body", "body_0"]


def test_nodes_without_a_rule_are_expanded_and_reductions_stay():
    sdfg, state = graph()
    dot = Dot("dot")
    state.add_node(dot)
    for connector in ("_x", "_y"):
        state.add_edge(state.add_read("x"), None, dot, connector, dace.Memlet("x[0:8]"))
    state.add_edge(dot, "_result", state.add_write("y"), None, dace.Memlet("y[0]"))
    reduction = state.add_reduce("lambda a, b: a + b", [0], 0)
    state.add_edge(state.add_read("x"), None, reduction, None, dace.Memlet("x[0:8]"))
    state.add_edge(reduction, None, state.add_write("y"), None, dace.Memlet("y[0]"))
    expand_calls(sdfg)
    left = [n for s in sdfg.all_sdfgs_recursive() for st in s.states() for n in st.nodes()]
    assert any(isinstance(n, Reduce) for n in left)
    assert not any(isinstance(n, Dot) for n in left)


def test_a_chain_of_blocks_has_structure():
    sdfg, state = graph()
    second, third = sdfg.add_state(), sdfg.add_state()
    sdfg.add_edge(state, second, dace.InterstateEdge())
    assert not is_unstructured(sdfg)
    sdfg.add_edge(state, third, dace.InterstateEdge("k[0] > 0"))
    assert is_unstructured(sdfg)
