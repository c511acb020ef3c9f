"""K-means clustering: the gradient by the centroids, and the diagonal of the Hessian (Bottou & Bengio 1994).

The Hessian is diagonal almost everywhere, so its product with ones is its diagonal. Newton's step divides the two.
"""

import numpy as np

from benchmarks.gradbench.program import Case


def inputs(size, rng):
    n, k, d = size
    points = rng.random((n, d))
    return points, points[-k:] + 0.01 * rng.random((k, d))


def kmeans(points, centroids):
    distances = np.sum((points[:, np.newaxis] - centroids) ** 2, axis=2)
    return np.sum(np.min(distances, axis=1))


SIZES = {"tiny": (30, 3, 2), "small": (1000, 10, 8), "medium": (10_000, 10, 16), "large": (10_000, 100, 8)}
CASES = (Case(kmeans, inputs, SIZES, ("centroids",)),)
