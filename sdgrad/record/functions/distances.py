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
from sdgrad.record.functions.detached import detached
from sdgrad.record.functions.table import array, known, rule

Metric = Callable[..., Any]


def _given(value: Any, rank: int, name: str) -> Any:
    """Return an operand in its own type.

    :raises ParseError: where it is complex.
    :raises ValueError: where its dimensions are not ``rank``.
    """
    a = array(value)
    if common([a]).kind == "c":
        raise ParseError(f"scipy.spatial.distance.{name} of complex numbers is not recorded")
    if a.ndim != rank:
        raise ValueError(f"{name}: an array of {rank} dimensions is needed, and not of {a.ndim}")
    return a


def _double(value: Any) -> Any:
    a = array(value)
    return a if a.dtype == np.float64 else array(astype(a, np.float64))


def _floating(value: Any) -> Any:
    return value if value.dtype.kind == "f" else _double(value)


def _root(squares: Any) -> Any:
    """Return square roots; at zero the constant zero."""
    here = squares > 0
    return np.where(here, np.sqrt(np.where(here, squares, 1.0)), 0.0)


def _weighted(values: Any, w: Any = None) -> Any:
    """Return weighted values; SciPy's weights are in double precision."""
    return values if w is None else values * _double(w)


def _sqeuclidean(u: Any, v: Any, w: Any = None) -> Any:
    return np.sum(_weighted((_floating(u) - _floating(v)) ** 2, w), axis=-1)


def _euclidean(u: Any, v: Any, w: Any = None) -> Any:
    return _norm(u - v, w, 2)


def _cityblock(u: Any, v: Any, w: Any = None) -> Any:
    return np.sum(_weighted(np.abs(u - v), w), axis=-1)


def _largest(apart: Any, w: Any) -> Any:
    weights: Any = None if w is None else array(w)
    return np.max(apart if w is None else (weights > 0) * apart, axis=-1)


def _chebyshev(u: Any, v: Any, w: Any = None) -> Any:
    return _largest(np.abs(u - v), w)


def _minkowski(u: Any, v: Any, w: Any = None, p: Any = 2) -> Any:
    power = constant(p, "scipy.spatial.distance.minkowski: p= must be known when recording")
    if power <= 0:
        raise ValueError("p must be greater than 0")
    return _norm(u - v, w, power)


def _norm(difference: Any, w: Any, power: Any) -> Any:
    """Return norms as SciPy's, whose Euclidean norm in single precision is a number in double precision."""
    d = _floating(array(difference))
    apart = np.abs(d)
    if power == 2:
        found = _root(np.sum(_weighted(d * d, w), axis=-1))
        return _double(found)[()] if d.dtype == np.float32 else found
    if power == 1:
        return np.sum(_weighted(apart, w), axis=-1)
    if power == np.inf:
        return _largest(apart, w)
    there = apart > 0
    total = np.sum(_weighted(np.where(there, np.where(there, apart, 1.0) ** power, 0.0), w), axis=-1)
    return np.where(total > 0, np.where(total > 0, total, 1.0) ** (1.0 / power), 0.0)


def _cosine(u: Any, v: Any, w: Any = None) -> Any:
    """Return distances by angle; rounding takes none out of their range, and has no derivative."""

    def product(a: Any, b: Any) -> Any:
        return np.sum(_weighted(a * b, w), axis=-1, dtype=None if w is not None else a.dtype)

    found = 1.0 - product(u, v) / np.sqrt(_floating(array(product(u, u) * product(v, v))))
    return found + detached(np.clip(found, 0.0, 2.0) - found)


def _correlation(u: Any, v: Any, w: Any = None) -> Any:
    def centred(a: Any) -> Any:
        if w is None:
            return a - np.mean(a, axis=-1, keepdims=True)
        return a - np.sum(_weighted(a, w), axis=-1, keepdims=True) / np.sum(_double(w))

    return _cosine(array(centred(u)), array(centred(v)), w)


def _mahalanobis(u: Any, v: Any, VI: Any = None) -> Any:  # noqa: N803 (SciPy's name)
    if VI is None:
        raise ParseError("scipy.spatial.distance: pass VI=np.linalg.inv(covariance) for 'mahalanobis'")
    apart = u - v
    return _root(np.sum((apart @ array(VI)) * apart, axis=-1))


def _seuclidean(u: Any, v: Any, V: Any = None) -> Any:  # noqa: N803 (SciPy's name)
    if V is None:
        raise ParseError("scipy.spatial.distance: pass V=, the variances, for 'seuclidean'")
    return _norm(u - v, 1.0 / _double(V), 2)


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
    second = _double if name in ("canberra", "braycurtis") else array  # as SciPy converts it

    def of_pair(u: Any, v: Any, *args: Any, **kwargs: Any) -> Any:
        return own(_given(u, 1, name), second(_given(v, 1, name)), *args, **kwargs)

    rule(getattr(distance, name))(of_pair)


for _name in METRICS.keys() - {"minkowski", "correlation"}:
    _pair(_name, METRICS[_name])


@rule(distance.minkowski)
def minkowski(u: Any, v: Any, p: Any = 2, w: Any = None) -> Any:
    return _minkowski(_given(u, 1, "minkowski"), _given(v, 1, "minkowski"), w, p)


@rule(distance.correlation)
def correlation(u: Any, v: Any, w: Any = None, centered: bool = True) -> Any:
    own = _correlation if centered else _cosine
    return own(_given(u, 1, "correlation"), _given(v, 1, "correlation"), w)


def _metric(metric: Any) -> Metric:
    name = NAMES.get(metric, metric) if isinstance(metric, str) else getattr(metric, "__name__", "")
    if name in METRICS and (isinstance(metric, str) or metric is getattr(distance, name, None)):
        return METRICS[name]
    raise ParseError(f"scipy.spatial.distance: metric={metric!r} is not recorded: these are {', '.join(METRICS)}")


@rule(distance.cdist)
def cdist(XA: Any, XB: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:  # noqa: N803
    a, b = _double(_given(XA, 2, "cdist")), _double(_given(XB, 2, "cdist"))
    if a.shape[1] != b.shape[1]:
        raise ValueError("XA and XB must have the same number of columns (i.e. feature dimension.)")
    return _metric(metric)(a[:, None, :], b[None, :, :], **kwargs)


@rule(distance.pdist)
def pdist(X: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:  # noqa: N803 (SciPy's name)
    a = _double(_given(X, 2, "pdist"))
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
