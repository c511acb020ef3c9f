"""Distances of ``scipy.spatial`` beside SciPy's and their differences, and where they are zero."""

import numpy as np
import pytest
import scipy.spatial.distance as distance
from together import differences, others, value_differences

import sdgrad
from sdgrad.errors import ParseError

rng = np.random.default_rng(0)
NAMED = ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine", "correlation", "canberra", "braycurtis")
CALLS = [
    *(f"D.cdist(a, b, '{m}')" for m in NAMED), *(f"D.{m}(a[0], b[1], w)" for m in NAMED), "D.correlation(a[0], b[1])",
    "D.cdist(a, b, 'minkowski', p=3)", "D.cdist(a, b, 'mahalanobis', VI=np.diag(w))",
    "D.cdist(a, b, 'seuclidean', V=w)",
    "D.pdist(a)", "D.pdist(a, 'cosine')", "D.squareform(D.pdist(a))",
    "D.squareform(D.squareform(D.pdist(a)), checks=False)",
    "D.minkowski(a[0], b[1], 1.5, w)", "D.mahalanobis(a[0], b[0], np.diag(w))", "D.seuclidean(a[0], b[0], w)",
]  # fmt: skip
GIVEN = {"a": rng.standard_normal((4, 3)), "b": rng.standard_normal((2, 3)), "w": np.array([0.4, 1.3, 0.8])}


def test_values_and_derivatives():
    assert value_differences(others(CALLS, CALLS[::2]), {"D": distance}, GIVEN) == []
    assert differences(CALLS[::2], {"D": distance}, GIVEN, step=1e-3) == []


def test_gradient_at_zero_distance_is_zero():
    def total(a):
        return np.sum(distance.cdist(a, a)) + np.sum(distance.cdist(a, a, "minkowski", p=3))

    a = GIVEN["a"]
    found, second = sdgrad.grad(total)(a), sdgrad.hvp(total, (a,), (np.ones_like(a),))
    d = a[:, None] - a[None]
    norms = np.linalg.norm(d, axis=-1, keepdims=True) + np.eye(4)[:, :, None]
    cubes = np.linalg.norm(d, 3, axis=-1, keepdims=True) + np.eye(4)[:, :, None]
    wanted = 2 * np.sum(d / norms + d * np.abs(d) / cubes**2, axis=1)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    np.testing.assert_allclose(second, 0.0, atol=1e-12)  # all points moved alike
    assert np.all(sdgrad.grad(lambda u: distance.euclidean(u, np.zeros(3)))(np.zeros(3)) == 0)


def pairs(u, v, w):
    w64 = np.array([0.5, 1.5, 0.8])
    return (
        distance.euclidean(u, v), distance.sqeuclidean(u, v), distance.cityblock(u, v), distance.chebyshev(u, v),
        distance.cosine(u, v), distance.correlation(u, v), distance.canberra(u, v), distance.braycurtis(u, v),
        distance.euclidean(u, v, w), distance.sqeuclidean(u, v, w), distance.cityblock(u, v, w),
        distance.chebyshev(u, v, w), distance.cosine(u, v, w), distance.correlation(u, v, w),
        distance.minkowski(u, v, 1), distance.minkowski(u, v, 2), distance.minkowski(u, v, 3),
        distance.minkowski(u, v, np.inf), distance.minkowski(u, v, np.inf, w), distance.minkowski(u, v, 3, w),
        distance.seuclidean(u, v, w64), distance.correlation(u, v, None, False), distance.mahalanobis(u, v, np.diag(w)),
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "int32", "uint8"])
def test_result_types_are_scipys(dtype):
    u, v, w = np.array([1, 5, 3], dtype), np.array([2, 3, 1], dtype), np.array([0.5, 1.5, 0.8], "float32")
    with sdgrad.config.override(verify="never", optimization_level=0):
        found = sdgrad.compile_forward(pairs)(u, v, w)
    with np.errstate(all="ignore"):
        wanted = pairs(u, v, w)
    assert [str(np.asarray(f).dtype) for f in found] == [str(np.asarray(x).dtype) for x in wanted]
    tolerance = {"float16": 5e-3, "float32": 1e-5}.get(dtype, 1e-6)
    for f, x in zip(found, wanted, strict=True):
        np.testing.assert_allclose(f, x, rtol=tolerance, atol=tolerance)


def scaled_angles(u, scales):
    return distance.cdist(scales[:, None] * u, np.reshape(u, (1, 3)), "cosine")


def test_rounding_takes_no_angle_below_zero():
    """The value is SciPy's, and the second derivatives are those of the formula."""
    u, way = np.array([0.1, 0.7, 0.3]), np.array([1.0, -2.0, 0.5])
    with sdgrad.config.override(verify="never"):  # Python rounds differently near zero
        found = sdgrad.compile_forward(scaled_angles)(u, np.linspace(0.1, 9.0, 200))
    assert np.all(found >= 0)
    across = way - u * (way @ u) / (u @ u)
    curvature = sdgrad.hvp(lambda x: distance.cosine(x, 3.0 * u), (u,), (way,))
    np.testing.assert_allclose(curvature, across / (u @ u), rtol=1e-9, atol=1e-12)


REFUSED = {
    "metric='jaccard' is not recorded": lambda a: distance.cdist(a, a, "jaccard"),
    "pass VI=": lambda a: distance.cdist(a, a, "mahalanobis"),
    "p= must be known": lambda a: distance.minkowski(a[0], a[1], a[0, 0]),
}


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message):
    with pytest.raises(ParseError, match=message):
        sdgrad.grad(lambda a: np.sum(REFUSED[message](a)))(GIVEN["a"])
