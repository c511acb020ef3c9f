"""Recurrent networks: simple, gated and bidirectional cells, decoding with attention, sequence losses."""

import numpy as np
from scipy.special import expit as sigmoid
from scipy.special import logsumexp, softmax

from people._case import case


def small(rng, *shape):
    return 0.5 * rng.standard_normal(shape)


@case(
    lambda rng: (
        dict(
            Wxh=small(rng, 6, 3), Whh=small(rng, 6, 6), Why=small(rng, 3, 6), bh=np.zeros((6, 1)), by=np.zeros((3, 1))
        ),
        [0, 2, 1, 1, 0, 2, 2, 1],
    )
)
def character_model(p, text):
    """Loss of predicting each next character."""
    vocabulary = p["by"].shape[0]
    hs, ps = {}, {}
    hs[-1] = np.zeros((p["bh"].shape[0], 1))
    loss = 0
    for t in range(len(text) - 1):
        x = np.zeros((vocabulary, 1))
        x[text[t]] = 1
        hs[t] = np.tanh(np.dot(p["Wxh"], x) + np.dot(p["Whh"], hs[t - 1]) + p["bh"])
        y = np.dot(p["Why"], hs[t]) + p["by"]
        ps[t] = np.exp(y) / np.sum(np.exp(y))
        loss += -np.log(ps[t][text[t + 1], 0])
    return loss


class LSTM:
    def __init__(self, W, b, forget_bias=1.0):
        self.W, self.b = W, b
        self.hidden = b.size // 4
        self.forget_bias = forget_bias
        self.reset()

    def reset(self):
        self.h = np.zeros(self.hidden)
        self.c = np.zeros(self.hidden)

    def step(self, x):
        gates = np.concatenate([x, self.h]) @ self.W + self.b
        i, f, o, g = np.split(gates, 4)
        self.c = sigmoid(f + self.forget_bias) * self.c + sigmoid(i) * np.tanh(g)
        self.h = sigmoid(o) * np.tanh(self.c)
        return self.h


@case(
    lambda rng: ((small(rng, 7, 16), small(rng, 16)), (small(rng, 7, 12), small(rng, 12)), rng.standard_normal((9, 3))),
    wrt=(0, 1, 2),
)
def stacked_lstm(first, second, sequence):
    cells = [LSTM(*first), LSTM(*second, forget_bias=0.5)]
    outputs = []
    for x in sequence:
        for cell in cells:
            x = cell.step(x)
        outputs.append(x)
    outputs = np.stack(outputs)
    last = cells[-1].h
    assert outputs.shape == (len(sequence), 3)
    return np.mean((outputs[1:, 0] - sequence[:-1, 0]) ** 2) + last @ last


def gru_cell(x, h, w):
    z = sigmoid(w["Wz"] @ x + w["Uz"] @ h)
    r = sigmoid(w["Wr"] @ x + w["Ur"] @ h)
    candidate = np.tanh(w["W"] @ x + w["U"] @ (r * h))
    return (1 - z) * h + z * candidate


def gru_weights(rng, inputs=2, hidden=4):
    return {
        **{name: small(rng, hidden, inputs) for name in ("Wz", "Wr", "W")},
        **{name: small(rng, hidden, hidden) for name in ("Uz", "Ur", "U")},
    }


@case(
    lambda rng: (
        {"forward": gru_weights(rng), "backward": gru_weights(rng)},
        rng.standard_normal((3, 7, 2)),
        np.array([7, 4, 5]),
    )
)
def bidirectional_gru(weights, batch, lengths):
    scores = []
    for series, length in zip(batch, lengths, strict=True):
        states = {}
        for direction, w in weights.items():
            h = np.zeros(4)
            steps = range(length) if direction == "forward" else range(length - 1, -1, -1)
            for t in steps:
                h = gru_cell(series[t], h, w)
            states[direction] = h
        both = np.hstack(list(states.values()))
        scores.append(np.sum(both**2) / length)
    return np.log(np.asarray(scores)).mean()


@case(
    lambda rng: (
        [small(rng, 5, 5), small(rng, 5, 4), small(rng, 4, 5), small(rng, 4, 5)],
        rng.standard_normal((6, 4)),
        small(rng, 4, 4),
    ),
    wrt=(0, 1, 2),
)
def decoder_with_attention(weights, source, embedding, steps=4):
    recurrent, project, readout, query = weights
    state = np.tanh(project @ source.mean(axis=0))
    token = np.zeros(4)
    visited = np.zeros(len(source))
    surprise = 0.0
    for step in range(steps):
        alignment = softmax(source @ query @ state - 0.5 * visited)
        visited += alignment
        context = np.average(source, axis=0, weights=alignment)
        state = np.tanh(recurrent @ state + project @ (context + embedding @ token))
        token = softmax(readout @ state)
        surprise -= np.log(token[step % 4])
    coverage = np.sum(np.abs(visited - visited.mean()) ** 1.5)
    return surprise + coverage


def log_add(*terms):
    return logsumexp(np.array(terms))


@case(lambda rng: (rng.standard_normal((8, 4)), [1, 3, 3]))
def connectionist_loss(activations, labels, blank=0):
    """The forward algorithm of connectionist temporal classification, in logarithms."""
    log_probs = activations - logsumexp(activations, axis=1, keepdims=True)
    extended = [blank]
    for label in labels:
        extended += [label, blank]
    S = len(extended)
    alpha = [log_probs[0, extended[s]] if s < 2 else -1e30 for s in range(S)]
    for t in range(1, len(log_probs)):
        new = []
        for s in range(S):
            terms = [alpha[s]]
            if s > 0:
                terms.append(alpha[s - 1])
            if s > 1 and extended[s] != blank and extended[s] != extended[s - 2]:
                terms.append(alpha[s - 2])
            new.append(log_add(*terms) + log_probs[t, extended[s]])
        alpha = new
    return -log_add(alpha[-1], alpha[-2])
