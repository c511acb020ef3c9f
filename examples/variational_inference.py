"""A Bayesian neural network: a normal distribution over its weights, found by black-box variational inference."""

import numpy as np

import sdgrad

SIZES = [1, 16, 1]
NOISE = 0.1  # of the observations, known here


def layers(weights):
    """Weights and biases of each layer out of one long row, for a batch of such rows."""
    found, samples = [], weights.shape[0]
    for m, n in zip(SIZES, SIZES[1:], strict=False):
        W, b, weights = np.split(weights, [m * n, (m + 1) * n], axis=1)
        found.append((W.reshape(samples, m, n), b[:, None, :]))
    return found


def predict(weights, x):
    """The outputs for the points `x`, for each sample of weights."""
    activations = x[None]
    for W, b in layers(weights):
        outputs = activations @ W + b
        activations = np.tanh(outputs)
    return outputs[:, :, 0]


def log_joint(weights, x, y):
    """The logarithm of prior times likelihood of each sample of weights, up to a constant."""
    prior = -0.5 * np.sum(weights**2, axis=1)
    likelihood = -0.5 * np.sum(((predict(weights, x) - y) / NOISE) ** 2, axis=1)
    return prior + likelihood


def negative_elbo(posterior, draws, x, y):
    """Minus the evidence lower bound, estimated from `draws` of the standard normal distribution.

    A sample is mean + deviation * draw. So it depends smoothly on mean and deviation, and the draws are data.
    """
    weights = posterior["mean"] + np.exp(posterior["log deviation"]) * draws
    entropy = np.sum(posterior["log deviation"])
    return -(entropy + np.mean(log_joint(weights, x, y)))


def adam(value_and_gradient, params, steps, rate):
    """Kingma and Ba, arXiv:1412.6980. `value_and_gradient` draws new numbers at each call."""
    mean, square = ({k: np.zeros_like(p) for k, p in params.items()} for _ in range(2))
    values = []
    for step in range(1, steps + 1):
        value, gradient = value_and_gradient(params)
        values.append(value)
        for k, g in gradient.items():
            mean[k] += 0.1 * (g - mean[k])
            square[k] += 0.01 * (g * g - square[k])
            unbiased = mean[k] / (1 - 0.9**step), square[k] / (1 - 0.99**step)
            params[k] -= rate * (1 - step / steps) * unbiased[0] / (np.sqrt(unbiased[1]) + 1e-8)
    return values


rng = np.random.default_rng(0)
x = np.concatenate([rng.uniform(-4, -1.5, 20), rng.uniform(1.5, 4, 20)])[:, None]  # none in the middle
y = np.sin(x[:, 0]) + NOISE * rng.standard_normal(40)

count = sum((m + 1) * n for m, n in zip(SIZES, SIZES[1:], strict=False))
posterior = {"mean": rng.standard_normal(count), "log deviation": np.full(count, -3.0)}
value_and_gradient = sdgrad.value_and_grad(negative_elbo)

draws = rng.standard_normal((10, count))
direction = {k: rng.standard_normal(count) for k in posterior}
slope = sum(g @ direction[k] for k, g in value_and_gradient(posterior, draws, x, y)[1].items())
there, back = (
    negative_elbo({k: p + by * direction[k] for k, p in posterior.items()}, draws, x, y) for by in (1e-6, -1e-6)
)
print(f"slope along a random direction: {slope:.5f}, by differences {(there - back) / 2e-6:.5f}")
assert np.isclose(slope, (there - back) / 2e-6, rtol=1e-5)

values = adam(lambda q: value_and_gradient(q, rng.standard_normal((10, count)), x, y), posterior, 3000, rate=0.03)
print(f"evidence lower bound {-values[0]:.0f} -> {-np.mean(values[-100:]):.1f}")
assert np.mean(values[-100:]) < 0.25 * values[0]

weights = posterior["mean"] + np.exp(posterior["log deviation"]) * rng.standard_normal((500, count))
points = np.array([-3.5, -2.0, -0.5, 0.5, 2.0, 3.5])
outputs = predict(weights, points[:, None])
mean, deviation = outputs.mean(axis=0), outputs.std(axis=0)
for row in zip(points, mean, deviation, np.sin(points), strict=True):
    print("at {:4}: {:5.2f} +- {:.2f}, true {:5.2f}".format(*row))
observed = np.abs(points) > 1.5
assert np.all(np.abs(mean - np.sin(points))[observed] < 0.2)
assert deviation[~observed].mean() > 1.5 * deviation[observed].mean()  # it knows where it has seen nothing
