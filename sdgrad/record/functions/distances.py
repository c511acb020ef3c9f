"""Apply ``scipy.spatial.distance``: distances of pairs of rows, and between all of them.

At zero distance a distance that is a root has gradient zero, as ``np.linalg.norm`` has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.spatial.distance as distance

from sdgrad.errors import ParseError
from sdgrad.record.elementwise import common
from sdgrad.record.functions.arguments import constant, static
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.table import array, known, rule

Metric = Callable[..., Any]


def _real(value: Any, rank: int, name: str) -> Any:
    a = array(value)
    if common([a]).kind == "c":
        raise ParseError(f"scipy.spatial.distance.{name} of complex numbers is not recorded")
    if a.ndim != rank:
        raise ValueError(f"{name}: an array of {rank} dimensions is needed, and not of {a.ndim}")
    return a if a.dtype == np.float64 else array(astype(a, np.float64))


def _root(squares: Any) -> Any:
    """Return square roots; at zero the constant zero."""
    here = squares > 0
    return np.where(here, np.sqrt(np.where(here, squares, 1.0)), 0.0)


def _weighted(values: Any, w: Any) -> Any:
    return values if w is None else values * w


def _sqeuclidean(u: Any, v: Any, w: Any = None) -> Any:
    return np.sum(_weighted((u - v) ** 2, w), axis=-1)


def _euclidean(u: Any, v: Any, w: Any = None) -> Any:
    return _root(_sqeuclidean(u, v, w))


def _cityblock(u: Any, v: Any, w: Any = None) -> Any:
    return np.sum(_weighted(np.abs(u - v), w), axis=-1)


def _chebyshev(u: Any, v: Any, w: Any = None) -> Any:
    apart = np.abs(u - v)
    return np.max(apart if w is None else np.where(w > 0, apart, 0.0), axis=-1)


def _minkowski(u: Any, v: Any, w: Any = None, p: Any = 2) -> Any:
    power = constant(p, "scipy.spatial.distance.minkowski: p= must be known when recording")
    if power <= 0:
        raise ValueError("p must be greater than 0")
    if power in (1, 2, np.inf):
        return {1: _cityblock, 2: _euclidean, np.inf: _chebyshev}[power](u, v, w)
    apart = np.abs(u - v)
    there = apart > 0
    total = np.sum(_weighted(np.where(there, np.where(there, apart, 1.0) ** power, 0.0), w), axis=-1)
    return np.where(total > 0, np.where(total > 0, total, 1.0) ** (1.0 / power), 0.0)


def _cosine(u: Any, v: Any, w: Any = None) -> Any:
    def product(a: Any, b: Any) -> Any:
        return np.sum(_weighted(a * b, w), axis=-1)

    return 1.0 - product(u, v) / np.sqrt(product(u, u) * product(v, v))


def _correlation(u: Any, v: Any, w: Any = None) -> Any:
    def centred(a: Any) -> Any:
        if w is None:
            return a - np.mean(a, axis=-1, keepdims=True)
        return a - np.sum(a * w, axis=-1, keepdims=True) / np.sum(w)

    return _cosine(centred(u), centred(v), w)


def _mahalanobis(u: Any, v: Any, VI: Any = None) -> Any:  # noqa: N803 (SciPy's name)
    if VI is None:
        raise ParseError("scipy.spatial.distance: pass VI=np.linalg.inv(covariance) for 'mahalanobis'")
    apart = u - v
    return _root(np.sum((apart @ array(VI)) * apart, axis=-1))


def _seuclidean(u: Any, v: Any, V: Any = None) -> Any:  # noqa: N803 (SciPy's name)
    if V is None:
        raise ParseError("scipy.spatial.distance: pass V=, the variances, for 'seuclidean'")
    variances: Any = array(V)
    return _euclidean(u, v, 1.0 / variances)


def _canberra(u: Any, v: Any, w: Any = None) -> Any:
    below = np.abs(u) + np.abs(v)
    parts = np.where(below > 0, np.abs(u - v) / np.where(below > 0, below, 1.0), 0.0)
    return np.sum(_weighted(parts, w), axis=-1)


def _braycurtis(u: Any, v: Any, w: Any = None) -> Any:
    return np.sum(_weighted(np.abs(u - v), w), axis=-1) / np.sum(_weighted(np.abs(u + v), w), axis=-1)


METRICS: dict[str, Metric] = {
    "euclidean": _euclidean, "sqeuclidean": _sqeuclidean, "cityblock": _cityblock, "chebyshev": _chebyshev,
    "minkowski": _minkowski, "cosine": _cosine, "correlation": _correlation, "mahalanobis": _mahalanobis,
    "seuclidean": _seuclidean, "canberra": _canberra, "braycurtis": _braycurtis,
}  # fmt: skip
NAMES = {"l2": "euclidean", "l1": "cityblock", "manhattan": "cityblock", "linf": "chebyshev", "m": "minkowski"}


def _pair(name: str, own: Metric) -> None:
    def of_pair(u: Any, v: Any, *args: Any, **kwargs: Any) -> Any:
        return own(_real(u, 1, name), _real(v, 1, name), *args, **kwargs)

    rule(getattr(distance, name))(of_pair)


for _name in METRICS.keys() - {"minkowski", "correlation"}:
    _pair(_name, METRICS[_name])


@rule(distance.minkowski)
def minkowski(u: Any, v: Any, p: Any = 2, w: Any = None) -> Any:
    return _minkowski(_real(u, 1, "minkowski"), _real(v, 1, "minkowski"), w, p)


@rule(distance.correlation)
def correlation(u: Any, v: Any, w: Any = None, centered: bool = True) -> Any:
    own = _correlation if centered else _cosine
    return own(_real(u, 1, "correlation"), _real(v, 1, "correlation"), w)


def _metric(metric: Any) -> Metric:
    name = NAMES.get(metric, metric) if isinstance(metric, str) else getattr(metric, "__name__", "")
    if name in METRICS and (isinstance(metric, str) or metric is getattr(distance, name, None)):
        return METRICS[name]
    raise ParseError(f"scipy.spatial.distance: metric={metric!r} is not recorded: these are {', '.join(METRICS)}")


@rule(distance.cdist)
def cdist(XA: Any, XB: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:  # noqa: N803
    a, b = _real(XA, 2, "cdist"), _real(XB, 2, "cdist")
    if a.shape[1] != b.shape[1]:
        raise ValueError("XA and XB must have the same number of columns (i.e. feature dimension.)")
    return _metric(metric)(a[:, None, :], b[None, :, :], **kwargs)


@rule(distance.pdist)
def pdist(X: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:  # noqa: N803 (SciPy's name)
    a = _real(X, 2, "pdist")
    first, second = (known(k) for k in np.triu_indices(a.shape[0], 1))
    return _metric(metric)(a[first], a[second], **kwargs)


@rule(distance.squareform)
def squareform(X: Any, force: str = "no", checks: bool = True) -> Any:  # noqa: N803 (SciPy's name)
    """Return a symmetric matrix for the elements above its diagonal, or these for the matrix."""
    a = array(X)
    if force not in ("no", "tomatrix", "tovector") or a.ndim not in (1, 2):
        raise ValueError(f"squareform takes one or two dimensions, and not {a.ndim}, with force={force!r}")
    if a.ndim == 2:
        if a.shape[0] != a.shape[1]:
            raise ValueError("The matrix argument must be square.")
        return a[tuple(known(k) for k in np.triu_indices(a.shape[0], 1))]
    n = static(a.shape[0])
    size = int(np.ceil(np.sqrt(2 * n))) if n else 1
    if size * (size - 1) != 2 * n:
        raise ValueError(
            "Incompatible vector size. It must be a binomial coefficient n choose 2 for some integer n >= 2."
        )
    places = np.full((size, size), n)
    places[np.triu_indices(size, 1)] = np.arange(n)
    return np.append(a, np.zeros_like(a, shape=1))[known(np.minimum(places, places.T))]
