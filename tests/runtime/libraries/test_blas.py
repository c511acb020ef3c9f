"""Generated code reaches the OpenBLAS of the wheel, gives NumPy's numbers there, and without it too."""

import subprocess
import time

import dace
import numpy as np
import pytest

from sdgrad.config import config
from sdgrad.program.implementations import IMPLEMENTATIONS, choose_implementation
from sdgrad.runtime.libraries import blas

N, M, K = 37, 29, 53
TOLERANCE = {
    np.float16: 2e-2,
    np.float32: 2e-5,
    np.float64: 1e-12,
    np.complex64: 2e-5,
    np.complex128: 1e-12,
    np.int64: 0,
}
TYPES = [dace.float32, dace.float64, dace.complex64, dace.complex128]


@pytest.fixture(autouse=True)
def quick_builds(tmp_path):
    with config.override(optimization_level=1, cache_dir=tmp_path), config.compiling():
        yield


def sample(rng, shape, dtype):
    values = rng.standard_normal(shape)
    if np.issubdtype(dtype, np.complexfloating):
        values = values + 1j * rng.standard_normal(shape)
    if np.issubdtype(dtype, np.integer):
        values = np.round(5 * values)
    return values.astype(dtype)


def compiled(program, name):
    sdfg = chosen(program)
    sdfg.name = name
    return sdfg.compile()


def chosen(program):
    """A graph of DaCe's, with implementations as this library writes them."""
    sdfg = program.to_sdfg()
    for node, _ in sdfg.all_nodes_recursive():
        choose_implementation(node)
    return sdfg


def linked_libraries(program) -> str:
    return subprocess.run(["ldd", program.filename], capture_output=True, text=True, check=True).stdout


def products(dtype):
    """One program with every kind of product that BLAS has, and the same in NumPy."""

    @dace.program
    def products(
        A: dtype[N, K],
        B: dtype[K, M],
        C: dtype[N, M],
        Ct: dtype[M, N],
        x: dtype[K],
        y: dtype[N],
        z: dtype[M],
        d: dtype[1],
        P: dtype[5, N, K],
        Q: dtype[5, K, M],
        R: dtype[5, N, M],
        S: dtype[5, N, M],
        part: dtype[7, 9],
        column: dtype[N],
    ):
        C[:] = A @ B
        Ct[:] = np.transpose(B) @ np.transpose(A)
        y[:] = A @ x
        z[:] = x @ B
        d[0] = x @ x
        R[:] = P @ Q
        S[:] = P @ B
        part[:] = A[3:10, 5:20] @ B[5:20, 11:20]
        column[:] = A @ B[:, 3]

    return products


def check_products(dtype, name):
    rng = np.random.default_rng(1)
    kind = dtype.type
    A, B, x = (sample(rng, s, kind) for s in ((N, K), (K, M), (K,)))
    P, Q = sample(rng, (5, N, K), kind), sample(rng, (5, K, M), kind)
    out = {
        "C": np.zeros((N, M), kind),
        "Ct": np.zeros((M, N), kind),
        "y": np.zeros(N, kind),
        "z": np.zeros(M, kind),
        "d": np.zeros(1, kind),
        "R": np.zeros((5, N, M), kind),
        "S": np.zeros((5, N, M), kind),
        "part": np.zeros((7, 9), kind),
        "column": np.zeros(N, kind),
    }
    expected = {
        "C": A @ B,
        "Ct": B.T @ A.T,
        "y": A @ x,
        "z": x @ B,
        "d": np.array([x @ x]),
        "R": P @ Q,
        "S": P @ B,
        "part": A[3:10, 5:20] @ B[5:20, 11:20],
        "column": A @ B[:, 3],
    }
    program = compiled(products(dtype), name)
    program(A=A, B=B, x=x, P=P, Q=Q, **out)
    tolerance = TOLERANCE[kind]
    for key, value in expected.items():
        np.testing.assert_allclose(out[key], value, rtol=tolerance, atol=tolerance * np.abs(value).max(), err_msg=key)
    return program


@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: t.to_string())
def test_products_go_to_openblas(dtype):
    program = check_products(dtype, f"products_{dtype.to_string()}")
    assert blas.library_path() in linked_libraries(program)


@pytest.mark.parametrize("dtype", [dace.float64, dace.complex64], ids=lambda t: t.to_string())
def test_without_blas_the_numbers_are_the_same(dtype):
    with config.override(blas="none"):
        program = check_products(dtype, f"loops_{dtype.to_string()}")
    assert "openblas" not in linked_libraries(program)


@pytest.mark.parametrize("dtype", [dace.int64, dace.float16], ids=lambda t: t.to_string())
def test_types_that_blas_does_not_know_take_the_loops(dtype):
    @dace.program
    def product(A: dtype[N, K], B: dtype[K, M], C: dtype[N, M]):
        C[:] = A @ B

    rng = np.random.default_rng(2)
    A, B = sample(rng, (N, K), dtype.type), sample(rng, (K, M), dtype.type)
    C = np.zeros((N, M), dtype.type)
    compiled(product, f"product_{dtype.to_string()}")(A=A, B=B, C=C)
    expected = A.astype(np.float64) @ B.astype(np.float64)
    tolerance = TOLERANCE[dtype.type]
    np.testing.assert_allclose(C, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("kind", ["openblas", "none"])
def test_operands_that_blas_cannot_walk_take_the_loops(kind):
    @dace.program
    def awkward(
        A: dace.float64[2 * N, 2 * K],
        B: dace.float64[K, M],
        x: dace.float32[K],
        row: dace.float64[1, K],
        line: dace.float64[K, 1],
        P: dace.float64[4, 1, 6, 7],
        Q: dace.float64[3, 7, 5],
        stepped: dace.float64[N, M],
        mixed: dace.float64[M],
        outer: dace.float64[K, K],
        inner: dace.float64[1, 1],
        broadcast: dace.float64[4, 3, 6, 5],
    ):
        stepped[:] = A[::2, ::2] @ B
        mixed[:] = x @ B
        outer[:] = line @ row
        inner[:] = row @ line
        broadcast[:] = P @ Q

    rng = np.random.default_rng(3)
    A, B, row = rng.random((2 * N, 2 * K)), rng.random((K, M)), rng.random((1, K))
    x = rng.random(K).astype(np.float32)
    P, Q = rng.random((4, 1, 6, 7)), rng.random((3, 7, 5))
    shapes = {"stepped": (N, M), "mixed": M, "outer": (K, K), "inner": (1, 1), "broadcast": (4, 3, 6, 5)}
    out = {name: np.zeros(shape) for name, shape in shapes.items()}
    with config.override(blas=kind):
        program = compiled(awkward, f"awkward_{kind}")
    program(A=A, B=B, x=x, row=row, line=row.T.copy(), P=P, Q=Q, **out)
    np.testing.assert_allclose(out["stepped"], A[::2, ::2] @ B, rtol=1e-12)
    np.testing.assert_allclose(out["mixed"], x @ B, rtol=1e-6)
    np.testing.assert_allclose(out["outer"], row.T @ row, rtol=1e-12)
    np.testing.assert_allclose(out["inner"], row @ row.T, rtol=1e-12)
    np.testing.assert_allclose(out["broadcast"], P @ Q, rtol=1e-12)


@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: t.to_string())
def test_factorizations(dtype):
    @dace.program
    def factor(
        A: dtype[N, N],
        H: dtype[N, N],
        B: dtype[N, M],
        X: dtype[N, M],
        V: dtype[N, N],
        L: dtype[N, N],
    ):
        X[:] = np.linalg.solve(A, B)
        V[:] = np.linalg.inv(A)
        L[:] = np.linalg.cholesky(H)

    rng = np.random.default_rng(4)
    kind = dtype.type
    A = sample(rng, (N, N), kind) + N * np.eye(N, dtype=kind)
    H = (A @ A.conj().T).astype(kind)
    B = sample(rng, (N, M), kind)
    X, inverse, L = np.zeros((N, M), kind), np.zeros((N, N), kind), np.zeros((N, N), kind)
    before = A.copy(), H.copy(), B.copy()
    compiled(factor, f"factor_{dtype.to_string()}")(A=A, H=H, B=B, X=X, V=inverse, L=L)
    tolerance = 10 * TOLERANCE[kind]
    for found, expected in (
        (X, np.linalg.solve(A, B)),
        (inverse, np.linalg.inv(A)),
        (L, np.linalg.cholesky(H)),
    ):
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())
    for kept, old in zip((A, H, B), before, strict=True):
        np.testing.assert_array_equal(kept, old)


def test_symbolic_sizes():
    n, m, k = (dace.symbol(s) for s in "nmk")

    @dace.program
    def product(A: dace.float64[n, k], B: dace.float64[k, m], C: dace.float64[n, m]):
        C[:] = A @ B

    program = compiled(product, "symbolic_product")
    assert blas.library_path() in linked_libraries(program)
    rng = np.random.default_rng(6)
    for rows, inner, columns in ((4, 9, 5), (1, 8, 3), (6, 1, 6), (5, 7, 1)):
        A, B, C = rng.random((rows, inner)), rng.random((inner, columns)), np.zeros((rows, columns))
        program(A=A, B=B, C=C, n=rows, m=columns, k=inner)
        np.testing.assert_allclose(C, A @ B, rtol=1e-12)


def test_a_product_runs_at_the_speed_of_a_library():
    @dace.program
    def product(A: dace.float64[1000, 1100], B: dace.float64[1100, 1200], C: dace.float64[1000, 1200]):
        C[:] = A @ B

    rng = np.random.default_rng(7)
    A, B, C = rng.random((1000, 1100)), rng.random((1100, 1200)), np.zeros((1000, 1200))
    program = compiled(product, "fast_product")
    times, reference = [], []
    for _ in range(5):
        start = time.perf_counter()
        program(A=A, B=B, C=C)
        times.append(time.perf_counter() - start)
        start = time.perf_counter()
        A @ B
        reference.append(time.perf_counter() - start)
    np.testing.assert_allclose(C, A @ B, rtol=1e-12)
    # The loops take seventy times as long as NumPy, whose BLAS this is in another copy.
    assert min(times) < 8 * min(reference), (times, reference)


def test_threads_can_be_set():
    before = blas.get_blas_threads()
    try:
        blas.set_blas_threads(1)
        assert blas.get_blas_threads() == 1
        with pytest.raises(ValueError, match="at least 1"):
            blas.set_blas_threads(0)
    finally:
        blas.set_blas_threads(before)


def test_the_switch_can_be_turned_back():
    from dace.libraries.blas.nodes.gemm import Gemm

    assert IMPLEMENTATIONS[Gemm] == blas.IMPLEMENTATION
    with config.override(blas="none"):
        assert IMPLEMENTATIONS[Gemm] is None
        blas.use_blas("none")
    assert IMPLEMENTATIONS[Gemm] == blas.IMPLEMENTATION
    with pytest.raises(ValueError, match="'openblas', 'mkl', 'none'"):
        blas.use_blas("atlas")  # type: ignore[arg-type]
    assert IMPLEMENTATIONS[Gemm] == blas.IMPLEMENTATION


def test_an_implementation_set_on_a_node_stays():
    @dace.program
    def product(A: dace.float64[N, K], B: dace.float64[K, M], C: dace.float64[N, M]):
        C[:] = A @ B

    sdfg = product.to_sdfg()
    sdfg.name = "chosen_product"
    sdfg.expand_library_nodes(recursive=False)
    for node, _ in sdfg.all_nodes_recursive():
        if isinstance(node, dace.nodes.LibraryNode):
            node.implementation = "pure"
    assert "openblas" not in linked_libraries(sdfg.compile())


def test_factorizations_name_a_type_that_lapack_does_not_know():
    @dace.program
    def inverse(A: dace.float16[4, 4], B: dace.float16[4, 4]):
        B[:] = np.linalg.inv(A)

    with pytest.raises(TypeError, match="float16.*LAPACK"):
        chosen(inverse).expand_library_nodes()
