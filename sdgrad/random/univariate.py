"""Draw from distributions of one number that are transformations of a uniform one, with derivatives by parameters.

Standard draws come from the library. What parameters do is in NumPy's terms, so that the engine has the derivatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from sdgrad.random.draws import drawn, extents, numbers, real
from sdgrad.record.calls import works_inside
from sdgrad.runtime.libraries.random_numbers import Kind


@works_inside
def uniform(key: Any, shape: Any = (), dtype: Any = np.float64, minval: Any = 0.0, maxval: Any = 1.0) -> Any:
    """Draw uniform numbers in ``[minval, maxval)``; in ``[0, 1)`` those of NumPy's ``Generator(Philox)``.

    With bounds, rounding can give ``maxval``.
    """
    own = real(dtype, "uniform")
    low, high = numbers(minval, own), numbers(maxval, own)
    found = drawn(Kind.UNIT, key, extents(shape, low, high), own)
    if all(isinstance(bound, (int, float)) for bound in (low, high)) and (low, high) == (0, 1):
        return found
    return low + found * (high - low)


@works_inside
def normal(key: Any, shape: Any = (), dtype: Any = np.float64) -> Any:
    """Draw standard normal numbers, by the inverse distribution function (Wichura 1988)."""
    return drawn(Kind.NORMAL, key, extents(shape), real(dtype, "normal"))


@works_inside
def exponential(key: Any, shape: Any = (), dtype: Any = np.float64) -> Any:
    """Draw from the exponential distribution of mean 1: ``-log(u)``."""
    return drawn(Kind.EXPONENTIAL, key, extents(shape), real(dtype, "exponential"))


@works_inside
def laplace(key: Any, shape: Any = (), dtype: Any = np.float64) -> Any:
    """Draw from the standard Laplace distribution."""
    return drawn(Kind.LAPLACE, key, extents(shape), real(dtype, "laplace"))


@works_inside
def logistic(key: Any, shape: Any = (), dtype: Any = np.float64) -> Any:
    """Draw from the standard logistic distribution: ``log(u / (1 - u))``."""
    return drawn(Kind.LOGISTIC, key, extents(shape), real(dtype, "logistic"))


@works_inside
def gumbel(key: Any, shape: Any = (), dtype: Any = np.float64) -> Any:
    """Draw from the standard Gumbel distribution of maxima: ``-log(-log(u))``."""
    return drawn(Kind.GUMBEL, key, extents(shape), real(dtype, "gumbel"))


@works_inside
def cauchy(key: Any, shape: Any = (), dtype: Any = np.float64) -> Any:
    """Draw from the standard Cauchy distribution: ``tan(pi (u - 1/2))``."""
    return drawn(Kind.CAUCHY, key, extents(shape), real(dtype, "cauchy"))


@works_inside
def lognormal(key: Any, sigma: Any = 1.0, shape: Any = None, dtype: Any = np.float64) -> Any:
    """Draw numbers whose logarithms are normal with mean 0 and standard deviation ``sigma``."""
    own = real(dtype, "lognormal")
    return np.exp(numbers(sigma, own) * drawn(Kind.NORMAL, key, extents(shape, sigma), own))


@works_inside
def weibull_min(key: Any, scale: Any, concentration: Any, shape: Any = None, dtype: Any = np.float64) -> Any:
    """Draw from the Weibull distribution of minima."""
    own = real(dtype, "weibull_min")
    found = drawn(Kind.EXPONENTIAL, key, extents(shape, scale, concentration), own)
    return numbers(scale, own) * found ** (1.0 / numbers(concentration, own))


@works_inside
def pareto(key: Any, b: Any, shape: Any = None, dtype: Any = np.float64) -> Any:
    """Draw numbers from 1 on with density ``b / x ** (b + 1)``."""
    own = real(dtype, "pareto")
    return np.exp(drawn(Kind.EXPONENTIAL, key, extents(shape, b), own) / numbers(b, own))


@works_inside
def rayleigh(key: Any, scale: Any, shape: Any = None, dtype: Any = np.float64) -> Any:
    """Draw from the Rayleigh distribution."""
    own = real(dtype, "rayleigh")
    return numbers(scale, own) * np.sqrt(2.0 * drawn(Kind.EXPONENTIAL, key, extents(shape, scale), own))


@works_inside
def maxwell(key: Any, shape: Any = (), dtype: Any = np.float64) -> Any:
    """Draw lengths of vectors of three standard normal numbers."""
    own = real(dtype, "maxwell")
    found = drawn(Kind.NORMAL, key, (*extents(shape), 3), own)
    return np.sqrt(np.sum(found * found, axis=-1))


@works_inside
def triangular(key: Any, left: Any, mode: Any, right: Any, shape: Any = None, dtype: Any = np.float64) -> Any:
    """Draw from the triangular distribution between ``left`` and ``right``, most often near ``mode``."""
    own = real(dtype, "triangular")
    u = drawn(Kind.OPEN, key, extents(shape, left, mode, right), own)
    low, top, high = (numbers(bound, own) for bound in (left, mode, right))
    rising = u * (high - low) < top - low
    below = np.where(rising, u, 0.5) * (high - low) * np.where(rising, top - low, 1.0)
    above = np.where(rising, 0.5, 1.0 - u) * (high - low) * np.where(rising, 1.0, high - top)
    return np.where(rising, low + np.sqrt(below), high - np.sqrt(above))


@works_inside
def truncated_normal(key: Any, lower: Any, upper: Any, shape: Any = None, dtype: Any = np.float64) -> Any:
    """Draw standard normal numbers between ``lower`` and ``upper``; right in the tails as well."""
    own = real(dtype, "truncated_normal")
    u = drawn(Kind.OPEN, key, extents(shape, lower, upper), np.float64)
    low, high = (numbers(bound, np.dtype(np.float64)) for bound in (lower, upper))
    turned = low + high > 0  # so that most of what is between them is below 0, where logarithms have all digits
    first, last = np.where(turned, -high, low), np.where(turned, -low, high)
    is_open = np.isinf(first)
    above = scipy.special.log_ndtr(last) + np.log(u)
    below = np.where(is_open, -np.inf, scipy.special.log_ndtr(np.where(is_open, 0.0, first)) + np.log1p(-u))
    found = scipy.special.ndtri_exp(np.logaddexp(above, below))
    return np.clip(np.where(turned, -found, found), low, high).astype(own)
