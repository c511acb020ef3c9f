"""Distributions by sums and integrals: beside SciPy and its differences, and tails beside mpmath."""

import mpmath as mp
import numpy as np
import pytest
import scipy.special as special
import scipy.stats as stats
from together import differences, others, value_differences

import sdgrad
from sdgrad.errors import DifferentiationError

GIVEN = {"x": np.array([-0.7, 0.4, 1.3, 3.1]), "q": np.array([0.1, 0.47, 0.9]), "c": 1.0, "m": 0.1, "s": 1.3}
NAMES = {"stats": stats, "special": special, "k": np.array([-1, 0, 3, 5, 7, 9])}
SHAPES = {
    "ncx2": "3.5 * c, 1.4 * c", "rice": "0.9 * c", "nct": "4.5 * c, 0.7 * c", "skewnorm": "1.5 * c",
    "vonmises": "1.2 * c", "vonmises_line": "1.2 * c",
}  # fmt: skip
METHODS = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")
CALLS = [
    f"stats.{name}.{method}({'q' if method in ('ppf', 'isf') else 'x'}, {shapes}, m, s)"
    for name, shapes in SHAPES.items()
    for method in METHODS
]
FUNCTIONS = [
    "special.chndtr(x[1:], 3.5 * c, 1.4 * c)", "special.chndtrix(q, 3.5 * c, 1.4 * c)",
    "special.nctdtr(4.5 * c, 0.7 * c, x)", "special.nctdtrit(4.5 * c, -0.7 * c, q)",
]  # fmt: skip


@pytest.fixture(autouse=True)
def later_calls(monkeypatch):
    """As in later calls, SciPy's values are not looked at: in tails they are not exact."""
    monkeypatch.setattr(sdgrad.config, "verify", "never")


SECOND = [c for c in CALLS if c.startswith(("stats.nct.logpdf", "stats.ncx2.logpdf", "stats.ncx2.cdf", "stats.rice.isf",
                                            "stats.skewnorm.ppf", "stats.vonmises.cdf"))]  # fmt: skip


FIRST = [t for t in [*CALLS, *FUNCTIONS] if t not in SECOND and ".log" not in t and ".pdf" not in t][::2]


def test_first_derivatives():
    """SciPy's density of noncentral t has nine digits."""
    assert differences(FIRST, NAMES, GIVEN, tolerance=1e-8, loose=1e-6, second=False) == []


def test_values():
    texts = [t for t in others([*CALLS, *FUNCTIONS], [*FIRST, *SECOND]) if "nct.pdf" not in t]
    texts += [f"stats.hypergeom.{m}(k, 20, 7, 12, 1)" for m in ("cdf", "sf", "logcdf", "logsf")]
    assert value_differences(texts, NAMES, GIVEN) == []


def test_second_derivatives():
    given = {**GIVEN, "x": np.array([0.4, 3.1])}
    assert differences(SECOND, NAMES, given, tolerance=1e-8, loose=1e-6) == []


# -- hard places
def tails(one):
    dist = stats
    return (
        dist.ncx2.cdf(1e-5 * one, 0.5, 30.0), dist.ncx2.sf(300.0 * one, 2.0, 10.0),
        dist.ncx2.logpdf(9e3 * one, 3.0, 2.0),
        dist.ncx2.ppf(1e-300 * one, 2.0, 0.0), dist.skewnorm.cdf(-5.0 * one, 2.0), dist.skewnorm.cdf(1e-6 * one, 1e4),
        dist.nct.ppf(1e-100 * one, 1.0, 0.0), dist.nct.cdf(3.0 * one, 2.0, 20.0), dist.nct.sf(5.0 * one, 3.0, -1.0),
        dist.vonmises.cdf(-0.3 * one, 200.0), dist.vonmises.sf(2.9 * one, 30.0),
        dist.hypergeom.cdf(5.0 * one, 10**6, 2000, 30000), dist.hypergeom.sf(80.0 * one, 10**6, 2000, 30000),
    )  # fmt: skip


def exact():
    half = mp.mpf("0.5")

    def noncentral(f, df, nc):
        terms = (mp.exp(-nc * half) * (nc * half) ** j / mp.factorial(j) * f(df * half + j) for j in range(200))
        return sum(terms)

    def skew_tail(h, a):
        """The exponent at the end is taken out, for an integral stops where it changes little."""
        end = h * h * (1 + a * a) / 2
        ends = [a + k / (1 + h * h * a) for k in (0, 1, 3, 10, 30)] + [a + 1 / h, mp.inf]
        found = mp.quad(lambda u: mp.exp(end - h * h * (1 + u * u) / 2) / (1 + u * u), sorted(ends))
        return mp.exp(-end) / mp.pi * found

    def student(t, df, nc):
        log_density = lambda w: mp.log(2) + df / 2 * mp.log(df / 2) - mp.loggamma(df / 2) + df * w  # noqa: E731
        f = lambda w: mp.exp(log_density(w) - df * mp.exp(2 * w) / 2) * mp.ncdf(t * mp.exp(w) - nc)  # noqa: E731
        return 10**-16 * mp.quad(lambda w: 10**16 * f(w), [-40, -10, -4, -2, -1, 0, half, 1, 2, 3])

    def angles(x, kappa):
        f = lambda t: mp.exp(kappa * (mp.cos(t) - mp.cos(x)))  # noqa: E731
        whole = 2 * mp.pi * mp.besseli(0, kappa) * mp.exp(-kappa * mp.cos(x))
        return (
            mp.quad(f, [-mp.pi, *(x - mp.mpf(k) / 100 for k in (20, 10, 5, 2, 1) if x - mp.mpf(k) / 100 > -mp.pi), x])
            / whole
        )

    def counts(ks):
        ways = (mp.binomial(2000, j) * mp.binomial(998000, 30000 - j) for j in ks)
        return sum(ways) / mp.binomial(10**6, 30000)

    x, n, v = mp.mpf(9000), mp.mpf(2), half
    return (
        noncentral(lambda a: mp.gammainc(a, 0, mp.mpf(1e-5) / 2, regularized=True), half, mp.mpf(30)),
        noncentral(lambda a: mp.gammainc(a, 150, mp.inf, regularized=True), mp.mpf(2), mp.mpf(10)),
        mp.log(half) - (x + n) / 2 + v / 2 * mp.log(x / n) + mp.log(mp.besseli(v, mp.sqrt(x * n))),
        mp.mpf(2e-300), skew_tail(mp.mpf(5), mp.mpf(2)),
        mp.erf(mp.mpf(1e-6) / mp.sqrt(2)) + skew_tail(mp.mpf(1e-6), mp.mpf(10000)),
        -1 / mp.tan(mp.pi * mp.mpf(1e-100)), student(mp.mpf(3), mp.mpf(2), mp.mpf(20)),
        student(mp.mpf(-5), mp.mpf(3), mp.mpf(1)), angles(-mp.mpf(0.3), mp.mpf(200)), angles(-mp.mpf(2.9), mp.mpf(30)),
        counts(range(6)), counts(range(81, 300)),
    )  # fmt: skip


def test_tails_are_exact():
    with mp.workdps(30):
        wanted = [float(v) for v in exact()]
    np.testing.assert_allclose(np.array(sdgrad.compile_forward(tails)(1.0), float), wanted, rtol=1e-12)


def test_logarithms_where_densities_vanish():
    """The exponent of a Bessel function, by its leading terms, is far below that of the smallest number."""
    slopes = sdgrad.grad(lambda x, v, n: stats.ncx2.logpdf(x, v, n), wrt=(0, 1, 2))(9e3, 3.0, 2.0)
    with mp.workdps(30):
        log = lambda x, v, n: (  # noqa: E731
            -(x + n) / 2 + (v / 4 - 0.5) * mp.log(x / n) + mp.log(mp.besseli(v / 2 - 1, mp.sqrt(x * n)))
        )
        wanted = [mp.diff(log, (9000, 3, 2), order) for order in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
    np.testing.assert_allclose(slopes, [float(w) for w in wanted], rtol=1e-11)


# -- parameters at zero
def test_parameters_at_zero():
    """Densities of angles move with the cosine there; what is even in a parameter, or beside a root of it, is flat."""
    x = 0.7
    angle = sdgrad.grad(lambda k: stats.vonmises.logpdf(x, k) + 2.0 * stats.vonmises.cdf(x, k))(0.0)
    np.testing.assert_allclose(angle, np.cos(x) + np.sin(x) / np.pi, rtol=1e-13)
    both = sdgrad.grad(lambda b: stats.rice.logpdf(x, b) + stats.rice.pdf(x, b) + stats.rice.cdf(x, b))
    assert both(0.0) == 0
    density = x * np.exp(-0.5 * x * x)
    curvature = (x * x / 2 - 1) * (1 + density) - 0.5 * x * density  # of b^2 / 2: i0(xb) = 1 + (xb)^2 / 4
    np.testing.assert_allclose(sdgrad.grad(both)(0.0), curvature, rtol=1e-12)


def test_counts_have_no_derivative():
    with pytest.raises(DifferentiationError, match="by a count"):
        sdgrad.grad(lambda n: stats.hypergeom.cdf(3, 20.0, n, 12.0))(7.0)


def test_counts_that_are_none():
    """SciPy's logarithm of a probability is 0 from the end on, of parameters that are none as well."""
    at = [(20.5, 7.0, 12.0), (20.0, 7.5, 12.0), (20.0, -7.0, 12.0), (20.0, 7.0, 25.0)]
    k = np.array([-8.0, 3.0, 7.5, 30.0])
    texts = [f"stats.hypergeom.{m}(k, {', '.join(map(str, a))}) * one" for a in at for m in ("pmf", "cdf", "logcdf")]
    texts += ["stats.binom.logcdf(k, -3, 0.5) * one", "stats.randint.logcdf(k, 3, 1) * one"]
    assert value_differences(texts, {"stats": stats}, {"k": k, "one": 1.0}) == []
