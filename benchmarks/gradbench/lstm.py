"""ADBench's LSTM: diagonal weights, predictions of the next character's bits.

Rows ``2 i`` and ``2 i + 1`` of the parameters are weights and biases of layer i, of the state its output and memory.
"""

import numpy as np

from benchmarks.gradbench.program import Case


def inputs(size, rng):
    layers, characters, bits = size
    weights, state = rng.random((2 * layers, 4 * bits)), rng.random((2 * layers, bits))
    return weights, rng.random((3, bits)), state, 1.0 * rng.integers(0, 2, (characters, bits))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def cell(weights, biases, output, memory, x):
    b = x.shape[0]
    gates = np.concatenate([x, output, x, output]) * weights + biases
    forget, enter, leave = sigmoid(gates[:b]), sigmoid(gates[b : 2 * b]), sigmoid(gates[2 * b : 3 * b])
    memory = memory * forget + enter * np.tanh(gates[3 * b :])
    return leave * np.tanh(memory), memory


def predict(weights, extra, state, x):
    """The next character's bits; the state changes in place."""
    x = x * extra[0]
    for i in range(0, state.shape[0], 2):
        state[i], state[i + 1] = cell(weights[i], weights[i + 1], state[i], state[i + 1], x)
        x = state[i]
    return x * extra[1] + extra[2]


def likelihood(bits, wanted):
    return np.sum(wanted * (bits - np.log(np.sum(np.exp(bits)) + 2)))


def lstm(weights, extra, state, sequence):
    state = state.copy()
    total = 0.0
    for t in range(sequence.shape[0] - 1):
        total += likelihood(predict(weights, extra, state, sequence[t]), sequence[t + 1])
    return -total / ((sequence.shape[0] - 1) * sequence.shape[1])


CASES = (Case(lstm, inputs, {"tiny": (2, 5, 3), "small": (2, 1024, 14), "large": (4, 4096, 14)}, ("weights", "extra")),)
