"""Pearson's third distribution, noncentral chi-squared and truncated Pareto ones, counts; Hankel's, scaled Airy's."""

import mpmath as mp
import numpy as np
import pytest
import scipy.stats as stats
from scipy import special
from together import differences, value_differences

import sdgrad
from sdgrad.errors import ParseError
from sdgrad.testing import check_grads

GIVEN = {
    "x": np.array([-3.0, -0.5, 0.2, 0.73, 1.3, 4.0]),
    "q": np.array([0.1, 0.47, 0.9]),
    "m": 0.1,
    "s": 1.3,
    "c": 1.0,
}
NAMES = {"stats": stats, "special": special}
DIFFERENTIATED = [
    *(f"stats.pearson3.logpdf(x, {skew} * c, m, s)" for skew in (0.05, -0.7, 1.3)), "stats.pearson3.pdf(x, 0.3 * c)",
    "stats.ncx2.logpdf(x, 3.5, 1.4 * c, m, s)", "stats.ncx2.pdf(x, 1.5, 0.3 * c, loc=m)",
    "stats.ncx2(2.5, 1.4 * c, m, s).mean()", "stats.ncx2(2.5, 1.4 * c, m, s).var()", "stats.pearson3(c, m, s).std()",
    *(f"stats.truncpareto.{n}(x, {b} * c, 3.2 * c, m - 1.0, s)" for n in ("logpdf", "cdf", "sf") for b in (1.7, -0.6)),
    *(f"stats.truncpareto.{n}(q, 1.7 * c, 3.2 * c, m, s)" for n in ("ppf", "isf")),
]  # fmt: skip
SPECIAL = [
    *(f"np.{part}(special.{name}(1.5, y))" for name in ("hankel1", "hankel2e") for part in ("real", "imag")),
    "np.abs(special.hankel1e(2, y))", "np.angle(special.hankel2(0, y))", *(f"special.airye(y)[{k}]" for k in range(4)),
]  # fmt: skip


def test_first_derivatives():
    assert differences(DIFFERENTIATED, NAMES, GIVEN, step=1e-3, loose=1e-6, second=False) == []


def test_second_derivatives():
    given = {**GIVEN, "x": np.array([0.2, 0.45, 0.73, 1.3]), "y": np.array([0.4, 0.97, 1.2, 5.0])}
    del given["q"]
    chosen = [t for t in DIFFERENTIATED if "logpdf" in t]
    assert differences([*chosen, *SPECIAL], NAMES, given, step=1e-3, loose=1e-6) == []


def test_values_at_ends():
    texts = [
        "stats.pearson3.logpdf(np.array([-1.0, 0.0, 2.0]), 2.0 * c)",
        "stats.pearson3.pdf(np.array([-1.0, 3.0]), -3.0 * c)",
        "stats.ncx2.logpdf(np.array([-1.0, 0.0, 2.0]), 2.0, 1.5 * c)",
        "stats.ncx2.pdf(np.array([0.0, 2.0]), 3.0, 0.0 * c)",
        "stats.truncpareto.pdf(np.array([0.5, 1.0, 3.2, 3.3]), 1.7, 3.2 * c)",
        "stats.truncpareto.cdf(9.0, 1.7, 3.2 * c)",
        "np.abs(special.hankel1(0.5, 0.0 * c))",
        *(f"np.{part}(special.hankel{kind}({order}, np.array([-0.4, -7.0]) * c))"
          for part in ("real", "imag") for kind in ("1", "2", "1e", "2e") for order in (0.3, 2)),
        "np.stack(special.airye(np.array([-1.0, 0.0, 1.0, 150.0]) * c))",
        "np.stack(special.airye(np.array([1.0]) * c))",
    ]  # fmt: skip
    assert value_differences(texts, NAMES, {"c": 1.0}) == []


@pytest.mark.parametrize("skew", [0.0, 1e-7, 1e-4, -0.01, 0.39, 0.41])
def test_pearson_is_exact_near_the_normal_distribution(skew):
    """SciPy's takes the normal density below 1.6e-5; its derivative by the skewness is none of a constant."""

    def exact(y, s):
        if s == 0:
            s = mp.mpf("1e-40")
        a = 4 / s**2
        return mp.log(abs(2 / s)) + (a - 1) * mp.log(a * (1 + s * y / 2)) - a * (1 + s * y / 2) - mp.loggamma(a)

    with mp.workdps(120):
        y, s = mp.mpf(0.7), mp.mpf(skew)
        step = mp.mpf("1e-20")
        wanted = exact(y, s), (exact(y + step, s) - exact(y, s)) / step, (exact(y, s + step) - exact(y, s)) / step
        wanted = [float(w) for w in wanted]
    value, slopes = sdgrad.value_and_grad(lambda y, s: stats.pearson3.logpdf(y, s), wrt=(0, 1))(0.7, skew)
    np.testing.assert_allclose([value, *slopes], wanted, rtol=2e-11)


def test_a_noncentral_one_becomes_a_central_one():
    slope = sdgrad.grad(lambda n: stats.ncx2.logpdf(2.3, 3.5, n))
    np.testing.assert_allclose(slope(0.0), slope(1e-9), rtol=1e-8)


K = np.array([[1, 2, 3], [3, 3, 0], [2, 2, 1], [6, 0, 0]])


def counts(z, w):
    p = np.exp(z) / np.sum(np.exp(z))
    found = stats.multinomial.logpmf(K[0], 6, p) + stats.multinomial(6, p).pmf(K[1])
    return found + np.sum(w * stats.multinomial.pmf(K, 6, np.stack([p, p[::-1], p, p])))


def test_counts():
    z, w = np.array([0.2, -0.4, 0.9]), np.array([1.0, 2.0, 3.0, 0.5])
    assert np.isclose(sdgrad.compile_forward(counts)(z, w), counts(z, w), rtol=1e-13)
    check_grads(counts, (z, w), modes=("rev", "fwd"), order=2)
    outside = sdgrad.compile_forward(lambda p: stats.multinomial.logpmf(K[:2] + 0.5 * np.array([[1], [0]]), 6, p))
    p = np.array([0.2, 0.3, 0.5])
    np.testing.assert_allclose(outside(p), [-np.inf, stats.multinomial.logpmf(K[1], 6, p)], rtol=1e-13)


def test_refused():
    with pytest.raises(ValueError, match="have to add up to one"):
        sdgrad.grad(lambda p: stats.multinomial.logpmf(K[0], 6, p))(np.ones(3))
    with pytest.raises(ParseError, match="hankel1 of complex numbers is not recorded"):
        sdgrad.grad(lambda x: np.abs(special.hankel1(1, x * 1j)))(1.0)
    with pytest.raises(ParseError, match="airye of complex numbers is not recorded"):
        sdgrad.grad(lambda x: np.abs(special.airye(x * 1j)[0]))(1.0)
    with pytest.raises(ParseError, match="pearson3.cdf is not recorded"):
        sdgrad.grad(lambda x: stats.pearson3.cdf(x, 1.0))(1.0)
