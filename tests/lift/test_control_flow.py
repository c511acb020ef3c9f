"""Control flow of an SDFG as a program tree."""

import dace
import pytest
from dace.properties import CodeBlock
from dace.sdfg.state import BreakBlock, ConditionalBlock, ControlFlowRegion, LoopRegion
from treetext import block, text

from sdgrad.errors import DifferentiationError
from sdgrad.lift.control_flow import lift_sdfg
from sdgrad.lift.prepare import prepare


def graph() -> dace.SDFG:
    """A graph over a vector ``x`` and a counter ``n``, without states."""
    sdfg = dace.SDFG("graph")
    sdfg.add_array("x", [8], dace.float64)
    sdfg.add_array("n", [1], dace.int64)
    return sdfg


def store(region: ControlFlowRegion, value: str, index: str, container: str = "x", first: bool = True):
    """A state with one tasklet that stores a value."""
    state = region.add_state(is_start_block=first)
    tasklet = state.add_tasklet("store", {}, {"out"}, f"out = {value}")
    state.add_edge(tasklet, "out", state.add_write(container), None, dace.Memlet(f"{container}[{index}]"))
    return state


def lifted(sdfg: dace.SDFG, read_once: bool = False) -> str:
    return text(lift_sdfg(prepare(sdfg), read_once))


def test_states_in_a_row():
    sdfg = graph()
    first = store(sdfg, "1.0", "0")
    second = store(sdfg, "2.0", "k", first=False)
    sdfg.add_symbol("k", dace.int64)
    sdfg.add_edge(first, second, dace.InterstateEdge(assignments={"k": "n[0] + 1"}))
    assert lifted(sdfg) == block("""
        do:
          v = 1.0
          x[0] = v
        k_0 := v_n + 1 with v_n = n[0]
        do:
          v_0 = 2.0
          x[k_0] = v_0
    """)


def test_a_counted_loop():
    sdfg = graph()
    loop = LoopRegion("loop", "i < 8", "i", "i = 2", "i = i + 3")
    sdfg.add_node(loop, is_start_block=True)
    store(loop, "1.0", "i")
    assert lifted(sdfg) == block("""
        loop i = 2 .. 7 step 3:
          do:
            v = 1.0
            x[i] = v
    """)


def loop_that_changes_its_bound() -> dace.SDFG:
    sdfg = graph()
    loop = LoopRegion("loop", "i < n[0]", "i", "i = 0", "i = i + 1")
    sdfg.add_node(loop, is_start_block=True)
    store(loop, "5", "0", "n")
    return sdfg


def test_a_loop_that_changes_its_bound_runs_while_its_condition_holds():
    found = lifted(loop_that_changes_its_bound())
    assert "loop trip = 0 ... step 1 while" in found
    assert "v_n = n[0]" in found


def test_a_python_loop_reads_its_bound_once():
    assert "loop i = 0 .. v_n - 1 with v_n = n[0] step 1:" in lifted(loop_that_changes_its_bound(), read_once=True)


def test_a_variable_that_is_read_later_has_the_value_beyond_the_last_iteration():
    sdfg = graph()
    loop = LoopRegion("loop", "i < 5", "i", "i = 0", "i = i + 1")
    sdfg.add_node(loop, is_start_block=True)
    store(loop, "1.0", "i")
    after = store(sdfg, "2.0", "i", first=False)
    sdfg.add_edge(loop, after, dace.InterstateEdge())
    found = lifted(sdfg).splitlines()
    assert found[0].startswith("i_0 := 0 + 1 * max(0, int_floor(4 - 0 + 1, 1))")
    assert found[-1] == "  x[i_0] = v_0"


def test_a_symbol_that_an_iteration_passes_on_lives_in_a_container():
    sdfg = graph()
    sdfg.add_symbol("k", dace.int64)
    start = sdfg.add_state(is_start_block=True)
    loop = LoopRegion("loop", "i < 8", "i", "i = 0", "i = i + 1")
    sdfg.add_node(loop)
    sdfg.add_edge(start, loop, dace.InterstateEdge(assignments={"k": "0"}))
    first = store(loop, "1.0", "k")
    second = loop.add_state()
    loop.add_edge(first, second, dace.InterstateEdge(assignments={"k": "(k + i) % 8"}))
    assert lifted(sdfg) == block("""
        k_0 := 0
        do:
          v = k_0
          k_value[0] = v
        loop i = 0 .. 7 step 1:
          k_1 := v_0 with v_0 = k_value[0]
          do:
            v_1 = 1.0
            x[k_1] = v_1
          do:
            v_2 = (k_1 + i) % 8
            k_value[0] = v_2
          k_2 := v_3 with v_3 = k_value[0]
    """)


def test_a_conditional_gives_a_symbol_one_name_for_both_arms():
    sdfg = graph()
    sdfg.add_symbol("k", dace.int64)
    branch = ConditionalBlock("branch")
    sdfg.add_node(branch, is_start_block=True)
    for condition, value in (("n[0] > 3", "4"), (None, "n[0]")):
        arm = ControlFlowRegion(f"arm{value[0]}", sdfg=sdfg)
        branch.add_branch(CodeBlock(condition) if condition else None, arm)
        first, second = arm.add_state(is_start_block=True), arm.add_state()
        arm.add_edge(first, second, dace.InterstateEdge(assignments={"k": value}))
    after = store(sdfg, "2.0", "k", first=False)
    sdfg.add_edge(branch, after, dace.InterstateEdge())
    assert lifted(sdfg) == block("""
        if v_n > 3 with v_n = n[0]:
          k_0 := 4
          k_2 := k_0
        else:
          k_1 := v_n_0 with v_n_0 = n[0]
          k_2 := k_1
        do:
          v = 2.0
          x[k_2] = v
    """)


def test_a_break_becomes_a_condition_of_the_loop():
    sdfg = graph()
    loop = LoopRegion("loop", "i < 8", "i", "i = 0", "i = i + 1")
    sdfg.add_node(loop, is_start_block=True)
    state = store(loop, "1.0", "i")
    branch = ConditionalBlock("branch")
    loop.add_node(branch)
    loop.add_edge(state, branch, dace.InterstateEdge())
    arm = ControlFlowRegion("arm", sdfg=sdfg)
    branch.add_branch(CodeBlock("n[0] > 3"), arm)
    arm.add_node(BreakBlock("leave"), is_start_block=True)
    assert "while v_break_flag == 0" in lifted(sdfg)


def test_control_flow_without_structure_is_refused():
    sdfg = graph()
    a, b, c = (store(sdfg, "1.0", "0", first=k == 0) for k in range(3))
    sdfg.add_edge(a, b, dace.InterstateEdge("n[0] > 0"))
    sdfg.add_edge(a, c, dace.InterstateEdge("n[0] <= 0"))
    sdfg.add_edge(b, c, dace.InterstateEdge("n[0] > 1"))
    sdfg.add_edge(c, b, dace.InterstateEdge("n[0] > 2"))
    with pytest.raises(DifferentiationError, match="unstructured control flow"):
        lift_sdfg(sdfg)


def loop_of_steps(update: str) -> dace.SDFG:
    sdfg = graph()
    sdfg.add_symbol("step", dace.int64)
    loop = LoopRegion("loop", "i < 8", "i", "i = 0", update)
    sdfg.add_node(loop, is_start_block=True)
    store(loop, "1.0", "i")
    return sdfg


def test_a_step_whose_sign_the_caller_chooses():
    found = lifted(loop_of_steps("i = i + step"))
    assert "i_trips := min(1, max(0, i_step)) * " in found
    assert "loop trip = 0 .. i_trips - 1 step 1:" in found and "x[i_start + i_step*trip] = v" in found
    assert "loop trip = 0 ... step 1 while" in lifted(loop_of_steps("i += step"))


@pytest.mark.parametrize("update, step", [("i = i + 2", "2"), ("i += 2", "2")])
def test_a_step_whose_sign_is_known(update, step):
    assert f"step {step}:" in lifted(loop_of_steps(update)) or "while" in lifted(loop_of_steps(update))
