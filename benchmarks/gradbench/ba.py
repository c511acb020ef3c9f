"""Bundle adjustment: reprojection errors of points that cameras see, and the sparse Jacobian.

A camera is a rotation vector, its place, the focal length, the principal point and two coefficients of radial
distortion. Each observation has a weight, whose square should be one.
"""

import numpy as np
import scipy.sparse as sp

from benchmarks.gradbench.program import Case

CAMERA, POINT = 11, 3


def inputs(size, rng):
    n, m, p = size
    spread = np.array([0.1] * 3 + [1.0] * 3 + [100.0] + [10.0] * 2 + [0.01] * 2)
    cameras = np.array([0.1] * 3 + [0.0] * 2 + [-10.0] + [500.0] + [0.0] * 4) + spread * rng.random((n, CAMERA))
    return cameras, rng.random((m, POINT)), rng.random(p), np.arange(p) % n, np.arange(p) % m, rng.random((p, 2))


def rotate(rotation, x):
    """Rodrigues' formula; near no rotation its first terms."""
    square = np.sum(rotation**2, axis=-1, keepdims=True)
    angle = np.sqrt(np.where(square > 0, square, 1.0))
    axis = rotation / angle
    turned = x * np.cos(angle) + np.cross(axis, x) * np.sin(angle)
    turned = turned + axis * np.sum(axis * x, axis=-1, keepdims=True) * (1 - np.cos(angle))
    return np.where(square > 0, turned, x + np.cross(rotation, x))


def project(camera, x):
    there = rotate(camera[..., 0:3], x - camera[..., 3:6])
    image = there[..., :2] / there[..., 2:]
    square = np.sum(image**2, axis=-1, keepdims=True)
    image = image * (1 + camera[..., 9:10] * square + camera[..., 10:11] * square**2)
    return image * camera[..., 6:7] + camera[..., 7:9]


def reprojection(camera, x, w, feature):
    """Errors of one observation, or of all along the first axis."""
    return w[..., np.newaxis] * (project(camera, x) - feature)


def ba(cameras, points, w, by, of, features):
    errors = reprojection(cameras[by], points[of], w, features)
    return np.concatenate([np.reshape(errors, -1), 1 - w**2])


def assembled(blocks, cameras, points, w, by, of, features):
    """The Jacobian as sparse matrices, one for each argument, from its blocks: two rows for each observation."""
    p = w.shape[0]
    by_w = np.concatenate([np.reshape(blocks[2], -1), -2 * w])
    return [rows_of(blocks[0], by, cameras.size), rows_of(blocks[1], of, points.size), weights_of(by_w, p)]


def rows_of(block, of, size):
    p, _, width = block.shape
    columns = np.repeat(width * of[:, np.newaxis] + np.arange(width), 2, axis=0)
    ends = np.concatenate([width * np.arange(2 * p + 1), np.full(p, 2 * p * width)])
    return sp.csr_matrix((np.reshape(block, -1), np.reshape(columns, -1), ends), (3 * p, size))


def weights_of(values, p):
    columns = np.concatenate([np.repeat(np.arange(p), 2), np.arange(p)])
    return sp.csr_matrix((values, columns, np.arange(3 * p + 1)), (3 * p, p))


SIZES = {"tiny": (2, 3, 5), "small": (49, 7776, 31_843), "medium": (21, 11_315, 36_455)}
CASES = (Case(ba, inputs, SIZES, ("cameras", "points", "w"), "sparse"),)
