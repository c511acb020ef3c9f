"""Apply the densities of ``multivariate_t``, ``wishart``, ``matrix_normal`` and ``multinomial`` of ``scipy.stats``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as special
import scipy.stats as stats

from sdgrad.errors import ParseError
from sdgrad.record.functions.arguments import require
from sdgrad.record.functions.evaluated import Evaluated, made
from sdgrad.record.functions.linalg import solve_triangular
from sdgrad.record.functions.multivariate import definite, of_full_rank, outer_of, places_of, scaled
from sdgrad.record.functions.piecewise import wide
from sdgrad.record.functions.scipy_special import multigammaln
from sdgrad.record.functions.table import array, known, operand, rule
from sdgrad.record.functions.undefined import undefined_where
from sdgrad.record.values import is_recorded


def _t_logpdf(x: Any, loc: Any = None, shape: Any = 1, df: Any = 1, allow_singular: bool = False) -> Any:
    if allow_singular:
        raise ParseError("scipy.stats.multivariate_t: allow_singular=True is not recorded")
    squares, half, size, shaped = scaled(x, loc, shape)
    free = 1 if df is None else operand(df)
    require(free > 0, "'df' must be greater than zero.")
    normal = -0.5 * squares - half - 0.5 * size * math.log(2 * math.pi)
    if not is_recorded(free) and math.isinf(free):  # SciPy keeps the axes of one element here
        return np.reshape(normal, np.shape(places_of(x, size))[:-1])
    endless = free == math.inf
    free = np.where(endless, 1.0, free)
    norm = special.gammaln(0.5 * (free + size)) - special.gammaln(0.5 * free) - 0.5 * size * np.log(free * math.pi)
    own = norm - half - 0.5 * (free + size) * np.log1p(squares / free)
    return shaped(np.where(endless, normal, own) if is_recorded(df) else own)


def _factor(value: Any, size: int, name: str, single: bool = True, bounded: bool = False) -> Any:
    """Return the Cholesky factor of a covariance; numbers are those of the diagonal.

    :param single: a number is a matrix of one element.
    :param bounded: eigenvalues that are zero but for rounding are refused as well.
    """
    matrix = wide(value, name)
    matrix = matrix if matrix.ndim == 2 else matrix * known(np.eye(1 if single and not matrix.ndim else size))
    if np.shape(matrix) != (size, size):
        raise ValueError(f"scipy.stats.{name}: a matrix of shape {np.shape(matrix)} in place of {(size, size)}")
    if bounded:
        definite(matrix)
    factor = np.linalg.cholesky(matrix)
    of_full_rank(factor, matrix, "The matrix is not positive definite")
    return factor


def _log_determinant(factor: Any) -> Any:
    return 2.0 * np.sum(np.log(np.diagonal(factor)))


def _wishart_logpdf(x: Any, df: Any, scale: Any) -> Any:
    place = wide(x, "wishart")
    if place.ndim != 2 or place.shape[0] != place.shape[1]:
        raise ParseError("scipy.stats.wishart: densities of one symmetric matrix are recorded, and of no other arrays")
    size, free = place.shape[0], operand(df)
    require(free > size - 1, "Degrees of freedom must be greater than the dimension of scale matrix minus 1.")
    own, inner = _factor(scale, size, "wishart"), np.linalg.cholesky(place)
    ratio = solve_triangular(own, inner, lower=True)
    norm = 0.5 * free * (size * math.log(2.0) + _log_determinant(own)) + multigammaln(0.5 * free, size)
    return 0.5 * (free - size - 1.0) * _log_determinant(inner) - 0.5 * np.sum(ratio * ratio) - norm


def _matrix_logpdf(x: Any, mean: Any = None, rowcov: Any = 1, colcov: Any = 1) -> Any:
    places = wide(x, "matrix_normal")
    if places.ndim != 2:
        raise ParseError("scipy.stats.matrix_normal: densities of one matrix are recorded")
    n, m = places.shape
    rows, columns = (_factor(c, k, "matrix_normal", mean is None, True) for c, k in ((rowcov, n), (colcov, m)))
    apart = places if mean is None else places - mean
    ahead = solve_triangular(columns, solve_triangular(rows, apart, lower=True).T, lower=True)
    norm = n * m * math.log(2 * math.pi) + n * _log_determinant(columns) + m * _log_determinant(rows)
    return -0.5 * (norm + np.sum(ahead * ahead))


def _multinomial_logpmf(x: Any, n: Any, p: Any) -> Any:
    """Return the logarithm of the probability of counts; probabilities that do not add up to one are none."""
    counts, shares, trials = array(x), wide(p, "multinomial"), operand(n)
    if not counts.ndim:
        raise ValueError("x must be an array.")
    if counts.shape[-1] != shares.shape[-1]:
        raise ValueError(f"Size of each quantile should be size of p: received {counts.shape[-1]}, but expected "
                         f"{shares.shape[-1]}.")  # fmt: skip
    require(
        np.all(np.abs(np.sum(shares, axis=-1) - 1.0) <= 1e-6),
        "scipy.stats.multinomial: the rows of p have to add up to one: divide them by their sums",
    )
    k, whole = wide(counts, "multinomial"), trials * np.float64(1.0)
    terms = special.xlogy(k, shares) - special.gammaln(k + 1.0)
    inside = np.all((k >= 0) & (k == np.floor(k)), axis=-1) & (np.sum(k, axis=-1) == whole)
    found = np.where(inside, special.gammaln(whole + 1.0) + np.sum(terms, axis=-1), -math.inf)
    wrong = np.any((shares < 0) | (shares > 1), axis=-1) | (whole < 0)
    return undefined_where(wrong, found, np.sum(shares, axis=-1))


class Density(Evaluated):
    """Hold a distribution's recorded parameters."""

    told = "a distribution of scipy.stats"

    def __init__(self, formula: Callable, given: tuple, named: dict[str, Any]) -> None:
        self.formula, self.given, self.named = formula, given, named


def _of_parameters(name: str) -> Callable:
    return lambda f, x: outer_of(name)(f.formula(x, *f.given, **f.named))


class Mass(Density):
    """Hold the parameters of a distribution of counts."""


DENSITIES, MASSES = ("pdf", "logpdf"), ("pmf", "logpmf")
Density.table = {name: _of_parameters(name) for name in DENSITIES}
Mass.table = {name: _of_parameters(name) for name in MASSES}


def _register(dist: Any, formula: Callable, frozen: type, names: dict[str, str], held: type[Density] = Density) -> None:
    """Register densities of one of SciPy's objects, and of frozen ones, whose attributes are named."""

    def method(name: str) -> None:
        def density(own: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
            return outer_of(name)(formula(x, *args, **kwargs))

        def of_frozen(own: Any, x: Any) -> Any:
            return outer_of(name)(formula(x, **{k: getattr(own, v) for k, v in names.items()}))

        rule(getattr(type(dist), name))(density)
        rule(getattr(frozen, name))(of_frozen)

    for name in held.table:
        method(name)

    def freeze(own: Any, *args: Any, seed: Any = None, **kwargs: Any) -> Any:
        return made(held(formula, args, kwargs))

    rule(type(dist).__call__)(freeze)


_register(stats.multivariate_t, _t_logpdf, type(stats.multivariate_t()), {"loc": "loc", "shape": "shape", "df": "df"})
_register(stats.wishart, _wishart_logpdf, type(stats.wishart(3, np.eye(2))), {"df": "df", "scale": "scale"})
_register(
    stats.matrix_normal,
    _matrix_logpdf,
    type(stats.matrix_normal(np.zeros((2, 2)))),
    {"mean": "mean", "rowcov": "rowcov", "colcov": "colcov"},
)
_register(stats.multinomial, _multinomial_logpmf, type(stats.multinomial(1, [1.0])), {"n": "n", "p": "p"}, Mass)
