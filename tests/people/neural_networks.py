"""Neural networks: dense, convolutional and attention layers, normalisation, training loops."""

import math
from collections import OrderedDict

import numpy as np
from scipy.special import log_softmax

from people._case import case

ACTIVATIONS = {
    "tanh": np.tanh,
    "softplus": lambda x: np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0),
    "gelu": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
}


def dense_layers(rng, sizes):
    return [(rng.standard_normal((m, n)) / np.sqrt(m), 0.1 * rng.standard_normal(n)) for m, n in zip(sizes, sizes[1:])]  # noqa: B905


def one_hot(labels, classes):
    return np.eye(classes)[labels]


@case(lambda rng: (dense_layers(rng, [4, 8, 6, 3]), rng.standard_normal((10, 4)), rng.integers(0, 3, 10)))
def classifier(layers, inputs, labels, smoothing=0.1, decay=1e-3):
    h = inputs
    for (W, b), name in zip(layers[:-1], ["tanh", "gelu"], strict=True):
        h = ACTIVATIONS[name](h @ W + b)
    W, b = layers[-1]
    scores = log_softmax(h @ W + b, axis=-1)
    target = (1 - smoothing) * one_hot(labels, 3) + smoothing / 3
    penalty = sum(np.linalg.norm(W) ** 2 for W, _ in layers)
    return -(target * scores).sum(axis=-1).mean() + decay * penalty


class Conv2D:
    def __init__(self, weights, stride=1, padding=0):
        self.weights = weights
        self.stride = stride
        self.padding = padding

    def __call__(self, x):
        if self.padding:
            p = self.padding
            x = np.pad(x, ((0, 0), (p, p), (p, p)))
        out, _, kh, kw = self.weights.shape
        s = self.stride
        rows, columns = (x.shape[1] - kh) // s + 1, (x.shape[2] - kw) // s + 1
        result = np.zeros((out, rows, columns))
        for i in range(rows):
            for j in range(columns):
                patch = x[:, i * s : i * s + kh, j * s : j * s + kw]
                result[:, i, j] = np.tensordot(self.weights, patch, axes=3)
        return result


def mean_pool(x, k=2):
    c, h, w = x.shape
    return x.reshape(c, h // k, k, w // k, k).mean(axis=(2, 4))


@case(
    lambda rng: (
        {"conv1": 0.3 * rng.standard_normal((2, 1, 3, 3)), "conv2": rng.standard_normal((3, 2, 2, 2))},
        rng.standard_normal((1, 8, 8)),
    ),
    wrt=(0, 1),
)
def convolutional(params, image):
    x = Conv2D(params["conv1"], padding=1)(image)
    x = np.logaddexp(x, 0.0)
    x = mean_pool(x)
    x = Conv2D(params["conv2"], stride=2)(x)
    return np.log(np.exp(x).sum(axis=0)).mean()


def split_heads(x, heads):
    n, d = x.shape
    return x.reshape(n, heads, d // heads).transpose(1, 0, 2)


def attention(q, k, v, causal):
    logits = q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])
    if causal:
        future = np.triu(np.ones(logits.shape[-2:], dtype=bool), k=1)
        logits = np.where(future, -1e9, logits)
    logits = logits - logits.max(axis=-1, keepdims=True)
    weights = np.exp(logits)
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights @ v


def layer_norm(x, gain, bias, eps=1e-5):
    mu = x.mean(-1, keepdims=True)
    var = x.var(-1, keepdims=True)
    return gain * (x - mu) / np.sqrt(var + eps) + bias


def transformer_weights(rng):
    shapes = {"q": (8, 8), "k": (8, 8), "v": (8, 8), "out": (8, 8), "up": (8, 12), "down": (12, 8)}
    weights = {name: rng.standard_normal(shape) / 3 for name, shape in shapes.items()}
    return {"dense": weights, "norms": [(1 + 0.1 * rng.standard_normal(8), 0.1 * rng.standard_normal(8)) for _ in "ab"]}


@case(lambda rng: (transformer_weights(rng), rng.standard_normal((5, 8))), wrt=(0, 1))
def transformer_block(params, x):
    w, (first, second) = params["dense"], params["norms"]
    normed = layer_norm(x, *first)
    q, k, v = [split_heads(normed @ w[name], heads=2) for name in "qkv"]
    mixed = attention(q, k, v, causal=True).transpose(1, 0, 2).reshape(x.shape)
    x = x + mixed @ w["out"]
    x = x + ACTIVATIONS["gelu"](layer_norm(x, *second) @ w["up"]) @ w["down"]
    return np.mean(x[-1] ** 2) - np.mean(x[0])


def momentum_step(params, gradients, velocity, rate, momentum):
    for name in params:
        velocity[name] = momentum * velocity[name] - rate * gradients[name]
        params[name] = params[name] + velocity[name]


@case(lambda rng: (0.05, 0.8, rng.standard_normal((12, 3)), rng.standard_normal(12)), wrt=(0, 1, 2))
def loss_after_training(rate, momentum, X, y):
    """Training by hand, as a function of the learning rate."""
    rng = np.random.default_rng(0)
    params = OrderedDict(W=rng.normal(scale=0.5, size=(3, 4)), v=rng.normal(scale=0.5, size=4))
    velocity = {name: np.zeros_like(value) for name, value in params.items()}
    n = len(y)
    for epoch in range(6):
        batch = slice(epoch % 2, None, 2)
        hidden = np.tanh(X[batch] @ params["W"])
        error = hidden @ params["v"] - y[batch]
        back = np.outer(error, params["v"]) * (1 - hidden**2)
        gradients = {"v": 2 / n * hidden.T @ error, "W": 2 / n * X[batch].T @ back}
        momentum_step(params, gradients, velocity, rate, momentum)
    residual = np.tanh(X @ params["W"]) @ params["v"] - y
    return np.mean(residual**2)


class BatchNorm:
    def __init__(self, features, momentum=0.9):
        self.running = {"mean": np.zeros(features), "var": np.ones(features)}
        self.momentum = momentum

    def forward(self, x, training=True):
        if not training:
            return (x - self.running["mean"]) / np.sqrt(self.running["var"] + 1e-5)
        mean, var = x.mean(axis=0), x.var(axis=0)
        for key, new in (("mean", mean), ("var", var)):
            self.running[key] *= self.momentum
            self.running[key] += (1 - self.momentum) * new
        return (x - mean) / np.sqrt(var + 1e-5)


@case(lambda rng: ((rng.standard_normal((3, 5)), rng.standard_normal((5, 2))), rng.standard_normal((3, 8, 3))))
def contrastive_embedding(weights, batches, temperature=0.5, keep=0.8):
    first, second = weights
    norm = BatchNorm(5)
    generator = np.random.default_rng(0)
    losses = []
    for batch in batches:
        views = []
        for _ in range(2):
            mask = generator.random((len(batch), 5)) < keep
            hidden = norm.forward(batch @ first) * mask / keep
            z = ACTIVATIONS["softplus"](hidden) @ second
            views.append(z / np.linalg.norm(z, axis=1, keepdims=True))
        similarity = views[0] @ views[1].T / temperature
        losses.append(-np.diagonal(log_softmax(similarity, axis=1)).mean())
    embedded = norm.forward(batches[0] @ first, training=False)
    return sum(losses) / len(losses) + 0.1 * np.mean(np.abs(embedded) ** 3)
