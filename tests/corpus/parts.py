"""Parts of complex arrays."""

import numpy as np
from programs._base import program, signed


def _by_arrays_of_their_own(x, v):
    """Both parts as real arrays; ``mutable`` has no views of parts."""
    import jax.numpy as jnp

    real, imag = [x[0]], list(v)
    for i in range(1, 4):
        real.append(x[i] + imag[i - 1] * real[i - 1])
        imag[i] = imag[i] * x[i]
    real = jnp.where(x > 0, 2.0, 1.0) * jnp.stack(real)
    return (jnp.sum((real**2 + jnp.stack(imag) ** 2) * x),)


# The part was a copy, and the whole was not to be read after a write to it.
@program(lambda rng: (signed(rng, 4), signed(rng, 4)), "corpus both", jax=_by_arrays_of_their_own)
def written_through_parts(x, v):
    z = x * (1 + 2j)
    z.imag[:] = v
    w = z.real
    for i in range(1, 4):
        w[i] += z.imag[i - 1] * w[i - 1]
        z.imag[i] *= x[i]
    w[x > 0] *= 2.0
    return np.sum(np.abs(z) ** 2 * x)


# Functions that need a size refused one that an integer argument decides.
@program(lambda rng: (signed(rng, 8), 3), "corpus both")
def of_leading_elements(x, k):
    return np.median(x[:k]) * np.linalg.norm(np.outer(x[:k], x[k : 2 * k]) + np.eye(k), 2) + np.sum(x * x)
