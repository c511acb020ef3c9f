"""Power systems: load flow, dispatch, swings of generators, feeders, state estimation."""

import cmath
from types import SimpleNamespace

import numpy as np

from people._case import case

LINES = [(0, 1, 0.02, 0.06), (0, 2, 0.08, 0.24), (1, 2, 0.06, 0.18), (1, 3, 0.06, 0.18), (2, 3, 0.01, 0.03)]


def admittance_matrix(lines, n):
    Y = np.zeros((n, n), dtype=complex)
    for i, j, r, x in lines:
        y = 1 / (r + 1j * x)
        Y[i, i] += y
        Y[j, j] += y
        Y[i, j] -= y
        Y[j, i] -= y
    return Y


@case(lambda rng: (np.array([-0.2, -0.45, -0.6]), np.array([-0.1, -0.15, -0.1]), LINES), wrt=(0, 1))
def newton_load_flow(P, Q, lines, tol=1e-11):
    n = len(P) + 1
    Y = admittance_matrix(lines, n)
    G, B = Y.real, Y.imag
    theta, V = np.zeros(n), np.ones(n)
    V[0] = 1.05
    iteration = 0
    while True:
        dth = theta[:, None] - theta[None, :]
        C = V[:, None] * V[None, :] * (G * np.cos(dth) + B * np.sin(dth))
        S = V[:, None] * V[None, :] * (G * np.sin(dth) - B * np.cos(dth))
        p, q = C.sum(axis=1), S.sum(axis=1)
        mismatch = np.concatenate([P - p[1:], Q - q[1:]])
        if np.linalg.norm(mismatch) < tol or iteration >= 15:
            break
        H = S - np.diag(q)
        N = C + np.diag(p)
        J = -C + np.diag(p)
        L = S + np.diag(q)
        jacobian = np.block([[H[1:, 1:], N[1:, 1:]], [J[1:, 1:], L[1:, 1:]]])
        dx = np.linalg.solve(jacobian, mismatch)
        theta[1:] += dx[: n - 1]
        V[1:] *= 1 + dx[n - 1 :]
        iteration += 1
    losses = p.sum()
    return losses + np.sum((V - 1) ** 2)


@case(
    lambda rng: (
        [
            {"a": 0.40, "b": 5.3, "min": 1.0, "max": 5.0},
            {"a": 0.60, "b": 5.5, "min": 0.5, "max": 4.0},
            {"a": 0.90, "b": 5.8, "min": 0.3, "max": 1.5},
        ],
        np.array([6.2, 7.0, 8.1]),
    ),
    wrt=(0, 1),
)
def economic_dispatch(units, demands):
    """Equal incremental cost, in hundreds of megawatts; units at a limit leave the balance."""
    cost = 0.0
    for demand in demands:
        fixed = {}
        while True:
            free = [k for k in range(len(units)) if k not in fixed]
            rest = demand - sum(fixed.values())
            price = (rest + sum(units[k]["b"] / (2 * units[k]["a"]) for k in free)) / sum(
                1 / (2 * units[k]["a"]) for k in free
            )
            powers = {k: (price - units[k]["b"]) / (2 * units[k]["a"]) for k in free}
            broken = [k for k in free if powers[k] > units[k]["max"] or powers[k] < units[k]["min"]]
            if not broken:
                break
            for k in broken:
                fixed[k] = units[k]["max"] if powers[k] > units[k]["max"] else units[k]["min"]
        powers.update(fixed)
        cost += sum(u["a"] * powers[k] ** 2 + u["b"] * powers[k] for k, u in enumerate(units))
    return cost


def rk4(f, y, t, h):
    k1 = f(t, y)
    k2 = f(t + h / 2, y + h / 2 * k1)
    k3 = f(t + h / 2, y + h / 2 * k2)
    k4 = f(t + h, y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


@case(lambda rng: (np.array([3.0, 2.2, 4.1]), np.array([0.8, 0.5, 0.9]), np.array([1.05, 1.0, 1.02])), wrt=(0, 1, 2))
def swing_after_fault(inertia, damping, emf):
    n = emf.shape[0]
    healthy = 1.5 * (np.ones((n, n)) - np.eye(n))
    faulted = healthy.copy()
    faulted[0, :] = faulted[:, 0] = 0.2
    delta0 = np.array([0.2, 0.0, -0.1])

    def power(d, Y):
        return np.sum(np.outer(emf, emf) * Y * np.sin(np.subtract.outer(d, d)), axis=1)

    mechanical = power(delta0, healthy) + np.array([0.3, -0.1, -0.2])

    def swing(t, state):
        delta, omega = state[:n], state[n:]
        Y = faulted if t < 0.22 else healthy
        return np.hstack([omega, (mechanical - power(delta, Y) - damping * omega) / inertia])

    y = np.concatenate((delta0, np.zeros(n)))
    spread = 0.0
    h = 0.1
    for step in range(16):
        y = rk4(swing, y, step * h, h)
        centre = np.average(y[:n], weights=inertia)
        spread += h * np.sum((y[:n] - centre) ** 2)
    return 100 * spread


@case(lambda rng: ([0.3 + 0.1j, 0.2 + 0.05j, 0.4 + 0.2j, 0.25 + 0.1j, 0.1 + 0.02j], np.linspace(0.8, 1.3, 5)), wrt=1)
def radial_feeder_sweep(loads, scale):
    parent = {1: 0, 2: 1, 3: 2, 4: 2, 5: 1}
    z = {bus: (0.02 + 0.04j) * (1 + 0.1 * bus) for bus in parent}
    V = np.ones(6, dtype=np.complex128)
    for _ in range(20):
        I = np.zeros(6, dtype=np.complex128)
        for bus in sorted(parent):
            I[bus] = np.conj(scale[bus - 1] * loads[bus - 1] / V[bus])
        for bus in sorted(parent, reverse=True):
            I[parent[bus]] += I[bus]
        old = V.copy()
        for bus, up in parent.items():
            V[bus] = V[up] - z[bus] * I[bus]
        if np.abs(V - old).max() < 1e-12:
            break
    angle = cmath.phase(V[4])
    return np.abs(V).min() + 10 * abs(angle) + (V[0] * np.conj(I[0])).real


@case(
    lambda rng: (
        0.05 * rng.standard_normal(8) + np.array([0.9, -0.3, -0.6, 0.4, 0.5, 0.2, 0.1, -0.4]),
        np.array([0.2, 0.25, 0.3, 0.35]),
    ),
    wrt=(0, 1),
)
def weighted_state_estimation(measurements, reactance):
    grid = SimpleNamespace(
        ends=np.array([[0, 1], [0, 2], [1, 2], [1, 3]]), buses=4, sigma=np.array([0.05] * 4 + [0.02] * 4)
    )
    n = grid.buses
    flows = np.zeros((len(reactance), n))
    for row, (i, j) in enumerate(grid.ends):
        flows[row, i], flows[row, j] = 1 / reactance[row], -1 / reactance[row]
    incidence = np.zeros_like(flows)
    np.put_along_axis(incidence, grid.ends[:, :1], 1.0, axis=1)
    np.put_along_axis(incidence, grid.ends[:, 1:], -1.0, axis=1)
    H = np.vstack([incidence.T @ flows, flows])[:, 1:]
    W = np.diag(grid.sigma**-2.0)
    gain = H.T @ W @ H
    theta = np.linalg.solve(gain, H.T @ W @ measurements)
    r = measurements - H @ theta
    residual_covariance = np.diag(grid.sigma**2) - H @ np.linalg.inv(gain) @ H.T
    normalised = r / np.sqrt(np.diagonal(residual_covariance))
    return 0.05 * np.sum(normalised**4) ** 0.25 + theta @ theta
