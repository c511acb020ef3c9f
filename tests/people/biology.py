"""Biology: populations, evolutionary trees, neurons, alignments, age structure."""

from functools import reduce

import numpy as np

from people._case import case


@case(
    lambda rng: (
        {
            "growth": np.array([1.0, 0.7, -0.4]),
            "web": np.array([[-0.3, -0.1, -0.6], [-0.2, -0.4, -0.3], [0.5, 0.3, 0.0]]),
        },
        np.array([0.8, 0.6, 0.3]),
    ),
    wrt=(0, 1),
)
def food_web_with_harvest(ecology, n0, t_end=4.0):
    def rate(n, t):
        season = 1 + 0.2 * np.sin(2 * np.pi * t)
        return n * (season * ecology["growth"] + ecology["web"] @ n)

    # Heun's method
    t, h, n = 0.0, 0.1, n0
    catch = 0.0
    while t < t_end - 1e-9:
        k1 = rate(n, t)
        k2 = rate(n + h * k1, t + h)
        new = n + h / 2 * (k1 + k2)
        catch += h * 0.1 * (n[1:].sum() + new[1:].sum()) / 2
        n, t = new, t + h
    shannon = n / n.sum()
    return catch - np.sum(shannon * np.log(shannon)) + n[-1]


TREE = (((0, 0.1), (1, 0.15)), 0.2), ((2, 0.3), (3, 0.12)), (4, 0.4)


def transition(t, kappa, frequencies):
    """Hasegawa, Kishino and Yano's model by the eigenvalues of the symmetric form."""
    pi = np.asarray(frequencies)
    Q = np.ones((4, 4))
    Q[0, 2] = Q[2, 0] = Q[1, 3] = Q[3, 1] = kappa
    Q = Q * pi[None, :]
    np.fill_diagonal(Q, 0.0)
    Q -= np.diag(Q.sum(axis=1))
    Q /= -np.sum(pi * np.diag(Q))
    root = np.sqrt(pi)
    w, U = np.linalg.eigh(root[:, None] * Q / root[None, :])
    return (U * np.exp(w * t)) @ U.T * root[None, :] / root[:, None]


def partial_likelihood(node, sites, rate, model):
    if isinstance(node, int):
        return np.eye(4)[sites[node]]
    below = []
    for child in node:
        if isinstance(child[-1], float):
            sub, length = child
            below.append(partial_likelihood(sub, sites, rate, model) @ model(rate * length).T)
        else:
            below.append(partial_likelihood(child, sites, rate, model) @ model(rate * 0.05).T)
    return reduce(np.multiply, below)


@case(
    lambda rng: (2.3, np.array([0.31, 0.18, 0.22, 0.29]), np.array([0.5, 1.6]), rng.integers(0, 4, (5, 8))),
    wrt=(0, 1, 2),
)
def phylogenetic_likelihood(kappa, frequencies, rates, sites):
    pi = frequencies / frequencies.sum()
    likelihood = 0.0
    for rate in rates:
        root = partial_likelihood(TREE, sites, rate, model=lambda t: transition(t, kappa, pi))
        assert root.shape == (sites.shape[1], 4)
        likelihood = likelihood + root @ pi / len(rates)
    return -np.sum(np.log(likelihood))


def vtrap(x, y):
    return x / (np.exp(x / y) - 1) if abs(x / y) > 1e-6 else y * (1 - x / y / 2)


class Neuron:
    """Hodgkin and Huxley's axon with an exponential step of the gates."""

    def __init__(self, g, E=(50.0, -77.0, -54.4), C=1.0):
        self.g, self.E, self.C = g, E, C
        self.V = -61.3
        self.gates = {"m": 0.1, "h": 0.5, "n": 0.35}

    def rates(self):
        V = self.V
        return {
            "m": (0.1 * vtrap(-(V + 40), 10), 4 * np.exp(-(V + 65) / 18)),
            "h": (0.07 * np.exp(-(V + 65) / 20), 1 / (1 + np.exp(-(V + 35) / 10))),
            "n": (0.01 * vtrap(-(V + 55), 10), 0.125 * np.exp(-(V + 65) / 80)),
        }

    def step(self, current, dt):
        for gate, (a, b) in self.rates().items():
            limit = a / (a + b)
            self.gates[gate] = limit + (self.gates[gate] - limit) * np.exp(-dt * (a + b))
        m, h, n = (self.gates[k] for k in "mhn")
        conductances = np.array([self.g["Na"] * m**3 * h, self.g["K"] * n**4, self.g["leak"]])
        total = conductances.sum()
        rest = (conductances @ np.array(self.E) + current) / total
        self.V = rest + (self.V - rest) * np.exp(-dt * total / self.C)
        return self.V


@case(lambda rng: ({"Na": 120.0, "K": 36.0, "leak": 0.3}, np.where(np.arange(30) < 12, 10.0, 0.5)), wrt=(0, 1))
def action_potential(conductances, current):
    neuron = Neuron(conductances)
    trace = np.zeros(len(current))
    for k, I in enumerate(current):
        trace[k] = neuron.step(I, dt=0.2)
    spikes = 1 / (1 + np.exp(-(trace + 20) / 5))
    return spikes.sum() + np.mean(trace) / 10


@case(
    lambda rng: (
        np.eye(4) * 2 - 0.7 + 0.1 * rng.standard_normal((4, 4)),
        {"open": -1.2, "extend": -0.3},
        "GATTACA",
        "GCATGA",
    ),
    wrt=(0, 1),
)
def soft_alignment(substitution, gap, first, second, temperature=0.7):
    """Smith and Waterman's local score, with soft maxima."""
    alphabet = {base: k for k, base in enumerate("ACGT")}
    a, b = [alphabet[c] for c in first], [alphabet[c] for c in second]
    M = np.full((len(a) + 1, len(b) + 1), -20.0)
    X, Y = M.copy(), M.copy()

    def soft(*values):
        return temperature * np.logaddexp.reduce(np.array(values) / temperature)

    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            s = substitution[a[i - 1], b[j - 1]]
            M[i, j] = s + soft(0.0, M[i - 1, j - 1], X[i - 1, j - 1], Y[i - 1, j - 1])
            X[i, j] = soft(M[i - 1, j] + gap["open"], X[i - 1, j] + gap["extend"])
            Y[i, j] = soft(M[i, j - 1] + gap["open"], Y[i, j - 1] + gap["extend"])
    return soft(*M[1:, 1:].ravel())


@case(
    lambda rng: ([0.1, 0.6, 0.8, 0.5], np.array([0.0, 1.1, 2.3, 1.0, 0.2]), [0.0, 0.05, 0.1, 0.0]),
    wrt=(0, 1, 2),
)
def leslie_sensitivity(survival, fertility, harvest):
    n = len(fertility)
    L = np.zeros((n, n))
    L[0] = fertility
    L[range(1, n), range(n - 1)] = [s * (1 - h) for s, h in zip(survival, harvest, strict=True)]

    def leading(A):
        x, growth = np.ones(len(A)), 1.0
        for _ in range(400):
            y = A @ x
            new = np.linalg.norm(y, 1) / np.linalg.norm(x, 1)
            x = y / np.abs(y).sum()
            if abs(new - growth) < 1e-14:
                break
            growth = new
        return growth, x

    growth, ages = leading(L)
    _, value = leading(L.T)
    elasticity = np.outer(value, ages) / (value @ ages) * L / growth
    generation = np.sum(np.arange(1, n + 1) * elasticity[0]) / elasticity[0].sum()
    return np.log(growth) + 0.1 * generation + np.sum(harvest)
