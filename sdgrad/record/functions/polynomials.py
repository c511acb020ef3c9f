"""Polynomials: fits, roots, quotients, and sums of orthogonal ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sdgrad.errors import ParseError
from sdgrad.record.functions.arguments import static
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.joining import concatenate
from sdgrad.record.functions.shapes import reshape
from sdgrad.record.functions.table import array, known, operand, rule
from sdgrad.record.values import RULES


# -- fits
def least_squares(left: Any, places: Any, values: Any, rcond: Any, w: Any, name: str = "numpy.polyfit") -> Any:
    """Return the factors of the columns of a matrix whose sum is closest to samples at some places."""
    if places.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if not places.size:
        raise TypeError("expected non-empty vector for x")
    if values.ndim not in (1, 2):
        raise TypeError("expected 1D or 2D array for y")
    if places.shape[0] != values.shape[0]:
        raise TypeError("expected x and y to have same length")
    if rcond is not None:
        raise ParseError(f"{name}: rcond= is not recorded; use np.linalg.lstsq")
    if w is not None:
        weights = _inexact(w)
        if weights.ndim != 1 or weights.shape != places.shape:
            raise TypeError("expected a 1-d array for weights, of the length of y")
        left = left * weights[:, None]
        values = values * (weights[:, None] if values.ndim == 2 else weights)
    scale = np.sqrt(np.sum(left * left, axis=0))
    found = np.linalg.lstsq(left / scale, values)[0]
    return found / (scale[:, None] if values.ndim == 2 else scale)


def _inexact(value: Any) -> Any:
    a = array(value)
    return a if a.dtype.kind in "fc" else array(astype(a, float))


@rule(np.polyfit)
def polyfit(x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False) -> Any:
    if full or cov:
        raise ParseError("numpy.polyfit: full= and cov= are not recorded; use np.linalg.lstsq of np.vander")
    degree = static(deg)
    if degree < 0:
        raise ValueError("expected deg >= 0")
    places, values = _inexact(x), _inexact(y)
    left = places[:, None] ** known(np.arange(degree, -1, -1)) if places.ndim == 1 else places
    return least_squares(astype(left, np.result_type(places.dtype, float), copy=False), places, values, rcond, w)


# -- roots
@rule(np.poly)
def poly(seq_of_zeros: Any) -> Any:
    zeros = array(seq_of_zeros)
    if zeros.ndim == 2:
        raise ParseError("numpy.poly of a matrix is not recorded; pass its eigenvalues")
    if zeros.ndim > 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    if zeros.dtype.kind == "c":
        raise ParseError("numpy.poly: only a run knows whether complex zeros come in pairs; use np.convolve")
    zeros = _inexact(zeros)
    found = known(np.ones(1, zeros.dtype))
    for k in range(len(zeros)):
        found = _times_line(found, zeros[k])
    return found


def _times_line(factors: Any, zero: Any) -> Any:
    """Return the factors of a polynomial times ``x - zero``."""
    end = known(np.zeros(1, factors.dtype))
    return concatenate([factors, end]) - zero * concatenate([end, factors])


@rule(np.roots)
def roots(p: Any) -> Any:
    factors = _inexact(p)
    if factors.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    n = factors.shape[0]
    if n < 2:
        return np.zeros(0)
    ends = np.not_equal(factors[0], 0) & np.not_equal(factors[-1], 0)
    told = "numpy.roots: the first and the last factor must not be zero, for they decide how many roots there are"
    RULES.require(factors.recorder, ends, ValueError(told))
    below = known(np.eye(n - 2, n - 1, dtype=factors.dtype))
    return np.linalg.eigvals(concatenate([reshape(-factors[1:] / factors[0], (1, n - 1)), below]))


def divided(over: Any, by: Any) -> tuple[Any, Any]:
    """Return a quotient and what remains, the highest power first; what remains of a number is one zero."""
    m, n = over.shape[0] - 1, by.shape[0] - 1
    if m < n:
        return known(np.zeros(1, np.result_type(over.dtype, by.dtype))), over
    rest, found = over.copy(), []
    for k in range(m - n + 1):
        factor = rest[k] / by[0]
        found.append(factor)
        rest[k : k + n + 1] = rest[k : k + n + 1] - factor * by
    return array(found), rest[-1:] if n == 0 else rest[m - n + 1 :]


@rule(np.polydiv)
def polydiv(u: Any, v: Any) -> Any:
    over, by = (_inexact(np.atleast_1d(operand(a) if np.ndim(a) == 0 else array(a))) for a in (u, v))
    if np.float32 in (over.dtype, by.dtype) or np.complex64 in (over.dtype, by.dtype):
        raise ParseError("numpy.polydiv in single precision leaves a remainder of any length: use double precision")
    m, n = over.shape[0] - 1, by.shape[0] - 1
    if m < n:
        return known(np.zeros(1, np.result_type(over.dtype, by.dtype))), over
    found, left = divided(over, by)
    if n == 0:
        return found, left
    if n > 1:  # NumPy takes zeros off
        told = "numpy.polydiv: the remainder begins with zero, which NumPy would leave out: only a run knows how many"
        RULES.require(left.recorder, np.abs(left[0]) > 1e-8, ValueError(told))
    return found, left


# -- sums of polynomials by Clenshaw's recurrence: P[k+1] = (a x + b) P[k] - c P[k-1]
Step = Callable[[int, Any], tuple[Any, Any]]
FAMILIES: dict[Any, Step] = {
    np.polynomial.polynomial.polyval: lambda k, x: (x, 0),
    np.polynomial.chebyshev.chebval: lambda k, x: (2 * x if k else x, 1),
    np.polynomial.legendre.legval: lambda k, x: (x * ((2 * k + 1) / (k + 1)), k / (k + 1)),
    np.polynomial.hermite.hermval: lambda k, x: (2 * x, 2 * k),
    np.polynomial.hermite_e.hermeval: lambda k, x: (x, k),
    np.polynomial.laguerre.lagval: lambda k, x: ((2 * k + 1 - x) / (k + 1), k / (k + 1)),
}
"""For the function of each family: what the next polynomial is, of the last one and the one before."""


def _family(function: Any, step: Step) -> None:
    def value(x: Any, c: Any, tensor: bool = True) -> Any:
        factors, place = array(c), operand(x)
        factors = factors if factors.dtype.kind in "fc" else astype(factors, float)
        factors = factors if factors.ndim else factors[None]
        if np.ndim(x) and tensor:
            factors = factors[(..., *[None] * np.ndim(place))]
        after: Any = 0
        found: Any = factors[-1] + place * 0
        for k in range(factors.shape[0] - 2, -1, -1):
            found, after = factors[k] + step(k, place)[0] * found - step(k + 1, place)[1] * after, found
        return found

    rule(function)(value)


for _function, _step in FAMILIES.items():
    _family(_function, _step)
