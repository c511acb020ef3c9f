"""Game theory: evolution, equilibria with noise, oligopoly, values of coalitions, games in rounds."""

import itertools
import math
from functools import cache

import numpy as np

from people._case import case


@case(lambda rng: (rng.random((3, 3)) + np.eye(3), np.array([0.2, 0.5, 0.3])), wrt=(0, 1))
def replicator_with_mutation(payoff, shares, rate=0.05, dt=0.2):
    mutation = np.full((3, 3), rate)
    np.fill_diagonal(mutation, 1 - 2 * rate)
    x = shares / shares.sum()
    path = [x]
    for _ in range(20):
        fitness = payoff @ x
        mean = x @ fitness
        x = x + dt * (mutation.T @ (x * fitness) - mean * x)
        path.append(x)
    path = np.array(path)
    entropy = -np.sum(path * np.log(path), axis=1)
    return entropy[::4].sum() + mean


def softmax(u, precision):
    z = precision * (u - u.max())
    e = np.exp(z)
    return e / e.sum()


@case(lambda rng: ({"row": rng.random((3, 4)), "column": rng.random((4, 3))}, 1.7), wrt=(0, 1))
def quantal_response(game, precision):
    A, B = game["row"], game["column"]
    m, n = A.shape
    if B.shape != (n, m):
        raise ValueError(f"payoffs do not fit: {A.shape} and {B.shape}")
    p, q = np.ones(m) / m, np.ones(n) / n
    gap, rounds = 1.0, 0
    while gap > 1e-12 and rounds < 200:
        p_new = softmax(A @ q, precision)
        q_new = softmax(B @ p, precision)
        gap = max(abs(p_new - p).sum(), abs(q_new - q).sum())
        p = 0.5 * p + 0.5 * p_new
        q = 0.5 * q + 0.5 * q_new
        rounds += 1
    value = p @ A @ q
    regret = np.max(A @ q) - value
    return value + q @ B @ p + 3 * regret


class Firm:
    def __init__(self, name, cost, capacity):
        self.name, self.cost, self.capacity = name, cost, capacity
        self.quantity = 0.1

    def best_response(self, others, demand):
        q = (demand["a"] - demand["b"] * others - self.cost) / (2 * demand["b"])
        return min(max(q, 0.0), self.capacity)

    def profit(self, price):
        return (price - self.cost) * self.quantity


@case(lambda rng: (np.array([1.0, 1.4, 2.1, 9.5]), {"a": 8.0, "b": 1.1}), wrt=(0, 1))
def cournot_oligopoly(costs, demand):
    firms = [Firm(f"firm {k}", c, capacity=1.35 + k) for k, c in enumerate(costs)]
    for _ in range(60):
        moved = 0.0
        for firm in firms:
            others = sum(f.quantity for f in firms if f is not firm)
            q = firm.best_response(others, demand)
            moved += abs(q - firm.quantity)
            firm.quantity = q
        if moved < 1e-13:
            break
    supply = sum(f.quantity for f in firms)
    price = demand["a"] - demand["b"] * supply
    profits = {f.name: f.profit(price) for f in firms}
    consumer = 0.5 * demand["b"] * supply**2
    herfindahl = sum((f.quantity / supply) ** 2 for f in firms)
    return consumer + sum(profits.values()) + herfindahl


@case(lambda rng: (np.array([1.0, 2.0, 1.5, 0.7]), 0.8), wrt=(0, 1))
def shapley_values(talents, synergy):
    n = len(talents)

    def worth(coalition):
        if not coalition:
            return 0.0
        members = np.array(sorted(coalition))
        return np.sum(talents[members]) ** (1 + synergy) / len(members) ** 0.5

    phi = np.zeros(n)
    for i in range(n):
        rest = [j for j in range(n) if j != i]
        for size in range(n):
            weight = math.factorial(size) * math.factorial(n - size - 1) / math.factorial(n)
            for S in itertools.combinations(rest, size):
                phi[i] += weight * (worth(set(S) | {i}) - worth(S))
    assert phi.shape == talents.shape
    return phi.max() - phi.min() + np.prod(phi) ** 0.25


@cache
def discount(depth, factor=0.9):
    return factor**depth


def solve_tree(node, noise, depth=0):
    """Expected payoffs of both players in a game tree; each player chooses with logit errors."""
    if "payoff" in node:
        return discount(depth) * np.array(node["payoff"])
    values = np.array([solve_tree(child, noise, depth + 1) for child in node["moves"]])
    if node["player"] == "nature":
        return np.average(values, axis=0, weights=node["odds"])
    mine = values[:, node["player"]]
    weights = np.exp((mine - np.logaddexp.reduce(mine / noise) * noise) / noise)
    return weights @ values


@case(
    lambda rng: (
        {
            "player": 0,
            "moves": [
                {"payoff": [1.0, 0.5]},
                {
                    "player": 1,
                    "moves": [
                        {"payoff": [0.2, 2.0]},
                        {
                            "player": "nature",
                            "odds": [0.3, 0.7],
                            "moves": [{"payoff": [4.0, 1.0]}, {"payoff": [0.0, 3.1]}],
                        },
                    ],
                },
            ],
        },
        0.6,
    ),
    wrt=1,
)
def centipede_with_errors(tree, noise):
    first, second = solve_tree(tree, noise)
    return 10 * first * second + noise * first
