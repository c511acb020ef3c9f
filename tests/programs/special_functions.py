"""Functions of ``math`` on scalars in tasklets."""

import math

import dace
import numpy as np

from ._base import arrays, positive, program, untied, within


def _erf(A):
    return np.array([math.erf(a) * a for a in A])


def _erf_jax(A):
    import jax.scipy.special as special

    return special.erf(A) * A


@program(arrays(6), "tasklet map math", scalar=False, reference=_erf, jax=_erf_jax)
def math_erf(A: dace.float64[6]):
    B = np.empty_like(A)
    for i in dace.map[0:6]:
        with dace.tasklet:
            a << A[i]
            b >> B[i]
            b = math.erf(a) * a
    return B


def _erfc(A):
    return np.array([math.erfc(a) for a in A])


def _erfc_jax(A):
    import jax.scipy.special as special

    return special.erfc(A)


@program(arrays(6), "tasklet map math", scalar=False, reference=_erfc, jax=_erfc_jax)
def math_erfc(A: dace.float64[6]):
    B = np.empty_like(A)
    for i in dace.map[0:6]:
        with dace.tasklet:
            a << A[i]
            b >> B[i]
            b = math.erfc(a)
    return B


def _lgamma(A):
    return np.array([math.lgamma(a) for a in A])


def _lgamma_jax(A):
    import jax.scipy.special as special

    return special.gammaln(A)


@program(positive(6), "tasklet map math", scalar=False, reference=_lgamma, jax=_lgamma_jax)
def math_lgamma(A: dace.float64[6]):
    B = np.empty_like(A)
    for i in dace.map[0:6]:
        with dace.tasklet:
            a << A[i]
            b >> B[i]
            b = math.lgamma(a)
    return B


def _tgamma_jax(A):
    import jax.scipy.special as special

    return special.gamma(A)


def _tgamma(A):
    return np.array([math.gamma(a) for a in A])


# DaCe: generated C++ calls dace::math::gamma, which does not exist.
@program(positive(6), "tasklet map math dace-frontend-fails", scalar=False, reference=_tgamma, jax=_tgamma_jax)
def math_gamma(A: dace.float64[6]):
    B = np.empty_like(A)
    for i in dace.map[0:6]:
        with dace.tasklet:
            a << A[i]
            b >> B[i]
            b = math.gamma(a)
    return B


def _trigonometry(A):
    return np.tan(A) * np.arctan(A) + np.arcsin(A) * np.arccos(A) + np.arctan2(A, 2.0)


@program(within(0.1, 0.8, 6), "tasklet map math", scalar=False, reference=_trigonometry)
def math_trigonometry(A: dace.float64[6]):
    B = np.empty_like(A)
    for i in dace.map[0:6]:
        with dace.tasklet:
            a << A[i]
            b >> B[i]
            b = math.tan(a) * math.atan(a) + math.asin(a) * math.acos(a) + math.atan2(a, 2.0)
    return B


def _hyperbolic(A):
    return np.sinh(A) * np.cosh(A) + np.tanh(A) + np.arcsinh(A) + np.arctanh(A) + np.arccosh(A + 1.5)


@program(within(0.1, 0.8, 6), "tasklet map math", scalar=False, reference=_hyperbolic)
def math_hyperbolic(A: dace.float64[6]):
    B = np.empty_like(A)
    for i in dace.map[0:6]:
        with dace.tasklet:
            a << A[i]
            b >> B[i]
            b = math.sinh(a) * math.cosh(a) + math.tanh(a) + math.asinh(a) + math.atanh(a) + math.acosh(a + 1.5)
    return B


def _min_max_abs(A, B):
    return A**2 + np.abs(A - 2.0) + np.minimum(A, B) * np.maximum(A, 0.7)


@program(untied(6, 6), "tasklet map math minmax", scalar=False, reference=_min_max_abs)
def math_min_max_abs(A: dace.float64[6], B: dace.float64[6]):
    C = np.empty_like(A)
    for i in dace.map[0:6]:
        with dace.tasklet:
            a << A[i]
            b << B[i]
            c >> C[i]
            c = a**2 + abs(a - 2.0) + min(a, b) * max(a, 0.7)
    return C
