"""``sin`` and its derivative, plotted: the derivative comes from sdgrad, and is not told that it is the cosine."""

import sys
from pathlib import Path

import matplotlib
import numpy as np

import sdgrad

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402 - the backend is chosen first


def total(x):
    return np.sum(np.sin(x))


x = np.linspace(-2 * np.pi, 2 * np.pi, 400)
derivative = sdgrad.grad(total)(x)
assert np.allclose(derivative, np.cos(x))

figure, axes = pyplot.subplots(figsize=(7, 3), layout="constrained")
axes.plot(x, np.sin(x), label="sin")
axes.plot(x, derivative, label="its derivative")
axes.legend()
path = Path(sys.argv[1] if len(sys.argv) > 1 else "sine.png")
figure.savefig(path)
print(f"plot in {path}")
