"""Inverse problems: regularisation, early stopping, total variation, curve fits, adjoint equations."""

import numpy as np

from people._case import case


def blur(n, width):
    i = np.arange(n)
    K = np.exp(-((i[:, None] - i[None, :]) ** 2) / (2.0 * width**2))
    return K / K.sum(axis=1, keepdims=True)


@case(lambda rng: (1.1, -1.3, np.sin(np.linspace(0, 3, 12)) + 0.05 * rng.standard_normal(12)), wrt=(0, 1, 2))
def generalised_cross_validation(width, log_alpha, data):
    K = blur(len(data), width)
    U, s, Vt = np.linalg.svd(K)
    alpha = 10.0**log_alpha
    filters = s**2 / (s**2 + alpha)
    beta = U.T @ data
    x = Vt.T @ (filters * beta / s)
    residual = np.sum(((1 - filters) * beta) ** 2)
    score = residual / (len(data) - filters.sum()) ** 2
    return 1e3 * score + 0.1 * np.linalg.norm(x)


def landweber(forward, adjoint, data, x0, relax=1.0, noise_level=0.0, max_iter=30):
    x = np.array(x0, copy=True)
    for k in range(max_iter):
        r = data - forward(x)
        if np.sqrt(r @ r) <= 1.1 * noise_level:
            return x, k
        x += relax * adjoint(r)
        x = np.maximum(x, -10.0)
    return x, max_iter


@case(lambda rng: (0.25, 2.0 + np.cos(np.linspace(0, 4, 16)), np.zeros(16)), wrt=(0, 1, 2))
def landweber_until_discrepancy(conductivity, data, start):
    n = data.size
    A = np.eye(n) + conductivity * (2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1))
    x, trips = landweber(lambda v: np.linalg.solve(A, v), lambda r: np.linalg.solve(A.T, r), data, start, 0.8, 0.93)
    assert 0 < trips < 30, trips
    return np.sum(x**2) / n + 0.3 * np.sum(np.abs(np.diff(x)) ** 1.5)


@case(
    lambda rng: (
        np.where(np.arange(18) % 9 < 4, 1.0, 0.2) + 0.1 * rng.standard_normal(18),
        np.array([0.2, 0.6, 0.2]),
        0.3,
    ),
    wrt=(0, 1, 2),
)
def total_variation_deblurring(observed, kernel, weight, beta=0.1, mode="edge"):
    half = len(kernel) // 2

    def convolve(u):
        padded = np.pad(u, half, mode=mode)
        return sum(kernel[m] * padded[m : m + len(u)] for m in range(len(kernel)))

    def correlate(r):
        out = np.zeros(len(r) + 2 * half)
        for m, c in enumerate(kernel):
            out[m : m + len(r)] += c * r
        body = out[half:-half]
        body[0] += out[:half].sum()
        body[-1] += out[-half:].sum()
        return body

    u = observed.copy()
    history = []
    for it in range(15):
        du = np.diff(u)
        flux = du / np.sqrt(du**2 + beta**2)
        gradient = correlate(convolve(u) - observed)
        gradient[:-1] -= weight * flux
        gradient[1:] += weight * flux
        u = u - 0.1 * gradient
        history.append(0.5 * np.sum((convolve(u) - observed) ** 2) + weight * np.sqrt(du**2 + beta**2).sum())
    return history[-1] + np.ptp(u)


def decay(p, t):
    return p[0] * np.exp(-p[1] * t) + p[2] * np.exp(-p[3] * t)


def decay_jacobian(p, t):
    e1, e2 = np.exp(-p[1] * t), np.exp(-p[3] * t)
    return np.array([e1, -p[0] * t * e1, e2, -p[2] * t * e2]).T


@case(
    lambda rng: (decay([1.0, 0.5, 2.0, 3.0], np.linspace(0, 3, 20)) + 0.02 * rng.standard_normal(20),), tolerance=1e-5
)
def levenberg_marquardt(data):
    t = np.linspace(0, 3, 20)
    p = np.array([0.9, 0.45, 1.9, 2.7])
    lam = 1e-2
    r = data - decay(p, t)
    cost = r @ r
    for _ in range(25):
        J = decay_jacobian(p, t)
        g = J.T @ r
        if np.abs(g).max() < 1e-12:
            break
        JtJ = J.T @ J
        trial = p + np.linalg.solve(JtJ + lam * np.diag(np.diag(JtJ)), g)
        r_trial = data - decay(trial, t)
        if r_trial @ r_trial < cost:
            p, r, cost = trial, r_trial, r_trial @ r_trial
            lam /= 5
        else:
            lam *= 4
    covariance = cost / (len(t) - len(p)) * np.linalg.inv(JtJ)
    return p[1] / p[3] + np.sqrt(covariance[1, 1])


def conjugate_gradients(apply, b, tol=1e-12):
    x = np.zeros_like(b)
    r = b - apply(x)
    d = r.copy()
    rho = np.vdot(r, r)
    for _ in range(4 * b.size):
        if rho < tol**2:
            break
        q = apply(d)
        step = rho / np.vdot(d, q)
        x += step * d
        r -= step * q
        rho, old = np.vdot(r, r), rho
        d = r + rho / old * d
    return x


@case(lambda rng: ({"log_k": 0.3 * rng.standard_normal(13), "source": 1.2}, rng.random(3)))
def heat_conductivity_evidence(unknowns, sensors):
    k = np.exp(unknowns["log_k"])
    h = 1 / len(k)

    def apply(T):
        padded = np.concatenate([[0], T, [0]])
        flux = k * np.diff(padded) / h
        return -np.diff(flux) / h

    centres = h * np.arange(1, len(k))
    T = conjugate_gradients(apply, unknowns["source"] * np.sin(np.pi * centres) ** 2)
    seen = np.interp(np.array([0.24, 0.51, 0.83]), centres, T)
    prior = 0.5 * np.dot(unknowns["log_k"], unknowns["log_k"])
    return 10 * np.linalg.norm(seen - 0.1 * sensors) ** 2 + prior
