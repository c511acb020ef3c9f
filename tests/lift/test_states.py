"""States of an SDFG: copies, maps and nested SDFGs."""

import dace
from dace.transformation.helpers import nest_state_subgraph
from treetext import block

from sdgrad.lift.control_flow import lift_body, lift_sdfg
from sdgrad.lift.prepare import prepare
from sdgrad.lift.states import StateLifting
from sdgrad.lift.views import Env
from sdgrad.program.names import Names
from sdgrad.program.tree import NodeCall, Program, lines


def graph() -> tuple[dace.SDFG, dace.SDFGState]:
    sdfg = dace.SDFG("graph")
    for name, shape in (("x", [8]), ("y", [8]), ("A", [4, 8]), ("n", [1])):
        sdfg.add_array(name, shape, dace.int64 if name == "n" else dace.float64)
    return sdfg, sdfg.add_state()


def read(sdfg: dace.SDFG) -> Program:
    return lift_sdfg(prepare(sdfg))


def written(sdfg: dace.SDFG) -> str:
    return "\n".join(line for n in read(sdfg).body for line in lines(n))


def test_an_edge_between_access_nodes_is_a_copy():
    sdfg, state = graph()
    state.add_nedge(
        state.add_read("x"), state.add_write("A"), dace.Memlet(data="x", subset="0:8", other_subset="2, 0:8")
    )
    assert written(sdfg) == block("""
        map i0=0:8:
          v_x = x[i0]
          A[2, i0] = v_x
    """)


def test_a_copy_that_overlaps_goes_through_a_temporary():
    sdfg, state = graph()
    state.add_nedge(state.add_read("x"), state.add_write("x"), dace.Memlet(data="x", subset="0:6", other_subset="2:8"))
    assert written(sdfg) == block("""
        map i0=0:6:
          v_x = x[i0]
          x_before[i0] = v_x
        map i0_0=0:6:
          v_x_before = x_before[i0_0]
          x[i0_0 + 2] = v_x_before
    """)


def test_a_copy_between_disjoint_parts_is_direct():
    sdfg, state = graph()
    state.add_nedge(state.add_read("x"), state.add_write("x"), dace.Memlet(data="x", subset="0:4", other_subset="4:8"))
    assert "x_before" not in written(sdfg)


def mapped(sdfg: dace.SDFG, state: dace.SDFGState, stop: str) -> None:
    """``y[i] = 2 * x[i]`` for i from 1 up to ``stop``."""
    memlets = {"a": dace.Memlet("x[i]")}, {"b": dace.Memlet("y[i]")}
    state.add_mapped_tasklet("double", {"i": f"1:{stop}"}, memlets[0], "b = 2 * a", memlets[1], external_edges=True)


def test_a_map_is_a_scope():
    sdfg, state = graph()
    mapped(sdfg, state, "8")
    assert written(sdfg) == block("""
        map i=1:8:
          do:
            v_x = x[i]
            v = 2 * v_x
            y[i] = v
    """)


def test_a_bound_that_a_map_reads_from_data_gets_a_symbol():
    sdfg, state = graph()
    mapped(sdfg, state, "m")
    (entry,) = (n for n in state.nodes() if isinstance(n, dace.nodes.MapEntry))
    entry.add_in_connector("m")
    state.add_edge(state.add_read("n"), None, entry, "m", dace.Memlet("n[0]"))
    assert written(sdfg).splitlines()[:2] == ["m := v_n with v_n = n[0]", "map i=1:m:"]


def test_a_transient_of_one_scope_is_a_local():
    sdfg, state = graph()
    sdfg.add_transient("t", [1], dace.float64)
    entry, exit_ = state.add_map("rows", {"i": "0:8"})
    first, second = state.add_tasklet("f", {"a"}, {"b"}, "b = a + 1"), state.add_tasklet("g", {"a"}, {"b"}, "b = a * a")
    between = state.add_access("t")
    state.add_memlet_path(state.add_read("x"), entry, first, dst_conn="a", memlet=dace.Memlet("x[i]"))
    state.add_edge(first, "b", between, None, dace.Memlet("t[0]"))
    state.add_edge(between, None, second, "a", dace.Memlet("t[0]"))
    state.add_memlet_path(second, exit_, state.add_write("y"), src_conn="b", memlet=dace.Memlet("y[i]"))
    found = read(sdfg)
    assert list(map(str, found.body[0].locals)) == ["local t_0: float64[1]"]
    assert "t" not in found.containers


def test_a_nested_graph_is_read_in_place():
    sdfg, state = graph()
    mapped(sdfg, state, "8")
    before = written(sdfg)
    nest_state_subgraph(sdfg, state, dace.sdfg.graph.SubgraphView(state, state.nodes()))
    assert written(sdfg) == before


def test_a_nested_graph_without_structure_is_a_call():
    sdfg, state = graph()
    inner = dace.SDFG("inner")
    inner.add_array("y", [8], dace.float64)
    inner.add_symbol("p", dace.int64)
    a, b, c = (inner.add_state(is_start_block=k == 0) for k in range(3))
    for src, dst, condition in ((a, b, "p > 0"), (a, c, "p <= 0"), (b, c, "p > 1"), (c, b, "p > 2")):
        inner.add_edge(src, dst, dace.InterstateEdge(condition))
    nested = state.add_nested_sdfg(inner, {}, {"y"}, {"p": "3"})
    state.add_edge(nested, "y", state.add_write("y"), None, dace.Memlet("y[0:8]"))
    env = Env(Names(), {}, {})
    env.declare("y", sdfg.arrays["y"])
    (call,) = StateLifting(state, sdfg, env, lift_body).scope(None)
    assert isinstance(call, NodeCall) and call.reason.startswith("unstructured control flow")
    assert str(call.outputs["y"]) == "y[0:8]"
    assert set(env.containers) == {"y"}
