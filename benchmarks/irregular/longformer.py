"""Longformer's attention (Beltagy et al., 2020, section 3.1): each token attends to those at most w positions away."""

import jax
import jax.numpy as jnp
import numpy as np

SIZES = {"small": (2, 12, 4, 3), "medium": (4, 1024, 64, 32), "large": (8, 4096, 64, 64)}
WRT = ("Q", "K", "V")


def inputs(size, rng):
    heads, tokens, features, w = size
    return *(rng.standard_normal((heads, tokens, features)) for _ in range(3)), w


def longformer(Q, K, V, w):
    heads, tokens, features = Q.shape
    y = np.zeros_like(Q)
    for h in range(heads):
        for i in range(tokens):
            first = max(i - w, 0)
            last = min(i + w + 1, tokens)
            scores = K[h, first:last] @ Q[h, i] / np.sqrt(features)
            weights = np.exp(scores - np.max(scores))
            y[h, i] = weights @ V[h, first:last] / np.sum(weights)
    return np.sum(y * y)


def jax_version(Q, K, V, w):
    """In chunks of w tokens, each with the chunk before and the one after it: products of whole blocks."""
    heads, tokens, features = Q.shape
    chunks = -(-tokens // w)
    rows = jnp.arange(chunks * w).reshape(chunks, w, 1)
    columns = jnp.arange(chunks)[:, None, None] * w + jnp.arange(3 * w) - w
    near = (jnp.abs(rows - columns) <= w) & (columns >= 0) & (columns < tokens)

    def windows(x):
        padded = jnp.pad(x, ((0, 0), (w, chunks * w - tokens + w), (0, 0))).reshape(heads, chunks + 2, w, features)
        return jnp.concatenate([padded[:, :-2], padded[:, 1:-1], padded[:, 2:]], axis=2)

    chunked = jnp.pad(Q, ((0, 0), (0, chunks * w - tokens), (0, 0))).reshape(heads, chunks, w, features)
    scores = jnp.einsum("hcqf,hckf->hcqk", chunked, windows(K)) / np.sqrt(features)
    weights = jax.nn.softmax(jnp.where(near, scores, -1e30), axis=-1)
    y = jnp.einsum("hcqk,hckf->hcqf", weights, windows(V)).reshape(heads, chunks * w, features)[:, :tokens]
    return jnp.sum(y * y)
