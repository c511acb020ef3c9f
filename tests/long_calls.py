"""Programs that take long, and a user who interrupts them; for processes of their own."""

import os
import signal
import threading
import time

import numpy as np

import sdgrad

__all__ = [
    *("np", "sdgrad", "signal", "time"),
    *("M", "STEPS", "X", "gradient", "interrupt", "interrupted", "memory", "products", "right", "settle", "steps"),
]


def steps(x, n):
    for _ in range(n):
        x[:] = np.sin(x) * 0.9 + 0.1
    return np.sum(x)


def settle(x):
    while x[0] > 1e-300:
        x[0] = x[0] * 0.9999999
    return x[0]


def products(x, n):
    for _ in range(n):
        x = np.tanh(x @ x * 0.01)
    return np.sum(x)


signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts in the background ignores the signal
X = np.linspace(0.1, 1.0, 40_000)
STEPS = 5_000  # a tape of 1.6 GB: there is room for it
M = np.random.default_rng(0).random((120, 120))
gradient = sdgrad.grad(steps)
right = gradient(X.copy(), 3)


def interrupt(after):
    threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT)).start()


def interrupted(f, *args, after=0.5):
    interrupt(after)
    start = time.perf_counter()
    try:
        f(*args)
    except KeyboardInterrupt:
        return time.perf_counter() - start - after
    return None


def memory():
    sdgrad.free_memory()
    return int(next(s for s in open("/proc/self/status") if s.startswith("VmRSS")).split()[1])
