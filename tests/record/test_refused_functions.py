"""Errors of NumPy's and SciPy's functions name the function as the user knows it, the line, and what to write."""

import numpy as np
import pytest
import scipy.interpolate as interpolate
import scipy.linalg
import scipy.sparse as sparse
import scipy.special as special
import scipy.stats as stats

import sdgrad
from sdgrad.errors import DifferentiationError, ParseError

X = np.array([0.5, 1.5, 0.7, 2.0])
GRID = np.linspace(0.0, 1.0, 6)


def squared(v):
    return v * v


OF_OBJECTS, OF_NOBODY = np.frompyfunc(squared, 1, 1), np.frompyfunc(lambda v: v * v, 1, 1)
MASKED = np.ma.array(X, mask=X > 1.0)
DIAGONAL = sparse.csr_array(np.diag(X))
REFUSED = [
    (lambda x: special.mathieu_cem(2, x, 30.0)[0][0], "scipy.special.mathieu_cem has no derivative here"),
    (lambda x: special.smirnov(2, x)[0], "scipy.special.smirnov has no derivative here: no rule"),
    (lambda x: np.sum(OF_OBJECTS(x)), "np.frompyfunc of 'squared' has no derivative here: use np.vectorize"),
    (lambda x: np.polynomial.polynomial.polytrim(x).sum(), "use a slice in place of polytrim"),
    (lambda x: np.ma.masked_less(x, 0.6).sum(), "masked_less has no .*: use an array of booleans beside the data"),
    (lambda x: np.sum(x * MASKED), "numpy.ma.MaskedArray, not an ndarray.*Use its data and its mask"),
    (lambda x: np.sum(OF_NOBODY(x)), "np.frompyfunc of a function has no derivative here"),
    (lambda x: np.sum(np.frompyfunc(squared, 1, 1)(x)), "np.frompyfunc of 'squared'"),
    (lambda x: special.erf(DIAGONAL * x).sum(), "erf of a sparse matrix"),
    (lambda x: interpolate.interp1d(x, X, "quadratic")(0.6), "interpolate.interp1d: the points .*kind='cubic' takes"),
    (
        lambda x: interpolate.RegularGridInterpolator((x, x), np.outer(X, X), "cubic")([0.6, 0.6])[0],
        "scipy.interpolate.RegularGridInterpolator: the points .*; method='pchip' takes recorded ones",
    ),
    (lambda x: interpolate.interpn((x,), X, [0.6], "cubic")[0], "RegularGridInterpolator: the points and knots"),
    (
        lambda x: interpolate.RectBivariateSpline(x, X, np.outer(X, X))(0.6, 0.6)[0, 0],
        "scipy.interpolate.RectBivariateSpline: the points and knots must be known .*RegularGridInterpolator takes",
    ),
]


@pytest.mark.parametrize("k", range(len(REFUSED)))
def test_the_function_is_the_one_that_the_user_calls(k):
    function, told = REFUSED[k]
    with pytest.raises(ParseError, match=rf"(?s)test_refused_functions.py:\d+.*\^\^.*{told}"):
        sdgrad.grad(function)(np.sort(X))


WITHOUT = [
    (lambda x: np.sum(special.jv(x, 2.0)), "scipy.special.jv by its argument 1: no derivative is known"),
    (lambda x: stats.hypergeom.cdf(3, 20.0, x[0], 12.0), "the hypergeometric distribution by a count: no derivative"),
    (lambda x: np.sum(scipy.linalg.schur(np.outer(x, x))[0]), "'schur': has no backward implementation"),
]


@pytest.mark.parametrize("k", range(len(WITHOUT)))
def test_derivatives_that_are_not_known_show_the_line(k):
    function, told = WITHOUT[k]
    with pytest.raises(
        DifferentiationError, match=r"(?s)at .*test_refused_functions.py:\d+\n.*hint: .*stop_g"
    ) as found:
        sdgrad.grad(function)(X)
    text = str(found.value)
    assert told in text
    assert f"(lambda x: {'np.sum' if k != 1 else 'stats.hypergeom'}" in text  # the line itself


WRONG_VALUES = {
    "axis 0 index 9 exceeds": lambda x: sparse.coo_array((x, ([0, 1, 2, 9], np.arange(4))), shape=(4, 4)).sum(),
    "out of range": lambda x: (DIAGONAL * x)[7, 0],
    "range .0, 1.": lambda x: np.quantile(X, x[1]),
    "range .0, 100.": lambda x: np.percentile(X, 100 * x[1]),
}


@pytest.mark.parametrize("told", WRONG_VALUES)
def test_errors_of_libraries_show_the_line(told):
    """Those of the recording, and of the first run as Python runs it."""
    with pytest.raises((ValueError, IndexError), match=rf"(?s)^test_refused_functions.py:\d+\n.*\^\^.*{told}"):
        sdgrad.grad(WRONG_VALUES[told])(X)


def raises_itself(x):
    if x[0] > 0.1:
        raise ValueError("own")
    return x[0]


def test_errors_that_the_user_raises_are_as_they_are():
    with pytest.raises(ValueError, match="^own$"):
        sdgrad.grad(raises_itself)(X)


@pytest.mark.parametrize(
    ("function", "at"), [(special.zeta, 2.5), (special.gamma, 2.5), (np.linalg.det, np.diag(X)), (np.var, X)]
)
def test_functions_of_libraries_as_they_are(function, at):
    """Their defaults are their own."""
    value, slope = sdgrad.value_and_grad(function)(at)
    assert np.isclose(value, function(at))
    step = 1e-6 * np.ones(np.shape(at))
    moved = (function(at + step) - function(at - step)) / 2
    assert np.isclose(np.sum(slope * step), moved, rtol=1e-6)


def test_derivatives_of_no_number():
    """Where parameters give no number, its derivative is none either."""

    def f(x):
        return (
            special.zeta(x, 1.5), special.zeta(1.5 * x, -x), special.loggamma(-x), special.chdtri(2.0, 3 * x),
            special.fdtr(2.0, 3.0, -x), special.fdtrc(2.0, 3.0, -x),
        )  # fmt: skip

    values, slopes = sdgrad.jvp(f, (0.5,), (1.0,))
    np.testing.assert_array_equal(np.isnan(values), np.isnan(f(0.5)))
    assert np.isnan(values[0]) and np.array_equal(np.isnan(values), np.isnan(slopes))
