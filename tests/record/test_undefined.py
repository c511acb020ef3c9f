"""A value that is NaN because of its inputs has the derivative NaN by them, and never a silent zero."""

import numpy as np
import pytest
import scipy.stats as stats
from scipy import signal
from together import programs

import sdgrad
from sdgrad.record.functions.discrete_distributions import DISCRETE
from sdgrad.record.functions.scipy_stats import TABLE

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:The shape parameter of the erlang")
N = np.nan


# -- distributions: all share what finds that they are undefined
def density(name):
    shapes = "2.5, p" if name == "ncx2" else ", ".join(["p"] * getattr(stats, name).numargs)
    if name in DISCRETE:
        return f"stats.{name}.logpmf(1, {shapes}, loc=m)"
    return f"stats.{name}.logpdf({', '.join(filter(None, ['x', shapes]))}, loc=m, scale=s)"


DENSITIES = [density(n) for n in TABLE]
OTHERS = [
    "stats.norm.cdf(x, m, s)", "stats.gamma.sf(x, p, m, s)", "stats.beta.ppf(0.5 * x, p, 2.0, m, s)",
    "stats.expon.isf(0.5 * x, m, s)", "stats.t.logcdf(x, p, m, s)", "stats.norm(m, s).pdf(x)",
    "stats.gamma(p, m, s).mean()", "stats.norm(m, s).std()", "stats.weibull_min.median(p, m, s)",
    "stats.logistic.entropy(m, s)",
]  # fmt: skip
WRONG = {
    "a scale of zero": (0.5, 0.7, 0.0, 0.0), "a scale below zero": (0.5, 0.7, 0.0, -1.0),
    "a shape that is none": (0.5, N, 0.0, 1.0), "a shape below zero": (0.5, -1.5, 0.0, 1.0),
    "a location that is none": (0.5, 0.7, N, 1.0), "a place that is none": (N, 0.7, 0.0, 1.0),
}  # fmt: skip
INPUTS = ("x", "p", "m", "s")


@pytest.fixture(scope="module")
def compiled():
    texts = [*DENSITIES, *OTHERS]
    return texts, *programs(texts, {"stats": stats}, INPUTS)


@pytest.mark.parametrize("case", WRONG)
def test_distributions(compiled, case):
    texts, f, _ = compiled
    at = WRONG[case]
    found, slope = sdgrad.jvp(f, at, tuple(float(v != w) for v, w in zip(at, (0.5, 0.7, 0.0, 1.0), strict=True)))
    undefined = np.isnan(f(*at))
    assert undefined.any()
    np.testing.assert_array_equal(np.isnan(found), undefined)
    assert [t for t, u, d in zip(texts, undefined, slope, strict=True) if u and not np.isnan(d)] == []


def test_distributions_backwards():
    total = sdgrad.grad(lambda x, p, m, s: np.sum(stats.gamma.logpdf(x, p, m, s)), wrt=INPUTS)
    assert np.isnan(np.concatenate([np.ravel(g) for g in total(np.array([0.5, 1.0]), 2.0, 0.0, -1.0)])).all()
    by_x, by_shape, by_place, by_scale = total(np.array([0.5, N]), 2.0, 0.0, 1.5)
    reference = stats.gamma.logpdf(0.5 + 1e-6, 2.0, 0.0, 1.5) - stats.gamma.logpdf(0.5 - 1e-6, 2.0, 0.0, 1.5)
    np.testing.assert_allclose(by_x, [reference / 2e-6, N], rtol=1e-8)  # the other element keeps its derivative
    assert np.isnan([by_shape, by_place, by_scale]).all()


# -- reductions of nothing, and of what is no number
NOTHING = [
    "np.mean(A[:0])", "np.sum(np.mean(A.reshape(2, 2)[:0], axis=0))", "np.var(A[:0])", "np.std(A[:1], ddof=1)",
    "np.var(A[:1], ddof=1)", "np.average(A[:0])", "np.median(A[:0])", "np.mean(A, where=A > 9)",
    "np.std(A, where=A > 9)", "np.mean(A[A > 9])", "np.var(A[A > 9])", "np.median(A[A > 9])",
    "np.nanstd(A[:1], ddof=1)", "np.cov(A[:1])", "np.corrcoef(A[:1] * np.ones(3), A[:3])[0, 1]", "np.mean(A[: k[0]])",
    "stats.hmean(-A)", "stats.pmean(-A, 1.5)", "stats.gmean(-A)", "stats.skew(A[:1])", "stats.sem(A[:1])",
    "np.sum(signal.square(A, A))", "np.sum(signal.sawtooth(A, A + 3.0))", "stats.ttest_1samp(A[:1], 0.0)[0]",
]  # fmt: skip
MISSING = [
    "np.nanmean(A)", "np.nanvar(A)", "np.nanstd(A)", "np.nanmax(A)", "np.nanmin(A)", "np.nanmedian(A)",
    "np.nanquantile(A, 0.3)", "np.median(A)", "np.quantile(A, 0.3)", "np.percentile(A, 30, axis=0)",
    "np.sum(stats.rankdata(A))", "stats.spearmanr(A, w)[0]", "stats.iqr(A)",
]  # fmt: skip


def jacobian(texts, A):
    names = {"stats": stats, "signal": signal, "k": np.array([0]), "w": np.array([1.0, 3.0, 2.0, 4.0])}
    f, _ = programs(texts, names, ("A",))
    found, pullback = sdgrad.vjp(f, A)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(f(A)))
    assert np.isnan(found).all()
    return [pullback(row)[0] for row in np.eye(len(texts))]


def test_reductions_of_nothing():
    rows = jacobian(NOTHING, np.array([1.0, 2.0, 3.5, 4.0]))
    assert [t for t, row in zip(NOTHING, rows, strict=True) if not np.isnan(row).any()] == []


def test_reductions_of_what_is_no_number():
    """The elements that decide have a derivative: one that is the cause of NaN further back stays visible."""
    rows = jacobian([t.replace("A", "np.sqrt(A)") for t in MISSING], np.full(4, -1.0))
    assert [t for t, row in zip(MISSING, rows, strict=True) if not np.isnan(row).any()] == []


def test_what_is_defined_is_as_before():
    def f(x):
        chosen = np.mean(x, where=x > 1.5) + np.mean(x[x > 1.5]) + np.nanmean(x) + np.nanmax(x) + np.nanmedian(x)
        return chosen + np.median(x[x > 1.5]) + stats.hmean(x) + np.nanvar(x, ddof=1)

    x = np.array([1.0, 2.0, 3.5, N])
    with np.errstate(all="ignore"):
        clean = x[:3]
        wanted = 2 * np.array([0, 0.5, 0.5]) + 1 / 3 + [0, 0, 1] + [0, 1, 0] + [0, 0.5, 0.5] + clean - np.mean(clean)
    gradient = sdgrad.grad(lambda x: f(x) - stats.hmean(x))(x)
    assert np.isnan(gradient).all()  # a harmonic mean of NaN
    found = sdgrad.grad(lambda x: f(x))(clean)
    means = stats.hmean(clean) ** 2 / clean**2 / 3
    np.testing.assert_allclose(found, wanted + means, rtol=1e-13)


def test_parameters_that_scipy_refuses():
    for function, error in (
        (lambda s: stats.multivariate_t.logpdf([0.5, 0.5], [s, 1.0], np.eye(2), s), "'df' must be greater than zero"),
        (lambda s: stats.dirichlet.logpdf([0.5, 0.5], np.array([1.0, 1.0]) * s), "All parameters must be greater"),
    ):
        with pytest.raises(ValueError, match=error):
            sdgrad.grad(function)(-1.0)
