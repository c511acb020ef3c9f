"""Symbols that may be read after a block."""

import dace
from dace.sdfg.state import LoopRegion

from sdgrad.lift.symbol_liveness import live_symbols


def loop_with(assignments: dict[str, str], index: str) -> tuple[dace.SDFG, LoopRegion]:
    """A loop whose first state stores to ``x[index]``, and then assigns symbols; ``x[m]`` is stored after it."""
    sdfg = dace.SDFG("graph")
    sdfg.add_array("x", [8], dace.float64)
    for name in ("k", "m"):
        sdfg.add_symbol(name, dace.int64)
    loop = LoopRegion("loop", "i < 8", "i", "i = 0", "i = i + 1")
    sdfg.add_node(loop, is_start_block=True)
    after = sdfg.add_state()
    sdfg.add_edge(loop, after, dace.InterstateEdge())
    first, second = loop.add_state(is_start_block=True), loop.add_state()
    loop.add_edge(first, second, dace.InterstateEdge(assignments=assignments))
    for state, at in ((first, index), (after, "m")):
        tasklet = state.add_tasklet("store", {}, {"out"}, "out = 1.0")
        state.add_edge(tasklet, "out", state.add_write("x"), None, dace.Memlet(f"x[{at}]"))
    return sdfg, loop


def test_a_symbol_that_the_next_iteration_reads_is_handed_on():
    sdfg, loop = loop_with({"k": "i + 1"}, "k")
    live = live_symbols(sdfg)
    assert "k" in live.handed_on(loop)
    assert "k" not in live.read_after(loop)


def test_a_symbol_that_is_assigned_first_is_not_handed_on():
    sdfg, loop = loop_with({"k": "i + 1"}, "i")
    assert "k" not in live_symbols(sdfg).handed_on(loop)


def test_a_symbol_that_is_read_after_the_loop_is_live_there():
    sdfg, loop = loop_with({"m": "i + 1"}, "i")
    live = live_symbols(sdfg)
    assert "m" in live.read_after(loop)
    assert "m" in live.handed_on(loop)


def test_without_loops_and_branches_nothing_is_computed():
    sdfg = dace.SDFG("graph")
    state = sdfg.add_state()
    assert not live_symbols(sdfg).read_after(state)
