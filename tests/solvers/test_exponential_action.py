"""``expm_multiply`` beside SciPy, and its gradients beside differences and those of the exponential in JAX."""

import jax
import numpy as np
import pytest
import scipy.sparse as sp
from references import assert_close
from scipy.sparse.linalg import aslinearoperator, expm_multiply

import sdgrad
from sdgrad.errors import ParseError
from sdgrad.testing import check_grads

RNG = np.random.default_rng(0)
SPARSE = sp.csr_array(RNG.standard_normal((5, 5)) * (RNG.random((5, 5)) > 0.5))
DENSE, COLUMN, COLUMNS, B = (RNG.standard_normal(s) for s in ((4, 4), 5, (5, 2), 4))


@pytest.fixture(autouse=True)
def compiled_soon():
    with sdgrad.config.override(optimization_level=0):
        yield


def several(a, d, column, columns, b):
    return (
        expm_multiply(a, column), expm_multiply(a, columns), expm_multiply(10 * d, b), expm_multiply(-30 * a, column),
        expm_multiply(d * 1j, b), expm_multiply(a, column, start=0.5, stop=2, num=4), expm_multiply(0.0 * a, column),
        expm_multiply(a, columns, start=0, stop=1, num=3, endpoint=False), expm_multiply(a.tocoo(), column * 1j),
        expm_multiply(d.astype(np.float32), b.astype(np.float32)), expm_multiply(sp.csc_matrix(a), np.arange(5)),
        expm_multiply(d[:0, :0], b[:0]), expm_multiply(d, b, traceA=1.0),
    )  # fmt: skip


def test_values():
    given = (SPARSE, DENSE, COLUMN, COLUMNS, B)
    with np.errstate(all="ignore"):
        wanted = several(*given[:4], B)
    for k, (own, other) in enumerate(zip(sdgrad.compile_forward(several)(*given), wanted, strict=True)):
        assert own.dtype == other.dtype, k
        assert_close(own, other, 1e-12 if own.dtype.itemsize > 4 else 1e-5, f"result {k}")


def test_what_is_infinite_gives_no_numbers():
    """The number of steps is that of a norm, which is no number; SciPy cannot count them."""
    compiled, wrong = sdgrad.compile_forward(lambda d, b: expm_multiply(d, b)), DENSE.copy()
    wrong[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        compiled(wrong, B)
    with sdgrad.config.override(verify="never"):
        assert np.isnan(compiled(wrong, B)).any()


def test_gradients():
    def both(a, d, column, b):
        along = expm_multiply(a, column, start=0.5, stop=1.0, num=3)
        return np.sum(expm_multiply(a, column) ** 2) + np.sum(expm_multiply(d, b) ** 3) + np.sum(along[1])

    check_grads(both, (SPARSE, DENSE, COLUMN, B), wrt=("a", "d", "column", "b"), modes=("rev", "fwd"))
    check_grads(lambda d, b: np.sum(expm_multiply(d, b) ** 2), (DENSE, B), wrt=("d", "b"), order=2)


def test_jax_says_the_same():
    """Also where many steps are taken."""
    matrix = 3.0 * DENSE - 4.0 * np.eye(4)
    found = sdgrad.grad(lambda d: np.sum(np.sin(expm_multiply(d, B))))(matrix)
    wanted = jax.grad(lambda d: jax.numpy.sum(jax.numpy.sin(jax.scipy.linalg.expm(d) @ B)))(matrix)
    assert_close(found, np.asarray(wanted), 1e-9, "gradient")


def test_what_is_refused():
    for given, message in (
        (lambda a: expm_multiply(aslinearoperator(np.eye(5)), a), "sparse one"),
        (lambda a: expm_multiply(SPARSE, a, start=0.0), "start= and stop="),
        (lambda a: expm_multiply(SPARSE, a, start=0.0, stop=a[0]), "start= and stop="),
    ):
        with pytest.raises(ParseError, match=message):
            sdgrad.grad(lambda a, f=given: np.sum(f(a)))(COLUMN)
    with pytest.raises(ValueError, match="like a square matrix"):
        sdgrad.grad(lambda a: np.sum(expm_multiply(a, COLUMN)))(COLUMNS)
