"""Functions of matrices, and equations of matrices: values beside SciPy's, derivatives beside differences and JAX."""

import jax
import jax.scipy.linalg
import mpmath
import numpy as np
import pytest
import scipy.linalg
from references import assert_close

import sdgrad
from sdgrad.errors import ParseError
from sdgrad.testing import check_grads

RNG = np.random.default_rng(0)
A, B, STACK = RNG.standard_normal((4, 4)), RNG.standard_normal((4, 2)), RNG.standard_normal((2, 3, 3))
Z = RNG.standard_normal((3, 3)) + 1j * RNG.standard_normal((3, 3))
POSITIVE = A @ A.T + np.eye(4)
Q, R = RNG.standard_normal((4, 4)), RNG.standard_normal((2, 2))


@pytest.fixture(autouse=True)
def compiled_soon():
    with sdgrad.config.override(optimization_level=0):
        yield


def both_modes(f, *args):
    check_grads(f, args, modes=("rev", "fwd"))


def second_order(f, *args):
    """Of a sum that depends on all of the result."""
    check_grads(lambda *x: np.sum(np.sin(np.real(f(*x) * np.conj(f(*x))) * 0.1)), args, order=2)


def test_exponentials():
    both_modes(lambda x: scipy.linalg.expm(x) + scipy.linalg.sinm(x), Z)
    both_modes(lambda x: (scipy.linalg.tanm(0.1 * x), scipy.linalg.tanhm(x)), A)
    both_modes(lambda x, e: (scipy.linalg.expm(x), *scipy.linalg.expm_frechet(x[0], e)), STACK, Z.real)
    second_order(scipy.linalg.expm, A)


def test_jax_says_the_same_of_the_exponential():
    weights = RNG.standard_normal((4, 4))
    found = sdgrad.grad(lambda x: np.sum(weights * scipy.linalg.expm(x)))(3.0 * A)
    wanted = jax.grad(lambda x: (weights * jax.scipy.linalg.expm(x)).sum())(3.0 * A)
    assert_close(found, np.asarray(wanted), 1e-12, "gradient")


@pytest.mark.parametrize("size", [1e-9, 1e-2, 0.2, 1.0, 30.0, 300.0])
def test_exponentials_of_any_norm(size):
    """All degrees of the approximant, and halvings; 30 digits beside them."""
    x = size * np.linalg.qr(A)[0]
    with mpmath.workdps(40):
        wanted = np.array(mpmath.expm(mpmath.matrix(x.tolist())).tolist(), float)
    found = sdgrad.vjp(scipy.linalg.expm, x)[0]
    assert np.abs(found - wanted).max() <= 1e-14 * max(size, 1.0) * np.abs(wanted).max()


def test_gradients_of_exponentials_of_any_norm():
    """The derivative is a block of an exponential of twice the size (Mathias 1996), here with 60 digits."""
    direction, order = RNG.standard_normal((4, 4)), np.linalg.qr(A)[0]
    steep = np.triu(1e3 * A, 1) + 0.1 * order  # powers are much smaller than the norm lets expect
    gradient = sdgrad.grad(lambda x: np.sum(direction * scipy.linalg.expm(x)))
    for x in (*(size * order for size in (1e-9, 1e-2, 0.1, 0.5, 1.5, 3.0, 30.0)), 3.0 * A, steep, steep.T, 0.0 * A):
        with mpmath.workdps(60):
            block = np.block([[x.T, direction], [np.zeros((4, 4)), x.T]])
            wanted = np.array(mpmath.expm(mpmath.matrix(block.tolist())).tolist(), float)[:4, 4:]
        assert np.abs(gradient(x) - wanted).max() <= 1e-12 * np.abs(wanted).max(), x


def test_gradients_of_exponentials_of_other_types():
    """In single precision, and of what has no exponential."""
    found = sdgrad.grad(lambda x: np.sum(scipy.linalg.expm(x)))(A.astype(np.float32))
    wanted = sdgrad.grad(lambda x: np.sum(scipy.linalg.expm(x)))(A)
    assert found.dtype == np.float32 and np.abs(found - wanted).max() <= 1e-5 * np.abs(wanted).max()
    assert np.isnan(sdgrad.grad(lambda x: np.sum(scipy.linalg.expm(x)))(np.full((4, 4), np.inf))).all()


def test_exponentials_of_unusual_matrices():
    nilpotent = np.triu(np.full((4, 4), 1e8), 1)
    assert_close(sdgrad.vjp(scipy.linalg.expm, nilpotent)[0], scipy.linalg.expm(nilpotent), 1e-12, "nilpotent")
    decaying = np.diag([-1e30, -2e5, -1.0, 0.0])
    assert_close(sdgrad.vjp(scipy.linalg.expm, decaying)[0], np.diag(np.exp(np.diag(decaying))), 1e-9, "decaying")
    assert np.isnan(sdgrad.vjp(scipy.linalg.expm, np.full((4, 4), np.inf))[0]).all()
    assert_close(sdgrad.grad(lambda x: scipy.linalg.expm(x)[0, 1])(np.zeros((4, 4)))[0, 1], 1.0, 1e-15, "at zero")


def roots(x):
    return scipy.linalg.sqrtm(x), scipy.linalg.logm(x), scipy.linalg.fractional_matrix_power(x, 0.3)


def test_roots_and_logarithms():
    both_modes(roots, A + 4.0 * np.eye(4))
    both_modes(roots, Z)
    second_order(lambda x: scipy.linalg.logm(x) + scipy.linalg.sqrtm(x), Z)


def test_powers_and_their_exponents():
    def power(x, t):
        return scipy.linalg.fractional_matrix_power(x, t)

    found, pull = sdgrad.vjp(power, POSITIVE, 0.4)
    assert_close(found, power(POSITIVE, 0.4), 1e-12, "value")
    wanted = np.sum((power(POSITIVE, 0.4 + 1e-6) - power(POSITIVE, 0.4 - 1e-6)) / 2e-6)
    assert_close(pull(np.ones((4, 4)))[1], wanted, 1e-8, "by the exponent")
    for t in (-1.3, 2, -2):
        f = lambda x, t=t: scipy.linalg.fractional_matrix_power(x, t)  # noqa: E731
        assert_close(sdgrad.vjp(f, POSITIVE)[0], f(POSITIVE), 1e-11, f"power {t}")


def test_equal_eigenvalues_are_no_obstacle():
    both_modes(lambda x: (scipy.linalg.sqrtm(x), scipy.linalg.logm(x)), 2.0 * np.eye(3))
    defective = np.array([[2.0, 1.0], [0.0, 2.0]])
    both_modes(lambda x: (scipy.linalg.sqrtm(x), scipy.linalg.logm(x)), defective)


def test_what_is_not_real_is_refused():
    negative = np.diag([1.0, -2.0, 3.0])
    for f in (scipy.linalg.sqrtm, scipy.linalg.logm):
        with pytest.raises(np.linalg.LinAlgError, match="pass a complex matrix"):
            sdgrad.vjp(f, negative)
        assert_close(sdgrad.vjp(f, negative.astype(complex))[0], f(negative), 1e-12, f.__name__)
    with pytest.raises(np.linalg.LinAlgError, match="does not exist"):
        sdgrad.vjp(scipy.linalg.logm, np.zeros((2, 2)))
    with pytest.raises(ParseError, match="disp=False"):
        sdgrad.vjp(lambda x: scipy.linalg.logm(x, disp=False)[0], POSITIVE)
    assert_close(sdgrad.vjp(scipy.linalg.sqrtm, np.diag([4.0, 0.0]))[0], np.diag([2.0, 0.0]), 1e-15, "singular")


def test_sylvester_and_lyapunov_equations():
    def solutions(a, b, q):
        return (
            scipy.linalg.solve_sylvester(a, b, q[:, :2]),
            scipy.linalg.solve_continuous_lyapunov(a, q),
            scipy.linalg.solve_discrete_lyapunov(a, q),
            scipy.linalg.solve_discrete_lyapunov(a, q, method="bilinear"),
        )

    both_modes(solutions, A, R, Q)
    both_modes(solutions, Z, Z[:2, :2] + 1.0, Z.T + 1j)
    second_order(lambda a, q: scipy.linalg.solve_continuous_lyapunov(a, q), A, Q)
    f = scipy.linalg.solve_discrete_lyapunov
    large = RNG.standard_normal((12, 12)) * 0.2
    assert_close(sdgrad.vjp(lambda x: f(x, np.eye(12)), large)[0], f(large, np.eye(12)), 1e-11, "many rows")


def definite(x):
    return x @ np.conj(x.T) + np.eye(x.shape[0])


def riccati(a, b, q, r):
    return (
        scipy.linalg.solve_continuous_are(a, b, definite(q), definite(r)),
        scipy.linalg.solve_discrete_are(a, b, definite(q), definite(r), s=0.1 * b),
    )


def test_riccati_equations():
    check_grads(riccati, (A, B, Q, R))
    both_modes(lambda a, b: riccati(a, b, Z.T + 1j, Z[1:, 1:]), Z, Z[:, :2])
    with pytest.raises(ValueError, match="q should be symmetric"):
        sdgrad.vjp(lambda a: scipy.linalg.solve_continuous_are(a, B, Q, np.eye(2)), A)
    with pytest.raises(np.linalg.LinAlgError, match="finite solution"):
        sdgrad.vjp(lambda a: scipy.linalg.solve_continuous_are(a, np.zeros((4, 2)), np.eye(4), np.eye(2)), np.eye(4))
    with pytest.raises(ParseError, match="e= is not recorded"):
        sdgrad.vjp(lambda a: scipy.linalg.solve_discrete_are(a, B, np.eye(4), np.eye(2), e=np.eye(4)), A)


def test_schur_forms_have_values():
    def forms(a, stack):
        return (*scipy.linalg.schur(a), *scipy.linalg.schur(stack))

    for found, wanted in zip(sdgrad.compile_forward(forms)(A, STACK), forms(A, STACK), strict=True):
        assert_close(found, wanted, 1e-12, "schur")
    for matrix in (A, Z):  # up to a phase of each column
        t, z = sdgrad.compile_forward(lambda a: scipy.linalg.schur(a, "complex"))(matrix)
        assert_close(z @ t @ z.conj().T, matrix, 1e-12, "product")
        assert_close(np.abs(t), np.abs(scipy.linalg.schur(matrix, "complex")[0]), 1e-12, "triangle")
    with pytest.raises(sdgrad.errors.DifferentiationError, match="scipy.linalg.schur has no derivative here"):
        sdgrad.grad(lambda a: np.sum(scipy.linalg.schur(a)[0] ** 3))(A)


def test_hessenberg_forms_have_values():
    def forms(*matrices):
        return [x for a in matrices for x in (*scipy.linalg.hessenberg(a, calc_q=True), scipy.linalg.hessenberg(a))]

    given = (A, STACK, Z, A.astype(np.float32), A[:2, :2], np.eye(1, dtype=int), Z[:0, :0])
    for found, wanted in zip(sdgrad.compile_forward(forms)(*given), forms(*given), strict=True):
        assert found.dtype == wanted.dtype
        assert_close(found, wanted, 1e-12 if found.dtype.itemsize > 4 else 1e-4, "hessenberg")
    with pytest.raises(sdgrad.errors.DifferentiationError, match="scipy.linalg.hessenberg has no derivative here"):
        sdgrad.grad(lambda a: np.sum(scipy.linalg.hessenberg(a) ** 3))(A)


def test_factors_of_symmetric_matrices_have_values():
    symmetric, hermitian = A + A.T, Z + Z.conj().T
    for matrix in (symmetric, hermitian):
        np.fill_diagonal(matrix, 0.0)  # some blocks have two rows

    def factors(*matrices):
        found = [x for a in matrices for lower in (True, False) for x in scipy.linalg.ldl(a, lower)]
        return [*found, *scipy.linalg.ldl(matrices[1], hermitian=False), *scipy.linalg.ldl(matrices[1], False, False)]

    given = (symmetric, hermitian, STACK, A, symmetric.astype(np.float32), RNG.standard_normal((9, 9)), Z[:0, :0])
    with np.errstate(all="ignore"):
        wanted = factors(*given)
    assert np.any(np.tril(wanted[1], -1)) and np.any(np.tril(wanted[7], -1))
    for found, other in zip(sdgrad.compile_forward(factors)(*given), wanted, strict=True):
        assert found.dtype == other.dtype
        assert_close(found, other, 1e-12 if found.dtype.itemsize > 4 else 1e-4, "ldl")
    with pytest.raises(sdgrad.errors.DifferentiationError, match="scipy.linalg.ldl has no derivative here"):
        sdgrad.grad(lambda a: np.sum(scipy.linalg.ldl(a)[1] ** 3))(A)


def test_generalized_schur_forms_have_values():
    def forms(a, b, t, z):
        real, ordered = scipy.linalg.qz(a, b), scipy.linalg.ordqz(a, b, sort="rhp")
        return (*real, *ordered, *scipy.linalg.qz(a, b, "complex"), *scipy.linalg.rsf2csf(t, z))

    for dtype, rtol in ((float, 1e-9), (np.float32, 1e-3), (complex, 1e-9)):
        given = A.astype(dtype), (A.T + 2.0 * np.eye(len(A))).astype(dtype), *scipy.linalg.schur(A)
        for found, wanted in zip(sdgrad.compile_forward(forms)(*given), forms(*given), strict=True):
            assert found.dtype == wanted.dtype
            assert_close(found, wanted, rtol, "qz")
    told = "scipy.linalg.qz has no derivative here, as its factors are one choice of many: use np.linalg.eigvals"
    with pytest.raises(sdgrad.errors.DifferentiationError, match=told):
        sdgrad.grad(lambda a: np.sum(scipy.linalg.qz(a, A)[0] ** 3))(A)
    with pytest.raises(sdgrad.errors.DifferentiationError, match="scipy.linalg.ordqz has no derivative here"):
        sdgrad.jvp(lambda a: scipy.linalg.ordqz(A, a)[2], (A,), (A,))
    with pytest.raises(ValueError, match="square matrices of one size"):
        sdgrad.compile_forward(lambda a: scipy.linalg.qz(a, a[:2, :2])[0])(A)
    with pytest.raises(ValueError, match="sort"):
        sdgrad.compile_forward(lambda a: scipy.linalg.ordqz(a, a, sort="up")[0])(A)


def test_single_precision_is_kept():
    def several(x):
        return scipy.linalg.expm(x), scipy.linalg.sqrtm(x), scipy.linalg.solve_sylvester(x, x, x + x[0])

    x = POSITIVE.astype(np.float32)
    found, pull = sdgrad.vjp(several, x)
    for got, wanted in zip(found, several(x.astype(float)), strict=True):
        assert got.dtype == np.float32
        assert_close(got, wanted, 1e-4, "value")
    assert pull(found)[0].dtype == np.float32
