"""The Soft Rasterizer's silhouettes (Liu et al., 2019, equations 1 and 5) of triangles in the plane.

A triangle covers a pixel with the probability ``sigmoid(+-d**2 / sigma)``: d is the distance from the pixel to the
triangle's edges, positive inside. A pixel is as dark as it is likely that any triangle covers it.
"""

import jax
import jax.numpy as jnp
import numpy as np

SIZES = {"small": (6, 5, 4), "medium": (128, 256, 64), "large": (512, 1024, 128)}
WRT = ("vertices",)


def inputs(size, rng):
    vertices, triangles, pixels = size
    corners = np.array([rng.permutation(vertices)[:3] for _ in range(triangles)])
    return 2 * rng.random((vertices, 2)) - 1, corners, pixels, 0.05


def to_edge(x, y, ax, ay, bx, by):
    """The square of the distances from points to an edge."""
    dx, dy = bx - ax, by - ay
    along = np.clip(((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy), 0.0, 1.0)
    return (x - ax - along * dx) ** 2 + (y - ay - along * dy) ** 2


def side(x, y, ax, ay, bx, by):
    """Positive on the left of an edge."""
    return (bx - ax) * (y - ay) - (by - ay) * (x - ax)


def softras(vertices, corners, pixels, sigma):
    centres = (2 * np.arange(pixels) + 1.0) / pixels - 1
    x = np.zeros((pixels, pixels)) + centres
    y = np.zeros((pixels, pixels)) + centres[:, np.newaxis]
    bright = np.ones((pixels, pixels))
    for f in range(corners.shape[0]):
        ax, ay = vertices[corners[f, 0], 0], vertices[corners[f, 0], 1]
        bx, by = vertices[corners[f, 1], 0], vertices[corners[f, 1], 1]
        cx, cy = vertices[corners[f, 2], 0], vertices[corners[f, 2], 1]
        edges = np.minimum(to_edge(x, y, ax, ay, bx, by), to_edge(x, y, bx, by, cx, cy))
        distance = np.minimum(edges, to_edge(x, y, cx, cy, ax, ay))
        ab, bc, ca = side(x, y, ax, ay, bx, by), side(x, y, bx, by, cx, cy), side(x, y, cx, cy, ax, ay)
        inside = ((ab > 0) & (bc > 0) & (ca > 0)) | ((ab < 0) & (bc < 0) & (ca < 0))
        covered = 1 / (1 + np.exp(np.where(inside, -distance, distance) / sigma))
        bright *= 1 - covered
    return np.sum(1 - bright)


def jax_version(vertices, corners, pixels, sigma):
    centres = (2 * jnp.arange(pixels) + 1.0) / pixels - 1
    points = jnp.stack(jnp.meshgrid(centres, centres), axis=-1)

    def covered(corner):
        a = vertices[corner][:, None, None]
        b = jnp.roll(a, -1, axis=0)
        edge, to = b - a, points - a
        along = jnp.clip(jnp.sum(to * edge, -1) / jnp.sum(edge * edge, -1), 0.0, 1.0)
        distance = jnp.min(jnp.sum((to - along[..., None] * edge) ** 2, -1), axis=0)
        side = edge[..., 0] * to[..., 1] - edge[..., 1] * to[..., 0]
        inside = jnp.all(side > 0, axis=0) | jnp.all(side < 0, axis=0)
        return jax.nn.sigmoid(jnp.where(inside, distance, -distance) / sigma)

    return jnp.sum(1 - jnp.prod(1 - jax.vmap(covered)(corners), axis=0))
