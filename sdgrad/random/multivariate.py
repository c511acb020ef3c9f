"""Draw vectors and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from sdgrad.errors import ParseError
from sdgrad.random.discrete import rademacher
from sdgrad.random.draws import drawn, extents, numbers, real
from sdgrad.random.gamma import gamma
from sdgrad.random.keys import split
from sdgrad.record.calls import works_inside
from sdgrad.record.functions.arguments import static
from sdgrad.runtime.libraries.random_numbers import Kind


@works_inside
def multivariate_normal(
    key: Any, mean: Any, cov: Any, shape: Any = None, dtype: Any = np.float64, method: str = "cholesky"
) -> Any:
    """Draw normal vectors with a mean and a covariance, of which the lower triangle counts, by its Cholesky factor.

    :param mean: vectors of length n, and ``cov``: matrices of n rows, or stacks of them.
    :param shape: of the results without their last axis.
    """
    if method != "cholesky":
        raise ParseError(f"sdgrad.random.multivariate_normal: method='{method}' is not there; use 'cholesky'")
    own = real(dtype, "multivariate_normal")
    centre, matrix = (numbers(x, own) for x in (mean, cov))
    if np.ndim(centre) < 1 or np.ndim(matrix) < 2 or centre.shape[-1:] * 2 != matrix.shape[-2:]:
        raise ValueError("sdgrad.random.multivariate_normal takes vectors, and matrices of as many rows and columns")
    size = extents(shape, centre[..., 0], matrix[..., 0, 0])
    factor = np.linalg.cholesky(matrix)
    z = drawn(Kind.NORMAL, key, (*size, int(centre.shape[-1])), own)
    if np.ndim(factor) == 2:
        return centre + z @ np.swapaxes(factor, -1, -2)
    return centre + (factor @ z[..., None])[..., 0]


@works_inside
def orthogonal(key: Any, n: Any, shape: Any = (), dtype: Any = np.float64) -> Any:
    """Draw orthogonal matrices of n rows, uniformly (Mezzadri 2007)."""
    count = static(n)
    z = drawn(Kind.NORMAL, key, (*extents(shape), count, count), real(dtype, "orthogonal"))
    q, r = np.linalg.qr(z)
    signs = np.where(np.diagonal(r, axis1=-2, axis2=-1) < 0, -1.0, 1.0).astype(q.dtype)
    return q * signs[..., None, :]


@works_inside
def ball(key: Any, d: Any, p: Any = 2.0, shape: Any = (), dtype: Any = np.float64) -> Any:
    """Draw points of the unit ball in ``d`` dimensions, in the norm of order ``p``, uniformly (Barthe et al. 2005)."""
    own, size = real(dtype, "ball"), (*extents(shape), static(d))
    keys = split(key, 3)
    powers = gamma(keys[0], np.broadcast_to(1.0 / numbers(p, own), size), size, own)
    signs = rademacher(keys[1], size, own)
    rest = drawn(Kind.EXPONENTIAL, keys[2], size[:-1], own)
    scale = (np.sum(powers, axis=-1) + rest)[..., None]
    return signs * (powers / scale) ** (1.0 / numbers(p, own))
