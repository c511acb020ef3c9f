"""A network of any depth that learns handwritten digits: its parameters are a list of pairs of weights and biases."""

import numpy as np
from scipy.special import logsumexp
from sklearn.datasets import load_digits

import sdgrad


def predict(params, images):
    """The logarithm of the probability of each digit, one row for each image."""
    activations = images
    for W, b in params:
        outputs = activations @ W + b
        activations = np.tanh(outputs)  # not used after the last layer, whose outputs are scores
    return outputs - logsumexp(outputs, axis=1, keepdims=True)


def squared_norm(params):
    """The sum of the squares of everything in a nest of lists and tuples."""
    if isinstance(params, np.ndarray):
        return np.sum(params**2)
    return sum(squared_norm(p) for p in params)


def loss(params, images, labels, decay):
    """The mean negative log-likelihood of the right digits, and a penalty on large parameters."""
    log_probability = predict(params, images)
    return -np.mean(log_probability[np.arange(len(labels)), labels]) + decay * squared_norm(params)


def accuracy(params, images, labels):
    return np.mean(np.argmax(predict(params, images), axis=1) == labels)


def initial_params(sizes, rng):
    """Weights that neither blow up nor shrink what passes through them, and biases of zero."""
    return [(rng.normal(0, 1 / np.sqrt(m), (m, n)), np.zeros(n)) for m, n in zip(sizes, sizes[1:], strict=False)]


class Momentum:
    """Gradient descent with a velocity for each parameter. Gradients come in the nest of the parameters."""

    def __init__(self, params, rate, friction=0.1):
        self.rate, self.friction = rate, friction
        self.velocity = [(np.zeros_like(W), np.zeros_like(b)) for W, b in params]

    def step(self, params, gradient):
        for layer, layer_gradient, layer_velocity in zip(params, gradient, self.velocity, strict=True):
            for p, g, v in zip(layer, layer_gradient, layer_velocity, strict=True):
                v *= 1 - self.friction
                v -= self.rate * g
                p += v


rng = np.random.default_rng(0)
digits = load_digits()
order = rng.permutation(len(digits.target))
images, labels = digits.data[order] / 16.0, digits.target[order]
train_images, train_labels, test_images, test_labels = images[360:], labels[360:], images[:360], labels[:360]

params = initial_params([64, 48, 32, 10], rng)
value_and_gradient = sdgrad.value_and_grad(loss)
optimizer = Momentum(params, rate=0.05)
batch_size, decay = 64, 1e-4

# before training, while the gradient is large: the slope along a random direction, by gradient and by differences
batch = train_images[:batch_size], train_labels[:batch_size]
direction = [(rng.standard_normal(W.shape), rng.standard_normal(b.shape)) for W, b in params]


def moved(by):
    return [(W + by * dW, b + by * db) for (W, b), (dW, db) in zip(params, direction, strict=True)]


gradient = value_and_gradient(params, *batch, decay)[1]
slope = sum(np.sum(gW * dW) + np.sum(gb * db) for (gW, gb), (dW, db) in zip(gradient, direction, strict=True))
difference = (loss(moved(1e-6), *batch, decay) - loss(moved(-1e-6), *batch, decay)) / 2e-6
print(f"slope along a random direction: {slope:.8f}, by differences {difference:.8f}")
assert np.isclose(slope, difference, rtol=1e-5)

for epoch in range(1, 21):
    losses = []
    order = rng.permutation(len(train_images))
    # batches of one size: another size would compile another program
    for start in range(0, len(order) - batch_size + 1, batch_size):
        rows = order[start : start + batch_size]
        value, gradient = value_and_gradient(params, train_images[rows], train_labels[rows], decay)
        optimizer.step(params, gradient)
        losses.append(value)
    if epoch % 5 == 0:
        found = accuracy(params, test_images, test_labels)
        print(f"epoch {epoch:2}: loss {np.mean(losses):.4f}, {found:.1%} of new images read correctly")
assert found > 0.94
