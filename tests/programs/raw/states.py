"""Several states, symbols assigned on edges, branches, and overwrites between states and within one."""

import dace
import numpy as np
from dace import Memlet
from dace.sdfg.state import ConditionalBlock, ControlFlowRegion, LoopRegion

from .._base import signed
from ._base import doubles, raw, temporaries


def _map(state, code, size, source, target, **nodes):
    """A map of one tasklet from ``x`` of ``source`` to ``y`` of ``target``."""
    return state.add_mapped_tasklet(
        "compute",
        {"i": f"0:{size}"},
        {"x": Memlet(source)},
        code,
        {"y": Memlet(target)},
        external_edges=True,
        **nodes,
    )


def _three_states(v):
    t = np.sin(v["A"])
    b = t * t
    return {"B": b, "A": b + 1.0}


@raw(
    lambda rng: {"A": signed(rng, 5), "B": signed(rng, 5)},
    "A B",
    "A B",
    _three_states,
    "states inplace outputs",
)
def three_states(sdfg):
    doubles(sdfg, A=[5], B=[5])
    temporaries(sdfg, t=[5])
    first = sdfg.add_state()
    _map(first, "y = sin(x)", 5, "A[i]", "t[i]")
    second = sdfg.add_state_after(first)
    _map(second, "y = x * x", 5, "t[i]", "B[i]")
    third = sdfg.add_state_after(second)
    _map(third, "y = x + 1.0", 5, "B[i]", "A[i]")


def _overwritten_transient(v):
    a = v["A"]
    return {"B": a * a, "C": np.sin(a) * 2.0}


@raw(
    lambda rng: {"A": signed(rng, 5), "B": np.zeros(5), "C": np.zeros(5)},
    "A",
    "B C",
    _overwritten_transient,
    "states transient reused outputs",
)
def transient_reused(sdfg):
    doubles(sdfg, A=[5], B=[5], C=[5])
    temporaries(sdfg, t=[5])
    first = sdfg.add_state()
    _map(first, "y = x * x", 5, "A[i]", "t[i]")
    second = sdfg.add_state_after(first)
    _map(second, "y = x", 5, "t[i]", "B[i]")
    third = sdfg.add_state_after(second)
    _map(third, "y = sin(x)", 5, "A[i]", "t[i]")
    fourth = sdfg.add_state_after(third)
    _map(fourth, "y = 2.0 * x", 5, "t[i]", "C[i]")


def _in_one_state(v):
    a = v["A"] * v["A"]
    return {"A": np.sin(a)}


@raw(lambda rng: {"A": signed(rng, 5)}, "A", "A", _in_one_state, "inplace one-state repeated")
def overwritten_twice_in_one_state(sdfg):
    doubles(sdfg, A=[5])
    state = sdfg.add_state()
    before, middle, after = (state.add_access("A") for _ in range(3))
    _map(state, "y = x * x", 5, "A[i]", "A[i]", input_nodes={"A": before}, output_nodes={"A": middle})
    _map(state, "y = sin(x)", 5, "A[i]", "A[i]", input_nodes={"A": middle}, output_nodes={"A": after})


def _halves(v):
    return {"B": np.concatenate((v["A"][:3] ** 2, np.cos(v["A"][3:])))}


@raw(lambda rng: {"A": signed(rng, 6), "B": signed(rng, 6)}, "A B", "B", _halves, "one-state several-writes")
def two_halves_through_one_node(sdfg):
    doubles(sdfg, A=[6], B=[6])
    state = sdfg.add_state()
    a, b = state.add_access("A"), state.add_access("B")
    _map(state, "y = x * x", 3, "A[i]", "B[i]", input_nodes={"A": a}, output_nodes={"B": b})
    _map(state, "y = cos(x)", 3, "A[i + 3]", "B[i + 3]", input_nodes={"A": a}, output_nodes={"B": b})


def _unordered(v):
    return {"B": np.concatenate((v["A"][:2], v["B"][2:4], 3.0 * v["A"][4:]))}


@raw(
    lambda rng: {"A": signed(rng, 6), "B": signed(rng, 6)},
    "A B",
    "B",
    _unordered,
    "one-state several-writes copy",
)
def two_access_nodes_written(sdfg):
    doubles(sdfg, A=[6], B=[6])
    state = sdfg.add_state()
    state.add_nedge(state.add_read("A"), state.add_write("B"), Memlet("A[0:2] -> [0:2]"))
    _map(state, "y = 3.0 * x", 2, "A[i + 4]", "B[i + 4]")


# Symbols on edges ------------------------------------------------------------------------------------


def _integer_symbol(v):
    b = np.array(v["B"])
    b[3] = v["A"][3] * v["A"][4]
    b[5] = v["A"][5] * v["A"][6]
    return {"B": b}


@raw(lambda rng: {"A": signed(rng, 8), "B": signed(rng, 8)}, "A B", "B", _integer_symbol, "states symbol int")
def integer_symbol_reassigned(sdfg):
    doubles(sdfg, A=[8], B=[8])
    sdfg.add_symbol("k", dace.int64)
    previous = sdfg.add_state("start")
    for label, value in (("one", "3"), ("two", "k + 2")):
        state = sdfg.add_state(label)
        sdfg.add_edge(previous, state, dace.InterstateEdge(assignments={"k": value}))
        t = state.add_tasklet("multiply", {"x", "y"}, {"z"}, "z = x * y")
        a = state.add_read("A")
        state.add_edge(a, None, t, "x", Memlet("A[k]"))
        state.add_edge(a, None, t, "y", Memlet("A[k + 1]"))
        state.add_edge(t, "z", state.add_write("B"), None, Memlet("B[k]"))
        previous = state


def _symbol_from_array(v):
    k = int(v["idx"][1])
    b = np.array(v["B"])
    b[k] = np.sin(v["A"][k])
    return {"B": b}


@raw(
    lambda rng: {"A": signed(rng, 6), "B": signed(rng, 6), "idx": np.array([4, 2])},
    "A B",
    "B",
    _symbol_from_array,
    "states symbol int indirect",
)
def integer_symbol_from_array(sdfg):
    doubles(sdfg, A=[6], B=[6])
    sdfg.add_array("idx", [2], dace.int64)
    sdfg.add_symbol("k", dace.int64)
    start, state = sdfg.add_state("start"), sdfg.add_state("use")
    sdfg.add_edge(start, state, dace.InterstateEdge(assignments={"k": "idx[1]"}))
    t = state.add_tasklet("sine", {"x"}, {"y"}, "y = sin(x)")
    state.add_edge(state.add_read("A"), None, t, "x", Memlet("A[k]"))
    state.add_edge(t, "y", state.add_write("B"), None, Memlet("B[k]"))


def _float_symbol(v):
    s = v["A"][0] * 2
    return {"B": v["A"] * s + s * s}


@raw(lambda rng: {"A": signed(rng, 6), "B": np.zeros(6)}, "A", "B", _float_symbol, "states symbol float-symbol")
def float_symbol(sdfg):
    doubles(sdfg, A=[6], B=[6])
    sdfg.add_symbol("s", dace.float64)
    start, state = sdfg.add_state("start"), sdfg.add_state("use")
    sdfg.add_edge(start, state, dace.InterstateEdge(assignments={"s": "A[0] * 2"}))
    _map(state, "y = x * s + s * s", 6, "A[i]", "B[i]")


def _float_symbol_outlives(v):
    s = v["A"][1] * v["A"][2]
    return {"A": np.sin(v["A"]) * s}


@raw(lambda rng: {"A": signed(rng, 6)}, "A", "A", _float_symbol_outlives, "states symbol float-symbol inplace")
def float_symbol_outlives_its_array(sdfg):
    doubles(sdfg, A=[6])
    sdfg.add_symbol("s", dace.float64)
    start, first = sdfg.add_state("start"), sdfg.add_state("first")
    sdfg.add_edge(start, first, dace.InterstateEdge(assignments={"s": "A[1] * A[2]"}))
    _map(first, "y = sin(x)", 6, "A[i]", "A[i]")
    second = sdfg.add_state_after(first)
    _map(second, "y = x * s", 6, "A[i]", "A[i]")


def _float_symbol_argument(v):
    return {"B": v["A"] * v["scale"]}


@raw(
    lambda rng: {"A": signed(rng, 5), "B": np.zeros(5), "scale": 1.75},
    "A",
    "B",
    _float_symbol_argument,
    "symbol float-symbol argument",
)
def float_symbol_argument(sdfg):
    doubles(sdfg, A=[5], B=[5])
    sdfg.add_symbol("scale", dace.float64)
    _map(sdfg.add_state(), "y = x * scale", 5, "A[i]", "B[i]")


# Branches ---------------------------------------------------------------------------------------------


def _branch(sdfg, block, condition, code, source, target, size):
    region = ControlFlowRegion(f"branch_{len(block.branches)}", sdfg=sdfg)
    block.add_branch(condition, region)
    _map(region.add_state(is_start_block=True), code, size, source, target)


def _conditional(v):
    a = v["A"]
    return {"B": a * a if a[0] > 0 else np.exp(a)}


@raw(lambda rng: {"A": signed(rng, 5), "B": np.zeros(5)}, "A", "B", _conditional, "conditional control")
def conditional_block(sdfg):
    doubles(sdfg, A=[5], B=[5])
    block = ConditionalBlock("choice", sdfg=sdfg)
    sdfg.add_node(block, is_start_block=True)
    _branch(sdfg, block, "A[0] > 0", "y = x * x", "A[i]", "B[i]", 5)
    _branch(sdfg, block, None, "y = exp(x)", "A[i]", "B[i]", 5)


def _three_ways(v):
    a, b, n = v["A"], np.array(v["B"]), v["N"]
    if n > 10:
        b = a * a
    elif n > 3:
        b = np.sin(a) * 1.0
    return {"B": b * b}


@raw(
    lambda rng: {"A": signed(rng, 5), "B": signed(rng, 5), "N": 5},
    "A B",
    "B",
    _three_ways,
    "conditional control symbol inplace",
)
def conditional_block_without_else(sdfg):
    doubles(sdfg, A=["N"], B=["N"])
    block = ConditionalBlock("choice", sdfg=sdfg)
    sdfg.add_node(block, is_start_block=True)
    _branch(sdfg, block, "N > 10", "y = x * x", "A[i]", "B[i]", "N")
    _branch(sdfg, block, "N > 3", "y = sin(x)", "A[i]", "B[i]", "N")
    after = sdfg.add_state_after(block)
    _map(after, "y = x * x", "N", "B[i]", "B[i]")


def _diamond(v):
    a = np.array(v["A"])
    s = np.sum(a)
    t = a * a if s > 0 else -a
    return {"A": t * 3.0}


@raw(lambda rng: {"A": signed(rng, 5)}, "A", "A", _diamond, "diamond control inplace")
def diamond_of_states(sdfg):
    doubles(sdfg, A=[5])
    temporaries(sdfg, s=[1])
    start = sdfg.add_state()
    node = start.add_reduce("lambda a, b: a + b", None, 0)
    start.add_nedge(start.add_read("A"), node, Memlet("A[0:5]"))
    start.add_nedge(node, start.add_write("s"), Memlet("s[0]"))
    yes, no, end = sdfg.add_state("yes"), sdfg.add_state("no"), sdfg.add_state("end")
    sdfg.add_edge(start, yes, dace.InterstateEdge("s[0] > 0"))
    sdfg.add_edge(start, no, dace.InterstateEdge("not (s[0] > 0)"))
    sdfg.add_edge(yes, end, dace.InterstateEdge())
    sdfg.add_edge(no, end, dace.InterstateEdge())
    _map(yes, "y = x * x", 5, "A[i]", "A[i]")
    _map(no, "y = -x", 5, "A[i]", "A[i]")
    _map(end, "y = 3.0 * x", 5, "A[i]", "A[i]")


@raw(
    lambda rng: {"A": signed(rng, 4), "B": np.zeros(4)},
    "A",
    "B",
    lambda v: {"B": v["A"] * 2.0},
    "dead unused",
)
def dead_containers_and_empty_states(sdfg):
    doubles(sdfg, A=[4], B=[4])
    temporaries(sdfg, never=[3], unread=[4])
    first = sdfg.add_state()
    _map(first, "y = exp(x)", 4, "A[i]", "unread[i]")
    second = sdfg.add_state_after(sdfg.add_state_after(first, "empty"))
    _map(second, "y = 2.0 * x", 4, "A[i]", "B[i]")


def _square_and_move(v):
    a = np.array(v["A"])
    for k in range(3):
        a[k] = a[k] * a[k + 1]
    return {"B": a * a[3]}  # the first value that ends the loop


@raw(lambda rng: {"A": signed(rng, 5), "B": np.zeros(5)}, "A", "B", _square_and_move, "control symbol loop")
def loop_variable_read_after_the_loop(sdfg):
    doubles(sdfg, A=[5], B=[5])
    temporaries(sdfg, copied=[5])
    start = sdfg.add_state()
    _map(start, "y = x", 5, "A[i]", "copied[i]")
    loop = LoopRegion("count", "k < 3", "k", "k = 0", "k = k + 1")
    sdfg.add_node(loop)
    sdfg.add_edge(start, loop, dace.InterstateEdge())
    body = loop.add_state(is_start_block=True)
    t = body.add_tasklet("t", {"x", "y"}, {"z"}, "z = x * y")
    for connector, element in (("x", "k"), ("y", "k + 1")):
        body.add_edge(body.add_read("copied"), None, t, connector, Memlet(f"copied[{element}]"))
    body.add_edge(t, "z", body.add_write("copied"), None, Memlet("copied[k]"))
    end = sdfg.add_state()
    sdfg.add_edge(loop, end, dace.InterstateEdge())
    end.add_mapped_tasklet(
        "product",
        {"i": "0:5"},
        {"x": Memlet("copied[i]"), "c": Memlet("copied[k]")},
        "y = x * c",
        {"y": Memlet("B[i]")},
        external_edges=True,
    )


def _symbol_of_the_last_trip(v):
    k = 0
    for i in range(3):
        k = int(v["index"][i])
    return {"B": v["A"] * v["A"][k]}


@raw(
    lambda rng: {"A": signed(rng, 5), "index": np.array([3, 0, 2]), "B": np.zeros(5)},
    "A",
    "B",
    _symbol_of_the_last_trip,
    "control symbol loop",
)
def symbol_of_the_last_trip(sdfg):
    doubles(sdfg, A=[5], B=[5])
    sdfg.add_array("index", [3], dace.int64)
    sdfg.add_symbol("k", dace.int64)
    loop = LoopRegion("count", "t < 3", "t", "t = 0", "t = t + 1")
    sdfg.add_node(loop, is_start_block=True)
    first, second = loop.add_state(is_start_block=True), loop.add_state()
    loop.add_edge(first, second, dace.InterstateEdge(assignments={"k": "index[t]"}))
    end = sdfg.add_state()
    sdfg.add_edge(loop, end, dace.InterstateEdge())
    end.add_mapped_tasklet(
        "product",
        {"i": "0:5"},
        {"x": Memlet("A[i]"), "c": Memlet("A[k]")},
        "y = x * c",
        {"y": Memlet("B[i]")},
        external_edges=True,
    )
