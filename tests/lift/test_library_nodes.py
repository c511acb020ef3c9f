"""Library nodes of a state."""

from collections.abc import Mapping

import dace
from dace import data as dt
from dace.libraries.blas import Einsum
from treetext import block, program

from sdgrad.lift.data_access import DataAccess
from sdgrad.lift.library_nodes import LibraryReader
from sdgrad.lift.views import Env
from sdgrad.program.names import Names
from sdgrad.program.tree import NodeCall, Program, lines


@dace.library.node
class Twice(dace.nodes.LibraryNode):
    """A node that knows its program: twice its operand. It declines for matrices."""

    implementations: dict = {}
    default_implementation = None
    declined = "only of vectors"

    def __init__(self) -> None:
        super().__init__("twice", inputs={"_a"}, outputs={"_b"})

    def lowered(self, operands: Mapping[str, dt.Data]) -> Program | None:
        if len(operands["_a"].shape) != 1:
            return None
        return program("""
        argument _a: float64[8]
        argument _b: float64[8]
        body
          map i=0:8:
            u = _a[i]
            v = 2 * u
            _b[i] = v
        """)


def graph(node: dace.nodes.LibraryNode, taken: str, given: str, connectors=(None, None)):
    """A node between a part of ``A`` or ``x``, and a part of ``x``."""
    sdfg = dace.SDFG("graph")
    state, env = sdfg.add_state(), Env(Names(), {}, {})
    for name, shape in (("A", [3, 8]), ("x", [8]), ("y", [8])):
        _, desc = sdfg.add_array(name, shape, dace.float64)
        env.declare(name, desc)
    state.add_node(node)
    state.add_edge(state.add_read(taken[0]), None, node, connectors[0], dace.Memlet(taken))
    state.add_edge(node, connectors[1], state.add_write(given[0]), None, dace.Memlet(given))
    return LibraryReader(DataAccess(state, sdfg, env))


def written(reader: LibraryReader, node: dace.nodes.LibraryNode) -> str:
    return "\n".join(line for n in reader.library(node) for line in lines(n))


def reduction(wcr: str) -> dace.nodes.LibraryNode:
    return dace.libraries.standard.Reduce("reduce", wcr, [0], 0)


def test_a_reduction_is_a_leaf():
    node = reduction("lambda a, b: a + b")
    assert written(graph(node, "A[0:3, 0:8]", "x[0:8]"), node) == block("""
        map i0=0:3, i1=0:8:
          v_A = A[i0, i1]
          x[i1] += v_A (fresh)
    """)


def test_a_reduction_by_an_unknown_function_is_a_call():
    node = reduction("lambda a, b: a + 2 * b")
    (call,) = graph(node, "A[0:3, 0:8]", "x[0:8]", ("_in", "_out")).library(node)
    assert isinstance(call, NodeCall) and call.reason == "write-conflict resolution 'lambda a, b: a + 2 * b'"


def test_an_einsum_is_a_leaf():
    node = Einsum("einsum", inputs={"_in0"}, outputs={"_out"})
    node.einsum_str = "ij->j"
    reader = graph(node, "A[0:3, 0:8]", "x[0:8]", ("_in0", "_out"))
    assert written(reader, node) == block("""
        map i_j=0:8, i_i=0:3:
          v_A = A[i_i, i_j]
          v = v_A
          x[i_j] += v (fresh)
    """)


def test_a_node_that_knows_its_program_is_replaced_by_it():
    node = Twice()
    assert written(graph(node, "y[0:8]", "x[0:8]", ("_a", "_b")), node) == block("""
        map i=0:8:
          u = y[i]
          v = 2 * u
          x[i] = v
    """)


def test_an_operand_that_the_program_overwrites_is_copied():
    node = Twice()
    reader = graph(node, "x[0:8]", "x[0:8]", ("_a", "_b"))
    found = written(reader, node).splitlines()
    assert found[-3:] == ["  u = _a[i]", "  v_0 = 2 * u", "  x[i] = v_0"]
    assert str(reader.env.containers["_a"]) == "local _a: float64[8]"


def test_a_node_that_declines_is_a_call():
    node = Twice()
    (call,) = graph(node, "A[0:3, 0:8]", "x[0:8]", ("_a", "_b")).library(node)
    assert isinstance(call, NodeCall) and call.reason == "only of vectors"
