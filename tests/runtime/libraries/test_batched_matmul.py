"""Products of stacks as C++: which strides BLAS takes, and how it is told."""

import dace
import pytest

from sdgrad.runtime.libraries.batched_matmul import Stack, counters_of, products_of, stacked_products


@pytest.mark.parametrize(
    ("extents", "steps", "lead"),
    [
        ((4, 5), (5, 1), 5),
        ((4, 5), (9, 1), 9),  # a part of longer rows
        ((4, 5), (1, 4), None),  # column-major
        ((4, 5), (3, 1), None),  # rows overlap
        ((1, 5), (0, 1), 5),  # a single row
        ((4, 1), (7, 3), 7),  # a single column
    ],
)
def test_leading_dimensions_of_row_major_matrices(extents, steps, lead):
    assert Stack(extents, steps).by_rows() == lead


def test_transposition_exchanges_rows_and_columns():
    assert Stack((2, 4, 5), (20, 5, 1)).transposed == Stack((2, 5, 4), (20, 1, 5))


def test_offsets_in_a_stack_that_is_broadcast():
    stack = Stack((3, 1, 4, 5), (20, 20, 5, 1))
    assert stack.offset(["i", "j"]) == "i * int64_t(20)"
    assert Stack((4, 5), (5, 1)).offset(["i", "j"]) == "0"


def test_a_loop_for_each_dimension_of_the_stack():
    counters, heads = counters_of([2, dace.symbol("N")])
    assert counters == ["__stack_0", "__stack_1"]
    assert heads.splitlines()[1] == "for (int64_t __stack_1 = 0; __stack_1 < N; ++__stack_1)"


ROWS, COLUMNS = Stack((4, 4), (4, 1)), Stack((4, 4), (1, 4))


def products(a, b, c):
    found = products_of(("_a", a), ("_b", b), ("_c", c), dace.float64)
    return found and [(f.connector, f.is_transposed) for f in (*found.factors, found.result)]


def test_a_column_major_factor_is_transposed():
    assert products(ROWS, COLUMNS, ROWS) == [("_a", False), ("_b", True), ("_c", False)]


def test_a_column_major_result_exchanges_the_factors():
    assert products(ROWS, COLUMNS, COLUMNS) == [("_b", False), ("_a", True), ("_c", False)]


def test_matrices_without_unit_stride_are_not_for_blas():
    assert products(Stack((4, 4), (8, 2)), ROWS, ROWS) is None


def test_code_of_a_node():
    sdfg = dace.SDFG("stacks")
    for name, shape in {"A": [3, 4, 5], "B": [5, 6], "C": [3, 4, 6]}.items():
        sdfg.add_array(name, shape, dace.float64)
    state = sdfg.add_state()
    node = dace.libraries.blas.BatchedMatMul("product")
    for name in "AB":
        state.add_edge(state.add_read(name), None, node, f"_{name.lower()}", sdfg.make_array_memlet(name))
    state.add_edge(node, "_c", state.add_write("C"), None, sdfg.make_array_memlet("C"))
    assert stacked_products(node, state, sdfg) == (
        "for (int64_t __stack_0 = 0; __stack_0 < 3; ++__stack_0)\n"
        "cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 4, 6, 5, 1.0, "
        "_a + __stack_0 * int64_t(20), 5, _b + 0, 6, 0.0, _c + __stack_0 * int64_t(24), 6);"
    )
    node.alpha = 2
    assert stacked_products(node, state, sdfg) is None
