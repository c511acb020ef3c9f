"""Tests of hypotheses, ranks, densities and measures of ``scipy.stats``, beside SciPy's and their differences."""

import numpy as np
import pytest
import scipy.stats as stats
from together import differences, others, value_differences

import sdgrad
from sdgrad.errors import ParseError, SdgradError

rng = np.random.default_rng(0)
GIVEN = {
    "x": rng.standard_normal(9), "z": rng.standard_normal(9) + 0.5, "v": rng.standard_normal(6),
    "im": rng.standard_normal((5, 4)), "pos": rng.uniform(0.5, 2, (5, 4)), "q": rng.uniform(0.5, 2, 7), "pw": 1.7,
    "k": np.array([[3.0, 1, 2, 2, 3, 1], [1, 1, 1, 5, 0, 0]]),
}  # fmt: skip
NAMES = {
    "S": stats, "KD": stats.gaussian_kde(GIVEN["z"]),
    "KD2": stats.gaussian_kde(GIVEN["im"].T[:2], weights=np.arange(1.0, 6)),
}  # fmt: skip
TESTS = [
    "np.array(S.ttest_1samp(x, pw))", "np.array(S.ttest_1samp(im, pw, axis=1, alternative='less'))",
    "np.array(S.ttest_1samp(im, 0.3, axis=None, alternative='greater'))",
    "S.ttest_1samp(im, im[:1], keepdims=True).pvalue", "np.array(S.ttest_1samp(x, pw).confidence_interval(0.9))",
    "S.ttest_1samp(x, pw, alternative='less').confidence_interval().high", "S.ttest_1samp(x, pw).df*1.0",
    "np.array(S.ttest_ind(x, v))", "np.array(S.ttest_ind(im, pos, axis=1))",
    "np.array(S.ttest_ind(im[:, :2], pos[:, :3], axis=1, alternative='greater'))", "np.array(S.ttest_rel(x, z))",
    "S.ttest_ind(x, v).confidence_interval().low", "np.array(S.ttest_ind_from_stats(pw, q[0], 5, q[1], q[2], 7))",
    "np.array(S.f_oneway(x, z, v))", "np.array(S.f_oneway(im, pos, pos[:3]))", "np.array(S.bartlett(x, z, v))",
    "np.array(S.levene(x, z, v, center='mean'))", "np.array(S.levene(im, pos, axis=1))",
    "np.array(S.levene(x, z, v, center='trimmed', proportiontocut=0.2))", "np.array(S.chisquare(q))",
    "np.array(S.chisquare(pos, pos[:, ::-1], axis=1, ddof=1))",
    "np.array(S.chisquare(q[:3], q[3:6], sum_check=False))",
    "np.array(S.power_divergence(q, lambda_='log-likelihood'))", "np.array(S.power_divergence(q, lambda_='neyman'))",
    "np.array(S.power_divergence(q, lambda_='mod-log-likelihood'))",
    "np.array(S.power_divergence(q, lambda_='cressie-read'))", "np.array(S.jarque_bera(x))",
    "np.array(S.jarque_bera(im, axis=0))",
]  # fmt: skip
MEASURES = [
    "S.pmean(pos, 3)", "S.pmean(pos, -0.5, axis=1, weights=pos**2)", "S.pmean(q, 0)", "S.zmap(x, v, ddof=1)",
    "S.gzscore(pos, axis=1)", "S.gstd(pos)", "S.gstd(pos, axis=None)",
    "np.hstack([np.ravel(p) for p in S.describe(im)[2:]])", "np.array(S.describe(x).minmax)",
    "S.describe(x, bias=False).kurtosis", "S.describe(im).nobs*pw", "S.circmean(x)",
    "S.circmean(im, high=1.5, low=-0.5, axis=1)", "S.circvar(im, axis=0)", "S.circstd(x)",
    "S.circstd(x*0.1, high=180, normalize=True)", "S.circstd(im, high=pw, axis=1)", "S.boxcox(q, pw)",
    "S.boxcox_llf(pw, q)", "S.boxcox_llf(0.0, pos)", "S.yeojohnson(x, pw)", "S.yeojohnson(x, 2.0)",
    "S.yeojohnson(x, 0.0)", "S.yeojohnson_llf(pw, x)", "S.gaussian_kde(x)(z)", "S.gaussian_kde(im.T).logpdf(pos.T)",
    "S.gaussian_kde(x, bw_method=pw*1.0).pdf([0.1])", "S.gaussian_kde(x, 'silverman', weights=z**2).evaluate(v)",
    "S.gaussian_kde(x).integrate_box_1d(-0.5, pw)", "KD(x)", "KD.logpdf(x)", "KD2(im[:2, :2])",
    "S.gaussian_kde(x).covariance", "S.gaussian_kde(x, weights=z**2).factor",
]  # fmt: skip
WITH_DEGREES_OF_DATA = [
    "np.array(S.ttest_ind(x, v, equal_var=False))", "np.array(S.ttest_ind(im, pos, axis=1, equal_var=False))",
    "S.ttest_ind(x, v, equal_var=False).df", "S.ttest_ind(x, v, equal_var=False).confidence_interval().low",
]  # fmt: skip
RANKS = [
    *(f"S.rankdata({a}, method='{m}')" for m in ("average", "min", "max", "dense", "ordinal") for a in "xk"),
    "S.rankdata(k, axis=1)", "S.rankdata(k, 'max', axis=0)", "S.rankdata(k, 'dense', axis=1)",
    "np.array(S.kruskal(x, 1.5 * x))", "np.array(S.kruskal(k[0], k[1], x))", "np.array(S.kruskal(k, k * k, axis=1))",
    "np.array(S.spearmanr(x, z))", "np.array(S.spearmanr(im))", "np.array(S.spearmanr(im, pos, axis=1))",
    "np.array(S.spearmanr(k[0], k[1], alternative='less'))",
]  # fmt: skip


@pytest.mark.parametrize("calls", [TESTS, MEASURES], ids=["tests", "measures"])
def test_values_and_derivatives(calls):
    chosen = calls[::3]
    assert value_differences(others(calls, chosen), NAMES, GIVEN) == []
    assert differences(chosen, NAMES, GIVEN, step=1e-3) == []


def test_degrees_of_freedom_that_data_decide():
    """Their probabilities have no second derivative."""
    used = {n: GIVEN[n] for n in ("x", "v", "im", "pos")}
    assert differences(WITH_DEGREES_OF_DATA, NAMES, used, step=1e-3, second=False) == []
    with pytest.raises(SdgradError, match="by the degrees of freedom"):
        sdgrad.hessian(lambda a: stats.ttest_ind(a, GIVEN["v"], equal_var=False).pvalue)(GIVEN["x"])


def test_ranks_are_piecewise_constant():
    used = {n: GIVEN[n] for n in ("x", "z", "im", "pos", "k")}
    assert value_differences(RANKS, NAMES, used) == []
    x = GIVEN["x"]
    np.testing.assert_array_equal(sdgrad.grad(lambda x: np.sum(stats.rankdata(x)))(x), 0 * x)
    np.testing.assert_array_equal(sdgrad.grad(lambda x: stats.rankdata(x) @ x)(x), stats.rankdata(x))
    assert np.isnan(sdgrad.compile_forward(stats.rankdata)(np.array([1.0, np.nan, 0.0]))).all()


def test_results_are_tuples_with_more_attributes():
    def f(x, y):
        t, p = stats.ttest_rel(x, y)
        found = stats.ttest_1samp(x, 0.1)
        return (*found, t, p, found.df, stats.f_oneway(x, y).pvalue, stats.describe(x), stats.chisquare(x * x)[0])

    x, y = GIVEN["x"], GIVEN["z"]
    found, wanted = sdgrad.compile_forward(f)(x, y), f(x, y)
    for a, b in zip(found[:6] + found[7:], wanted[:6] + wanted[7:], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    np.testing.assert_allclose(found[6].kurtosis, wanted[6].kurtosis, rtol=1e-12)
    assert found[6].nobs == 9


def test_single_precision():
    def f(x, y):
        return (
            *stats.ttest_ind(x, y), *stats.f_oneway(x, y), *stats.bartlett(x, y), stats.circmean(x), stats.gstd(y * y),
            stats.pmean(y * y, 2), stats.zmap(x, y), stats.boxcox_llf(0.5, y * y), stats.yeojohnson(x, 0.5),
            *stats.chisquare(y * y), stats.gaussian_kde(x)(y), stats.rankdata(x),
        )  # fmt: skip

    x, y = GIVEN["x"].astype(np.float32), GIVEN["v"].astype(np.float32)
    for found, wanted in zip(sdgrad.compile_forward(f)(x, y), f(x, y), strict=True):
        assert np.asarray(found).dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=2e-5)


REFUSED = {
    "trim= and method= are not recorded": lambda x: stats.ttest_ind(x, x[:4], trim=0.2).pvalue,
    "pass lmbda=": lambda x: stats.boxcox(x**2)[0],
    "bw_method= must be": lambda x: stats.gaussian_kde(x, lambda kde: 0.3)(0.0),
    "complex numbers": lambda x: stats.ttest_1samp(x + 1j * x, 0.0).pvalue,
    "must be known numbers": lambda x: stats.power_divergence(x**2, lambda_=x[0]).pvalue,
}


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message):
    with pytest.raises(ParseError, match=message):
        sdgrad.grad(lambda x: np.sum(REFUSED[message](x)))(GIVEN["x"])


def test_errors_of_scipy():
    def f(seen, wanted):
        return stats.chisquare(seen, wanted).statistic

    with pytest.raises(ValueError, match="must agree"):
        sdgrad.compile_forward(f)(np.array([1.0, 2.0]), np.array([2.0, 2.0]))
    with pytest.raises(ValueError, match="`alternative` must be"):
        sdgrad.grad(lambda x: stats.ttest_1samp(x, 0.0, alternative="more").pvalue)(GIVEN["x"])
