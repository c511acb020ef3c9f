"""Tasklets of a state with their connectors."""

import dace
from treetext import block

from sdgrad.lift.data_access import DataAccess
from sdgrad.lift.tasklet_nodes import TaskletReader
from sdgrad.lift.views import Env
from sdgrad.program.names import Names
from sdgrad.program.tree import NodeCall, lines


def graph() -> tuple[dace.SDFG, dace.SDFGState, TaskletReader]:
    sdfg = dace.SDFG("graph")
    state, env = sdfg.add_state(), Env(Names(), {}, {})
    for name in ("x", "y"):
        _, desc = sdfg.add_array(name, [8], dace.float64)
        env.declare(name, desc)
    return sdfg, state, TaskletReader(DataAccess(state, sdfg, env))


def connected(state: dace.SDFGState, tasklet: dace.nodes.Tasklet, taken: str, given: dace.Memlet) -> None:
    state.add_edge(state.add_read("x"), None, tasklet, "a", dace.Memlet(taken))
    state.add_edge(tasklet, "b", state.add_write("y"), None, given)


def test_scalars_are_loaded_and_stored():
    _, state, reader = graph()
    tasklet = state.add_tasklet("t", {"a"}, {"b"}, "b = a * a")
    connected(state, tasklet, "x[3]", dace.Memlet("y[4]"))
    assert "\n".join(lines(reader.tasklet(tasklet))) == block("""
        do:
          v_x = x[3]
          v = v_x * v_x
          y[4] = v
    """)


def test_arrays_are_subscripted():
    _, state, reader = graph()
    tasklet = state.add_tasklet("t", {"a"}, {"b"}, "b = a[0] + a[1]")
    connected(state, tasklet, "x[3:5]", dace.Memlet("y[4]"))
    assert "\n".join(lines(reader.tasklet(tasklet))) == block("""
        do:
          v_x = x[3]
          v_x_0 = x[4]
          v = v_x + v_x_0
          y[4] = v
    """)


def test_a_write_conflict_resolution_is_an_update():
    _, state, reader = graph()
    tasklet = state.add_tasklet("t", {"a"}, {"b"}, "b = a")
    connected(state, tasklet, "x[3]", dace.Memlet("y[4]", wcr="lambda p, q: p + q"))
    assert lines(reader.tasklet(tasklet))[-1] == "  y[4] += v_x"


def test_an_output_may_go_to_several_places():
    _, state, reader = graph()
    tasklet = state.add_tasklet("t", {"a"}, {"b"}, "b = a")
    connected(state, tasklet, "x[3]", dace.Memlet("y[4]"))
    state.add_edge(tasklet, "b", state.add_write("x"), None, dace.Memlet("x[5]"))
    assert lines(reader.tasklet(tasklet))[-2:] == ["  y[4] = v_x", "  x[5] = v_x"]


def test_a_tasklet_passes_a_value_to_another_one():
    _, state, reader = graph()
    first, second = state.add_tasklet("f", {"a"}, {"c"}, "c = a"), state.add_tasklet("g", {"c"}, {"b"}, "b = 2 * c")
    state.add_edge(state.add_read("x"), None, first, "a", dace.Memlet("x[0]"))
    state.add_edge(first, "c", second, "c", dace.Memlet())
    state.add_edge(second, "b", state.add_write("y"), None, dace.Memlet("y[0]"))
    first.out_connectors["c"] = dace.float32
    assert lines(reader.tasklet(first)) == ["do:", "  v_x = x[0]", "  f_c[0] = v_x"]
    assert lines(reader.tasklet(second)) == ["do:", "  v_c = f_c[0]", "  v = 2 * v_c", "  y[0] = v"]
    assert reader.env.containers["f_c"].dtype == dace.float32


def test_other_tasklets_stay_calls():
    _, state, reader = graph()
    foreign = state.add_tasklet("t", {"a"}, {"b"}, "b = a;", language=dace.Language.CPP)
    connected(state, foreign, "x[3]", dace.Memlet("y[4]"))
    call = reader.tasklet(foreign)
    assert isinstance(call, NodeCall) and call.reason == "a tasklet in CPP"
    looping = state.add_tasklet("t", {"a"}, {"b"}, "while a > 0:\n    b = a")
    connected(state, looping, "x[3]", dace.Memlet("y[4]"))
    call = reader.tasklet(looping)
    assert isinstance(call, NodeCall) and call.reason == "a tasklet holds the statement 'while a > 0:'"
