"""SciPy's distributions: values and derivatives beside SciPy's, tails beside mpmath, supports, and what is refused."""

import mpmath as mp
import numpy as np
import pytest
import scipy.stats as stats
from together import differences, others, value_differences

import sdgrad
from sdgrad.errors import ParseError
from sdgrad.record.functions.discrete_distributions import DISCRETE
from sdgrad.record.functions.distributions import CONTINUOUS
from sdgrad.record.functions.scipy_stats import METHODS_OF_ALL

SHAPES = {
    "gamma": "2.5 * c", "chi2": "3.2 * c", "beta": "2.0 * c, 3.0 * c", "f": "3.0 * c, 4.5 * c", "lognorm": "0.7 * c",
    "weibull_min": "1.7 * c", "pareto": "2.3 * c", "invgamma": "2.1 * c", "truncnorm": "-0.7 * c, 1.2 * c",
    "t": "3.5", "poisson": "2.3 * c", "binom": "9.0, 0.4 * c",
    "nbinom": "3.5 * c, 0.4 * c", "bernoulli": "0.4 * c", "geom": "0.4 * c",
}  # fmt: skip


def call(name, method):
    x = "q" if method in ("ppf", "isf") else "x"
    given = [x, SHAPES[name]] if name in SHAPES else [x]
    return f"stats.{name}.{method}({', '.join(given)}, loc=m, scale=s)"


def mass(name, method):
    return f"stats.{name}.{method.replace('pdf', 'pmf')}(k, {SHAPES[name]}, 1)"


CALLS = [call(n, m) for n, f in CONTINUOUS.items() for m in METHODS_OF_ALL if f.get(m) is not None]
MASSES = [mass(n, m) for n, f in DISCRETE.items() if n in SHAPES for m in METHODS_OF_ALL[:6] if f.get(m) is not None]
DIFFERENTIATED = [*(t for t in CALLS if ".logpdf" in t), *CALLS[1::6], *MASSES[::4]]
GIVEN = {
    "x": np.array([-3.0, -0.5, 0.2, 0.73, 1.5, 4.0]), "q": np.array([0.1, 0.47, 0.503, 0.9]), "m": 0.1, "s": 1.3,
    "c": 1.0,
}  # fmt: skip
NAMES = {"stats": stats, "k": np.array([-1, 0, 1, 2, 3, 7, 10, 12])}


def test_tables_are_whole():
    assert len(CALLS) >= 160
    assert len(MASSES) == 30


def test_all_methods_have_values():
    """Those whose derivatives are compared have their values compared there."""
    assert value_differences(others([*CALLS, *MASSES], DIFFERENTIATED), NAMES, GIVEN) == []


def test_first_derivatives():
    assert differences(DIFFERENTIATED, NAMES, GIVEN, step=1e-3, loose=1e-6, second=False) == []


def test_second_derivatives():
    chosen = [t for t in CALLS if ".logpdf" in t][::5]
    given = {**GIVEN, "x": np.array([0.2, 0.4, 0.73, 1.3])}
    assert differences(chosen, NAMES, given, step=1e-3, loose=1e-6) == []


FROZEN = [
    "stats.norm(m, s).logpdf(x)", "stats.gamma(2.5, scale=s).cdf(x)", "known.logpdf(x)", "stats.poisson(s).logpmf(k)",
    "stats.t.ppf(np.append(q, 0.5), 3.0 * s)", "stats.t.logpdf(x, 3.0 * s)",
    "stats.multivariate_normal.logpdf(a, x[:2], C)", "stats.multivariate_normal(x[:2], C).pdf(a)",
    "stats.multivariate_normal.logpdf(a[0], m, s)", "normal.logpdf(a)", "stats.dirichlet.logpdf(p / np.sum(p), p)",
    "stats.dirichlet(p + 1.0).pdf(p[:2] / np.sum(p))", "stats.gamma(2.5 * s, m, s).stats()",
    "stats.norm.stats(m, s, moments='v')",
    "stats.gamma(s).moment(2)", "stats.expon.moment(1, scale=s)", "stats.beta(s, 2.0, m, s).support()",
    "stats.truncnorm.support(m - 3.0, s, m, s)", "stats.norm(m, s).interval(confidence=0.9)",
    "stats.poisson(s).stats('mv')",
]  # fmt: skip


def test_frozen_ones_and_several_variables():
    names = {
        **NAMES,
        "known": stats.norm(0.3, 2.0),
        "normal": stats.multivariate_normal([0.1, 0.2], [[2.0, 0.3], [0.3, 1.0]]),
    }
    given = {**GIVEN, "a": np.array([[0.3, -0.4], [1.2, 0.5]]), "C": np.array([[1.4, 0.3], [0.3, 0.9]])}
    given["p"] = np.array([0.4, 1.3, 0.8])
    assert differences(FROZEN, names, given, step=5e-4, loose=1e-6) == []


SAMPLES = [
    "stats.zscore(a)", "stats.zscore(a, axis=1, ddof=1)", "stats.sem(a)", "stats.variation(p)", "stats.gmean(p)",
    "stats.gmean(p, axis=1, weights=p**2)", "stats.hmean(p)", "stats.skew(a)", "stats.skew(a, bias=False)",
    "stats.kurtosis(a)", "stats.kurtosis(a, axis=None, fisher=False, bias=False)", "stats.entropy(p)",
    "stats.entropy(p[0], p[1], base=2.0)", "stats.pearsonr(a[:, 0], a[:, 1]).statistic",
    "stats.pearsonr(a[:, 0], a[:, 1]).pvalue",
]  # fmt: skip


def test_statistics_of_samples():
    rng = np.random.default_rng(0)
    given = {"a": rng.standard_normal((5, 3)), "p": rng.uniform(0.3, 1.4, (4, 3))}
    assert value_differences(others(SAMPLES, SAMPLES[::3]), {"stats": stats}, given) == []
    assert differences(SAMPLES[::3], {"stats": stats}, given) == []


# -- hard places
def tails(x, y, q):
    return (
        stats.norm.logcdf(x), stats.norm.logsf(-x), stats.expon.sf(y), stats.gumbel_r.sf(y), stats.logistic.logcdf(x),
        stats.cauchy.sf(y), stats.truncnorm.logpdf(y, 30.0, 60.0), stats.norm.isf(q), stats.expon.ppf(q),
    )  # fmt: skip


def test_tails_are_exact():
    x, y, q = -37.5, 35.0, 1e-12
    found = sdgrad.compile_forward(tails)(x, y, q)
    mp.mp.dps = 50
    above = (mp.erfc(30 / mp.sqrt(2)) - mp.erfc(60 / mp.sqrt(2))) / 2
    wanted = (
        mp.log(mp.erfc(37.5 / mp.sqrt(2)) / 2), mp.log(mp.erfc(37.5 / mp.sqrt(2)) / 2), mp.exp(-35),
        -mp.expm1(-mp.exp(-35)), -mp.log1p(mp.exp(mp.mpf(37.5))), mp.atan2(1, 35) / mp.pi,
        -mp.mpf(35) ** 2 / 2 - mp.log(2 * mp.pi) / 2 - mp.log(above), mp.sqrt(2) * mp.erfinv(1 - 2 * mp.mpf(q)),
        -mp.log1p(-mp.mpf(q)),
    )  # fmt: skip
    np.testing.assert_allclose(np.array(found, float), [float(w) for w in wanted], rtol=2e-13)


def edges(x, s):
    return (
        stats.expon.logpdf(x, scale=s), stats.gamma.pdf(x, 2.0, scale=s), stats.uniform.cdf(x, 0.0, s),
        stats.norm.pdf(x, 0.0, s), stats.lognorm.pdf(x, 0.5, 0.0, s),
    )  # fmt: skip


def test_outside_and_at_the_ends_of_supports():
    x = np.array([-1.0, 0.0, np.inf, np.nan, 0.5])
    values, pullback = sdgrad.vjp(edges, x, 1.5)
    for found, wanted in zip(values, edges(x, 1.5), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-14)
    by_x = [pullback(*(np.ones(5) * (k == j) for k in range(5)))[0] for j in range(5)]
    np.testing.assert_allclose(by_x[0][[0, 1, 4]], [0.0, -1 / 1.5, -1 / 1.5], rtol=1e-14)
    np.testing.assert_allclose(by_x[1][:2], [0.0, 1 / 1.5**2], rtol=1e-14)
    assert np.all(np.isfinite(np.array(by_x)[:, :2]))


def test_parameters_that_are_none_give_nan():
    def f(s, c):
        return stats.norm.logpdf(1.0, 0.0, s), stats.gamma.cdf(1.0, c), stats.binom.pmf(1, c, 0.5), stats.norm.ppf(s)

    assert np.isnan(np.array(sdgrad.compile_forward(f)(-1.0, -2.5))).all()


def test_single_precision_is_computed_in_double():
    x = np.array([0.3, 1.2], np.float32)
    found = sdgrad.compile_forward(lambda x: stats.norm.logpdf(x))(x)
    assert found.dtype == stats.norm.logpdf(x).dtype == np.float64
    assert sdgrad.grad(lambda x: np.sum(stats.norm.logpdf(x)))(x).dtype == np.float32


REFUSED = {
    "argus' is not recorded": lambda x: stats.argus.pdf(x, 1.5),
    "poisson.ppf is not recorded": lambda x: stats.poisson.ppf(0.3, x),
    "gamma.rvs is not recorded": lambda x: stats.gamma(x).rvs(),
    "hypergeom.stats: moments='k' is not recorded": lambda x: stats.hypergeom.stats(9 + x, 4, 5, moments="mk")[1],
    "moment of order 5": lambda x: stats.gamma.moment(5, x),
    "allow_singular=True is not recorded": lambda x: stats.multivariate_normal.logpdf(x, allow_singular=True),
    "method= and axis=None": lambda x: stats.pearsonr(np.stack([x, x, x]), np.ones(3), axis=None)[0],
}  # fmt: skip


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message):
    with pytest.raises(ParseError, match=message):
        sdgrad.grad(REFUSED[message])(0.3)
