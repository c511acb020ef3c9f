"""Special functions at poles, zeros and ends of their domains: SciPy's values, and the derivatives that limits give."""

import mpmath as mp
import numpy as np
import pytest
import scipy.special as special

import sdgrad

INF, NAN = np.inf, np.nan
ONE = np.ones(1)


def of_one(x, m):
    return [
        special.psi(x), special.polygamma(1, x), special.gamma(x), special.rgamma(x), special.entr(x),
        special.zeta(x), special.ellipk(m), special.ellipe(m), special.ellipkm1(np.abs(x)), special.tandg(90.0 * m),
        special.cotdg(90.0 * x),
    ]  # fmt: skip


def test_poles_have_the_values_of_scipy():
    x, m = np.array([0.0, -0.0, -1.0, -2.0, -40.0, INF, -INF, NAN]), np.array([0.0, 1.0, 2.0, -INF, NAN])
    with np.errstate(all="ignore"), sdgrad.config.override(optimization_level=0, verify="never"):
        found, wanted = sdgrad.compile_forward(of_one)(x, m), of_one(x, m)
    for k, (own, theirs) in enumerate(zip(found, wanted, strict=True)):
        np.testing.assert_allclose(own, theirs, rtol=1e-13, err_msg=str(k))


def of_pairs(a, b):
    return [
        special.entr(a), special.rel_entr(a, b), special.kl_div(a, b),
        special.rgamma(a), special.rgamma(a - 2.0), special.zeta(a - 2.0), special.ellipk(b), special.ellipe(b),
        special.gammainc(a, b), special.boxcox(b, a), special.boxcox(a, b), special.inv_boxcox(b, a),
        special.pseudo_huber(a, b), special.beip(a), special.spence(a), special.expit(a), special.itairy(a)[0],
    ]  # fmt: skip


SLOPES = (  # by the first argument at 0, where the second is 1; of ellipk and ellipe by the second
    INF, -INF, -INF, 1.0, 2.0, -0.030448457058393270, INF, -INF, -special.exp1(1.0), 0.0, 1.0, -0.5 * np.e,
    1.0, 0.5, -INF, 0.25, special.airy(0.0)[0],
)  # fmt: skip


def each(a, b):
    """Each function of numbers of its own."""
    return [of_pairs(a[k : k + 1], b[k : k + 1])[k] for k in range(len(SLOPES))]


def test_derivatives_at_the_ends():
    a, b = np.zeros(len(SLOPES)), np.ones(len(SLOPES))
    with np.errstate(all="ignore"), sdgrad.config.override(optimization_level=0, verify="never"):
        _, pull = sdgrad.vjp(each, a, b)
        by_first, by_second = pull([ONE for _ in SLOPES])
        ahead, beside = (np.ravel(sdgrad.jvp(each, (a, b), ways)[1]) for ways in ((b, a), (a, b)))
    second = np.isin(np.arange(len(SLOPES)), (6, 7))
    np.testing.assert_allclose(np.where(second, by_second, by_first), SLOPES, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(np.where(second, beside, ahead), SLOPES, rtol=1e-12, atol=1e-15)


def linear(x, y):
    return special.xlogy(x, y) + special.xlog1py(x, y)


def test_nothing_of_a_zero_is_lost_or_invented():
    x, y = np.zeros(2), np.array([0.5, 7.0])
    by_x, by_y = sdgrad.vjp(linear, x, y)[1](np.ones(2))
    np.testing.assert_allclose(by_x, np.log(y) + np.log1p(y), rtol=1e-14)
    assert np.array_equal(by_y, [0.0, 0.0])


def single(x):
    return special.kn(2, x), special.yn(2, x), special.jvp(2, x), special.spherical_kn(1, x), special.zeta(x + 2)


def test_types_of_single_precision():
    x = np.array([0.5, 2.0], np.float32)
    for found, wanted in zip(sdgrad.compile_forward(single)(x), single(x), strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=2e-6)


def power(x, p):
    return np.sum(special.boxcox(x, p) * special.inv_boxcox(x, p) * special.powm1(x, p) * special.beta(x, p))


@pytest.mark.parametrize("p", [0.05, 0.7, 3.0])
def test_second_derivatives(p):
    """By differences of first ones, which the tables of mpmath compare."""
    x, p = np.array([0.4, 2.5]), np.full(2, p)
    direction = np.array([0.3, -0.7]), np.array([0.2, 0.5])
    gradient, h = sdgrad.grad(power, wrt=("x", "p")), 1e-4 * p[0]
    steps = [gradient(x + k * h * direction[0], p + k * h * direction[1]) for k in (1, -1, 2, -2)]
    found = sdgrad.hvp(power, (x, p), direction)
    for k in (0, 1):
        near, back, far, behind = (s[k] for s in steps)
        np.testing.assert_allclose(found[k], (8 * (near - back) - (far - behind)) / (12 * h), rtol=1e-6)


def test_reciprocal_gamma_function_is_entire():
    """Derivatives at its zeros, beside them, and where it underflows."""
    own: list = [special.rgamma]
    for _ in range(3):
        own.append(sdgrad.grad(own[-1]))
    for x in (0.0, -1.0, -2.0, -3.0, -7.0, 1e-12, -2.0 + 1e-10, 0.4, 0.39999, 3.0):
        with mp.workdps(60):
            wanted = [float(mp.diff(mp.rgamma, mp.mpf(x), k)) for k in (1, 2, 3)]
        np.testing.assert_allclose([f(x) for f in own[1:]], wanted, rtol=2e-13)
    assert [f(200.0) for f in own[1:]] == [0.0, 0.0, 0.0]


def test_refused():
    with pytest.raises(sdgrad.errors.ParseError, match="n is a positive integer here"):
        sdgrad.grad(lambda x: special.diric(x, 0))(0.3)
    with pytest.raises(sdgrad.DifferentiationError, match="scipy.special.hyperu by its argument 1"):
        sdgrad.grad(lambda a: special.hyperu(a, 0.5, 1.0))(0.3)
