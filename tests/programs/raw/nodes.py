"""Library nodes: reductions, transposition, products, sums by index letters."""

import dace
import numpy as np
from dace import Memlet
from dace.libraries.blas.nodes import Dot, Gemm, Gemv, MatMul
from dace.libraries.blas.nodes.einsum import Einsum
from dace.libraries.linalg.nodes import TensorDot, Transpose

from .._base import distinct, signed
from ._base import doubles, raw, temporaries


def _reduction(sdfg, axes, shape, wcr, identity):
    doubles(sdfg, A=[3, 4, 5], B=shape)
    state = sdfg.add_state()
    node = state.add_reduce(wcr, axes, identity)
    state.add_nedge(state.add_read("A"), node, Memlet("A[0:3, 0:4, 0:5]"))
    state.add_nedge(node, state.add_write("B"), Memlet.from_array("B", sdfg.arrays["B"]))


@raw(
    lambda rng: {"A": signed(rng, (3, 4, 5)), "B": signed(rng, 4)},
    "A B",
    "B",
    lambda v: {"B": np.sum(v["A"], axis=(0, 2))},
    "library reduce sum",
)
def reduce_sum_over_two_axes(sdfg):
    _reduction(sdfg, [0, 2], [4], "lambda a, b: a + b", 0)


@raw(
    lambda rng: {"A": signed(rng, (3, 4, 5)), "B": signed(rng, (3, 4))},
    "A B",
    "B",
    lambda v: {"B": v["B"] + np.sum(v["A"], axis=2)},
    "library reduce sum accumulate",
)
def reduce_sum_onto_output(sdfg):
    _reduction(sdfg, [2], [3, 4], "lambda a, b: a + b", None)


@raw(
    lambda rng: {"A": distinct(rng, (3, 4, 5)), "B": np.zeros((3, 5))},
    "A",
    "B",
    lambda v: {"B": np.max(v["A"], axis=1)},
    "library reduce max",
)
def reduce_max_over_middle_axis(sdfg):
    _reduction(sdfg, [1], [3, 5], "lambda a, b: max(a, b)", -1e30)


@raw(
    lambda rng: {"A": distinct(rng, (3, 4, 5)), "B": np.zeros(1)},
    "A",
    "B",
    lambda v: {"B": np.min(v["A"], keepdims=True).reshape(1)},
    "library reduce min",
)
def reduce_min_over_everything(sdfg):
    _reduction(sdfg, None, [1], "lambda a, b: min(a, b)", 1e30)


@raw(
    lambda rng: {"A": signed(rng, (3, 4, 5)) + 0.5, "B": np.zeros((4, 5))},
    "A",
    "B",
    lambda v: {"B": np.prod(v["A"], axis=0)},
    "library reduce product",
)
def reduce_product_over_first_axis(sdfg):
    _reduction(sdfg, [0], [4, 5], "lambda a, b: a * b", 1)


@raw(
    lambda rng: {"A": signed(rng, (3, 5)), "B": np.zeros((5, 3))},
    "A",
    "B",
    lambda v: {"B": v["A"].T.copy()},
    "library transpose",
)
def transpose_node(sdfg):
    doubles(sdfg, A=[3, 5], B=[5, 3])
    state = sdfg.add_state()
    node = Transpose("transpose", dtype=dace.float64)
    state.add_node(node)
    state.add_edge(state.add_read("A"), None, node, "_inp", Memlet("A[0:3, 0:5]"))
    state.add_edge(node, "_out", state.add_write("B"), None, Memlet("B[0:5, 0:3]"))


def _two_operands(sdfg, node, connectors, a, b, c):
    state = sdfg.add_state()
    state.add_node(node)
    state.add_edge(state.add_read("A"), None, node, connectors[0], Memlet(a))
    state.add_edge(state.add_read("B"), None, node, connectors[1], Memlet(b))
    state.add_edge(node, connectors[2], state.add_write("C"), None, Memlet(c))
    return state


@raw(
    lambda rng: {"A": signed(rng, (3, 4)), "B": signed(rng, (4, 5)), "C": np.zeros((3, 5))},
    "A B",
    "C",
    lambda v: {"C": v["A"] @ v["B"]},
    "library matmul",
)
def matmul_node(sdfg):
    doubles(sdfg, A=[3, 4], B=[4, 5], C=[3, 5])
    _two_operands(sdfg, MatMul("product"), ("_a", "_b", "_c"), "A[0:3, 0:4]", "B[0:4, 0:5]", "C[0:3, 0:5]")


@raw(
    lambda rng: {"A": signed(rng, (2, 3, 4)), "B": signed(rng, (2, 4, 5)), "C": np.zeros((2, 3, 5))},
    "A B",
    "C",
    lambda v: {"C": v["A"] @ v["B"]},
    "library matmul batched",
)
def batched_matmul_node(sdfg):
    doubles(sdfg, A=[2, 3, 4], B=[2, 4, 5], C=[2, 3, 5])
    _two_operands(
        sdfg,
        MatMul("product"),
        ("_a", "_b", "_c"),
        "A[0:2, 0:3, 0:4]",
        "B[0:2, 0:4, 0:5]",
        "C[0:2, 0:3, 0:5]",
    )


# DaCe's BLAS expansions declare the connector _c twice in C++ (the "pure" one is right).
@raw(
    lambda rng: {"A": signed(rng, (4, 3)), "B": signed(rng, (4, 5)), "C": signed(rng, (3, 5))},
    "A B C",
    "C",
    lambda v: {"C": 1.5 * v["A"].T @ v["B"] + 0.5 * v["C"]},
    "library gemm transpose inplace dace-library-fails",
)
def gemm_with_factors(sdfg):
    doubles(sdfg, A=[4, 3], B=[4, 5], C=[3, 5])
    node = Gemm("product", transA=True, alpha=1.5, beta=0.5)
    state = _two_operands(sdfg, node, ("_a", "_b", "_c"), "A[0:4, 0:3]", "B[0:4, 0:5]", "C[0:3, 0:5]")
    state.add_edge(state.add_read("C"), None, node, "_c", Memlet("C[0:3, 0:5]"))


@raw(
    lambda rng: {"A": signed(rng, (4, 3)), "B": signed(rng, 4), "C": np.zeros(3)},
    "A B",
    "C",
    lambda v: {"C": v["A"].T @ v["B"]},
    "library gemv transpose",
)
def gemv_transposed(sdfg):
    doubles(sdfg, A=[4, 3], B=[4], C=[3])
    node = Gemv("product", transA=True)
    _two_operands(sdfg, node, ("_A", "_x", "_y"), "A[0:4, 0:3]", "B[0:4]", "C[0:3]")


@raw(
    lambda rng: {"A": signed(rng, 6), "B": signed(rng, (6, 3)), "C": np.zeros(1)},
    "A B",
    "C",
    lambda v: {"C": np.array([v["A"] @ v["B"][:, 1]])},
    "library dot strides",
)
def dot_with_a_column(sdfg):
    doubles(sdfg, A=[6], B=[6, 3], C=[1])
    _two_operands(sdfg, Dot("dot"), ("_x", "_y", "_result"), "A[0:6]", "B[0:6, 1]", "C[0]")


@raw(
    lambda rng: {"A": signed(rng, (2, 3, 4)), "B": signed(rng, (4, 3, 5)), "C": np.zeros((2, 5))},
    "A B",
    "C",
    lambda v: {"C": np.tensordot(v["A"], v["B"], axes=([1, 2], [1, 0]))},
    "library tensordot",
)
def tensordot_node(sdfg):
    doubles(sdfg, A=[2, 3, 4], B=[4, 3, 5], C=[2, 5])
    node = TensorDot("tensordot", left_axes=[1, 2], right_axes=[1, 0])
    _two_operands(
        sdfg,
        node,
        ("_left_tensor", "_right_tensor", "_out_tensor"),
        "A[0:2, 0:3, 0:4]",
        "B[0:4, 0:3, 0:5]",
        "C[0:2, 0:5]",
    )


@raw(
    lambda rng: {"A": signed(rng, (2, 3, 4)), "B": signed(rng, (2, 4)), "C": np.zeros((3, 2))},
    "A B",
    "C",
    lambda v: {"C": np.einsum("bij,bj->ib", v["A"], v["B"])},
    "library einsum",
)
def einsum_node(sdfg):
    doubles(sdfg, A=[2, 3, 4], B=[2, 4], C=[3, 2])
    node = Einsum("einsum", inputs={"a", "b"}, outputs={"c"})
    node.einsum_str = "bij,bj->ib"
    _two_operands(sdfg, node, ("a", "b", "c"), "A[0:2, 0:3, 0:4]", "B[0:2, 0:4]", "C[0:3, 0:2]")


def _norm_of_product(v):
    c = v["A"] @ v["B"]
    return {"s": np.array([np.sum(c * c)])}


@raw(
    lambda rng: {"A": signed(rng, (3, 4)), "B": signed(rng, (4, 5)), "s": np.zeros(1)},
    "A B",
    "s",
    _norm_of_product,
    "library matmul reduce transient",
)
def product_then_reduce(sdfg):
    doubles(sdfg, A=[3, 4], B=[4, 5], s=[1])
    temporaries(sdfg, C=[3, 5], D=[3, 5])
    state = _two_operands(sdfg, MatMul("product"), ("_a", "_b", "_c"), "A[0:3, 0:4]", "B[0:4, 0:5]", "C[0:3, 0:5]")
    after = sdfg.add_state_after(state)
    d = after.add_access("D")
    after.add_mapped_tasklet(
        "square",
        {"i": "0:3", "j": "0:5"},
        {"x": Memlet("C[i, j]")},
        "y = x * x",
        {"y": Memlet("D[i, j]")},
        external_edges=True,
        output_nodes={"D": d},
    )
    node = after.add_reduce("lambda a, b: a + b", None, 0)
    after.add_nedge(d, node, Memlet("D[0:3, 0:5]"))
    after.add_nedge(node, after.add_write("s"), Memlet("s[0]"))
