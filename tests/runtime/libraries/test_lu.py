"""The library nodes of an LU factorization and of the solve by its factors: the code that they expand to."""

import dace
import pytest

from sdgrad.runtime.libraries.lu import FactoredSolve, Factorization, factorize, solve
from sdgrad.runtime.libraries.triangular_solve import LOOPS


def graph(node, shapes, dtype=dace.float64, strides=None):
    sdfg = dace.SDFG("graph")
    state = sdfg.add_state()
    for name, shape in shapes.items():
        sdfg.add_array(name, shape, dace.int32 if name == "p" else dtype, strides=(strides or {}).get(name))
        if f"_{name}" in node.out_connectors:
            state.add_edge(node, f"_{name}", state.add_write(name), None, sdfg.make_array_memlet(name))
        else:
            state.add_edge(state.add_read(name), None, node, f"_{name}", sdfg.make_array_memlet(name))
    return node, state, sdfg


MATRIX = {"a": [4, 4], "f": [4, 4], "p": [4]}
SYSTEM = {"f": [4, 4], "p": [4], "b": [4, 2], "x": [4, 2]}


@pytest.mark.parametrize("how", ["blas", "loops"])
def test_a_factorization(how):
    found = factorize(*graph(Factorization(), MATRIX, strides={"a": [9, 1]}), how)
    assert found.code.as_string == f"sdgrad::factorize_by_{how}(4, _a, 9, _f, 4, _p);"
    assert found.out_connectors == {"_f": dace.pointer(dace.float64), "_p": dace.pointer(dace.int32)}


@pytest.mark.parametrize("adjoint", [False, True])
def test_a_solve(adjoint):
    found = solve(*graph(FactoredSolve(adjoint=adjoint), SYSTEM), "loops")
    assert found.code.as_string == f"sdgrad::solve_by_loops(4, 2, _f, 4, _p, _b, 2, _x, 2, {str(adjoint).lower()});"


def test_rows_must_be_contiguous():
    with pytest.raises(TypeError, match="'factorization' takes matrices whose rows are contiguous"):
        factorize(*graph(Factorization(), MATRIX, strides={"a": [1, 4]}), "loops")


def test_nodes_expand_to_loops_without_blas():
    node, state, sdfg = graph(Factorization(), MATRIX)
    found = node.implementations[LOOPS]
    assert "factorize_by_loops" in found.expansion(node, state, sdfg).code.as_string
