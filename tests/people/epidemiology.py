"""Epidemics: compartments, age groups, travel, renewal of cases, fits to data."""

import math
from types import SimpleNamespace

import numpy as np
from scipy.special import gammaln

from people._case import case


def sir_step(state, beta, gamma, dt):
    S, I, R = state
    infections = beta * S * I / (S + I + R) * dt
    recoveries = gamma * I * dt
    return S - infections, I + infections - recoveries, R + recoveries


@case(
    lambda rng: (
        {"beta": 0.6, "gamma": 0.2, "lockdown": {"day": 12.3, "strength": 0.5}},
        rng.poisson([2, 3, 4, 6, 8, 9, 10, 12, 13, 12, 10, 9]),
    )
)
def poisson_fit(params, daily_cases, population=1000.0, steps_a_day=4):
    lockdown = params["lockdown"]
    state = (population - 5.0, 5.0, 0.0)
    log_likelihood = 0.0
    for day, observed in enumerate(daily_cases):
        before = state[0]
        for k in range(steps_a_day):
            t = day + k / steps_a_day
            closed = 1 / (1 + math.exp(-(t - lockdown["day"] / 2)))
            beta = params["beta"] * (1 - lockdown["strength"] * closed)
            state = sir_step(state, beta, params["gamma"], dt=1 / steps_a_day)
        expected = 0.5 * (before - state[0])
        log_likelihood += observed * math.log(expected) - expected - gammaln(observed + 1)
    return -log_likelihood


CONTACTS = {
    "home": np.array([[2.0, 1.5, 0.3], [1.2, 1.8, 0.4], [0.3, 0.5, 1.1]]),
    "work": np.array([[0.1, 0.2, 0.0], [0.2, 3.0, 0.1], [0.0, 0.1, 0.1]]),
    "school": np.diag([6.0, 0.5, 0.0]),
}


@case(lambda rng: ({"home": 1.0, "work": 0.6, "school": 0.4}, np.array([0.8, 1.0, 1.3]), 0.25), wrt=(0, 1, 2))
def reproduction_number(openness, susceptibility, recovery, tol=1e-12):
    """The largest eigenvalue of the next generation matrix, by power iteration."""
    C = sum(openness[place] * M for place, M in CONTACTS.items())
    K = 0.05 / recovery * susceptibility[:, None] * C
    v = np.full(3, 1 / 3)
    R0 = previous = 0.0
    for _ in range(40):
        w = K @ v
        R0 = w.sum()
        v = w / R0
        if abs(R0 - previous) < tol:
            break
        previous = R0
    return R0 + 0.1 * v[0]


class SEIR:
    """Compartments by age, as rows of one array."""

    names = ["S", "E", "I", "R"]

    def __init__(self, population, seed, **rates):
        self.x = np.zeros((4, len(population)))
        self.x[self.names.index("S")] = population - seed
        self.x[self.names.index("I")] = seed
        self.population = population
        self.rates = SimpleNamespace(**rates)

    def __getattr__(self, name):
        if name in SEIR.names:
            return self.x[SEIR.names.index(name)]
        raise AttributeError(name)

    def derivative(self):
        force = self.rates.beta * np.sum(self.I / self.population)
        flow = np.array([force * self.S, self.rates.sigma * self.E, self.rates.gamma * self.I])
        change = np.zeros_like(self.x)
        change[:-1] -= flow
        change[1:] += flow
        return change

    def run(self, days, vaccinated=None):
        for day in range(days):
            self.x += 0.5 * self.derivative()
            if vaccinated is not None and day >= 5:
                doses = vaccinated * self.S
                self.x[0] -= doses
                self.x[3] += doses
        return self


@case(lambda rng: (0.4, 0.25, np.array([0.01, 0.02, 0.05])), wrt=(0, 1, 2))
def vaccination(beta, sigma, share):
    population = np.array([300.0, 500.0, 200.0])
    without = SEIR(population, seed=1.0, beta=beta, sigma=sigma, gamma=0.15).run(15)
    model = SEIR(population, seed=1.0, beta=beta, sigma=sigma, gamma=0.15).run(days=15, vaccinated=share)
    averted = (without.E + without.I).sum() - (model.E + model.I).sum()
    return averted / 10


@case(lambda rng: ((4.8, 2.1), np.linspace(1.6, 0.7, 4)), wrt=(0, 1))
def renewal_equation(serial, R_by_week, days=28):
    mean, sd = serial
    shape, scale = (mean / sd) ** 2, sd**2 / mean
    s = np.arange(1, 15)
    weights = s ** (shape - 1) * np.exp(-s / scale)
    weights /= weights.sum()
    R = np.repeat(R_by_week, 7)
    cases = [10.0]
    for t in range(1, days):
        recent = np.array(cases[::-1][: len(weights)])
        cases.append(R[t] * np.dot(recent, weights[: len(recent)]) + 0.5)
    cases = np.array(cases)
    delay = np.exp(-np.arange(6) / 2.0)
    reported = np.convolve(cases, delay / delay.sum())[:days]
    weekly = reported.reshape(-1, 7).sum(axis=1)
    return np.log(weekly[-1] / weekly[0]) + np.log(weekly).mean()


@case(lambda rng: (np.exp(rng.standard_normal((4, 4))), [0.9, 0.5, 0.7, 0.6], 0.05), wrt=(0, 1, 2))
def metapopulation(travel, betas, share):
    """When the epidemic is at its height in the city that it reaches last."""
    flow = travel.copy()
    flow[np.diag_indices(4)] = 0
    flow = share * flow / flow.sum(axis=1, keepdims=True)
    mixing = flow + (1 - share) * np.eye(4)
    I = np.array([0.01, 0, 0, 0])
    S = 1 - I
    curves = []
    for t in range(40):
        new = np.asarray(betas) * S * (mixing @ I)
        S, I = S - new, 0.7 * I + new
        curves.append(I)
    curves = np.stack(curves, axis=-1)
    late = curves[:, -1].argmax()
    weight = curves[late] ** 4
    return np.sum(np.arange(40) * weight) / np.sum(weight)
