"""NPBench conv2d_bias: a convolution of images with channels last, without padding, and a bias."""

import jax.numpy as jnp
import numpy as np
from jax import lax

SIZES = {"small": (2, 3, 4, 3, 8), "medium": (8, 3, 16, 5, 48), "large": (8, 3, 16, 10, 96)}
WRT = ("image", "weights", "bias")


def inputs(size, rng):
    N, C_in, C_out, K, H = size
    return rng.random((N, H, H, C_in)), rng.random((K, K, C_in, C_out)), rng.random(C_out)


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


def conv2d_bias(image, weights, bias):
    return np.sum(conv2d(image, weights) + bias)


def jax_version(image, weights, bias):
    output = lax.conv_general_dilated(image, weights, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jnp.sum(output + bias)
