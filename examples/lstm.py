"""A network with long short-term memory that learns a poem letter by letter, and recites it."""

import numpy as np
from scipy.special import expit, logsumexp

import sdgrad

# Robert Louis Stevenson, 1885
POEM = """the rain is raining all around,
it falls on field and tree,
it rains on the umbrellas here,
and on the ships at sea.
"""
LETTERS = sorted(set(POEM))


def initial_params(hidden, rng):
    n = len(LETTERS)
    return {
        "from letter": rng.normal(0, 0.3, (n, 4 * hidden)),  # a row for each letter
        "from state": rng.normal(0, 1 / np.sqrt(hidden), (hidden, 4 * hidden)),
        "bias": np.repeat([0.0, 1.0, 0.0, 0.0], hidden),  # the second gate keeps the memory: open at first
        "to letter": (rng.normal(0, 1 / np.sqrt(hidden), (hidden, n)), np.zeros(n)),
    }


def update(params, codes, state, memory):
    """One step of the cells, for a batch of letters."""
    gates = params["from letter"][codes] + state @ params["from state"] + params["bias"]
    write, keep, show, new = np.split(gates, 4, axis=1)
    memory = expit(keep) * memory + expit(write) * np.tanh(new)
    return expit(show) * np.tanh(memory), memory


def log_probability(params, state):
    """Of each letter to be the next."""
    W, b = params["to letter"]
    scores = state @ W + b
    return scores - logsumexp(scores, axis=1, keepdims=True)


def loss(params, codes):
    """The mean negative log-likelihood of the letters of some lines; `codes` is (batch, time)."""
    batch, length = codes.shape
    state = memory = np.zeros((batch, params["from state"].shape[0]))
    total = 0.0
    for t in range(length - 1):
        state, memory = update(params, codes[:, t], state, memory)
        total -= np.sum(log_probability(params, state)[np.arange(batch), codes[:, t + 1]])
    return total / (batch * (length - 1))


def recite(params, beginning, length):
    """The most probable letters after `beginning`."""
    state = memory = np.zeros((1, params["from state"].shape[0]))
    text = beginning
    for letter in beginning:
        state, memory = update(params, [LETTERS.index(letter)], state, memory)
    while len(text) < length:
        text += LETTERS[np.argmax(log_probability(params, state))]
        state, memory = update(params, [LETTERS.index(text[-1])], state, memory)
    return text


def mapped(f, *nests):
    """Apply `f` to the arrays at the same place in nests of dicts and tuples."""
    if isinstance(nests[0], dict):
        return {k: mapped(f, *(n[k] for n in nests)) for k in nests[0]}
    if isinstance(nests[0], tuple):
        return tuple(mapped(f, *parts) for parts in zip(*nests, strict=True))
    return f(*nests)


rng = np.random.default_rng(0)
codes = np.array([LETTERS.index(letter) for letter in POEM])
length = 41
pieces = np.array([codes[start : start + length] for start in range(0, len(codes) - length + 1, 4)])

params = initial_params(hidden=48, rng=rng)
mean, square = mapped(np.zeros_like, params), mapped(np.zeros_like, params)
value_and_gradient = sdgrad.value_and_grad(loss)
for step in range(1, 201):  # Adam, with a rate that falls
    value, gradient = value_and_gradient(params, pieces)
    mean = mapped(lambda m, g: 0.9 * m + 0.1 * g, mean, gradient)
    square = mapped(lambda s, g: 0.99 * s + 0.01 * g * g, square, gradient)
    rate = 0.02 / (1 + step / 100) * np.sqrt(1 - 0.99**step) / (1 - 0.9**step)
    params = mapped(lambda p, m, s, r=rate: p - r * m / (np.sqrt(s) + 1e-8), params, mean, square)
    if step % 50 == 0:
        print(f"step {step}: {value / np.log(2):.3f} bits for a letter")
assert value / np.log(2) < 0.3

recited = recite(params, POEM[:8], len(POEM))
right = np.mean([a == b for a, b in zip(recited, POEM, strict=True)])
print(recited.strip())
print(f"{right:.0%} of the letters are those of the poem")
assert right > 0.9
