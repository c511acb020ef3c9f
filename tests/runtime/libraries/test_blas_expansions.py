"""Expansions of library nodes: calls of BLAS for operands that it takes, loops or an error for others."""

import dace
import pytest
from dace import nodes as nd
from dace.libraries.blas.nodes import batched_matmul, gemm
from dace.libraries.linalg.nodes import solve

from sdgrad.runtime.libraries.blas_expansions import IMPLEMENTATION
from sdgrad.runtime.libraries.blas_operands import gemm_operands, lapack_operands, plain_operands
from sdgrad.runtime.libraries.lu import FactoredSolve, Factorization
from sdgrad.runtime.libraries.triangular_solve import TriangularSolve


def graph(node, shapes, dtype=dace.float64, types=None, subsets=None, **desc):
    """A graph of one node; connectors are ``_a`` for an array ``a``, and the last array is the result."""
    sdfg = dace.SDFG("graph")
    state = sdfg.add_state()
    for name, shape in shapes.items():
        sdfg.add_array(name, shape, (types or {}).get(name, dtype), **desc)
        memlet = dace.Memlet(f"{name}[{subsets[name]}]") if name in (subsets or {}) else sdfg.make_array_memlet(name)
        if f"_{name}" in node.out_connectors:
            state.add_edge(node, f"_{name}", state.add_write(name), None, memlet)
        else:
            state.add_edge(state.add_read(name), None, node, f"_{name}", memlet)
    return node, state, sdfg


def expanded(node, state, sdfg):
    return node.implementations[IMPLEMENTATION].expansion(node, state, sdfg)


SQUARE = {"a": [4, 4], "b": [4, 4], "c": [4, 4]}


def product(**options):
    return graph(gemm.Gemm("product"), SQUARE, **options)


def test_a_product_is_a_call():
    found = expanded(*product())
    assert isinstance(found, nd.Tasklet) and "cblas_dgemm" in found.code.as_string


@pytest.mark.parametrize("dtype", [dace.int64, dace.float16])
def test_other_types_are_loops(dtype):
    assert isinstance(expanded(*product(dtype=dtype)), dace.SDFG)


@pytest.mark.parametrize(
    "options",
    [
        {"dtype": dace.int32},
        {"types": {"a": dace.float32}},
        {"storage": dace.StorageType.GPU_Global},
        {"subsets": {"a": "0:4, 0:4:2"}},
    ],
    ids=["integers", "two types", "device memory", "steps"],
)
def test_operands_that_blas_does_not_take(options):
    assert plain_operands(*product()) and not plain_operands(*product(**options))


@pytest.mark.parametrize(("strides", "fits"), [([4, 1], True), ([1, 4], True), ([8, 2], False), ([3, 1], False)])
def test_strides_of_matrices(strides, fits):
    assert gemm_operands(*product(strides=strides)) == fits


def test_pivots_are_no_matrices():
    given = graph(Factorization(), {"a": [4, 4], "f": [4, 4], "p": [4]}, types={"p": dace.int32})
    assert lapack_operands(*given) and not plain_operands(*given)


def system(dtype=dace.float64):
    return graph(FactoredSolve(), {"f": [4, 4], "p": [4], "b": [4, 2], "x": [4, 2]}, dtype, {"p": dace.int32})


def test_nodes_of_this_library_choose_their_code():
    assert "solve_by_blas(4, 2" in expanded(*system()).code.as_string
    assert "solve_by_loops(4, 2" in expanded(*system(dace.float16)).code.as_string
    triangular = TriangularSolve(), {"a": [4, 4], "b": [4, 2], "x": [4, 2]}
    assert "cblas_dtrsm" in expanded(*graph(*triangular)).code.as_string
    assert "rest -=" in expanded(*graph(*triangular, dace.float16)).code.as_string


def test_a_system_that_lapack_does_not_take_is_refused():
    node = solve.Solve("system")
    names = dict(zip([*sorted(node.in_connectors), *node.out_connectors], ([4, 4], [4], [4]), strict=True))
    with pytest.raises(TypeError, match="'system' has operands of type .*int64.*: LAPACK takes one of"):
        expanded(*graph(node, {n[1:]: s for n, s in names.items()}, dace.int64))


def test_stacks_are_loops_of_calls():
    stacks = {"a": [3, 4, 5], "b": [5, 6], "c": [3, 4, 6]}
    found = expanded(*graph(batched_matmul.BatchedMatMul("stacks"), stacks))
    assert "cblas_dgemm" in found.code.as_string
    assert isinstance(expanded(*graph(batched_matmul.BatchedMatMul("stacks"), stacks, dace.int64)), dace.SDFG)
