"""Functions of complex numbers: NumPy's value and the right derivative, or a refusal; never a compiler's error."""

import numpy as np
import pytest
import scipy.special

import sdgrad
from sdgrad.errors import ParseError

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
REFUSED = {"erf", "erfc", "gamma", "psi", "loggamma", "ndtr", "rint", "softmax"}
FUNCTIONS = [getattr(np, n) for n in NUMPY] + [getattr(scipy.special, n) for n in SCIPY]


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
