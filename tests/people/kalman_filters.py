"""Kalman filters: likelihoods, extended and unscented filters, smoothing, ensembles."""

from typing import NamedTuple

import numpy as np

from people._case import case


class Model(NamedTuple):
    F: np.ndarray
    H: np.ndarray
    Q: np.ndarray
    R: np.ndarray


def constant_velocity(rng):
    F = np.array([[1.0, 0.5], [0.0, 1.0]]) + 0.02 * rng.standard_normal((2, 2))
    return Model(F, np.array([[1.0, 0.1]]), 0.1 * np.eye(2), np.array([[0.5]]))


def predict(x, P, model):
    return model.F @ x, model.F @ P @ model.F.T + model.Q


def update(x, P, z, model):
    innovation = z - model.H @ x
    S = model.H @ P @ model.H.T + model.R
    K = P @ model.H.T @ np.linalg.inv(S)
    x = x + K @ innovation
    P = (np.eye(len(x)) - K @ model.H) @ P
    return x, P, innovation, S


@case(lambda rng: (constant_velocity(rng), rng.standard_normal((12, 1)), rng.random(12) > 0.2))
def log_likelihood(model, observations, present):
    x, P = np.zeros(2), np.eye(2)
    total = 0.0
    for z, seen in zip(observations, present, strict=True):
        x, P = predict(x, P, model)
        if not seen:
            continue
        x, P, e, S = update(x, P, z, model)
        total += -0.5 * (e @ np.linalg.solve(S, e) + np.log(np.linalg.det(2 * np.pi * S)))
    return total


def radar(state):
    x, y = state[0], state[1]
    return np.array([np.hypot(x, y), np.arctan2(y, x)])


def radar_jacobian(state):
    x, y = state[:2]
    r = np.hypot(x, y)
    J = np.zeros((2, 4))
    J[0, :2] = x / r, y / r
    J[1, 0], J[1, 1] = -y / r**2, x / r**2
    return J


@case(
    lambda rng: (
        np.array([5.0, 4.0, 0.3, -0.2]),
        np.column_stack([6 + 0.1 * rng.standard_normal(10), 0.6 + 0.05 * rng.standard_normal(10)]),
        {"process": 0.05, "range": 0.2, "bearing": 0.03},
    ),
    wrt=(0, 2),
)
def extended_filter(start, measurements, noise, dt=0.1):
    F = np.eye(4)
    F[:2, 2:] = dt * np.eye(2)
    Q = noise["process"] ** 2 * np.diag([dt**2, dt**2, dt, dt])
    R = np.diag([noise["range"], noise["bearing"]]) ** 2
    mean, cov = start.copy(), np.eye(4)
    track = []
    for z in measurements:
        mean = F @ mean
        cov = F @ cov @ F.T + Q
        H = radar_jacobian(mean)
        y = z - radar(mean)
        y[1] = (y[1] + np.pi) % (2 * np.pi) - np.pi
        gain = np.linalg.solve(H @ cov @ H.T + R, H @ cov).T
        mean += gain @ y
        joseph = np.eye(4) - gain @ H
        cov = joseph @ cov @ joseph.T + gain @ R @ gain.T
        track.append(mean)
    path = np.vstack(track)
    return np.sum(np.linalg.norm(np.diff(path[:, :2], axis=0), axis=1)) + np.trace(cov)


def sigma_points(m, P, kappa):
    n = m.shape[0]
    root = np.linalg.cholesky((n + kappa) * P)
    points = [m]
    for i in range(n):
        points.append(m + root[:, i])
        points.append(m - root[:, i])
    weights = [kappa / (n + kappa)] + [1 / (2 * (n + kappa))] * (2 * n)
    return np.array(points), np.array(weights)


@case(lambda rng: ([0.5, 0.1], np.array([0.8, 0.2]), 0.3 * rng.standard_normal(8)), wrt=(0, 1, 2), tolerance=1e-5)
def unscented_pendulum(noise, m, measured, kappa=1.0):
    q, r = noise
    P = 0.1 * np.identity(2)
    cost = 0

    def step(s):
        return np.array([s[0] + 0.1 * s[1], s[1] - 0.981 * np.sin(s[0])])

    for z in measured:
        pts, w = sigma_points(m, P, kappa)
        moved = np.array([step(p) for p in pts])
        m = w @ moved
        centred = moved - m
        P = (w * centred.T) @ centred + q * np.eye(2)
        heights = np.sin(moved[:, 0])
        expected = np.average(heights, weights=w)
        s = np.average((heights - expected) ** 2, weights=w) + r
        cross = (centred * (heights - expected)[:, None]).T @ w
        m = m + cross / s * (z - expected)
        P = P - np.outer(cross, cross) / s
        cost += (z - expected) ** 2 / s + np.log(s)
    return cost / len(measured)


@case(lambda rng: (rng.standard_normal(15).cumsum(), 0.4, 0.9), wrt=(0, 1, 2))
def local_level_smoother(y, q, r):
    n = len(y)
    filtered, predicted = [], []
    level, variance = y[0], 10.0
    for t in range(n):
        if t > 0:
            variance += q
        predicted.append((level, variance))
        gain = variance / (variance + r)
        level = level + gain * (y[t] - level)
        variance *= 1 - gain
        filtered.append((level, variance))
    smooth = [filtered[-1]]
    for (m, v), (mp, vp) in zip(reversed(filtered[:-1]), reversed(predicted[1:]), strict=True):
        C = v / vp
        ms, vs = smooth[-1]
        smooth.append((m + C * (ms - mp), v + C**2 * (vs - vp)))
    smooth = smooth[::-1]
    means = np.array([s[0] for s in smooth])
    spread = np.sqrt([s[1] for s in smooth])
    return np.mean((y - means) ** 2) + spread.mean()


class Ensemble:
    def __init__(self, members, seed=0):
        self.members = members
        self.rng = np.random.default_rng(seed)

    @property
    def mean(self):
        return self.members.mean(axis=0)

    def forecast(self, forcing, dt=0.05):
        x = self.members
        tendency = (np.roll(x, -1, axis=1) - np.roll(x, 2, axis=1)) * np.roll(x, 1, axis=1) - x + forcing
        self.members = x + dt * tendency

    def analyse(self, observed, sigma, inflation):
        n = self.members.shape[0]
        A = inflation * (self.members - self.mean)
        HA = A[:, ::2]
        S = HA.T @ HA / (n - 1) + sigma**2 * np.eye(HA.shape[1])
        perturbed = observed + sigma * self.rng.normal(size=HA.shape)
        increment = np.linalg.solve(S, (perturbed - self.members[:, ::2]).T)
        self.members = self.mean + A + (A.T @ HA / (n - 1) @ increment).T


@case(lambda rng: (8 + rng.standard_normal((7, 6)), 8.0, 1.05, rng.standard_normal((4, 3))), wrt=(0, 1, 2))
def ensemble_lorenz96(members, forcing, inflation, observations):
    ensemble = Ensemble(members)
    errors = []
    for obs in observations:
        for _ in range(2):
            ensemble.forecast(forcing)
        errors.append(np.mean((ensemble.mean[::2] - obs) ** 2))
        ensemble.analyse(obs, sigma=0.5, inflation=inflation)
    return np.sqrt(np.mean(errors))
