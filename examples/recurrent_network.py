"""A recurrent network that learns to continue a chaotic series, the delay equation of Mackey and Glass."""

import numpy as np

import sdgrad


def mackey_glass(length, rng, delay=17, every=4):
    """x' = 0.2 x(t - delay) / (1 + x(t - delay)**10) - 0.1 x, from a random past, every fourth of steps of one."""
    x = list(1.2 + 0.2 * rng.standard_normal(delay + 1))
    for _ in range(every * length + 300):
        x.append(x[-1] + 0.2 * x[-1 - delay] / (1 + x[-1 - delay] ** 10) - 0.1 * x[-1])
    return np.array(x[-every * length :: every]) - 0.9  # without the first steps, and about zero


def initial_params(inputs, hidden, rng):
    return {
        "start": np.zeros(hidden),
        "read": rng.normal(0, 1 / np.sqrt(inputs), (inputs, hidden)),
        "recur": rng.normal(0, 1 / np.sqrt(hidden), (hidden, hidden)),
        "bias": np.zeros(hidden),
        "answer": rng.normal(0, 1 / np.sqrt(hidden), (hidden, inputs)),
    }


def update(params, x, state):
    return np.tanh(x @ params["read"] + state @ params["recur"] + params["bias"])


def predict(params, x, state):
    """The next element is the last one and a change."""
    return x + state @ params["answer"]


def loss(params, series, skip=10):
    """The mean squared error of the predictions of elements from those before; `series` is (time, batch, 1)."""
    state = np.tile(params["start"], (series.shape[1], 1))
    total = 0.0
    for t in range(len(series) - 1):
        state = update(params, series[t], state)
        if t >= skip:  # before, the network has seen too little to predict from
            total += np.mean((predict(params, series[t], state) - series[t + 1]) ** 2)
    return total / (len(series) - 1 - skip)


def continued(params, series, steps):
    """Go on with the network's own predictions after the end of `series`."""
    state = params["start"]
    for x in series:
        state = update(params, x, state)
    found = []
    for _ in range(steps):
        x = predict(params, x, state)
        state = update(params, x, state)
        found.append(x)
    return np.array(found)


def adam(value_and_gradient, params, batches, rate=0.01, decay=0.9, decay_squares=0.999):
    """Kingma and Ba, arXiv:1412.6980, on a dict of arrays, which it changes."""
    mean = {k: np.zeros_like(p) for k, p in params.items()}
    square = {k: np.zeros_like(p) for k, p in params.items()}
    for step, batch in enumerate(batches, start=1):
        value, gradient = value_and_gradient(params, batch)
        for k, g in gradient.items():
            mean[k] += (1 - decay) * (g - mean[k])
            square[k] += (1 - decay_squares) * (g * g - square[k])
            size = np.sqrt(square[k] / (1 - decay_squares**step)) + 1e-8
            params[k] -= rate * mean[k] / (1 - decay**step) / size
        if step % 200 == 0:
            print(f"step {step}: error of one step {np.sqrt(value):.4f}")


rng = np.random.default_rng(0)
series = mackey_glass(1500, rng)
train, test = series[:1200], series[1200:]


def windows(count, length=40, batch=24):
    """Random pieces of the series, each a column."""
    for _ in range(count):
        starts = rng.integers(0, len(train) - length, batch)
        yield train[starts + np.arange(length)[:, None], None]


params = initial_params(inputs=1, hidden=24, rng=rng)
value_and_gradient = sdgrad.value_and_grad(loss)

(batch,) = windows(1)
direction = {k: rng.standard_normal(p.shape) for k, p in params.items()}
slope = sum(np.sum(g * direction[k]) for k, g in value_and_gradient(params, batch)[1].items())
there, back = (loss({k: p + by * direction[k] for k, p in params.items()}, batch) for by in (1e-6, -1e-6))
print(f"slope along a random direction: {slope:.8f}, by differences {(there - back) / 2e-6:.8f}")
assert np.isclose(slope, (there - back) / 2e-6, rtol=1e-5)

adam(value_and_gradient, params, windows(600))

history, future = test[:60, None], test[60:80, None]
error = np.sqrt(np.mean((continued(params, history, 20) - future) ** 2))
print(f"20 steps continued: error {error:.3f}, of the mean {np.std(future):.3f}")
assert error < 0.4 * np.std(future)
