"""Control theory: regulators, closed loops, filters, Gramians, frequency responses."""

import numpy as np

from people._case import case


def riccati(A, B, Q, R, tol=1e-12):
    P = Q
    change = np.inf
    trips = 0
    while change > tol and trips < 500:
        K = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
        new = Q + A.T @ P @ (A - B @ K)
        change = np.abs(new - P).max()
        P = new
        trips += 1
    if trips == 500:
        raise RuntimeError(f"no convergence: {change}")
    return P, K


@case(
    lambda rng: (np.array([[1.0, 0.3], [-0.2, 0.8]]), np.array([[0.1], [0.6]]), np.array([2.0, 0.5]), 0.4),
    wrt=(0, 1, 2, 3),
)
def lqr_cost(A, B, q, r):
    P, K = riccati(A, B, np.diag(q), np.array([[r]]))
    x = np.array([1.0, -0.5])
    closed_loop = A - B @ K
    cost = 0.0
    for _ in range(10):
        u = -K @ x
        cost += x @ np.diag(q) @ x + r * u @ u
        x = closed_loop @ x
    return cost + np.trace(P)


class PID:
    def __init__(self, kp, ki, kd, limit=1.5):
        self.gains = (kp, ki, kd)
        self.limit = limit
        self.integral = 0.0
        self.last = None

    def __call__(self, error, dt):
        kp, ki, kd = self.gains
        rate = 0.0 if self.last is None else (error - self.last) / dt
        self.last = error
        u = kp * error + ki * self.integral + kd * rate
        saturated = np.clip(u, -self.limit, self.limit)
        if saturated == u:
            self.integral += error * dt  # no windup
        return saturated


@case(lambda rng: ({"kp": 2.1, "ki": 0.8, "kd": 0.35}, {"tau": 0.9, "delay": 2, "gain": 1.3}))
def pid_tuning(gains, plant):
    controller = PID(**gains)
    dt = 0.1
    y, buffer = 0.0, [0.0] * plant["delay"]
    itae = 0.0
    for k in range(40):
        setpoint = 1.0 if k >= 5 else 0.0
        u = controller(setpoint - y, dt)
        buffer.append(u)
        y += dt * (plant["gain"] * buffer.pop(0) - y) / plant["tau"]
        itae += k * dt * (setpoint - y) ** 2 * dt
    return itae


@case(
    lambda rng: (
        {"q": 0.1, "r": 0.3, "drift": np.array([0.95, 0.1]), "x0": np.array([0.2, 0.0])},
        np.cumsum(rng.standard_normal(20)) * 0.3,
        np.arange(20) % 7 == 3,
    )
)
def kalman_likelihood(theta, y, missing):
    F = np.array([[theta["drift"][0], 1.0], [0.0, theta["drift"][1] + 0.7]])
    H = np.array([[1.0, 0.0]])
    Q = theta["q"] * np.array([[1 / 3, 0.5], [0.5, 1.0]])
    x, P = theta["x0"].reshape(2, 1), np.eye(2)
    loglik = 0.0
    for k in range(len(y)):
        x, P = F @ x, F @ P @ F.T + Q
        if missing[k]:
            continue
        S = H @ P @ H.T + theta["r"]
        innovation = y[k] - H @ x
        gain = P @ H.T @ np.linalg.inv(S)
        x = x + gain @ innovation
        I_KH = np.eye(2) - gain @ H
        P = I_KH @ P @ I_KH.T + theta["r"] * gain @ gain.T  # Joseph form
        sign, logdet = np.linalg.slogdet(S)
        loglik -= 0.5 * (logdet + innovation.T @ np.linalg.inv(S) @ innovation + np.log(2 * np.pi))
    return loglik.item()


def lyapunov(A, Q):
    """Solve A X + X A' + Q = 0."""
    n = A.shape[0]
    M = np.kron(np.eye(n), A) + np.kron(A, np.eye(n))
    return np.linalg.solve(M, -Q.ravel()).reshape(n, n)


@case(
    lambda rng: (-np.eye(4) + 0.3 * rng.standard_normal((4, 4)), rng.random((4, 2)), rng.random((1, 4))), wrt=(0, 1, 2)
)
def hankel_singular_values(A, B, C):
    Wc = lyapunov(A, B @ B.T)
    Wo = lyapunov(A.T, C.T @ C)
    # the square root method
    Wc = 0.5 * (Wc + Wc.T) + 1e-3 * np.eye(len(A))
    L = np.linalg.cholesky(Wc)
    sigma2 = np.linalg.eigvalsh(L.T @ (Wo + Wo.T) / 2 @ L)
    hsv = np.sqrt(sigma2[::-1][:2])
    return hsv[0] / (1 + hsv[1]) + 2 * np.sum(hsv)


def polyval(coefficients, s):
    result = 0.0
    for c in coefficients:
        result = result * s + c
    return result


@case(lambda rng: ([2.0, 1.0], [1.0, 0.8, 3.0, 0.5], 0.4), wrt=(0, 1, 2))
def loop_shape(numerator, denominator, gain):
    w = np.logspace(-1, 1, 15)
    s = 1j * w
    L = gain * polyval(numerator, s) / polyval(denominator, s)
    sensitivity = 1 / (1 + L)
    decibels = 20 * np.log10(np.abs(sensitivity))
    phase = np.unwrap(np.angle(L))
    soft_peak = np.log(np.sum(np.exp(decibels))) / 1.0
    # Bode's integral, by the trapezoidal rule over the logarithm of the frequency
    area = np.sum(0.5 * (decibels[1:] + decibels[:-1]) * np.diff(np.log(w)))
    return soft_peak + 0.1 * area + 0.5 * phase[-1]
