"""A layer of a graph attention network (Velickovic et al., 2018, equations 1 to 4), one head, rows of edges compressed.

``edges[rows[i] : rows[i + 1]]`` are the nodes that node i attends to.
"""

import jax
import jax.numpy as jnp
import numpy as np

SIZES = {"small": (12, 40, 4, 3), "medium": (10_000, 200_000, 32, 32), "large": (50_000, 1_000_000, 64, 32)}
WRT = ("x", "W", "source", "target")


def inputs(size, rng):
    nodes, count, features, made = size
    more = np.sort(rng.integers(0, count - nodes + 1, nodes - 1))  # each node has an edge at least
    rows = np.concatenate([[0], more + np.arange(1, nodes), [count]]).astype(np.int64)
    weights = rng.standard_normal((features, made)), rng.standard_normal(made), rng.standard_normal(made)
    return rows, rng.integers(0, nodes, count), rng.standard_normal((nodes, features)), *weights


def gat(rows, edges, x, W, source, target):
    h = x @ W
    of = h @ source
    to = h @ target
    y = np.zeros_like(h)
    for i in range(h.shape[0]):
        near = edges[rows[i] : rows[i + 1]]
        scores = to[i] + of[near]
        leaky = np.where(scores > 0, scores, 0.2 * scores)
        weights = np.exp(leaky - np.max(leaky))
        y[i] = weights @ h[near] / np.sum(weights)
    return np.sum(y * y)


def jax_version(rows, edges, x, W, source, target):
    nodes = x.shape[0]
    h = x @ W
    owner = jnp.repeat(jnp.arange(nodes), jnp.diff(rows), total_repeat_length=edges.shape[0])
    scores = jax.nn.leaky_relu((h @ target)[owner] + (h @ source)[edges], 0.2)
    top = jax.ops.segment_max(jax.lax.stop_gradient(scores), owner, nodes, indices_are_sorted=True)
    weights = jnp.exp(scores - top[owner])
    total = jax.ops.segment_sum(weights, owner, nodes, indices_are_sorted=True)
    summed = jax.ops.segment_sum(weights[:, None] * h[edges], owner, nodes, indices_are_sorted=True)
    y = summed / total[:, None]
    return jnp.sum(y * y)
