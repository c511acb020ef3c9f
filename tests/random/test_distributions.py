"""Distributions: draws against those of SciPy at fixed keys, and the same numbers in programs as outside."""

import itertools

import numpy as np
import pytest
import scipy.special
import scipy.stats as st

import sdgrad
from sdgrad import random
from sdgrad.errors import ParseError

KEY = random.key(2024)
MANY = 20_000
LEVEL = 1.95 / np.sqrt(MANY)  # of Kolmogorov and Smirnov, at one in a thousand

ONE = {
    "uniform": (lambda k: random.uniform(k, MANY, minval=-2.0, maxval=3.0), st.uniform(-2, 5)),
    "normal": (lambda k: random.normal(k, MANY), st.norm()),
    "normal in single precision": (lambda k: random.normal(k, MANY, np.float32), st.norm()),
    "exponential": (lambda k: random.exponential(k, MANY), st.expon()),
    "laplace": (lambda k: random.laplace(k, MANY), st.laplace()),
    "logistic": (lambda k: random.logistic(k, MANY), st.logistic()),
    "gumbel": (lambda k: random.gumbel(k, MANY), st.gumbel_r()),
    "cauchy": (lambda k: random.cauchy(k, MANY), st.cauchy()),
    "lognormal": (lambda k: random.lognormal(k, 0.7, MANY), st.lognorm(0.7)),
    "weibull": (lambda k: random.weibull_min(k, 2.0, 1.5, MANY), st.weibull_min(1.5, scale=2.0)),
    "pareto": (lambda k: random.pareto(k, 2.5, MANY), st.pareto(2.5)),
    "rayleigh": (lambda k: random.rayleigh(k, 1.5, MANY), st.rayleigh(scale=1.5)),
    "maxwell": (lambda k: random.maxwell(k, MANY), st.maxwell()),
    "triangular": (lambda k: random.triangular(k, 1.0, 2.0, 5.0, MANY), st.triang(0.25, 1.0, 4.0)),
    "truncated": (lambda k: random.truncated_normal(k, -0.5, 2.0, MANY), st.truncnorm(-0.5, 2.0)),
    "truncated from above": (lambda k: random.truncated_normal(k, -np.inf, -1.0, MANY), st.truncnorm(-np.inf, -1.0)),
    "truncated in the tail": (lambda k: random.truncated_normal(k, 20.0, np.inf, MANY), st.truncnorm(20.0, np.inf)),
    **{f"gamma {a}": (lambda k, a=a: random.gamma(k, a, MANY), st.gamma(a)) for a in (0.05, 0.5, 1.0, 3.0, 1e4)},
    "loggamma": (lambda k: random.loggamma(k, 0.4, MANY), st.loggamma(0.4)),
    "beta": (lambda k: random.beta(k, 0.5, 2.0, MANY), st.beta(0.5, 2.0)),
    "chisquare": (lambda k: random.chisquare(k, 3.0, MANY), st.chi2(3.0)),
    "t": (lambda k: random.t(k, 2.5, MANY), st.t(2.5)),
    "f": (lambda k: random.f(k, 4.0, 7.0, MANY), st.f(4.0, 7.0)),
}


@pytest.mark.parametrize("name", ONE)
def test_distribution(name):
    draw, expected = ONE[name]
    found = draw(KEY)
    assert found.dtype == (np.float32 if "single" in name else np.float64) and found.shape == (MANY,)
    assert st.kstest(found, expected.cdf).statistic < LEVEL
    if np.isfinite(expected.var()):
        assert abs(found.mean() - expected.mean()) < 4 * expected.std() / np.sqrt(MANY)


def test_uniform_numbers_of_transformations_are_open_and_symmetric():
    """The ends of tails are finite: draws are never of 0 or 1."""
    x = random.logistic(KEY, 1_000_000)
    assert np.isfinite(x).all() and x.min() < -12 and x.max() > 12
    u = scipy.special.ndtr(random.normal(KEY, 1000))
    assert np.allclose(u, 1 / (1 + np.exp(-x[:1000])), atol=1e-15)  # monotone in the same number


def test_normal_quantiles_are_exact():
    u = scipy.special.expit(random.logistic(KEY, 100_000))
    assert np.allclose(random.normal(KEY, 100_000), scipy.special.ndtri(u), rtol=1e-12, atol=1e-14)


COUNTS = {
    **{f"poisson {r}": (lambda k, r=r: random.poisson(k, r, MANY), st.poisson(r)) for r in (0.3, 5.0, 12.0, 80.0)},
    **{
        f"binomial {n} {p}": (lambda k, n=n, p=p: random.binomial(k, n, p, MANY), st.binom(n, p))
        for n, p in ((5, 0.5), (40, 0.1), (100, 0.3), (100, 0.9))
    },
    "randint": (lambda k: random.randint(k, MANY, -3, 9), st.randint(-3, 9)),
    "bernoulli": (lambda k: random.bernoulli(k, 0.3, MANY).astype(int), st.bernoulli(0.3)),
    "choice": (lambda k: random.choice(k, 7, MANY), st.randint(0, 7)),
}


def assert_frequencies(found, support, weights):
    """A chi-squared test at one in a thousand; rare values count together."""
    counts = np.array([np.sum(found == s) for s in support], float)
    expected = np.asarray(weights) * len(found)
    common = expected >= 8
    rest = len(found) - counts[common].sum(), len(found) - expected[common].sum()
    pairs = [*zip(counts[common], expected[common], strict=True), *([rest] if rest[1] > 1 else [])]
    assert sum((c - e) ** 2 / e for c, e in pairs) < st.chi2(len(pairs) - 1).ppf(0.999)


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name):
    draw, expected = COUNTS[name]
    found = draw(KEY)
    support = np.arange(int(expected.ppf(1e-9)), int(expected.ppf(1 - 1e-9)) + 1)
    assert found.dtype == np.int64
    assert_frequencies(found, support, expected.pmf(support))


def test_large_rates():
    for rate in (1e6, 1e15):
        z = (random.poisson(KEY, rate, MANY) - rate) / np.sqrt(rate)
        assert st.kstest(z, st.norm().cdf).statistic < 1.1 * LEVEL
    assert np.array_equal(random.poisson(KEY, [0.0, 0.0]), [0, 0])
    assert np.array_equal(random.binomial(KEY, 12, [0.0, 1.0]), [0, 12])


def test_weights():
    p = np.array([0.1, 0.0, 0.4, 0.3, 0.2])
    assert_frequencies(random.choice(KEY, 5, MANY, p=3 * p), np.arange(5), p)
    with np.errstate(divide="ignore"):
        logits = np.log(p)
    assert_frequencies(random.categorical(KEY, logits, shape=MANY), np.arange(5), p)
    first = np.array([random.choice(k, 5, 2, replace=False, p=p) for k in random.split(KEY, 5000)])
    assert_frequencies(first[:, 0], np.arange(5), p)
    assert (first[:, 0] != first[:, 1]).all() and (first != 1).all()
    relaxed = random.gumbel_softmax(KEY, np.broadcast_to(np.log(p + 1e-9), (MANY, 5)), 0.1)
    assert np.allclose(relaxed.sum(1), 1) and np.all(relaxed.max(1) <= 1)
    assert_frequencies(relaxed.argmax(1), np.arange(5), p + 1e-9)


def test_orders():
    found = [tuple(random.permutation(k, 3).tolist()) for k in random.split(KEY, 6000)]
    orders = list(itertools.permutations(range(3)))
    assert_frequencies(np.array([orders.index(o) for o in found]), np.arange(6), np.full(6, 1 / 6))
    x = np.arange(40.0).reshape(8, 5)
    assert np.array_equal(random.permutation(KEY, x), x[random.permutation(KEY, 8)])
    own = random.permutation(KEY, x, axis=1, independent=True)
    assert np.array_equal(np.sort(own, axis=1), x) and len({tuple(r % 5) for r in own}) > 4
    assert sorted(random.choice(KEY, 8, 8, replace=False)) == list(range(8))
    assert np.array_equal(random.choice(KEY, x, (2,), axis=1), x[:, random.choice(KEY, 5, (2,))])


def test_vectors():
    mean, cov = np.array([1.0, -2.0, 0.5]), np.array([[2.0, 0.6, 0.1], [0.6, 1.0, -0.3], [0.1, -0.3, 0.5]])
    found = random.multivariate_normal(KEY, mean, cov, (MANY,))
    assert np.allclose(found.mean(0), mean, atol=0.04) and np.allclose(np.cov(found.T), cov, atol=0.06)
    stacked = random.multivariate_normal(KEY, mean, np.stack([cov, 4 * cov]))
    assert np.allclose(stacked[0], random.multivariate_normal(KEY, mean, cov, (2,))[0])
    alpha = np.array([0.02, 0.5, 3.0])
    shares = random.dirichlet(KEY, alpha, (MANY,))
    assert np.isfinite(shares).all() and np.allclose(shares.sum(1), 1)
    assert np.allclose(shares.mean(0), alpha / alpha.sum(), atol=0.01)
    tiny = random.dirichlet(KEY, np.full(4, 1e-4), (100,))
    assert np.isfinite(tiny).all() and np.allclose(tiny.sum(1), 1)
    q = random.orthogonal(KEY, 3, (200,))
    assert np.allclose(q @ np.swapaxes(q, 1, 2), np.eye(3)) and abs(q.mean()) < 0.1
    for p in (1.0, 2.0):
        size = np.sum(np.abs(random.ball(KEY, 3, p, (MANY,))) ** p, axis=1) ** (1 / p)
        assert st.kstest(size**3, st.uniform().cdf).statistic < LEVEL


def test_signs():
    found = random.rademacher(KEY, MANY)
    assert set(found) == {-1, 1} and abs(found.mean()) < 0.03 and found.dtype == np.int64
    assert random.rademacher(KEY, 3, np.float32).dtype == np.float32


A = np.array([0.05, 0.3, 0.9, 1.0, 2.5, 40.0])
B = np.array([0.2, 1.5, 3.0, 1.0, 0.7, 20.0])
C = np.array([[2.0, 0.3], [0.3, 1.0]])


def everything(key, a, b, c):
    return (
        random.uniform(key, (6,), minval=a, maxval=2 * b + a), random.lognormal(key, a / 10),
        random.weibull_min(key, a, b), random.pareto(key, a, (2, 6)), random.rayleigh(key, a),
        random.triangular(key, -a, 0 * a, b), random.truncated_normal(key, a - 1, a + b),
        random.truncated_normal(key, a + 30, np.inf), random.gamma(key, a.astype(np.float32), dtype=np.float32),
        random.beta(key, a, b), random.dirichlet(key, a, (3,)), random.chisquare(key, a), random.t(key, b),
        random.t(key, 3.0, (5,)), random.f(key, b + 1, b + 2), random.multivariate_normal(key, c[0], c),
        random.multivariate_normal(key, c[0], np.stack([c, 2 * c])), random.orthogonal(key, 3), random.ball(key, 3),
        random.gumbel_softmax(key, np.log(c), 0.5, axis=0), random.maxwell(key, 4), random.normal(key),
    )  # fmt: skip


def chosen(key, a, b, c):
    return (
        random.bernoulli(key, a / 50), random.rademacher(key, (6,)), random.randint(key, (), 3, 9),
        random.randint(key, (2,), np.array([3, -5]), np.array([9, 100]), np.int32), random.poisson(key, a),
        random.binomial(key, 20, a / 50), random.categorical(key, np.log(a), shape=(5,)),
        random.categorical(key, np.log(c), axis=0), random.choice(key, 10, (4,)), random.choice(key, a, (8,), p=b),
        random.choice(key, a, (4,), replace=False), random.choice(key, a, (4,), replace=False, p=b),
        random.permutation(key, a), random.permutation(key, np.outer(a, b), axis=1, independent=True),
        random.permutation(key, 40), random.fold_in(key, -4),
    )  # fmt: skip


@pytest.mark.parametrize("f", [everything, chosen])
def test_programs_draw_the_same_numbers(f):
    """Up to the rounding of functions of parameters, which is that of compiled code."""
    with sdgrad.config.override(verify="never"):
        found = sdgrad.compile_forward(f)(KEY, A, B, C)
    for a, b in zip(found, f(KEY, A, B, C), strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype and np.shape(a) == np.shape(b)
        assert np.allclose(a, b, rtol=1e-14, atol=0) if np.asarray(a).dtype.kind == "f" else np.array_equal(a, b)


def test_refused():
    with pytest.raises(ValueError, match="low >= high"):
        random.randint(KEY, 3, 5, 5)
    with pytest.raises(TypeError, match="integers"):
        random.randint(KEY, 3, 0.5, 2)
    with pytest.raises(ValueError, match="lam < 0"):
        random.poisson(KEY, -1.0)
    with pytest.raises(ValueError, match="p < 0"):
        random.binomial(KEY, 3, 1.5)
    with pytest.raises(ValueError, match="p > 1"):
        sdgrad.random.bernoulli(KEY, 1.5, (3,))
    with pytest.raises(ValueError, match="without replacement"):
        random.choice(KEY, 3, 4, replace=False)
    with pytest.raises(ValueError, match="shape"):
        random.choice(KEY, 3, 2, p=np.ones(4))
    with pytest.raises(ValueError, match="Fewer non-zero"):
        random.choice(KEY, 3, 2, replace=False, p=np.array([1.0, 0.0, 0.0]))
    with pytest.raises(ParseError, match="method='svd'"):
        random.multivariate_normal(KEY, np.zeros(2), np.eye(2), method="svd")
    with pytest.raises(TypeError, match="is real"):
        random.lognormal(KEY, 1j)
    assert np.isnan(random.gamma(KEY, [-1.0, np.nan])).all()
    assert np.isnan(sdgrad.grad(lambda a: np.sum(random.gamma(KEY, a, (3,))))(-1.0))
    assert np.array_equal(random.gamma(KEY, [0.0, np.inf]), [0.0, np.inf])


def rates(lam, key):
    return random.poisson(key, lam) * 1.0


def test_parameters_of_programs_are_checked_when_they_run():
    f = sdgrad.compile_forward(rates)
    assert f(3.0, KEY) == rates(3.0, KEY)
    with pytest.raises(ValueError, match="lam < 0"):
        f(-3.0, KEY)
