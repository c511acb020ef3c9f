"""Windows of access nodes and memlets."""

import dace
import pytest

from sdgrad.errors import UnsupportedNode
from sdgrad.lift.data_access import DataAccess, connector_of, source_of
from sdgrad.lift.views import Env
from sdgrad.program.names import Names
from sdgrad.symbolic.expr import sym

I = sym("i")


def graph() -> tuple[dace.SDFG, dace.SDFGState, Env]:
    """A graph over a matrix ``A``, with a view ``row`` of it."""
    sdfg = dace.SDFG("graph")
    sdfg.add_array("A", [4, 8], dace.float64)
    sdfg.add_view("row", [8], dace.float64)
    env = Env(Names(), {}, {})
    env.declare("A", sdfg.arrays["A"])
    return sdfg, sdfg.add_state(), env


def viewed() -> tuple[DataAccess, dace.nodes.AccessNode]:
    """``row`` as a view of ``A[2, :]``, which a tasklet reads."""
    sdfg, state, env = graph()
    view, tasklet = state.add_access("row"), state.add_tasklet("use", {"a"}, {}, "", side_effects=True)
    state.add_edge(state.add_read("A"), None, view, "views", dace.Memlet("A[2, 0:8]"))
    state.add_edge(view, None, tasklet, "a", dace.Memlet("row[1:5]"))
    return DataAccess(state, sdfg, env), view


def test_a_container_is_seen_as_a_whole():
    sdfg, state, env = graph()
    window = DataAccess(state, sdfg, env).window(state.add_read("A"))
    assert window.whole and window.index((I, I)) == (I, I)


def test_a_view_is_seen_at_its_offset():
    access, view = viewed()
    assert access.window(view).index((I,)) == (2, I)
    assert access.viewed(view).data == "A"
    assert str(access.viewed_subset(view)) == "2, 0:8"


def test_a_view_edge_moves_no_data():
    access, view = viewed()
    (into,), (out,) = access.state.in_edges(view), access.state.out_edges(view)
    assert access.is_view_edge(into) and not access.is_view_edge(out)


def test_the_operand_of_a_call_is_a_view():
    access, view = viewed()
    (out,) = access.state.out_edges(view)
    assert str(access.region(out)) == "row[1:5]"
    assert str(access.env.containers["row"]) == "local row: float64[8] view of A[2, 0:8]"


def test_a_call_has_the_regions_of_its_connectors():
    access, view = viewed()
    (out,) = access.state.out_edges(view)
    call = access.call(out.dst, "a reason")
    assert {k: str(v) for k, v in call.inputs.items()} == {"a": "row[1:5]"}
    assert not call.outputs and call.reason == "a reason"


def test_streams_are_refused():
    sdfg, state, env = graph()
    sdfg.add_stream("s", dace.float64)
    with pytest.raises(UnsupportedNode, match="Stream s"):
        DataAccess(state, sdfg, env).window(state.add_access("s"))


def test_a_memlet_without_a_connector_is_refused():
    tasklet = dace.nodes.Tasklet("t")
    assert connector_of("a", tasklet) == "a"
    with pytest.raises(UnsupportedNode, match="Tasklet 't' with an operand without a connector"):
        connector_of(None, tasklet)


def test_an_element_without_a_line_has_its_label():
    assert str(source_of(dace.nodes.Tasklet("t"))) == "<graph> (t)"
