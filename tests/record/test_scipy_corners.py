"""Functions of singular, empty, huge and incomplete data, beside SciPy and NumPy."""

import numpy as np
import pytest
import scipy.interpolate as interpolate
import scipy.linalg as linalg
import scipy.ndimage as ndimage
import scipy.signal as signal
import scipy.stats as stats

import sdgrad
from sdgrad.errors import ParseError
from sdgrad.testing import check_grads

X4 = np.array([0.3, 0.7, 1.2, 0.4])
SAMPLE = np.array([0.3, 1.7, -0.4, 2.2, 0.9, 1.1])
OTHER = np.array([1.2, 0.1, 0.8, 1.9, -0.3, 0.5])
NEARLY = np.array([[2.0, 2.0], [2.0, 2.0 + 1e-13]])
LINE = np.array([[0.1, 0.5, 0.9], [0.1, 0.5, 0.9]])
REGULAR = np.array([[2.0, 0.3], [0.3, 1.0]])


@pytest.fixture
def later_calls(monkeypatch):
    """As in later calls, SciPy's values are not looked at."""
    monkeypatch.setattr(sdgrad.config, "verify", "never")


def same(own, wanted, rtol=1e-12):
    for k, (a, b) in enumerate(zip(own, wanted, strict=True)):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=0, err_msg=f"result {k}")
        assert np.shape(a) == np.shape(b)


# -- covariances without an inverse
DENSITIES = {
    "multivariate_normal": lambda cov: stats.multivariate_normal.logpdf(np.array([0.3, 0.1]), cov=cov),
    "multivariate_t": lambda cov: stats.multivariate_t.logpdf(np.array([0.3, 0.1]), shape=cov, df=3.0),
    "matrix_normal": lambda cov: stats.matrix_normal.logpdf(LINE[:, :2], rowcov=cov, colcov=REGULAR),
    "wishart": lambda cov: stats.wishart.logpdf(REGULAR, 3.0, cov),
    "gaussian_kde": lambda cov: stats.gaussian_kde(cov @ LINE).logpdf([0.0, 0.0])[0],
}  # fmt: skip


@pytest.mark.parametrize("name", DENSITIES)
def test_singular_matrices_raise(name, later_calls):
    compiled = sdgrad.compile_forward(DENSITIES[name])
    if name != "gaussian_kde":
        np.testing.assert_allclose(compiled(REGULAR), DENSITIES[name](REGULAR), rtol=1e-12)
    singular = np.array([[2.0, 2.0], [2.0, 2.0]])
    with pytest.raises(np.linalg.LinAlgError):
        compiled(singular)
    if name in ("multivariate_normal", "matrix_normal"):
        with pytest.raises(np.linalg.LinAlgError, match="symmetric positive definite"):
            compiled(NEARLY)


def test_multivariate_t_with_infinite_freedom(later_calls):
    def f(x, cov):
        return stats.multivariate_t.logpdf(x, None, cov, np.inf)

    def of_freedom(x, cov, df):
        return stats.multivariate_t.logpdf(x, None, cov, df)

    points = np.array([[0.3, 0.1], [0.2, -0.4]])
    for x in (points, points[0]):
        same([sdgrad.compile_forward(f)(x, REGULAR)], [f(x, REGULAR)])
    same([sdgrad.compile_forward(of_freedom)(points, REGULAR, np.inf)], [f(points, REGULAR)])
    check_grads(lambda x: np.sum(f(x, REGULAR)), (points,))


# -- elements that are no numbers
def test_incomplete_data(later_calls):
    t = np.linspace(0.0, 1.0, 8)

    def f(x, places):
        spline = interpolate.UnivariateSpline(t, np.sin(t), s=0, ext=1)
        return (
            stats.trim_mean(x, 0.25), spline(places), signal.medfilt(x, 3), ndimage.median_filter(x, 3),
            ndimage.maximum_filter1d(x, 3), ndimage.map_coordinates(t, [places], order=0, mode="nearest"),
        )  # fmt: skip

    compiled = sdgrad.compile_forward(f)
    places = np.array([0.5, 2.0, np.nan])
    same(compiled(SAMPLE, places[:2]), f(SAMPLE, places[:2]))
    mean, curve, *filtered, sampled = compiled(np.where(SAMPLE == 2.2, np.nan, SAMPLE), places)
    assert np.isnan(mean)
    np.testing.assert_array_equal(np.isnan(curve), [False, False, True])
    for found in filtered:
        np.testing.assert_array_equal(np.isnan(found), [False, False, True, True, True, False])
    np.testing.assert_array_equal(np.isnan(sampled), [False, False, True])


def test_the_order_of_nan_is_no_fault():
    x = np.where(SAMPLE == 2.2, np.nan, SAMPLE)
    assert np.isnan(sdgrad.compile_forward(lambda x: ndimage.median_filter(x, 3))(x)).sum() == 3

    def moved(x, places):
        return ndimage.map_coordinates(x, [places], order=1, mode="reflect")

    found = sdgrad.compile_forward(moved)(SAMPLE, np.array([0.5, np.nan]))
    np.testing.assert_array_equal(np.isnan(found), [False, True])


# -- correlations
def correlations(x, y):
    found, line = stats.pearsonr(x, y), stats.linregress(x, y)
    less, greater = (stats.pearsonr(x, y, alternative=a) for a in ("less", "greater"))
    return (
        found.statistic, found.pvalue, *found.confidence_interval(0.9), less.pvalue, *less.confidence_interval(),
        greater.pvalue, *greater.confidence_interval(), *line, line.intercept_stderr,
        stats.linregress(x, y, alternative="less").pvalue, stats.linregress(x, y, alternative="greater").pvalue,
        *stats.f_oneway(x, y, x * y, equal_var=False),
    )  # fmt: skip


def test_correlations(later_calls):
    same(sdgrad.compile_forward(correlations)(SAMPLE, OTHER), correlations(SAMPLE, OTHER), 1e-10)

    def total(x, y):
        return sum(
            w * v
            for w, v in zip(range(1, 30), correlations(x, y), strict=False)
            if np.ndim(v) == 0 and w != 6 and w != 10
        )

    check_grads(total, (SAMPLE, OTHER), wrt=(0, 1))


def test_correlations_of_any_size(later_calls):
    def f(x, y):
        return tuple(stats.pearsonr(x, y))

    compiled, (r, p) = sdgrad.compile_forward(f), f(SAMPLE, OTHER)
    for scale in (1e160, 1e-200):
        same(compiled(SAMPLE * scale, OTHER), (r, p), 1e-12)
    gradient = sdgrad.grad(lambda x, y: stats.pearsonr(x, y).statistic)
    np.testing.assert_allclose(gradient(SAMPLE * 1e160, OTHER) * 1e160, gradient(SAMPLE, OTHER), rtol=1e-10)


def test_perfect_lines_are_no_fault():
    for shift in (0.1, 0.3, 2.0):
        found = sdgrad.compile_forward(lambda x, s: tuple(stats.linregress(x, x + s)))(X4, shift)
        assert abs(found[0] - 1) < 1e-12
        assert 0 <= found[3] < 1e-12


@pytest.mark.parametrize("call", [stats.pearsonr, stats.linregress])
def test_unknown_alternatives(call):
    with pytest.raises(Exception, match="'less', 'greater', or 'two-sided'"):
        sdgrad.compile_forward(lambda x: call(x, x * x, alternative="more")[0])(X4)


# -- factors
def test_cho_factor_leaves_the_other_triangle():
    a = REGULAR + np.array([[0.0, 0.4], [-0.7, 0.0]])

    def f(a, b):
        upper, lower = linalg.cho_factor(a), linalg.cho_factor(a, lower=True)
        return upper[0], lower[0], linalg.cho_solve(upper, b), linalg.cho_solve(lower, b)

    b = np.array([0.3, 1.1])
    same(sdgrad.compile_forward(f)(a, b), f(a, b))

    def total(a, b):
        return sum(np.sum(np.sin(v)) for v in f(a, b))

    check_grads(total, (a, b), wrt=(0, 1))


def test_matrices_without_elements(capfd):
    def f(a, b):
        return np.linalg.cholesky(a), np.linalg.inv(a), np.linalg.det(a) + np.sum(b), np.linalg.solve(a, b)

    a, b = np.zeros((0, 0)), np.zeros((0, 2))
    same(sdgrad.compile_forward(f)(a, b), f(a, b))
    assert "illegal value" not in "".join(capfd.readouterr())


# -- splines on grids
def test_iterated_coefficients_are_no_fault():
    x, y = np.linspace(0, 3, 8), np.linspace(0, 2, 7)
    values = np.sin(3 * x)[:, None] * np.exp(y) + x[:, None] * y**2

    def f(p, v):
        return interpolate.RegularGridInterpolator((x, y), v, method="cubic")(p)

    points = np.array([[0.7, 0.9], [2.2, 1.3]])
    np.testing.assert_allclose(sdgrad.compile_forward(f)(points, values), f(points, values), rtol=1e-4)


# -- options
def test_nan_may_be_refused(later_calls):
    compiled = sdgrad.compile_forward(lambda x: stats.skew(x, nan_policy="raise"))
    assert np.isclose(compiled(SAMPLE), stats.skew(SAMPLE))
    with pytest.raises(ValueError, match="contains nan"):
        compiled(np.where(SAMPLE == 2.2, np.nan, SAMPLE))


GRID = np.arange(4.0)
UNKNOWN = {
    "nan_policy must be one of": lambda x: stats.skew(x, nan_policy="omitt"),
    "use one of linear, slinear, nearest": lambda x: interpolate.interpn((GRID,), x, [0.5], method="cubicc"),
    "is not recorded: use one of linear": lambda x: interpolate.interp1d(GRID, x, kind="cubicc")(0.5),
    "use one of .'average'": lambda x: stats.rankdata(x, method="mean") * x,
}  # fmt: skip


@pytest.mark.parametrize("message", UNKNOWN)
def test_unknown_options_name_the_known_ones(message):
    with pytest.raises((ValueError, ParseError), match=message):
        sdgrad.compile_forward(UNKNOWN[message])(X4)
