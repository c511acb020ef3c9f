"""Programs as graphs: program in, states and tasklets out."""

from dace import nodes as nd
from dace.sdfg.state import ConditionalBlock, LoopRegion, SDFGState
from treetext import program

from sdgrad.program.emit import emit


def tasklet(sdfg):
    (found,) = (n for n, _ in sdfg.all_nodes_recursive() if isinstance(n, nd.Tasklet))
    return found


LEAF = """
argument x: float64[8]
argument y: float64[8]
body
  map i=0:8:
    v = x[i]
    w = sin(v)
    y[i] {} w
"""


def test_leaf_becomes_a_tasklet_in_a_map():
    sdfg = emit(program(LEAF.format("=")))
    (state,) = sdfg.states()
    found = tasklet(sdfg)
    assert found.code.as_string == "w = sin(v)\nout0 = w"
    assert str(state.in_edges(found)[0].data) == "x[i]" and str(state.out_edges(found)[0].data) == "y[i]"
    assert found.label.endswith("_apart")  # instances are independent


def test_sum_becomes_a_conflict_resolution():
    sdfg = emit(program(LEAF.format("+=")))
    (state,) = sdfg.states()
    (edge,) = state.out_edges(tasklet(sdfg))
    assert edge.data.wcr == "lambda x, y: x + y" and edge.data.wcr_nonatomic


def test_index_from_data_sees_the_whole_array():
    sdfg = emit(
        program("""
        argument x: float64[8]
        argument at: int64[8]
        body
          map i=0:8:
            k = at[i]
            v = 2.0
            x[k] = v
    """)
    )
    assert tasklet(sdfg).code.as_string == "v = 2.0\ninto0_x[k] = v"


def test_guarded_store():
    sdfg = emit(
        program("""
        argument x: float64[8]
        body
          map i=0:8:
            v = x[i]
            c = v > 0
            x[i] = v if c
    """)
    )
    assert tasklet(sdfg).code.as_string == "c = (v > 0)\nif c:\n    out0 = v"


CONTROL = """
argument x: float64[8]
body
  n := m + 1
  loop k = 0 .. n step {}:
    if k > 2:
      do:
        v = 1.0
        x[k] = v
"""


def test_control_flow():
    sdfg = emit(program(CONTROL.format("1"), symbols="m n"))
    (loop,) = (n for n in sdfg.nodes() if isinstance(n, LoopRegion))
    assert loop.loop_condition.as_string == "(k <= n)" and loop.update_statement.as_string == "k = (k + 1)"
    (branch,) = loop.nodes()
    assert isinstance(branch, ConditionalBlock) and branch.branches[0][0].as_string == "(k > 2)"
    assert {"n": "m + 1"} in [dict(e.data.assignments) for e in sdfg.edges()]


def test_loop_of_an_unknown_step_is_a_while_loop():
    sdfg = emit(program(CONTROL.format("s"), symbols="m n s"))
    (loop,) = (n for n in sdfg.nodes() if isinstance(n, LoopRegion))
    assert not loop.loop_variable
    assert "(s > 0)" in loop.loop_condition.as_string and "(s < 0)" in loop.loop_condition.as_string


def test_scope_becomes_a_nested_graph():
    sdfg = emit(
        program("""
        argument x: float64[8]
        body
          map i=0:8:
            local t: float64[1]
            do:
              v = x[i]
              t[0] = v
            loop k = 0 .. 2 step 1:
              do:
                u = t[0]
                x[i] += u
    """)
    )
    (state,) = sdfg.states()
    (nested,) = (n for n in state.nodes() if isinstance(n, nd.NestedSDFG))
    assert set(nested.in_connectors) == {"x"} and set(nested.out_connectors) == {"x"}
    assert nested.sdfg.arrays["t"].transient and not nested.sdfg.arrays["x"].transient
    assert [type(n) for n in nested.sdfg.nodes()] == [SDFGState, LoopRegion]
