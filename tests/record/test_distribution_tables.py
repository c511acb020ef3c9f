"""Further distributions of SciPy, and moments of all: values and derivatives beside SciPy's, tails beside mpmath."""

import mpmath as mp
import numpy as np
import pytest
import scipy.stats as stats
from together import differences, others, value_differences

import sdgrad
from sdgrad.errors import ParseError
from sdgrad.record.functions.bounded_distributions import BOUNDED
from sdgrad.record.functions.discrete_distributions import DISCRETE
from sdgrad.record.functions.further_distributions import FURTHER
from sdgrad.record.functions.moments import MOMENTS
from sdgrad.record.functions.positive_distributions import POSITIVE
from sdgrad.record.functions.scipy_stats import METHODS_OF_ALL

pytestmark = pytest.mark.filterwarnings("ignore:The shape parameter of the erlang")
SHAPES = {
    "erlang": "2.5 * c", "chi": "2.6 * c", "nakagami": "1.4 * c", "gengamma": "1.7 * c, 1.3 * c",
    "betaprime": "2.2 * c, 3.1 * c", "invgauss": "0.8 * c", "lomax": "1.8 * c", "fisk": "2.3 * c",
    "burr": "1.9 * c, 0.8 * c", "burr12": "1.9 * c, 1.2 * c", "exponweib": "1.4 * c, 1.6 * c",
    "halfgennorm": "1.3 * c", "invweibull": "1.7 * c", "loglaplace": "2.4 * c",
    "foldnorm": "1.1 * c", "gompertz": "0.7 * c", "fatiguelife": "0.6 * c", "alpha": "1.2 * c",
    "genextreme": "-0.2 * c", "genpareto": "0.3 * c", "genlogistic": "1.4 * c", "gennorm": "1.6 * c",
    "weibull_max": "1.7 * c", "johnsonsu": "0.4 * c, 1.3 * c", "johnsonsb": "0.4 * c, 1.3 * c",
    "laplace_asymmetric": "1.3 * c", "loggamma": "1.4 * c", "loguniform": "0.1 * c, 1.5 * c",
    "reciprocal": "0.1 * c, 1.5 * c", "powerlaw": "1.8 * c", "triang": "0.4 * c", "trapezoid": "0.3 * c, 0.6 * c",
    "truncexpon": "2.1 * c", "exponnorm": "1.5 * c", "powernorm": "1.4 * c", "skewcauchy": "0.4 * c",
    "bradford": "1.3 * c", "hypergeom": "20.0, 7.0, 12.0",
    "betabinom": "9.0, 2.3 * c, 1.7 * c", "betanbinom": "4.0, 2.3 * c, 1.7 * c", "zipf": "2.4 * c",
    "logser": "0.6 * c", "planck": "0.7 * c", "dlaplace": "0.8 * c", "randint": "2.0, 9.0", "yulesimon": "2.1 * c",
}  # fmt: skip
OF_MOMENTS = SHAPES | {
    "gamma": "2.5 * c", "chi2": "3.2 * c", "beta": "2.0 * c, 3.0 * c", "f": "3.0 * c, 4.5 * c", "lognorm": "0.7 * c",
    "weibull_min": "1.7 * c", "pareto": "2.3 * c", "invgamma": "2.1 * c", "skewnorm": "1.5 * c", "t": "3.5 * c",
    "poisson": "2.3 * c", "binom": "9.0, 0.4 * c", "nbinom": "3.5 * c, 0.4 * c", "bernoulli": "0.4 * c",
    "geom": "0.4 * c", "lomax": "2.8 * c",
}  # fmt: skip
GIVEN = {
    "x": np.array([-3.0, -0.5, 0.2, 0.73, 1.3, 4.0]), "q": np.array([0.1, 0.47, 0.503, 0.9]), "m": 0.1, "s": 1.3,
    "c": 1.0,
}  # fmt: skip
NAMES = {"stats": stats, "k": np.array([-1, 0, 1, 2, 3, 7, 10, 12])}


def call(name, method):
    x = "q" if method in ("ppf", "isf") else "x"
    given = [x, SHAPES[name]] if name in SHAPES else [x]
    return f"stats.{name}.{method}({', '.join(given)}, loc=m, scale=s)"


def mass(name, method):
    return f"stats.{name}.{method.replace('pdf', 'pmf')}(k, {SHAPES[name]}, 1)"


def moment(name, method):
    given = [OF_MOMENTS[name]] if name in OF_MOMENTS else []
    if name in DISCRETE and method == "entropy":
        return f"stats.{name}.{method}({given[0]})"
    given += ["loc=m"] if name in DISCRETE else ["loc=m", "scale=s"]
    return f"stats.{name}({', '.join(given)}).{method}()"


def offered(table):
    return [(n, m) for n, f in table.items() for m in METHODS_OF_ALL if f.get(m) is not None]


CALLS = [call(n, m) for n, m in offered(POSITIVE | BOUNDED)]
MASSES = [mass(n, m) for n, m in offered(DISCRETE) if n in SHAPES]
DIFFERENTIATED = [*(t for t in CALLS if ".logpdf" in t), *CALLS[2::9], *MASSES[::3]]
OFFERED_MOMENTS = [
    (n, m) for n, f in MOMENTS.items() for m in ("mean", "var", "std", "entropy")
    if n not in ("cauchy", "ncx2", *FURTHER) and getattr(f, m.replace("std", "var")) is not None
]  # fmt: skip
PARAMETERS = [
    *(moment(n, m) for n, m in OFFERED_MOMENTS), "stats.gamma.median(2.5 * c, scale=s)", "stats.norm(m, s).median()",
    "np.array(stats.norm.interval(0.9, m, s))", "np.array(stats.norm(m, s).interval(0.9 * c))",
]  # fmt: skip
WITHOUT_MOMENTS = [
    "stats.cauchy.mean(m, s)", "stats.t.mean(0.5 * c)", "stats.t.var(np.array([0.5, 1.5, 2.5]) * c)",
    "stats.f.var(2.0 * c, 3.0)", "stats.pareto.mean(c * 0.9)", "stats.norm.mean(m, -s)", "stats.norm.entropy(m, -s)",
]  # fmt: skip


def test_tables_are_whole():
    assert (len(CALLS), len(MASSES)) == (368, 38)
    assert len(PARAMETERS) > 140


def test_all_methods_have_values():
    """Every second one of those whose derivatives are not compared, for a compiler takes long."""
    texts = [*others([*CALLS, *MASSES], DIFFERENTIATED)[::2], *PARAMETERS[1::2], *WITHOUT_MOMENTS]
    assert value_differences(texts, NAMES, GIVEN) == []


@pytest.mark.parametrize("part", range(2))
def test_first_derivatives(part):
    assert differences(DIFFERENTIATED[part::2], NAMES, GIVEN, step=1e-3, loose=1e-6, second=False) == []


def test_second_derivatives():
    chosen = [t for t in CALLS if ".logpdf" in t][::7]
    given = {**GIVEN, "x": np.array([0.2, 0.4, 0.73, 1.3])}
    assert differences(chosen, NAMES, given, step=1e-3, loose=1e-6) == []


def test_moments():
    given = {n: GIVEN[n] for n in ("m", "s", "c")}
    assert differences(PARAMETERS[::2], NAMES, given, step=1e-3, loose=1e-6, second=False) == []


# -- hard places
def tails(y, c):
    return (
        stats.genextreme.logpdf(-2.0 + 0.0 * y, c), stats.genextreme.sf(y, c), stats.genpareto.sf(y, c),
        stats.burr.sf(1e5 * y, 2.0, 1.5), stats.hypsecant.sf(y), stats.skewcauchy.cdf(-1e6 * y, 0.3),
        stats.levy.cdf(0.001 * y), stats.fisk.sf(1e8 * y, 2.5), stats.halflogistic.sf(y),
        stats.johnsonsu.sf(1e4 * y, 0.4, 1.3),
        stats.nakagami.sf(0.2 * y, 1.4), stats.genlogistic.sf(y, 1.4), stats.truncexpon.sf(y, 41.0),
    )  # fmt: skip


def exact(y, c):
    y, c = mp.mpf(y), mp.mpf(c)
    log = lambda z, c: mp.log1p(c * z) / c if c else z  # noqa: E731
    extreme, excess = -log(-y, c) if c else -y, log(y, c)
    at_two = -log(mp.mpf(2), c)
    survival = lambda z: mp.erfc(z / mp.sqrt(2)) / 2  # noqa: E731
    return (
        (1 - c) * -at_two - mp.exp(-at_two), -mp.expm1(-mp.exp(extreme if not c else mp.log1p(-c * y) / c)),
        mp.exp(-excess), -mp.expm1(-1.5 * mp.log1p((1e5 * y) ** -2)), 2 / mp.pi * mp.atan(mp.exp(-y)),
        mp.mpf(0.7) / mp.pi * mp.atan2(0.7, 1e6 * y), mp.erfc(mp.sqrt(1 / (0.002 * y))), 1 / (1 + (1e8 * y) ** 2.5),
        2 / (1 + mp.exp(y)), survival(mp.mpf(0.4) + 1.3 * mp.asinh(1e4 * y)),
        mp.gammainc(1.4, 1.4 * (0.2 * y) ** 2, regularized=True), -mp.expm1(-mp.mpf(1.4) * mp.log1p(mp.exp(-y))),
        (mp.exp(-y) - mp.exp(-41)) / (1 - mp.exp(-41)),
    )  # fmt: skip


@pytest.mark.parametrize("c", [0.0, 1e-5, -0.02, 0.02])
def test_tails_are_exact(c):
    """SciPy's own are not, and the comparison with them is off."""
    mp.mp.dps = 40
    y = 35.0
    with sdgrad.config.override(verify="never"):
        found = np.array(sdgrad.compile_forward(tails)(y, c), float)
    np.testing.assert_allclose(found, [float(w) for w in exact(y, c)], rtol=1e-12)


def test_generalized_extremes_are_smooth_where_the_shape_is_zero():
    def f(c):
        return stats.genextreme.logpdf(1.3, c) + stats.genpareto.logpdf(0.7, c) + stats.genextreme.ppf(0.3, c)

    # with t = -y - c y^2/2 - ..: (1-c) t - e^t;  -(1+c) (y - c y^2/2);  -w - c w^2/2 with w = log(-log q)
    y, z, w = 1.3, 0.7, np.log(-np.log(0.3))
    wanted = y - y**2 / 2 + np.exp(-y) * y**2 / 2 - z + z**2 / 2 - w**2 / 2
    np.testing.assert_allclose(sdgrad.grad(f)(0.0), wanted, rtol=1e-13)
    np.testing.assert_allclose(sdgrad.jvp(f, (0.0,), (1.0,))[1], wanted, rtol=1e-13)


def test_pieces_that_vanish():
    def f(c, y):
        return stats.triang.pdf(y, c), stats.triang.cdf(y, c), stats.triang.ppf(y, c), stats.trapezoid.sf(y, c, 1.0)

    y = np.array([0.0, 0.3, 1.0])
    for c in (0.0, 1.0):
        for found, wanted in zip(sdgrad.compile_forward(f)(c, y), f(c, y), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-14)


REFUSED = {
    "gennorm.ppf is not recorded": lambda x: stats.gennorm.ppf(x, 1.5),
    "betabinom.cdf is not recorded": lambda x: stats.betabinom.cdf(3, 9.0, 1.5, x),
    "poisson.entropy is not recorded": lambda x: stats.poisson(x).entropy(),
    "burr.mean is not recorded": lambda x: stats.burr(x, 2.0).mean(),
    "norm.moment of order 5 is not recorded": lambda x: stats.norm(x).moment(5),
}


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message):
    with pytest.raises(ParseError, match=message):
        sdgrad.grad(REFUSED[message])(0.3)
