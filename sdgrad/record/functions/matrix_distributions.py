"""Apply the densities of ``multivariate_t``, ``wishart`` and ``matrix_normal`` of ``scipy.stats``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as special
import scipy.stats as stats

from sdgrad.errors import ParseError
from sdgrad.record.functions.evaluated import Evaluated, made
from sdgrad.record.functions.linalg import solve_triangular
from sdgrad.record.functions.multivariate import definite, of_full_rank, outer_of, places_of, scaled
from sdgrad.record.functions.piecewise import wide
from sdgrad.record.functions.scipy_special import multigammaln
from sdgrad.record.functions.table import known, operand, rule
from sdgrad.record.values import is_recorded


def _t_logpdf(x: Any, loc: Any = None, shape: Any = 1, df: Any = 1, allow_singular: bool = False) -> Any:
    if allow_singular:
        raise ParseError("scipy.stats.multivariate_t: allow_singular=True is not recorded")
    squares, half, size, shaped = scaled(x, loc, shape)
    free = 1 if df is None else operand(df)
    if not is_recorded(free) and not free > 0:
        raise ValueError("'df' must be greater than zero.")
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


class Density(Evaluated):
    """Hold a distribution's recorded parameters."""

    def __init__(self, formula: Callable, given: tuple, named: dict[str, Any]) -> None:
        self.formula, self.given, self.named = formula, given, named


def _of_parameters(name: str) -> Callable:
    return lambda f, x: outer_of(name)(f.formula(x, *f.given, **f.named))


Density.table = {name: _of_parameters(name) for name in ("pdf", "logpdf")}


def _register(dist: Any, formula: Callable, frozen: type, names: dict[str, str]) -> None:
    """Register densities of one of SciPy's objects, and of frozen ones, whose attributes are named."""

    def method(name: str) -> None:
        def density(own: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
            return outer_of(name)(formula(x, *args, **kwargs))

        def of_frozen(own: Any, x: Any) -> Any:
            return outer_of(name)(formula(x, **{k: getattr(own, v) for k, v in names.items()}))

        rule(getattr(type(dist), name))(density)
        rule(getattr(frozen, name))(of_frozen)

    for name in ("pdf", "logpdf"):
        method(name)

    def freeze(own: Any, *args: Any, seed: Any = None, **kwargs: Any) -> Any:
        return made(Density(formula, args, kwargs))

    rule(type(dist).__call__)(freeze)


_register(stats.multivariate_t, _t_logpdf, type(stats.multivariate_t()), {"loc": "loc", "shape": "shape", "df": "df"})
_register(stats.wishart, _wishart_logpdf, type(stats.wishart(3, np.eye(2))), {"df": "df", "scale": "scale"})
_register(
    stats.matrix_normal,
    _matrix_logpdf,
    type(stats.matrix_normal(np.zeros((2, 2)))),
    {"mean": "mean", "rowcov": "rowcov", "colcov": "colcov"},
)
