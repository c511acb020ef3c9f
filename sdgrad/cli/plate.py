"""A simulation to demonstrate gradients with: heat in a plate, and where the plate conducts it badly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import Bounds, minimize

STEPS = 150
SIZE = 40
USUAL = np.log(0.2)
"""Of the logarithm of the conductivity, where the plate has no fault."""
BOUNDS = Bounds(np.log(0.01), np.log(0.24))
"""Of the search: from 0.25 on, the steps are not stable."""


def simulated(conductivity, start):
    """Return the temperatures after :data:`STEPS` steps of a conservative scheme; ``conductivity`` is a logarithm."""
    u, k = start.copy(), np.exp(conductivity)
    for _ in range(STEPS):
        down = 0.5 * (k[1:, 1:-1] + k[:-1, 1:-1]) * (u[1:, 1:-1] - u[:-1, 1:-1])
        across = 0.5 * (k[1:-1, 1:] + k[1:-1, :-1]) * (u[1:-1, 1:] - u[1:-1, :-1])
        u[1:-1, 1:-1] += down[1:] - down[:-1] + across[:, 1:] - across[:, :-1]
    return u


def misfit(conductivity, start, measured):
    """Return how far the simulation ends from the temperatures that were measured."""
    return np.sum((simulated(conductivity, start) - measured) ** 2)


@dataclass(frozen=True)
class Plate:
    """A plate with a hidden fault.

    :param hidden: the logarithm of its conductivity.
    :param start: temperatures before.
    :param measured: and after.
    :param guess: a plate without the fault.
    """

    hidden: np.ndarray
    start: np.ndarray
    measured: np.ndarray
    guess: np.ndarray

    @staticmethod
    def made(size: int = SIZE) -> Plate:
        """Make a plate; every call makes the same one."""
        x, y = np.meshgrid(*2 * [np.linspace(-1, 1, size)], indexing="ij")
        hidden = USUAL - 1.5 * np.exp(-12 * ((x - 0.2) ** 2 + (y + 0.3) ** 2))
        start = np.cos(3 * np.pi * x + 1) + np.sin(2 * np.pi * y)
        return Plate(hidden, start, simulated(hidden, start), np.full((size, size), USUAL))


@dataclass
class Search:
    """The search for the fault by L-BFGS.

    :param losses: the misfit after each iteration.
    """

    gradient: Callable[..., tuple[Any, np.ndarray]]
    plate: Plate
    losses: list[float] = field(default_factory=list)

    def run(self, iterations: int) -> np.ndarray:
        """Return the conductivity that explains what was measured."""
        plate = self.plate
        shape = plate.guess.shape

        def flat(z: np.ndarray) -> tuple[float, np.ndarray]:
            value, slope = self.gradient(z.reshape(shape), plate.start, plate.measured)
            return float(value), slope.ravel()

        def note(intermediate_result: Any) -> None:
            self.losses.append(float(intermediate_result.fun))

        options = {"maxiter": iterations}
        found = minimize(
            flat, plate.guess.ravel(), jac=True, method="L-BFGS-B", bounds=BOUNDS, callback=note, options=options
        )
        return found.x.reshape(shape)


def draw(plate: Plate, found: np.ndarray, losses: list[float], path: Path) -> None:
    """Write a picture: the plate before and after, the fault, what is found of it, and the search.

    :raises ImportError: matplotlib is not there.
    """
    from matplotlib.figure import Figure  # which needs no screen

    figure = Figure(figsize=(15, 3.2), layout="constrained")
    *images, search = figure.subplots(1, 5)
    shown = {"temperature at the start": plate.start, "and at the end": plate.measured}
    faults = {"conductivity, hidden": np.exp(plate.hidden), "found by gradients": np.exp(found)}
    for axes, (title, image) in zip(images, {**shown, **faults}.items(), strict=True):
        like = plate.start if title in shown else np.exp(plate.hidden)
        colours = "inferno" if title in shown else "viridis"
        drawn = axes.imshow(image, cmap=colours, vmin=like.min(), vmax=like.max())
        figure.colorbar(drawn, ax=axes, shrink=0.8)
        axes.set(title=title, xticks=[], yticks=[])
    search.semilogy(losses)
    search.set(title="misfit", xlabel="iterations of L-BFGS")
    figure.savefig(path, dpi=110)
