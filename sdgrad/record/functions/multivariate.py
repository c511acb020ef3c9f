"""Apply the densities of ``scipy.stats.multivariate_normal`` and ``dirichlet``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special
import scipy.stats as stats

from sdgrad.errors import ParseError
from sdgrad.record.functions.arguments import require
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.evaluated import Evaluated, made
from sdgrad.record.functions.linalg import require as factorized
from sdgrad.record.functions.linalg import solve_triangular
from sdgrad.record.functions.piecewise import wide
from sdgrad.record.functions.table import array, known, rule

NORMAL, DIRICHLET = type(stats.multivariate_normal), type(stats.dirichlet)
FROZEN_NORMAL, FROZEN_DIRICHLET = type(stats.multivariate_normal()), type(stats.dirichlet([1.0, 1.0]))


def _parameters(mean: Any, cov: Any) -> tuple[Any, Any, int]:
    """Return the mean, the covariance matrix, and the dimension.

    :raises ValueError: as SciPy, where they do not fit.
    """
    if not isinstance(cov, (int, float)) and type(cov).__module__.startswith("scipy"):
        raise ParseError("scipy.stats.multivariate_normal: objects of scipy.stats.Covariance are not recorded")
    matrix = wide(1.0 if cov is None else cov, "multivariate_normal")
    centre = None if mean is None else np.reshape(wide(mean, "multivariate_normal"), -1)
    size = np.shape(centre)[0] if centre is not None else matrix.shape[0] if matrix.ndim == 2 else 1
    if matrix.ndim < 2:
        matrix = matrix * known(np.eye(size))
    if np.shape(matrix) != (size, size):
        raise ValueError(f"Array 'cov' must be square if it is two dimensional, and not of shape {np.shape(matrix)}.")
    return known(np.zeros(size)) if centre is None else centre, matrix, size


def places_of(x: Any, size: int) -> Any:
    """Return points with their coordinates along the last axis."""
    places = wide(x, "multivariate_normal")
    if places.ndim == 0:
        return np.reshape(places, (1, 1))
    if places.ndim == 1:
        return places[:, None] if size == 1 else places[None, :]
    return places


def definite(matrix: Any) -> None:
    """Require that a matrix is positive definite but for rounding, by SciPy's bound for its eigenvalues."""
    told = "When `allow_singular is False`, the input matrix must be symmetric positive definite."

    def holds() -> Any:
        found = np.linalg.eigvalsh(matrix)
        return np.all(found > 1e6 * np.finfo(np.float64).eps * np.max(np.abs(found)))

    factorized(array(matrix), told, holds)


def of_full_rank(factor: Any, matrix: Any, told: str) -> None:
    """Require that no pivot of a Cholesky factor is what rounding leaves."""
    pivots, sizes = np.diagonal(factor) ** 2, np.diagonal(matrix)
    least = 4 * np.finfo(np.float64).eps * np.shape(matrix)[-1]
    factorized(array(factor), told, lambda: np.all(pivots > least * sizes))


def scaled(x: Any, mean: Any, cov: Any) -> tuple[Any, Any, int, Callable]:
    """Return squared distances from a mean, half of the logarithm of a determinant, and the dimension.

    The last of them gives distances the shape that SciPy's results have.
    """
    centre, matrix, size = _parameters(mean, cov)
    places = places_of(x, size)
    if np.shape(places)[-1] != size:
        raise ValueError(f"points of {np.shape(places)[-1]} coordinates, and a mean of {size}")
    others = np.shape(places)[:-1]
    apart = np.reshape(places - centre, (-1, size))
    definite(matrix)
    factor = np.linalg.cholesky(matrix)
    ahead = solve_triangular(factor, apart.T, lower=True) if size > 1 else apart.T / factor
    kept = [n for n in others if n != 1]

    def shaped(found: Any) -> Any:
        whole = np.reshape(found, others)
        return np.reshape(whole, kept) if kept else whole[(0,) * len(others)]

    return np.sum(ahead * ahead, axis=0), np.sum(np.log(np.diagonal(factor))), size, shaped


def _normal_logpdf(x: Any, mean: Any, cov: Any, allow_singular: bool) -> Any:
    """Return the logarithm of the density, by the Cholesky factor of the covariance."""
    if allow_singular:
        raise ParseError("scipy.stats.multivariate_normal: allow_singular=True is not recorded")
    squares, half, size, shaped = scaled(x, mean, cov)
    return shaped(-0.5 * squares - half - 0.5 * size * math.log(2 * math.pi))


def _dirichlet_logpdf(x: Any, alpha: Any) -> Any:
    places, powers = wide(x, "dirichlet"), wide(alpha, "dirichlet")
    if powers.ndim != 1 or places.shape[0] not in (powers.shape[0], powers.shape[0] - 1):
        raise ValueError("Vector 'x' must have either the same number of entries as, or one entry fewer than, 'a'.")
    total = np.sum(array(x), axis=0)  # in the type of the data, as SciPy's
    if places.shape[0] == powers.shape[0] - 1:
        total = total + (1.0 - total)
        places = np.concatenate([places, 1.0 - np.sum(places, axis=0, keepdims=True)])
    require(np.min(powers) > 0, "All parameters must be greater than 0")
    require(np.all(places >= 0), "Each entry in 'x' must be greater than or equal to zero.")
    require(np.all(np.abs(total - 1.0) <= 1e-9), "The input vector 'x' must lie within the normal simplex.")
    norm = np.sum(scipy.special.gammaln(powers)) - scipy.special.gammaln(np.sum(powers))
    terms = scipy.special.xlogy(np.reshape(powers - 1.0, (-1, *[1] * (np.ndim(places) - 1))), places)
    given = np.result_type(array(x).dtype, array(alpha).dtype)
    found = np.sum(terms, axis=0) - norm
    return astype(array(found), given)[()] if given.kind == "f" else found


class Normal(Evaluated):
    """Hold a recorded mean and covariance."""

    told = "a multivariate_normal"

    def __init__(self, mean: Any, cov: Any, allow_singular: bool) -> None:
        self.given = (mean, cov, allow_singular)


class Dirichlet(Evaluated):
    """Hold recorded parameters."""

    told = "a dirichlet"

    def __init__(self, alpha: Any) -> None:
        self.given = (alpha,)


def _of_object(logpdf: Any, name: str) -> Callable:
    return lambda f, x: outer_of(name)(logpdf(x, *f.given))


def outer_of(name: str) -> Callable:
    return np.exp if name in ("pdf", "pmf") else lambda value: value


def _register(name: str) -> None:
    outer = outer_of(name)

    def normal(dist: Any, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        return outer(_normal_logpdf(x, mean, cov, allow_singular))

    def frozen_normal(f: Any, x: Any) -> Any:
        return outer(_normal_logpdf(x, f.mean, f.cov, bool(f.allow_singular)))

    def dirichlet(dist: Any, x: Any, alpha: Any) -> Any:
        return outer(_dirichlet_logpdf(x, alpha))

    def frozen_dirichlet(f: Any, x: Any) -> Any:
        return outer(_dirichlet_logpdf(x, f.alpha))

    pairs: dict[Any, Any] = {
        NORMAL: normal,
        FROZEN_NORMAL: frozen_normal,
        DIRICHLET: dirichlet,
        FROZEN_DIRICHLET: frozen_dirichlet,
    }
    for kind, function in pairs.items():
        rule(getattr(kind, name))(function)


for _name in ("pdf", "logpdf"):
    _register(_name)
Normal.table = {name: _of_object(_normal_logpdf, name) for name in ("pdf", "logpdf")}
Dirichlet.table = {name: _of_object(_dirichlet_logpdf, name) for name in ("pdf", "logpdf")}


@rule(NORMAL.__call__)
def frozen_normal(
    dist: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False, seed: Any = None, **more: Any
) -> Any:
    return made(Normal(mean, cov, allow_singular))


@rule(DIRICHLET.__call__)
def frozen_dirichlet(dist: Any, alpha: Any, seed: Any = None) -> Any:
    return made(Dirichlet(alpha))
