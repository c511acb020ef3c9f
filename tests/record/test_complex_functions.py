"""Functions of complex numbers: NumPy's value and the right derivative, or a refusal; never a compiler's error."""

import mpmath as mp
import numpy as np
import pytest
from scipy import special

import sdgrad
from sdgrad.errors import ParseError
from sdgrad.testing import check_grads

Z = np.array([0.5 + 0.2j, 1.5 - 0.3j, -0.7 + 1j])
NUMPY = [
    "absolute",
    "fabs",
    "negative",
    "positive",
    "conjugate",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "cbrt",
    "square",
    "reciprocal",
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arctan",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "arccosh",
    "arctanh",
    "sign",
    "rint",
    "floor",
    "angle",
    "real",
    "imag",
    "sinc",
    "sum",
    "prod",
    "mean",
    "var",
    "std",
    "cumsum",
]
SCIPY = [
    "erf",
    "erfc",
    "expit",
    "gamma",
    "gammaln",
    "exp2",
    "expm1",
    "log1p",
    "cbrt",
    "logsumexp",
    "softmax",
    "logit",
    "entr",
    "digamma",
    "ndtr",
    "log_expit",
    "loggamma",
    "dawsn",
    "exp1",
    "expi",
]
REFUSED = {"rint", "softmax"}
FUNCTIONS = [getattr(np, n) for n in NUMPY] + [getattr(special, n) for n in SCIPY]


def differences(f, z, step=1e-6):
    """The gradient of a real function, of steepest ascent."""
    real, imaginary = (
        np.array([(f(z + step * u * d) - f(z - step * u * d)) / (2 * step) for d in np.eye(3)]) for u in (1, 1j)
    )
    return real + 1j * imaginary


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_value_and_gradient(function):
    def loss(z):
        return np.sum(np.real(function(z)) + 2 * np.imag(function(z)))

    try:
        wanted = loss(Z)
    except TypeError:
        with pytest.raises((TypeError, ParseError)):
            sdgrad.grad(loss)(Z)
        return
    try:
        value, found = sdgrad.value_and_grad(loss)(Z)
    except ParseError:
        assert function.__name__ in REFUSED
        return
    assert value == pytest.approx(wanted)
    np.testing.assert_allclose(found, differences(loss, Z), rtol=1e-5, atol=1e-6)


def of_faddeeva(z):
    names = (special.wofz, special.erf, special.erfc, special.erfcx, special.erfi, special.ndtr)
    return np.concatenate([f(z) for f in names])


def test_error_functions_of_complex_numbers():
    found = sdgrad.compile_forward(of_faddeeva)(Z)
    np.testing.assert_allclose(found, of_faddeeva(Z), rtol=1e-14)
    single = sdgrad.compile_forward(of_faddeeva)(Z.astype(np.complex64))
    assert single.dtype == np.complex64 and np.allclose(single, found, rtol=1e-5)

    def total(x):
        return np.sum(np.abs(of_faddeeva(x + 0.4j * x**2)) ** 2)

    check_grads(total, (np.array([0.5, -0.8, 1.1]),), order=2)


def test_slopes_of_faddeevas_function_keep_their_digits():
    z = np.array([6.05 + 0.1j, 7.1 + 0.1j, 30.0, 1e4 + 1j, -9.0 - 0.2j, 3.0 - 4.0j, 7.2j])
    slopes = np.diag(sdgrad.jacobian(special.wofz, holomorphic=True)(z))
    with mp.workdps(60):
        exact = [
            complex(mp.diff(lambda u: mp.exp(-u * u) * mp.erfc(-1j * u), mp.mpc(v))) for v in z[[0, 1, 2, 4, 5, 6]]
        ]
    np.testing.assert_allclose(slopes[[0, 1, 2, 4, 5, 6]], exact, rtol=2e-12)
    far = -1j / np.sqrt(np.pi) / z[3] ** 2 * (1 + 1.5 / z[3] ** 2)
    np.testing.assert_allclose(slopes[3], far, rtol=1e-14)


GAMMAS = {  # each with its first two derivatives
    special.gamma: lambda z: [mp.diff(mp.gamma, z, k) for k in range(3)],
    special.loggamma: lambda z: [mp.loggamma(z), mp.psi(0, z), mp.psi(1, z)],
    special.psi: lambda z: [mp.psi(k, z) for k in range(3)],
    special.exp1: lambda z: [mp.e1(z), -mp.exp(-z) / z, mp.exp(-z) * (1 + z) / z**2],
    special.expi: lambda z: [mp.ei(z), mp.exp(z) / z, mp.exp(z) * (z - 1) / z**2],
    special.dawsn: lambda z: [mp.diff(_dawson, z, k) for k in range(3)],
}
PLACES = np.array([0.3 + 0.4j, 2.5 - 1.5j, -1.7 + 0.2j, -2.3 - 3.0j, 0.1 - 9.0j, 6.0 + 0.5j, 1e-3 + 1e-3j, -6.4 + 4.0j])


def _dawson(z):
    return mp.sqrt(mp.pi) / 2 * mp.exp(-z * z) * mp.erfi(z)


@pytest.mark.parametrize("function", GAMMAS, ids=lambda f: f.__name__)
def test_digits_of_complex_functions_and_of_two_derivatives(function):
    def slope(z):
        return np.diag(sdgrad.jacobian(function, holomorphic=True)(z))

    found = [
        sdgrad.compile_forward(function)(PLACES),
        slope(PLACES),
        np.diag(
            sdgrad.jacobian(lambda z: np.diag(sdgrad.jacobian(function, holomorphic=True)(z)), holomorphic=True)(PLACES)
        ),
    ]
    with mp.workdps(50):
        exact = np.array([[complex(v) for v in GAMMAS[function](mp.mpc(z))] for z in PLACES]).T
    for k, tolerance in enumerate((1e-12, 2e-12, 5e-12)):
        np.testing.assert_allclose(found[k], exact[k], rtol=tolerance)
    np.testing.assert_allclose(found[0], function(PLACES), rtol=1e-14)


def test_derivatives_of_digamma_far_from_zero():
    """By reflection, by the series, and beside a pole."""
    z = np.array([-1e5 + 0.25j, -30.0 + 20.0j, 1e6 - 1e6j, -3.0 + 1e-7j, 0.2 + 40.0j, -15.3 - 11.0j, -2.5 + 0.0j])
    slopes = np.diag(sdgrad.jacobian(special.psi, holomorphic=True)(z))
    with mp.workdps(50):
        exact = [complex(mp.psi(1, mp.mpc(v))) for v in z]
    np.testing.assert_allclose(slopes, exact, rtol=2e-12)
