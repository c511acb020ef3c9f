"""Powers that count elements are integers in DaCe's eyes, and SymPy's again when a graph is read."""

import dace
from dace import symbolic
from treetext import program

from sdgrad.program.integer_powers import has_powers, with_integer_powers, with_plain_powers

R, K = dace.symbol("R"), dace.symbol("K")


def graph() -> dace.SDFG:
    sdfg = dace.SDFG("powers")
    sdfg.add_array("x", [R**K, R**2], dace.float64)
    state = sdfg.add_state()
    map_entry, map_exit = state.add_map("m", {"i": dace.subsets.Range([(0, R**K - 1, 1)])})
    tasklet = state.add_tasklet("t", {}, {"out"}, "out = 1.0")
    state.add_edge(map_entry, None, tasklet, None, dace.Memlet())
    state.add_memlet_path(tasklet, map_exit, state.add_write("x"), src_conn="out", memlet=dace.Memlet("x[i, R**K]"))
    return sdfg


def test_there_and_back():
    sdfg = graph()
    before = str(sdfg.arrays["x"]), [str(e.data) for e in sdfg.start_block.edges()]
    with_integer_powers(sdfg)
    shape = sdfg.arrays["x"].shape
    assert shape == (symbolic.ipow(R, K), R**2)
    assert all(not n.has(symbolic.ipow) for n in sdfg.arrays["x"].strides[1:] if hasattr(n, "has"))
    with_plain_powers(sdfg)
    assert before == (str(sdfg.arrays["x"]), [str(e.data) for e in sdfg.start_block.edges()])


def test_most_programs_have_none():
    assert not has_powers(program("argument x: float64[n**2]\nbody\n"))
    assert has_powers(program("argument x: float64[2**n]\nbody\n"))
