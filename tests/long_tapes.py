"""Programs whose gradients keep much: loops, chains of layers, steps in place, branches, calls, loops in loops."""

import numpy as np

T, N = 60, 3000


def diffusion(x):
    y = np.copy(x)
    for _ in range(T):
        y[1:-1] = y[1:-1] + 0.1 * np.sin(y[:-2] + y[2:] - 2 * y[1:-1])
    return np.sum(y * y)


def layers(x, w):
    y = np.reshape(x[:900], (30, 30))
    for k in range(12):
        y = np.tanh(y @ w) * (1.0 + 0.1 * k) + 0.1 * y
    return np.sum(y * y)


def steps_in_place(x):
    """Straight-line code that writes one array again and again."""
    y = np.copy(x)
    y[1:] = np.sin(y[1:]) + y[:-1]
    y[:-1] = np.cos(y[:-1]) * y[1:]
    y[1:] = np.tanh(y[1:] * y[:-1])
    y[:] = np.exp(-y * y)
    y[1:] = np.sin(y[1:]) * y[:-1]
    y[:-1] = np.cos(y[:-1]) + y[1:]
    y[:] = np.sqrt(1 + y * y)
    y[1:] = np.sin(y[1:] + y[:-1])
    return np.sum(y * y)


def two_loops(x):
    y = np.sin(x)
    for _ in range(T):
        y = np.sin(y) * 1.1 + 0.1 * x
    z = np.cos(y)
    for k in range(T):
        z[:] = np.tanh(z * y) + 0.01 * k
    return np.sum(z * y)


def branching(x):
    y = np.copy(x)
    for k in range(T):
        if y[k] > 0.5:
            y[:] = np.sin(y) * 1.2
        else:
            y[:] = np.cos(y * x)
    return np.sum(y)


def solves(x, w):
    a = w @ w.T + 30 * np.eye(30)
    y = x[:30]
    for _ in range(20):
        y = np.sin(np.linalg.solve(a, y)) + x[30:60]
    return np.sum(y) + np.sum(np.linalg.inv(a))


def libraries(x):
    """Calls that take memory of their own: lines of a prime length, matrices that are not square, small ones."""
    lines = np.abs(np.fft.fft(x[:2999]))
    tall = np.linalg.svd(np.reshape(x, (1000, 3)), compute_uv=False)
    small = np.reshape(x[:400], (20, 20))
    return np.sum(lines) + np.sum(tall) + np.sum(np.linalg.cholesky(small @ small.T + 20 * np.eye(20)))


def nested(x):
    y = np.copy(x)
    for k in range(20):
        z = np.copy(y)
        for _ in range(6):
            z[1:-1] = np.sin(z[1:-1]) + 0.1 * z[:-2] * z[2:]
        y = z * 0.9 + 0.01 * k
    return np.sum(y * y)


def settling(x):
    """Sweeps until little moves, in each of some steps."""
    y = np.copy(x)
    for k in range(20):
        z, change = np.copy(y), 1.0
        while change > 1e-2:
            new = 0.6 * np.sin(z) + 0.3 * y * np.cos(z)
            change = np.max(np.abs(new - z))
            z = new
        y = z + 0.1 * x + 0.01 * k
    return np.sum(y * y)


def counted(x, steps):
    y = np.copy(x)
    for _ in range(steps):
        y[:] = np.sin(y) + 0.1 * y
    return np.sum(y)


def until(x):
    """Nobody knows how many trips there will be."""
    y = np.copy(x)
    while np.sum(y * y) > 0.05 * N:
        y[1:] = 0.99 * np.sin(y[1:]) + 0.001 * y[:-1]
    return np.sum(y * y)


def left_early(x):
    """What it takes without a limit is known only when it runs."""
    y, k = np.copy(x), 0
    while k < 50:
        y[1:] = np.sin(y[1:]) + 0.1 * y[:-1]
        k += 1
    return np.sum(y * y)


def values(x):
    y = np.copy(x)
    for _ in range(T):
        y[1:-1] = y[1:-1] + 0.1 * np.sin(y[:-2] + y[2:] - 2 * y[1:-1])
    return y * y


def arguments(f):
    """Arguments of a program."""
    rng = np.random.default_rng(0)
    more = {"w": lambda: rng.uniform(-0.3, 0.3, (30, 30)), "steps": lambda: 40}
    names = f.__code__.co_varnames[: f.__code__.co_argcount]
    return [rng.uniform(0.1, 0.9, N) if n == "x" else more[n]() for n in names]


ALL = (
    *(diffusion, layers, steps_in_place, two_loops, branching, solves, libraries, nested, counted),
    *(until, left_early, settling),
)
