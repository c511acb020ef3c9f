"""Ordinary differential equations: fixed and adaptive steps, implicit and multistep methods, shooting."""

from collections import deque

import numpy as np

from people._case import case


def rk4_step(f, t, y, h, *args):
    k1 = f(t, y, *args)
    k2 = f(t + h / 2, y + h / 2 * k1, *args)
    k3 = f(t + h / 2, y + h / 2 * k2, *args)
    k4 = f(t + h, y + h * k3, *args)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def lotka_volterra(t, y, alpha, beta, delta, gamma):
    prey, predator = y
    return np.array([alpha * prey - beta * prey * predator, delta * prey * predator - gamma * predator])


@case(lambda rng: (np.array([1.0, 0.5]), (1.1, 0.4, 0.1, 0.4)), wrt=(0, 1))
def predator_prey(y0, rates):
    ts = np.linspace(0, 4, 21)
    ys = [y0]
    for t0, t1 in zip(ts[:-1], ts[1:], strict=True):
        ys.append(rk4_step(lotka_volterra, t0, ys[-1], t1 - t0, *rates))
    solution = np.array(ys)
    conserved = rates[2] * solution[:, 0] - rates[3] * np.log(solution[:, 0])
    return np.trapezoid(solution[:, 1], ts) + np.ptp(conserved[[0, -1]])


# Bogacki-Shampine
A = [[], [1 / 2], [0, 3 / 4], [2 / 9, 1 / 3, 4 / 9]]
B = np.array([2 / 9, 1 / 3, 4 / 9, 0])
B_LOW = np.array([7 / 24, 1 / 4, 1 / 3, 1 / 8])


@case(lambda rng: (1.3, np.array([1.5, 0.2])), wrt=(0, 1), tolerance=1e-5)
def adaptive_van_der_pol(mu, y, t_end=2.0, rtol=1e-3):
    def f(y):
        return np.array([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])

    t, h = 0.0, 0.1
    accepted = 0
    while t < t_end:
        if t + h > t_end:
            h = t_end - t
        k = [f(y)]
        for row in A[1:]:
            k.append(f(y + h * sum(a * ki for a, ki in zip(row, k, strict=True))))
        stages = np.stack(k)
        new = y + h * B @ stages
        error = np.linalg.norm(h * (B - B_LOW) @ stages) / (rtol * (1 + np.linalg.norm(new)))
        if error <= 1:
            t, y = t + h, new
            accepted += 1
        h *= min(5.0, max(0.2, 0.9 * error ** (-1 / 3)))
        if accepted > 100:
            raise RuntimeError("too many steps")
    return y[0] ** 2 + 0.5 * y[1]


def robertson(y, k1=0.04, k2=3.0, k3=1.0):
    a, b, c = y
    fast = k2 * b**2
    return np.array([-k1 * a + k3 * b * c, k1 * a - k3 * b * c - fast, fast])


def numerical_jacobian(f, y, eps=1e-3):
    columns = []
    for i in range(y.size):
        e = np.zeros(y.size)
        e[i] = eps
        columns.append((f(y + e) - f(y - e)) / (2 * eps))
    return np.column_stack(columns)


@case(lambda rng: ({"k1": 0.4, "k2": 3.0, "k3": 1.0}, [1.0, 0.05, 0.1]), wrt=(0, 1))
def stiff_implicit_euler(rates, start):
    y = np.asarray(start)
    h = 0.2

    def residual(new, old):
        return new - old - h * robertson(new, **rates)

    for _ in range(6):
        old = y.copy()
        for newton in range(10):
            r = residual(y, old)
            if np.abs(r).max() < 1e-11:
                break
            y = y - np.linalg.solve(numerical_jacobian(lambda v: residual(v, old), y), r)  # noqa: B023
    return y @ np.array([1.0, 10.0, 3.0])


@case(lambda rng: (0.8, 0.3, np.linspace(-1, 1, 5)), wrt=(0, 1, 2))
def adams_bashforth_pendulums(damping, drive, theta):
    coefficients = {1: [1.0], 2: [1.5, -0.5], 3: [23 / 12, -16 / 12, 5 / 12]}
    omega = np.zeros_like(theta)
    history = deque(maxlen=3)
    h = 0.1
    for n in range(25):
        t = n * h
        force = -np.sin(theta) - damping * omega + drive * np.cos(1.5 * t)
        history.appendleft((omega.copy(), force))
        weights = coefficients[len(history)]
        theta = theta + h * sum(w * past[0] for w, past in zip(weights, history, strict=True))
        omega = omega + h * sum(w * past[1] for w, past in zip(weights, history, strict=True))
    energy = 0.5 * omega**2 + 1 - np.cos(theta)
    return energy.sum()


def fall(height, speed, drag, steps):
    h = 2.0 / steps
    x, v = height, speed
    for _ in range(steps):
        a = -9.81 - drag * v * abs(v)
        v_half = v + h / 2 * a
        x += h * v_half
        v = v_half + h / 2 * (-9.81 - drag * v_half * abs(v_half))
    return x


@case(lambda rng: (1.0, 0.04, -0.2), wrt=(0, 1, 2))
def shooting(height, drag, target):
    """The speed at which a ball thrown up is at the target after two seconds."""
    a, b = 8.0, 14.0
    fa, fb = fall(height, a, drag, 20) - target, fall(height, b, drag, 20) - target
    trips = 0
    while abs(fb) > 1e-12 and trips < 20:
        a, b, fa = b, b - fb * (b - a) / (fb - fa), fb
        fb = fall(height, b, drag, 20) - target
        trips += 1
    return b
