"""Graphs that DaCe makes of programs have the values and gradients of the programs, whatever was done to the graphs."""

import dace
import numpy as np
import pytest
from corpus import CORPUS
from dace.sdfg.state import LoopRegion
from doors import DOORS, EXPANDED, outcomes
from graphs import call
from programs import PROGRAMS
from references import assert_close

import sdgrad

BY_NAME = {p.name: p for p in (*PROGRAMS, *CORPUS)}

EQUAL = (
    "call_annotated_with_symbol",
    "call_inside_map",
    "grid_by_a_step",
    "grid_of_constants",
    "if_overwrites_its_condition",
    "indices_after_returns_in_branches",
    "indices_chosen_and_overwritten",
    "loop_over_nothing",
    "spmv",
    "where_broadcast_condition",
    "while_in_a_called_program",
    "while_on_an_element",
    "while_on_elements_in_while",
)
"""Programs that come out right by all doors."""

ENDLESS = (
    "break_out_of_an_endless_loop",
    "return_from_while",
    "steps_of_a_loop_around",
)
"""Programs whose tape has no size before they have run: in two halves, they are refused."""

ONE_WAY = ("loop_with_a_step_from_an_argument", "steps_against_an_argument", "steps_from_an_argument")
"""Loops that count by an argument: LoopToMap makes some maps, whose steps DaCe asserts to be positive."""


def different(name: str) -> dict:
    found = outcomes(BY_NAME[name])
    assert found.keys() == {d.name for d in DOORS}
    return {door: o for door, o in found.items() if o.status != "equal"}


@pytest.mark.parametrize("name", EQUAL)
def test_by_all_doors(name):
    assert not different(name)


@pytest.mark.parametrize("name", ENDLESS)
def test_not_in_two_halves(name):
    found = different(name)
    halves = [found.pop(d.name) for d in DOORS if d.halves]
    assert all(o.status == "refused" and "known only after the forward pass" in o.message for o in halves)
    assert not found


@pytest.mark.parametrize("name", ONE_WAY)
def test_steps_from_arguments(name):
    assert different(name).keys() <= {"fused", "inlined"}


def test_maps_as_loops():
    assert outcomes(BY_NAME["parts_at_places_of_data"], [EXPANDED])[EXPANDED.name].status == "equal"


def test_products_over_one_element():
    """DaCe has no such product: another node stands in its place."""
    found = outcomes(BY_NAME["products_over_one_element"], DOORS[:2])
    assert all(o.status == "equal" for o in found.values())


def test_refused():
    """Code of which no pass sees what symbols it reads."""
    found = outcomes(BY_NAME["value_at_argmax"], DOORS[:2])
    assert all(o.status == "refused" and "and its code uses '__i0'" in o.message for o in found.values())


def test_a_loop_that_moves_its_bound():
    """Graphs ask for the bound before each iteration, also for one in a symbol."""
    sdfg = dace.SDFG("a_bound_that_moves")
    sdfg.add_array("A", [9], dace.float64)
    sdfg.add_array("S", [1], dace.float64)
    before = sdfg.add_state(is_start_block=True)
    loop = LoopRegion("loop", "i < n", "i", "i = 0", "i = i + 1")
    sdfg.add_edge(before, loop, dace.InterstateEdge(assignments={"n": "6"}))
    state = loop.add_state(is_start_block=True)
    tasklet = state.add_tasklet("step", {"a", "s"}, {"out"}, "out = s * a * a + a")
    state.add_edge(state.add_read("A"), None, tasklet, "a", dace.Memlet("A[i]"))
    state.add_edge(state.add_read("S"), None, tasklet, "s", dace.Memlet("S[0]"))
    state.add_edge(tasklet, "out", state.add_write("S"), None, dace.Memlet("S[0]"))
    loop.add_edge(state, loop.add_state(), dace.InterstateEdge(assignments={"n": "n - 1"}))
    sdgrad.add_backward_pass(sdfg, inputs="A", outputs="S")
    values = {"A": np.arange(1.0, 10.0), "S": np.ones(1), "gradient_A": np.zeros(9), "gradient_S": np.ones(1)}
    found = call(sdfg, values)
    assert found["S"] == 93.0
    assert_close(found["gradient_A"], [108.0, 81.0, 61.0, 0, 0, 0, 0, 0, 0], 1e-12, "gradient")


def test_symbols_of_loops_do_not_stay():
    """What the graph assigned, and the differentiated one does not mention, is no argument of it."""
    program = BY_NAME["loop_over_nothing"]
    arguments = dict(zip(program.argument_names, program.inputs(np.random.default_rng(1)), strict=True))
    forward = dace.program(program.function).to_sdfg(**arguments)
    sdgrad.add_backward_pass(forward, ["A"], ["__return"], separate_sdfgs=True)
    assert not forward.free_symbols
