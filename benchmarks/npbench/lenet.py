"""NPBench lenet: the network LeNet-5, two convolutions with pooling and three dense layers, channels last.

The sum of squares of its outputs is taken.
"""

import jax.numpy as jnp
import numpy as np
from jax import lax

SIZES = {"small": (2, 16, 16), "medium": (8, 28, 28), "large": (16, 64, 64)}
WRT = (
    "image", "conv1", "conv1bias", "conv2", "conv2bias",
    "fc1w", "fc1b", "fc2w", "fc2b", "fc3w", "fc3b",
)  # fmt: skip


def inputs(size, rng):
    N, H, W = size
    H_pooled, W_pooled = ((n - 4) // 2 for n in (H, W))
    H_pooled, W_pooled = ((n - 4) // 2 for n in (H_pooled, W_pooled))
    shapes = [(5, 5, 1, 6), (6,), (5, 5, 6, 16), (16,)]
    shapes += [(16 * H_pooled * W_pooled, 120), (120,), (120, 84), (84,), (84, 10), (10,)]
    weights = [rng.standard_normal(s) / max(1.0, np.prod(s[:-1])) ** 0.5 for s in shapes]
    return (rng.random((N, H, W, 1)), *weights)


def relu(x):
    return np.maximum(x, 0)


def conv2d(image, weights):
    K = weights.shape[0]
    H_out = image.shape[1] - K + 1
    W_out = image.shape[2] - K + 1
    output = np.zeros((image.shape[0], H_out, W_out, weights.shape[3]))
    for i in range(H_out):
        for j in range(W_out):
            output[:, i, j, :] = np.sum(
                image[:, i : i + K, j : j + K, :, np.newaxis] * weights[np.newaxis, :, :, :, :], axis=(1, 2, 3)
            )
    return output


def maxpool2d(x):
    output = np.zeros((x.shape[0], x.shape[1] // 2, x.shape[2] // 2, x.shape[3]))
    for i in range(x.shape[1] // 2):
        for j in range(x.shape[2] // 2):
            output[:, i, j, :] = np.max(x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, :], axis=(1, 2))
    return output


def lenet(image, conv1, conv1bias, conv2, conv2bias, fc1w, fc1b, fc2w, fc2b, fc3w, fc3b):
    x1 = relu(conv2d(image, conv1) + conv1bias)
    x2 = maxpool2d(x1)
    x3 = relu(conv2d(x2, conv2) + conv2bias)
    x4 = maxpool2d(x3)
    x5 = np.reshape(x4, (image.shape[0], fc1w.shape[0]))
    x6 = relu(x5 @ fc1w + fc1b)
    x7 = relu(x6 @ fc2w + fc2b)
    x8 = x7 @ fc3w + fc3b
    return np.sum(x8 * x8)


def jax_version(image, conv1, conv1bias, conv2, conv2bias, fc1w, fc1b, fc2w, fc2b, fc3w, fc3b):
    def layer(x, weights, bias):
        form = ("NHWC", "HWIO", "NHWC")
        x = jnp.maximum(lax.conv_general_dilated(x, weights, (1, 1), "VALID", dimension_numbers=form) + bias, 0)
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    x = layer(layer(image, conv1, conv1bias), conv2, conv2bias)
    x = jnp.reshape(x, (x.shape[0], -1))
    x = jnp.maximum(x @ fc1w + fc1b, 0)
    x = jnp.maximum(x @ fc2w + fc2b, 0)
    x = x @ fc3w + fc3b
    return jnp.sum(x * x)
