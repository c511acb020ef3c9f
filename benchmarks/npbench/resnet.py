"""NPBench resnet: a bottleneck block of a residual network, three convolutions with batch normalization.

Channels are last. The second convolution has a border of zeros. The normalization is over the batch alone, as in
NPBench, but divides by the root of the variance plus epsilon.
"""

import jax.numpy as jnp
import numpy as np
from jax import lax

SIZES = {"small": (4, 6, 8, 4), "medium": (8, 14, 64, 16), "large": (8, 28, 128, 32)}
WRT = ("image", "conv1", "conv2", "conv3")


def inputs(size, rng):
    N, W, C1, C2 = size
    shapes = [(1, 1, C1, C2), (3, 3, C2, C2), (1, 1, C2, C1)]
    weights = [rng.standard_normal(s) / np.prod(s[:-1]) ** 0.5 for s in shapes]
    return (rng.random((N, W, W, C1)), *weights)


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


def batchnorm2d(x):
    mean = np.mean(x, axis=0, keepdims=True)
    variance = np.var(x, axis=0, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5)


def resnet(image, conv1, conv2, conv3):
    x1 = relu(batchnorm2d(conv2d(image, conv1)))
    padded = np.zeros((image.shape[0], image.shape[1] + 2, image.shape[2] + 2, conv1.shape[3]))
    padded[:, 1:-1, 1:-1, :] = x1
    x2 = relu(batchnorm2d(conv2d(padded, conv2)))
    x3 = batchnorm2d(conv2d(x2, conv3))
    return np.sum(relu(x3 + image))


def jax_version(image, conv1, conv2, conv3):
    def convolved(x, weights):
        return lax.conv_general_dilated(x, weights, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def normalized(x):
        return (x - jnp.mean(x, axis=0)) / jnp.sqrt(jnp.var(x, axis=0) + 1e-5)

    x = jnp.maximum(normalized(convolved(image, conv1)), 0)
    x = jnp.maximum(normalized(convolved(x, conv2)), 0)
    return jnp.sum(jnp.maximum(normalized(convolved(x, conv3)) + image, 0))
