"""The passes over contractions, program in and program out as text."""

from dataclasses import replace

import pytest
from treetext import block, program, text

from sdgrad.config import config
from sdgrad.optimize.contractions.blas_calls import use_blas
from sdgrad.optimize.contractions.loop_contraction import sums_behind_loops
from sdgrad.optimize.contractions.strip_mining import strips_of_products
from sdgrad.optimize.contractions.sweep_fusion import sweep_matrices
from sdgrad.optimize.contractions.triangular_tiling import split_triangles
from sdgrad.program.naming import all_names


@pytest.fixture(autouse=True)
def small_matrices():
    small = replace(
        config.machine,
        blas_multiplications=8,
        triangle_rows=4,
        swept_row=4,
        swept_bytes=64,
        sweep_block_bytes=256,
        strip_multiplications=8,
    )
    with config.override(machine=small):
        yield


def after(apply, before, **options):
    return apply(before, all_names(before), **options)


def unchanged(apply, before):
    return after(apply, before).body == before.body


PRODUCT = """
    argument A: float64[{A}]
    argument B: float64[{B}]
    argument C: float64[{C}]
    argument s: float64[1]
    body
      map {params}:
        a = A[{a}]
        b = B[{b}]
        v = {value}
        C[{c}] {op}
"""


def product(params, a, b, c, value="a * b", op="+= v (fresh)", A="8, 8", B="8, 8", C="8, 8"):
    return program(PRODUCT.format(**locals()))


def test_a_matrix_product_is_a_call():
    before = product("i=0:8, j=0:8, k=0:8", "i, k", "k, j", "i, j")
    assert text(after(use_blas, before)) == "call MatMul(_a=A[0:8, 0:8], _b=B[0:8, 0:8]) -> _c=C[0:8, 0:8]"


def test_a_transposed_operand_is_a_view():
    found = after(use_blas, product("i=0:8, j=0:8, k=0:8", "k, i", "k, j", "i, j"))
    assert text(found) == "call MatMul(_a=operand_A[0:8, 0:8], _b=B[0:8, 0:8]) -> _c=C[0:8, 0:8]"
    assert list(found.containers["operand_A"].desc.strides) == [1, 8]


def test_a_product_that_is_added_to_its_result():
    (call,) = after(use_blas, product("i=0:8, j=0:8, k=0:8", "i, k", "k, j", "i, j", "-(a * b)", "+= v")).body
    assert (call.kind, call.node.alpha, call.node.beta) == ("Gemm", -1, 1)


def test_a_matrix_vector_product():
    (call,) = after(use_blas, product("i=0:8, k=0:8", "k, i", "k", "i", B="8", C="8")).body
    assert (call.kind, call.node.transA) == ("Gemv", True)
    assert str(call.inputs["_A"]) == "A[0:8, 0:8]", "as it lies in memory"


def test_dot_products_are_calls_unless_unwanted():
    before = product("k=0:8", "k", "k", "0", A="8", B="8", C="1")
    assert text(after(use_blas, before)) == "call MatMul(_a=A[0:8], _b=B[0:8]) -> _c=C[0]"
    assert after(use_blas, before, dots=False).body == before.body


def test_a_parameter_without_a_dimension_is_a_loop():
    before = product("i=0:8, h=0:3, j=0:8, k=0:8", "i, h, k", "k, j", "h, i, j", A="8, 3, 8", C="3, 8, 8")
    assert text(after(use_blas, before)) == block("""
        loop h_0 = 0 .. 2 step 1:
          call MatMul(_a=operand_A[0:8, 0:8], _b=B[0:8, 0:8]) -> _c=operand_C[0:8, 0:8]
    """)


def test_conjugates_are_copied():
    before = product("i=0:8, j=0:8, k=0:8", "i, k", "k, j", "i, j", "a * conj(b)")
    assert text(after(use_blas, before)) == block("""
        map j=0:8, k=0:8:
          b = B[k, j]
          v_0 = conj(b)
          conj_B[j, k] = v_0
        call MatMul(_a=A[0:8, 0:8], _b=operand_conj_B[0:8, 0:8]) -> _c=C[0:8, 0:8]
    """)


@pytest.mark.parametrize(
    "before",
    [
        product("i=0:8, j=0:8, k=0:8", "i, k", "k, j", "i, j", "a + b"),
        product("i=0:1, j=0:2, k=0:3", "i, k", "k, j", "i, j"),
        product("i=0:8, j=0:i+1, k=0:8", "i, k", "k, j", "i, j"),
        product("i=0:8, j=0:8, k=0:8", "2*i, 2*k", "k, j", "i, j", A="16, 16"),
    ],
    ids=["sum", "small", "triangle", "strides"],
)
def test_other_nests_are_no_calls(before):
    assert unchanged(use_blas, before)


RECURRENT = """
    argument X: float64[5, 8]
    argument W: float64[8, 8]
    local d: float64[8]
    argument x: float64[8]
    body
      loop t = 0 .. 4 step 1:
        map i=0:8:
          u = x[i]
          w = sin(u)
          d[i] = w
        map i=0:8, j=0:8:
          a = d[i]
          b = X[t, j]
          v = a * b
          W[i, j] += v
        map i=0:8:
          w = {read}
          x[i] = w
"""


def test_a_product_that_a_loop_adds_up_is_behind_it():
    found = after(sums_behind_loops, program(RECURRENT.format(read="d[i]")))
    assert text(found) == block("""
        loop t = 0 .. 4 step 1:
          map i=0:8:
            u = x[i]
            w = sin(u)
            d_0[t, i] = w
          map i=0:8:
            w = d_0[t, i]
            x[i] = w
        map t_0=0:5, i=0:8, j=0:8:
          a = d_0[t_0, i]
          b = X[t_0, j]
          v = a * b
          W[i, j] += v
    """)


def test_a_sum_that_the_loop_reads_stays():
    assert unchanged(sums_behind_loops, program(RECURRENT.format(read="W[i, 0]")))


ATTENTION = """
    argument K: float64[100, 4]
    argument x: float64[64]
    argument y: float64[64]
    local q: float64[4]
    local s: float64[40]
    body
      loop t = 0 .. {last} step 1:
        map l=0:4:
          u = x[t]
          q[l] = u
        map k={low}:{high}, l=0:4:
          a = K[k, l]
          b = q[l]
          v = a * b
          s[k{shift}] += v (fresh)
        do:
          w = s[0]
          y[{target}] = w
"""


def attention(last=63, low=0, high=40, shift="", target="t"):
    return program(ATTENTION.format(**locals()))


def test_iterations_with_a_product_run_in_strips():
    assert text(after(strips_of_products, attention())) == block("""
        loop strip_t = 0 .. 63 step 32:
          loop t = strip_t .. Min(63, strip_t + 31) step 1:
            map l=0:4:
              u = x[t]
              q_0[-strip_t + t, l] = u
          map trip=0:-strip_t + Min(63, strip_t + 31) + 1, k=0:40, l=0:4:
            a = K[k, l]
            b = q_0[trip, l]
            v = a * b
            rows_s[trip, k] += v (fresh)
          loop t = strip_t .. Min(63, strip_t + 31) step 1:
            map k=0:40:
              v_0 = rows_s[-strip_t + t, k]
              s[k] = v_0
            do:
              w = s[0]
              y[t] = w
    """)


def test_a_strip_multiplies_the_rows_of_all_its_windows():
    before = attention(low="t", high="t + 32", shift=" - t")
    assert text(after(strips_of_products, before)) == block("""
        loop strip_t = 0 .. 63 step 8:
          low_t := strip_t
          high_t := Min(63, strip_t + 7) + 31
          loop t = strip_t .. Min(63, strip_t + 7) step 1:
            map l=0:4:
              u = x[t]
              q_0[-strip_t + t, l] = u
          map trip=0:-strip_t + Min(63, strip_t + 7) + 1, k=low_t:high_t + 1, l=0:4:
            a = K[k, l]
            b = q_0[trip, l]
            v = a * b
            rows_s[trip, k - low_t] += v (fresh)
          loop t = strip_t .. Min(63, strip_t + 7) step 1:
            map k=t:t + 32:
              v_0 = rows_s[-strip_t + t, k - low_t]
              s[k - t] = v_0
            do:
              w = s[0]
              y[t] = w
    """)


def test_a_recurrence_stays_a_loop():
    assert unchanged(strips_of_products, attention(target="0"))


def test_a_short_loop_stays():
    assert unchanged(strips_of_products, attention(last=14))


SWEEP = """
    argument A: float64[8, 8]
    argument x: float64[8]
    argument y: float64[8]
    argument z: float64[8]
    body
      map i=0:8, j=0:8:
        a = A[i, j]
        b = {b}
        v = a * b
        {y} += v (fresh)
      map i=0:8, j=0:8:
        a = A[i, j]
        b = {y}
        v = a * b
        {z} += v (fresh)
"""


def test_products_with_one_matrix_share_a_sweep():
    assert text(after(sweep_matrices, program(SWEEP.format(b="x[j]", y="y[i]", z="z[j]")))) == block("""
        map j_1=0:8:
          v_0 = 0
          z[j_1] = v_0
        loop i_0_0 = 0 .. 0 step 4:
          map i_0=i_0_0:i_0_0 + 4, j_0=0:8:
            a = A[i_0, j_0]
            b = x[j_0]
            v = a * b
            y[i_0] += v (fresh)
          map i_0=i_0_0:i_0_0 + 4, j_1=0:8:
            a = A[i_0, j_1]
            b = y[i_0]
            v = a * b
            z[j_1] += v
        map i_0=4:8, j_0=0:8:
          a = A[i_0, j_0]
          b = x[j_0]
          v = a * b
          y[i_0] += v (fresh)
        map i_0=4:8, j_1=0:8:
          a = A[i_0, j_1]
          b = y[i_0]
          v = a * b
          z[j_1] += v
    """)


def test_a_product_that_waits_for_all_rows_has_a_sweep_of_its_own():
    assert unchanged(sweep_matrices, program(SWEEP.format(b="x[i]", y="y[j]", z="z[i]")))


TRIANGLE = """
    argument A: float64[10, 6]
    argument B: float64[10, 6]
    argument C: float64[10, 10]
    argument y: float64[10, 6]
    body
      map i=0:{rows}, j=0:i+1, k=0:6:
"""


def test_a_triangle_of_the_result_is_taken_from_rectangles():
    before = program(
        TRIANGLE.format(rows=10)
        + """
        a = A[i, k]
        b = B[j, k]
        v = a * b
        C[i, j] += v
    """
    )
    assert text(after(split_triangles, before)) == block("""
        loop i_0 = 0 .. 4 step 4:
          map i=i_0:i_0 + 4, j=0:i_0 + 4, k=0:6:
            a = A[i, k]
            b = B[j, k]
            v = a * b
            block_C[i - i_0, j] += v (fresh)
          map i=i_0:i_0 + 4, j=0:i + 1:
            v_0 = block_C[i - i_0, j]
            C[i, j] += v_0
        map i=8:10, j=0:10, k=0:6:
          a = A[i, k]
          b = B[j, k]
          v = a * b
          block_C_0[i - 8, j] += v (fresh)
        map i=8:10, j=0:i + 1:
          v_1 = block_C_0[i - 8, j]
          C[i, j] += v_1
    """)


def test_a_sum_over_a_triangle_is_cut():
    before = program(
        TRIANGLE.format(rows=8)
        + """
        a = C[i, j]
        b = B[j, k]
        v = a * b
        y[i, k] += v
    """
    )
    assert text(after(split_triangles, before)) == block("""
        loop i_0 = 0 .. 4 step 4:
          map i=i_0:i_0 + 4, j=0:i_0 + 1, k=0:6:
            a = C[i, j]
            b = B[j, k]
            v = a * b
            y[i, k] += v
          map i=i_0:i_0 + 4, j=i_0 + 1:i_0 + 4:
            c = i_0 + 1 <= j and j <= i
            v_0 = C[i, j] if c
            v_1 = v_0 if c else 0
            corner_C[i - i_0, -i_0 + j - 1] = v_1
          map i=i_0:i_0 + 4, j=i_0 + 1:i_0 + 4, k=0:6:
            a = corner_C[i - i_0, -i_0 + j - 1]
            b = B[j, k]
            v = a * b
            y[i, k] += v
    """)


def test_a_small_triangle_stays():
    before = program(
        TRIANGLE.format(rows=7)
        + """
        a = A[i, k]
        b = B[j, k]
        v = a * b
        C[i, j] += v
    """
    )
    assert unchanged(split_triangles, before)
