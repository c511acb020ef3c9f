"""Statistics of samples without what is NaN, or beyond limits: beside SciPy's, and beside samples without it."""

import numpy as np
import pytest
import scipy.stats as stats
from together import programs

import sdgrad
from sdgrad.errors import ParseError

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
N = np.nan
A = np.array([[0.3, 1.2, 2.5, 0.7], [N, 0.9, 1.4, 1.1], [1.7, N, 0.8, 2.3], [0.6, 2.1, N, 1.9], [1.3, 0.4, 2.2, N],
              [2.4, 1.6, 0.5, 1.0]])  # fmt: skip
B = A[::-1, ::-1] + 0.4
W = np.where(np.isnan(A), 0.7, np.cos(A) + 1.5)
GIVEN = {"a": A, "b": B, "w": W, "f": np.array([3.0, N, 5.0, 4.5, 2.5])}
OMIT = "nan_policy='omit'"
STATISTICS = [
    f"stats.zscore(a, ddof=1, {OMIT})", f"stats.zmap(a, b, {OMIT})", f"stats.gzscore(a, axis=1, {OMIT})",
    f"stats.sem(a, {OMIT})", f"stats.variation(a, axis=1, ddof=1, keepdims=True, {OMIT})", f"stats.gmean(a, {OMIT})",
    f"stats.hmean(a, weights=w, {OMIT})", f"stats.pmean(a, 2.5, axis=None, {OMIT})", f"stats.gstd(a, {OMIT})",
    f"stats.skew(a, {OMIT})", f"stats.skew(a, bias=False, axis=1, {OMIT})", f"stats.kurtosis(a, {OMIT})",
    f"stats.kurtosis(a, bias=False, axis=None, {OMIT})", f"stats.moment(a, 3, {OMIT})", f"stats.circmean(a, {OMIT})",
    f"stats.circvar(a, axis=0, {OMIT})", f"stats.circstd(a, axis=1, {OMIT})", f"stats.iqr(a, axis=0, {OMIT})",
    f"stats.median_abs_deviation(a, {OMIT})", f"stats.trim_mean(a, 0.25, {OMIT})",
    f"stats.trim_mean(a, 0.1, axis=None, {OMIT})", f"stats.entropy(a, axis=1, {OMIT})", f"stats.entropy(a, b, {OMIT})",
    f"stats.boxcox_llf(0.3, a, axis=0, {OMIT})", f"stats.yeojohnson_llf(0.3, a, axis=0, {OMIT})",
]  # fmt: skip
TESTS = [
    f"np.array(stats.ttest_1samp(a, 1.1, {OMIT}))", f"np.array(stats.ttest_1samp(a, np.ones((1, 4)), {OMIT}))",
    f"np.array(stats.ttest_ind(a, b, {OMIT}))", f"np.array(stats.ttest_ind(a, b, equal_var=False, axis=1, {OMIT}))",
    f"np.array(stats.ttest_rel(a, b, alternative='less', {OMIT}))", f"np.array(stats.f_oneway(a, b, w, {OMIT}))",
    f"np.array(stats.f_oneway(a, b, w, equal_var=False, {OMIT}))", f"np.array(stats.bartlett(a, b, {OMIT}))",
    f"np.array(stats.levene(a, b, {OMIT}))", f"np.array(stats.levene(a, b, center='trimmed', {OMIT}))",
    f"np.array(stats.levene(a, b, center='mean', axis=1, {OMIT}))", f"np.array(stats.jarque_bera(a, axis=0, {OMIT}))",
    f"np.array(stats.chisquare(f, {OMIT}))", f"np.array(stats.power_divergence(a, lambda_=0, axis=1, {OMIT}))",
    f"stats.rankdata(a, axis=1, {OMIT})", f"stats.ttest_1samp(a, 1.1, {OMIT}).df",
    f"np.array(stats.linregress(a[:, 1], b[:, 1], {OMIT}))",
]  # fmt: skip


LIMITED = [
    "stats.tmean(c)", "stats.tmean(c, (0.55, 2.0), (False, True))",
    "stats.tmean(a, (0.55, None), axis=1, " + OMIT + ")",
    "stats.tvar(c, (None, 2.0))", "stats.tvar(c, (0.45, 2.15), (True, False), None, 0)",
    "stats.tstd(c, (0.45, 2.15), axis=1)",
    "stats.tsem(c, (0.55, 2.45), (False, False))", "stats.tsem(a, (0.55, 2.45), ddof=0, keepdims=True, " + OMIT + ")",
    "stats.tmin(c, 0.55)", "stats.tmin(c, 0.55, inclusive=False)", "stats.tmax(c, 0.95, axis=1)", "stats.tmax(a)",
    "stats.tmin(a, 0.45, axis=1, " + OMIT + ")", "stats.tmax(k, 4, axis=None)", "stats.tmin(k, 1, keepdims=True)",
    "stats.tmean(k, (1, 5))", "stats.tmean(c, (0.45, 0.65), axis=1)",
]  # fmt: skip
GIVEN["c"] = np.where(np.isnan(A), 0.5, A)
NAMES = {"stats": stats, "k": np.array([[3, 1, 4], [1, 5, 9]])}


@pytest.mark.parametrize("texts", [STATISTICS, TESTS, LIMITED], ids=["statistics", "tests", "limits"])
def test_what_is_left_out(texts):
    """Derivatives by what is NaN are zero; the others are compared along a direction of each array."""
    f, _ = programs(texts, NAMES, list(GIVEN))
    wanted = f(**GIVEN)
    rng = np.random.default_rng(1)
    weights = np.where(np.isnan(wanted), 0.0, rng.uniform(0.5, 1.0, wanted.shape))
    value, pull = sdgrad.vjp(f, *GIVEN.values())
    np.testing.assert_allclose(value, wanted, rtol=1e-10, atol=1e-13)
    for (name, x), slope in zip(GIVEN.items(), pull(weights), strict=True):
        assert np.all(slope[np.isnan(x)] == 0)
        way = rng.uniform(-1.0, 1.0, x.shape)
        up, down = (np.nansum(weights * f(**{**GIVEN, name: x + s * 1e-6 * way})) for s in (1, -1))
        np.testing.assert_allclose(np.sum(slope * way), (up - down) / 2e-6, rtol=1e-6, err_msg=name)


def test_single_precision_and_empty_rows():
    """Rows without numbers have no mean; the derivative by other rows does not know of them."""
    x = np.array([[1.0, N, 2.0], [N, N, N], [0.5, 1.5, 4.0]], np.float32)

    def f(x):
        return stats.skew(x, axis=1, nan_policy="omit"), stats.sem(x, axis=1, nan_policy="omit")

    for own, wanted in zip(sdgrad.compile_forward(f)(x), f(x), strict=True):
        assert own.dtype == wanted.dtype
        np.testing.assert_allclose(own, wanted, rtol=1e-5)
    slope = sdgrad.grad(lambda x: f(x)[1][0] + f(x)[1][2])(x)
    np.testing.assert_allclose(slope[0], [-0.5, 0.0, 0.5], rtol=1e-6)  # half of the distance of two numbers
    assert np.isfinite(slope[2]).all()


REFUSED = {
    "describe: nan_policy='omit' is not recorded": lambda x: stats.describe(x, nan_policy="omit").mean,
    "spearmanr: nan_policy='omit' is not recorded": lambda x: stats.spearmanr(x, x, nan_policy="omit").statistic,
    "center= with nan_policy='omit' is not": lambda x: stats.median_abs_deviation(x, center=np.mean, nan_policy="omit"),
}


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message):
    with pytest.raises(ParseError, match=message):
        sdgrad.grad(lambda x: np.sum(REFUSED[message](x)))(A[:, 0])


def test_raised():
    with pytest.raises(ValueError, match="The input contains nan values"):
        sdgrad.grad(lambda x: np.sum(stats.linregress(x, x**2, nan_policy="raise").slope))(A[:, 0])


def test_nothing_within_limits():
    for f in (lambda x: stats.tmean(x, (7.0, 8.0)), lambda x: stats.tmin(x, 7.0)):
        with pytest.raises(ValueError, match="No array values within given limits"):
            sdgrad.grad(f)(W[:, 0])


def test_elements_at_limits():
    x = np.array([1.0, 2.0, 3.0, 4.0])
    both = sdgrad.grad(lambda x: stats.tmean(x, (2.0, 4.0), (True, False)) + stats.tmax(x, 3.0, inclusive=False))(x)
    np.testing.assert_allclose(both, [0.0, 1.5, 0.5, 0.0])
