"""What is written for sdgrad besides the programs: derivatives that are no plain gradients."""

import numpy as np

import sdgrad

NUMPY = np


def ba(m):
    """Two rows for each observation."""
    of_one = sdgrad.vmap(sdgrad.jacobian(m.reprojection, wrt=("camera", "x", "w")))

    def blocks(cameras, points, w, by, of, features):
        return of_one(cameras[by], points[of], w, features)

    return {"ba": sdgrad.compile_forward(blocks)}


def kmeans(m):
    gradient = sdgrad.grad(m.kmeans, wrt="centroids")

    def derivative(points, centroids):
        return sdgrad.jvp(gradient, (points, centroids), (None, np.ones_like(centroids)))

    return {"kmeans": sdgrad.compile_forward(derivative)}
