"""Functions of SciPy where a formula loses all digits, divides by zero, or gives a slope to what is no number."""

import mpmath as mp
import numpy as np
import scipy.linalg
from programs._base import program
from scipy import special, stats

import sdgrad


def _alpha_tail(y, a):
    with mp.workdps(60):
        y, a = mp.mpf(y), mp.mpf(a)
        near, all_of, here = mp.npdf(a), mp.ncdf(a), mp.npdf(a - 1 / y)
        beyond = (all_of - mp.ncdf(a - 1 / y)) / all_of
        return [float(v) for v in (beyond, -here / (y * y * all_of), (near - here) / all_of - beyond * near / all_of)]


# Probabilities in a tail had the rounding of 1, and their slopes with them.
@program(lambda rng: (1e13, 1.3), "corpus both nojax", expected=lambda y, a: tuple(
    1e13 * v for v in _alpha_tail(y, a)[1:]), reference=lambda y, a: 1e13 * _alpha_tail(y, a)[0])  # fmt: skip
def tail_of_the_alpha_distribution(y, a):
    return 1e13 * stats.alpha.sf(y, a)


def _skewed_tail(x, a):
    with mp.workdps(40):
        x, a = mp.mpf(x), mp.mpf(a)
        scale = -x * (1 + a * a)
        f = lambda u: 2 * mp.npdf(x - u / scale) * mp.ncdf(a * (x - u / scale)) / scale  # noqa: E731
        below = mp.quad(f, [0, 1, 3, 8, 20, 60])
        slopes = f(mp.mpf(0)) * scale, -mp.exp(-x * x * (1 + a * a) / 2) / (mp.pi * (1 + a * a))
        return [float(v) for v in (mp.log(below), *(s / below for s in slopes))]


# The logarithm of a probability that underflows was infinite, and its slopes were no numbers.
@program(lambda rng: (-9.4, 4.0), "corpus both nojax", expected=lambda x, a: tuple(_skewed_tail(x, a)[1:]),
         reference=lambda x, a: _skewed_tail(x, a)[0])  # fmt: skip
def logarithm_of_a_skewed_tail(x, a):
    return stats.skewnorm.logcdf(x, a)


NONE = {
    "zeta": lambda x: special.zeta(x, 2.5), "loggamma": special.loggamma, "fdtr": lambda x: special.fdtr(x, 3.0, 0.7),
    "chdtri": lambda x: special.chdtri(2.5, x), "gammainc": lambda x: special.gammainc(x, 0.5),
}  # fmt: skip


def _missing(x, w):
    return np.sum(w * np.isnan([special.zeta(x[0], 2.5), special.loggamma(x[1]), special.fdtr(x[2], 3.0, 0.7),
                                special.chdtri(2.5, x[3]), special.gammainc(x[4], 0.5)]))  # fmt: skip


# What is not a number had slopes that were numbers: each weight counts if its function has none.
@program(lambda rng: (np.array([0.5, -1.5, -2.0, 1.5, -0.5]), np.arange(1.0, 6.0)), "corpus both nojax", wrt=("w",),
         expected=lambda x, w: np.ones(5), reference=_missing)  # fmt: skip
def slopes_of_what_is_no_number(x, w):
    total = 0.0
    for k, of in enumerate(NONE.values()):
        total += w[k] * np.where(np.isnan(sdgrad.grad(of)(x[k])), 1.0, 0.0)
    return total


def _polar(x):
    turned, stretched = scipy.linalg.polar(x)
    return turned[0, 1] + 2.0 * turned[1, 0] + 3.0 * turned[0, 0] * turned[1, 1] + stretched[0, 1]


def _polar_near_identity(e):
    """The same by the polar factor of ``I + e``, of which powers from the third on are left out."""
    turned = (e - e.T) / 2 - e.T @ e / 2 - e @ (e + e.T) / 2 + 3 / 8 * (e + e.T) @ (e + e.T)
    product = (np.eye(2) + turned).T @ (np.eye(2) + e)
    return turned[0, 1] + 2.0 * turned[1, 0] + 3.0 * (1 + turned[0, 0]) * (1 + turned[1, 1]) + product[0, 1]


def _polar_bends(x, v):
    """The second derivative along v, by differences of a polynomial with many digits."""
    with mp.workdps(80):
        h = mp.mpf(10) ** -20
        pairs = [(s, t) for s in (1, -1) for t in (1, -1)]
        bends = [sum(s * t * _polar_near_identity(h * (s * u + t * v)) for s, t in pairs) / (4 * h * h)
                 for u in np.eye(4).reshape(4, 2, 2)]  # fmt: skip
        return np.reshape([float(b) for b in bends], (2, 2))


def _polar_slope(x, v):
    turn = (v - v.T) / 2
    return turn[0, 1] + 2.0 * turn[1, 0] + (v + v.T)[0, 1] / 2


# Differences of singular values that are equal were divided by.
@program(lambda rng: (np.eye(2), np.array([[0.5, -1.0], [2.0, 0.25]])), "corpus both nojax", wrt=("x",),
         expected=_polar_bends, reference=_polar_slope)  # fmt: skip
def bend_of_polar_factors_at_the_identity(x, v):
    return np.sum(sdgrad.grad(_polar)(x) * v)


# Digamma at a pole times a zero of the reciprocal was no number.
@program(lambda rng: (np.array([0.0, -1.0, -2.0, -3.0, 0.5]),), "corpus both nojax", expected=lambda x: np.array(
    [float(mp.diff(mp.rgamma, v, 2)) for v in x]), reference=lambda x: sum(float(mp.diff(mp.rgamma, v)) for v in x)
)  # fmt: skip
def bend_of_the_reciprocal_gamma_function_at_its_zeros(x):
    return np.sum(sdgrad.grad(lambda y: np.sum(special.rgamma(y)))(x))


# Parts of complex numbers that are known were asked for the type of a recorded one, where other calls are computed.
@program(lambda rng: (rng.random(3), 2), "corpus both", wrt=("x",))
def parts_of_known_complex_numbers(x, k):
    if x[0] < 2.0 or k == 7:
        x[0] = x[0] * np.real((-0.3 - 0.7j) * (-0.7 - 0.5j)) + np.imag(np.exp(1j * (-0.3)) * 0.5)
    return np.sum(x * np.real(2) + np.imag(np.array([1j, 2.0, 3j])))
