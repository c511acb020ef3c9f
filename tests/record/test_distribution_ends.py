"""Distributions at ends of supports, at infinity and in tails, without the comparison of a first call."""

import mpmath as mp
import numpy as np
import pytest
import scipy.special as special
import scipy.stats as stats
from together import differences

import sdgrad

GIVEN = {"x": np.array([0.3, -1.2, 2.5]), "q": np.array([0.2, 0.6, 0.9]), "c": 1.0}
NAMES = {"stats": stats, "special": special}


@pytest.fixture(autouse=True)
def later_calls(monkeypatch):
    """As in later calls, SciPy's values are not looked at."""
    monkeypatch.setattr(sdgrad.config, "verify", "never")


def same(own, wanted, rtol=1e-12):
    for k, (a, b) in enumerate(zip(own, wanted, strict=True)):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=0, err_msg=f"result {k}")


# -- the normal limit of Student's t
def student(x, q, df):
    return (
        stats.t.cdf(x, df), stats.t.sf(x, df), stats.t.logpdf(x, df), stats.t.pdf(x, df), stats.t.ppf(q, df),
        stats.t.isf(q, df), stats.t.logcdf(x, df), stats.t.logsf(x, df), special.stdtr(df, x), special.stdtrit(df, q),
    )  # fmt: skip


def normal(x, q):
    dist = stats.norm
    return (
        dist.cdf(x), dist.sf(x), dist.logpdf(x), dist.pdf(x), dist.ppf(q), dist.isf(q), dist.logcdf(x), dist.logsf(x),
        special.ndtr(x), special.ndtri(q),
    )  # fmt: skip


def test_infinite_degrees_of_freedom():
    x, q, df = GIVEN["x"], GIVEN["q"], np.array([np.inf, 3.5, np.inf])
    ways = np.ones(3), 0.1 * np.ones(3), np.array([1.0, 0.0, 1.0])  # the derivative by infinity is zero
    own, slopes = sdgrad.jvp(student, (x, q, df), ways)
    same(own, student(x, q, df))
    step = 1e-5
    pair = [normal(x + s * step, q + 0.1 * s * step) for s in (1, -1)]
    for k, (found, above, below) in enumerate(zip(slopes, *pair, strict=True)):
        np.testing.assert_allclose(found[::2], ((above - below) / (2 * step))[::2], rtol=1e-7, err_msg=f"result {k}")

    def total(x, q, df):
        return sum(np.sum(v * v) for v in student(x, q, df))

    gradient = sdgrad.grad(total, wrt=(0, 1, 2))(x, q, df)
    along = sum(np.sum(2 * v * s) for v, s in zip(own, slopes, strict=True))
    assert np.isclose(sum(np.sum(g * w) for g, w in zip(gradient, ways, strict=True)), along, rtol=1e-12)
    assert np.all(gradient[2][::2] == 0)


def test_known_infinite_degrees_of_freedom():
    texts = [f"stats.t.{m}({'q' if m in ('ppf', 'isf') else 'x'}, np.inf, 0.1, 1.3 * c)"
             for m in ("cdf", "logpdf", "ppf", "logsf")]  # fmt: skip
    assert differences(texts, NAMES, GIVEN) == []


def test_f_with_infinite_degrees_of_freedom_is_no_number():
    found = sdgrad.compile_forward(lambda x, n: (stats.f.cdf(x, 3.0, n), special.fdtrc(n, 3.0, x)))(1.0, np.inf)
    assert np.all(np.isnan(found))


# -- ends
def at_ends(low, zero, one, inf):
    return (
        stats.halfcauchy.ppf(one), stats.hypsecant.isf(zero), stats.alpha.ppf(one, 1.5), stats.hypsecant.ppf(zero),
        stats.genextreme.ppf(one, 0.2), stats.genextreme.isf(one, -0.2), stats.genextreme.ppf(zero, 0.0),
        stats.genpareto.ppf(one, -0.3), stats.genpareto.isf(zero, 0.3), stats.fatiguelife.ppf(zero, 0.6),
        stats.fatiguelife.isf(zero, 0.6), stats.truncnorm.isf(one, -np.inf, 1.0), stats.rayleigh.logpdf(inf),
        stats.invgauss.logpdf(inf, 0.8), stats.genpareto.logpdf(inf, 0.3), stats.fisk.pdf(inf, 2.3),
        stats.betaprime.pdf(inf, 2.2, 3.1), stats.genextreme.logpdf(-inf, 0.2), stats.genextreme.pdf(low, -0.2),
        stats.skewnorm.logpdf(inf, 0.0), stats.johnsonsb.logpdf(one, 0.4, 1.3), stats.burr.logpdf(zero, 0.5, 0.5),
        stats.gengamma.logpdf(zero, 1.7, -1.3), stats.loglaplace.pdf(zero, 1.0),
        stats.truncnorm.sf(-1e200 * one, -inf, 1.0),
        stats.cauchy.logpdf(1e200 * one), stats.fisk.logpdf(1e200 * one, 2.3),
    )  # fmt: skip


ENDS = -5.0, 0.0, 1.0, np.inf


def test_values_at_ends():
    same(sdgrad.compile_forward(at_ends)(*ENDS), at_ends(*ENDS))


def test_gradients_at_ends():
    def total(c, inf, x):
        return (
            stats.genextreme.ppf(1.0 + 0.0 * x, c) + stats.genpareto.ppf(1.0 + 0.0 * x, -c)
            + np.exp(stats.rayleigh.logpdf(inf)) + stats.genpareto.pdf(inf, c) + stats.genextreme.pdf(-inf, c)
        )  # fmt: skip

    found = sdgrad.grad(total, wrt=(0, 1, 2))(0.2, np.inf, 0.3)
    np.testing.assert_allclose(found, (-2 / 0.2**2, 0.0, 0.0))  # the ends are 1 / c


# -- tails
def tails(x):
    small, large = 1e-8 * x, 80.0 * x
    return (
        stats.gamma.logcdf(large, 2.3), stats.gamma.logsf(small, 2.3), stats.beta.logcdf(1.0 - 1e-6 * x, 2.2, 3.1),
        stats.chi2.logsf(small, 3.2), stats.t.logcdf(1e5 * x, 3.5), stats.halfnorm.logsf(small),
        stats.halflogistic.logsf(small), stats.levy.logcdf(1e100 * x), stats.cosine.cdf(1e-3 * x - np.pi),
        stats.cosine.logcdf(1e-3 * x - np.pi), stats.triang.cdf(small, 0.0), stats.exponweib.isf(1e-20 * x, 1.4, 1.6),
    )  # fmt: skip


def test_logarithms_of_what_is_nearly_one():
    x = np.array([1.0, 1.7])
    own, slopes = sdgrad.jvp(tails, (x,), (np.ones(2),))
    same(own, tails(x), 1e-9)
    step = 1e-6
    wanted = [(a - b) / (2 * step) for a, b in zip(tails(x + step), tails(x - step), strict=True)]
    same(slopes, wanted, 1e-4)  # 1 - 1e-6 x is rounded


# -- what follows from the distribution function, or from its inverse
FOLLOWING = [
    "stats.semicircular.sf(0.3 * x)", "stats.triang.isf(q, 0.45 * c)", "stats.alpha.sf(x + 1.5, 1.2 * c)",
    "stats.alpha.isf(q, 1.2 * c)", "stats.bradford.isf(q, 1.3 * c)", "stats.truncexpon.isf(q, 2.1 * c)",
    "stats.trapezoid.isf(q, 0.3 * c, 0.6 * c)", "stats.gennorm.cdf(0.04 * x, 1.6 * c)", "stats.gennorm.sf(x, 1.6 * c)",
    "stats.gennorm.logcdf(x, 0.8 * c)", "stats.cosine.logsf(x)",
]  # fmt: skip


def test_following_functions():
    assert differences(FOLLOWING, NAMES, GIVEN, step=1e-3, loose=1e-6) == []


def test_general_normal_distribution_in_the_middle():
    slope = sdgrad.grad(lambda y: stats.gennorm.cdf(y, 1.6))(0.0)
    assert np.isclose(slope, stats.gennorm.pdf(0.0, 1.6), rtol=1e-14)


# -- quantiles far out, and both ends of a truncated normal distribution
def far_out(q, df, a, b):
    dist = stats
    return (
        dist.t.ppf(q, df), dist.t.isf(q, df + 1.0), dist.betaprime.ppf(q, a, b), dist.betaprime.isf(q, a, b),
        dist.f.isf(q, 2.0 * a, 2.0 * b), dist.beta.ppf(q, a, b), 1e-3 * dist.t.ppf(1e-300, df),
        dist.beta.ppf(q, 0.1, b),
    )  # fmt: skip


def test_quantiles_of_small_probabilities():
    """They are powers of the probability (DLMF 8.17.7); SciPy's are none, or infinite."""

    def share(p, a, b):
        return (p * a * mp.beta(a, b)) ** (1 / a)

    def root(p, n):
        return mp.sqrt(n / share(2 * p, n / 2, mp.mpf(1) / 2))

    def exact(q, n, a, b):
        return (
            -root(q, n), root(q, n + 1), share(q, a, b), 1 / share(q, b, a), b / a / share(q, b, a),
            share(q, a, b), -root(mp.mpf("1e-300"), n) / 1000, share(q, mp.mpf("0.1"), b),
        )  # fmt: skip

    at = 1e-120, 1.0, 2.2, 3.1
    same_as_exact(far_out, exact, at)


def ends_of_truncated(y, z, a, b):
    dist = stats.truncnorm
    return (
        dist.logcdf(y, a, b),
        dist.sf(z, a, b),
        dist.ppf(1e-17 * b, 0.0 * a, b),
        dist.cdf(30.0 + 1e-3 * b, 30.0, 31.0),
    )


def test_truncated_normal_distribution_beside_its_ends():
    """Each probability is beside one end; SciPy's have one digit."""
    mass = lambda a, b: mp.ncdf(b) - mp.ncdf(a)  # noqa: E731
    point = lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1)  # noqa: E731

    def exact(y, z, a, b):
        return (
            mp.log(mass(a, y) / mass(a, b)), mass(z, b) / mass(a, b),
            point(mp.mpf(1) / 2 + mp.mpf(1e-17) * b * mass(0, b)), mass(-30 - mp.mpf(1e-3) * b, -30) / mass(-31, -30),
        )  # fmt: skip

    same_as_exact(ends_of_truncated, exact, (-0.7 + 1e-15, 1.2 - 1e-15, -0.7, 1.2))


def alphas(q, y, a):
    dist = stats.alpha
    return dist.isf(q, a), dist.isf(1e8 * q, a), dist.sf(y, a), dist.logsf(1e90 * y, a)


def test_tail_of_the_alpha_distribution():
    """SciPy's quantiles have the rounding of ``1 - q``, and its probabilities that of 1."""

    def quantile(q, a):  # from 1 / y = a - z, where z is a normal quantile, by Newton's method
        w = q * mp.ncdf(a) / mp.npdf(a)
        for _ in range(6):
            w -= (mp.ncdf(a) - mp.ncdf(a - w) - q * mp.ncdf(a)) / mp.npdf(a - w)
        return 1 / w

    def beyond(y, a):
        return (mp.ncdf(a) - mp.ncdf(a - 1 / y)) / mp.ncdf(a)

    def exact(q, y, a):
        return quantile(q, a), quantile(q * 10**8, a), beyond(y, a), mp.log(beyond(y * mp.mpf(1e90), a))

    with mp.workdps(200):
        same_as_exact(alphas, exact, (1e-14, 1e13, 1.3))


def skewed(y, a):
    dist = stats.skewnorm
    return dist.logcdf(y, a), dist.logsf(-2.0 * y, -a), dist.logcdf(5.0 * y, -0.001 * a)


def test_skew_normal_probabilities_that_are_no_numbers():
    """Their logarithms are numbers; SciPy's are infinite."""

    def log(y, a):
        scale = -y * (1 + max(a, 0) ** 2)
        inside = mp.quad(lambda u: mp.npdf(y - u / scale) * mp.ncdf(a * (y - u / scale)), [0, 1, 3, 8, 20, 60])
        return mp.log(2 * inside / scale)

    def exact(y, a):
        return log(y, a), log(2 * y, a), log(5 * y, -mp.mpf(0.001) * a)

    same_as_exact(skewed, exact, (-9.4, 4.0))


def same_as_exact(f, exact, at):
    """Compare values and derivatives of both modes with mpmath's."""
    with mp.workdps(max(60, mp.mp.dps)):
        point = [mp.mpf(v) for v in at]
        values = exact(*point)
        slopes = []
        for k in range(len(at)):
            step = abs(point[k]) * mp.mpf(10) ** -25
            pair = [exact(*point[:k], point[k] + s * step, *point[k + 1 :]) for s in (1, -1)]
            slopes.append([float((u - d) / (2 * step)) for u, d in zip(*pair, strict=True)])
    value, pull = sdgrad.vjp(lambda *given: np.stack(f(*given)), *at)
    same(value, [float(v) for v in values])
    for k, slope in enumerate(slopes):
        _, found = sdgrad.jvp(f, at, tuple(float(j == k) for j in range(len(at))))
        np.testing.assert_allclose(np.array(found, float), slope, rtol=1e-11, atol=1e-200)
    for j in range(len(values)):
        own = pull(np.eye(len(values))[j])
        np.testing.assert_allclose(np.array(own, float), [s[j] for s in slopes], rtol=1e-11, atol=1e-200)
