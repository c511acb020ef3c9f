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
]
REFUSED = {"gamma", "psi", "loggamma", "rint", "softmax"}
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
    z = np.array([6.9 + 0.1j, 7.1 + 0.1j, 30.0, 1e4 + 1j, -9.0 - 0.2j, 3.0 - 4.0j, 7.2j])
    slopes = np.diag(sdgrad.jacobian(special.wofz, holomorphic=True)(z))
    with mp.workdps(60):
        exact = [
            complex(mp.diff(lambda u: mp.exp(-u * u) * mp.erfc(-1j * u), mp.mpc(v))) for v in z[[0, 1, 2, 4, 5, 6]]
        ]
    np.testing.assert_allclose(slopes[[0, 1, 2, 4, 5, 6]], exact, rtol=2e-12)
    far = -1j / np.sqrt(np.pi) / z[3] ** 2 * (1 + 1.5 / z[3] ** 2)
    np.testing.assert_allclose(slopes[3], far, rtol=1e-14)
