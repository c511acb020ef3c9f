"""Programs with long tapes of many kinds: loops, loops in loops, matrices, and mixtures of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.simulations import burgers, gray_scott


def layers(x, w):
    for _ in range(12):
        x = np.tanh(x @ w) + 0.1 * x
    return np.sum(x * x)


def mixed(u, w):
    for _ in range(200):
        u[1:-1] = u[1:-1] + 0.1 * np.sin(u[:-2] - 2 * u[1:-1] + u[2:])
    a = np.exp(np.outer(u[:300], u[:300]) * 0.01)
    b = np.tanh(a @ w)
    c = np.sin(b @ w) + a
    return np.sum((np.cos(c @ w) * b) ** 2)


def sweeps(x, w):
    y = np.copy(x)
    for _ in range(20):
        for _ in range(30):
            y[1:] = np.sin(y[1:]) * w[1:] + 0.1 * y[:-1]
        y = y * 1.1
    return np.sum(y)


def two_loops(x, w):
    y = np.copy(x)
    for _ in range(100):
        y = np.sin(y) * 1.1 + 0.1 * w
    z = np.cos(y)
    for k in range(150):
        z = np.tanh(z * y) + 0.01 * k
    return np.sum(z * y)


def matrices(a, b):
    for _ in range(60):
        a = np.tanh(a @ b * 0.1) + 0.1 * a
    return np.sum(a * a)


@dataclass(frozen=True)
class Case:
    """A program with its arguments.

    :param by: the names of those that it is differentiated by; unless given, those that are arrays.
    """

    name: str
    function: Callable
    arguments: tuple
    by: tuple[str, ...] = ()

    @property
    def wrt(self) -> tuple[int | str, ...]:
        """Return the positions, or the names, of the arguments that it is differentiated by."""
        return self.by or tuple(k for k, a in enumerate(self.arguments) if isinstance(a, np.ndarray))


def cases(scale: float) -> list[Case]:
    """Return the programs.

    :param scale: factor of their sides.
    """
    rng = np.random.default_rng(0)

    def between(low: float, high: float, *shape: int) -> np.ndarray:
        return low + (high - low) * rng.random([max(2, int(n * scale)) for n in shape])

    def grid(side: int) -> tuple[np.ndarray, np.ndarray]:
        return between(0.5, 0.6, side, side), between(0.5, 0.6, side, side)

    line = between(0.3, 0.9, 50000), between(0.4, 1.0, 50000)
    weights = between(0.0, 0.05, 300, 300)
    return [
        Case("burgers, 200", burgers, (*grid(200), 100)),
        Case("burgers, 512", burgers, (*grid(512), 60)),
        Case("gray_scott, 200", gray_scott, (*grid(200), 100)),
        Case("gray_scott, 512", gray_scott, (*grid(512), 60)),
        Case("layers", layers, (between(0.0, 1.0, 400, 300), weights)),
        Case("mixed", mixed, (between(0.0, 1.0, 20000), weights)),
        Case("sweeps", sweeps, line),
        Case("two_loops", two_loops, line),
        Case("matrices", matrices, (between(0.0, 0.1, 150, 150), between(0.0, 0.1, 150, 150))),
    ]


def kernels() -> Iterator[Case]:
    """Yield the benchmark's kernels at medium size."""
    from benchmarks.kernels import ALL, load

    for kernel in map(load, ALL):
        arguments = kernel.inputs(kernel.sizes["medium"], np.random.default_rng(0))
        yield Case(kernel.name, kernel.numpy_version, arguments, kernel.wrt)
