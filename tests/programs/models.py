"""Small pieces of learning: activations, normalizations, layers, attention, kernels and losses."""

import numpy as np

from ._base import arrays, between, positive, program, signed, untied


@program(arrays(6), "model", scalar=False)
def softmax_vector(x):
    e = np.exp(x - np.max(x))
    return e / np.sum(e)


@program(arrays((4, 5)), "model broadcast", scalar=False)
def softmax_rows(x):
    m = np.max(x, axis=1)
    e = np.exp(x - m[:, np.newaxis])
    s = np.sum(e, axis=1)
    return e / s[:, np.newaxis]


@program(arrays((4, 5)), "model keepdims needs-frontend", scalar=False)
def softmax_keepdims(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


# DaCe, `x /= column`: could not broadcast input array from shape [4] into shape [4, 5].
@program(arrays((4, 5)), "model inplace dace-frontend-fails", scalar=False, mutates="x")
def softmax_in_place(x):
    x[:] = np.exp(x)
    s = np.sum(x, axis=1)
    x /= np.reshape(s, (4, 1))


@program(arrays(7), "model")
def logsumexp(x):
    m = np.max(x)
    return m + np.log(np.sum(np.exp(x - m)))


@program(arrays((3, 6), 6, 6), "model broadcast", scalar=False)
def layer_normalization(x, gamma, beta):
    mu = np.mean(x, axis=1)
    centered = x - mu[:, np.newaxis]
    variance = np.mean(centered * centered, axis=1)
    return centered / np.sqrt(variance[:, np.newaxis] + 1e-5) * gamma + beta


@program(arrays((5, 3), 3, 3), "model broadcast", scalar=False)
def batch_normalization(x, gamma, beta):
    mu = np.mean(x, axis=0)
    variance = np.mean((x - mu) ** 2, axis=0)
    return gamma * (x - mu) / np.sqrt(variance + 1e-5) + beta


@program(arrays((3, 6), 6), "model broadcast", scalar=False)
def rms_normalization(x, gamma):
    scale = np.sqrt(np.mean(x * x, axis=1) + 1e-6)
    return x / np.reshape(scale, (3, 1)) * gamma


@program(arrays((5, 3), (3, 4), 4, (4, 2), 2), "model matmul")
def mlp_loss(x, w1, b1, w2, b2):
    h = np.tanh(x @ w1 + b1)
    y = h @ w2 + b2
    return np.mean(y * y)


@program(arrays((5, 3), (3, 7), 7, (7, 2), 2), "model matmul minmax", scalar=False)
def mlp_relu(x, w1, b1, w2, b2):
    h = np.maximum(x @ w1 + b1, 0.0)
    return h @ w2 + b2


@program(arrays((5, 3), (3, 4), (4, 4), (4, 3)), "model matmul residual", scalar=False)
def residual_blocks(x, w1, w2, w3):
    h = np.tanh(x @ w1)
    h = h + np.tanh(h @ w2)
    return x + h @ w3


@program(arrays((4, 3), (3, 3), (3, 3), (3, 3)), "model matmul attention", scalar=False)
def attention(x, wq, wk, wv):
    q = x @ wq
    k = x @ wk
    v = x @ wv
    e = np.exp(q @ k.T / np.sqrt(3.0))
    s = np.sum(e, axis=1)
    return e / np.reshape(s, (4, 1)) @ v


@program(arrays((2, 4, 3), (2, 4, 3), (2, 4, 3)), "model matmul batched attention einsum", scalar=False)
def attention_heads(q, k, v):
    scores = np.einsum("hik,hjk->hij", q, k)
    e = np.exp(scores)
    s = np.sum(e, axis=2)
    return np.einsum("hij,hjk->hik", e / s[:, :, np.newaxis], v)


@program(arrays(3, 4, (3, 4), (4, 4), 4), "model matmul recurrence")
def recurrent_step(x, h, w, u, b):
    n = np.tanh(x @ w + h @ u + b)
    z = 1.0 / (1.0 + np.exp(-(h @ u)))
    return np.sum((1.0 - z) * n + z * h)


@program(arrays((7, 6), (3, 2)), "model slice stencil", scalar=False)
def convolution_by_slices(x, w):
    y = np.zeros((5, 5))
    y += x[0:5, 0:5] * w[0, 0] + x[0:5, 1:6] * w[0, 1]
    y += x[1:6, 0:5] * w[1, 0] + x[1:6, 1:6] * w[1, 1]
    y += x[2:7, 0:5] * w[2, 0] + x[2:7, 1:6] * w[2, 1]
    return y


@program(untied((6, 8)), "model strided minmax", scalar=False)
def max_pooling(x):
    top = np.maximum(x[0::2, 0::2], x[0::2, 1::2])
    bottom = np.maximum(x[1::2, 0::2], x[1::2, 1::2])
    return np.maximum(top, bottom)


@program(arrays((6, 8)), "model reshape", scalar=False)
def average_pooling(x):
    return np.mean(np.reshape(x, (3, 2, 4, 2)), axis=(1, 3))


@program(lambda rng: (signed(rng, (5, 3)), np.array([4, 0, 0, 2])), "model gather", scalar=False)
def embedding(table, tokens):
    return np.tanh(table[tokens, :] * 2.0)


@program(
    lambda rng: (signed(rng, (4, 5)), rng.integers(0, 2, (4, 5)) / 0.5),
    "model mask",
    scalar=False,
    wrt=("x",),
)
def dropout_by_mask(x, mask):
    return x * mask


# Kernels and distances ------------------------------------------------------------------------------


@program(arrays((4, 3), (5, 3)), "kernel broadcast", scalar=False)
def pairwise_squared_distances(x, y):
    d = x[:, np.newaxis, :] - y[np.newaxis, :, :]
    return np.sum(d * d, axis=2)


@program(arrays((4, 3), (5, 3)), "kernel matmul", scalar=False)
def pairwise_distances_through_products(x, y):
    xx = np.sum(x * x, axis=1)
    yy = np.sum(y * y, axis=1)
    return np.sqrt(xx[:, np.newaxis] + yy - 2.0 * (x @ y.T) + 0.1)


@program(
    lambda rng: (signed(rng, (4, 2)), signed(rng, (3, 2)), between(rng, 0.4, 0.9)),
    "kernel broadcast",
    scalar=False,
)
def rbf_kernel(x, y, gamma):
    d = x[:, np.newaxis, :] - y[np.newaxis, :, :]
    return np.exp(-gamma * np.sum(d * d, axis=2))


@program(arrays((4, 3), (4, 3)), "kernel", scalar=False)
def cosine_similarity(x, y):
    nx = np.sqrt(np.sum(x * x, axis=1))
    ny = np.sqrt(np.sum(y * y, axis=1))
    return np.sum(x * y, axis=1) / (nx * ny)


# Losses ---------------------------------------------------------------------------------------------


@program(arrays((5, 3), (5, 3)), "loss")
def mean_squared_error(y, t):
    return np.mean((y - t) ** 2)


@program(untied(7, 7), "loss")
def mean_absolute_error(y, t):
    return np.mean(np.abs(y - t))


@program(lambda rng: (signed(rng, (4, 3)), np.eye(3)[rng.integers(0, 3, 4)]), "loss", wrt=("logits",))
def cross_entropy_one_hot(logits, target):
    z = np.log(np.sum(np.exp(logits), axis=1))
    return np.mean(z - np.sum(logits * target, axis=1))


@program(lambda rng: (signed(rng, 6), rng.integers(0, 2, 6).astype(float)), "loss", wrt=("x",))
def binary_cross_entropy(x, t):
    p = 1.0 / (1.0 + np.exp(-x))
    return -np.mean(t * np.log(p) + (1.0 - t) * np.log(1.0 - p))


@program(untied(9, 9), "loss where")
def huber(y, t):
    d = y - t
    a = np.abs(d)
    return np.sum(np.where(a <= 0.5, 0.5 * d * d, 0.5 * (a - 0.25)))


@program(lambda rng: (*untied(9)(rng), rng.choice([-1.0, 1.0], 9)), "loss minmax", wrt=("y",))
def hinge(y, t):
    return np.mean(np.maximum(0.0, 1.0 - t * y))


@program(positive(6, 6), "loss")
def kullback_leibler(p, q):
    a = p / np.sum(p)
    b = q / np.sum(q)
    return np.sum(a * np.log(a / b))


@program(lambda rng: (signed(rng, (6, 3)), signed(rng, 3), rng.integers(0, 2, 6)), "loss matmul int")
def logistic_regression(x, w, label):
    z = x @ w
    return np.sum(np.log(1.0 + np.exp(z)) - label * z)


@program(arrays((6, 3), 3, 6), "loss matmul")
def ridge_regression(x, w, t):
    r = x @ w - t
    return r @ r + 0.1 * (w @ w)


@program(arrays(4, 4), "loss inplace optimizer", scalar=False, mutates="w m")
def momentum_step(w, m):
    g = 2.0 * w
    m *= 0.9
    m += g
    w -= 0.1 * m
