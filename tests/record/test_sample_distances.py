"""Distances between samples: SciPy's values and their derivatives."""

import numpy as np
import pytest
from scipy import stats
from together import differences

import sdgrad

GIVEN = {"x": np.array([0.5, 1.5, -0.7, 2.0]), "y": np.array([0.2, 1.9, -0.4]), "w": np.array([0.3, 0.9, 0.5])}
TEXTS = [
    "stats.wasserstein_distance(x, y)", "stats.wasserstein_distance(x, y, None, w)", "stats.energy_distance(x, y)",
    "stats.energy_distance(y, x, w, np.abs(x))", "stats.wasserstein_distance(x, [0.1, 0.2])",
]  # fmt: skip


def test_values_and_derivatives():
    assert differences(TEXTS, {"stats": stats}, GIVEN) == []


def test_weights_are_checked():
    with pytest.raises(ValueError, match="must be non-negative"):
        sdgrad.grad(lambda w: stats.wasserstein_distance(GIVEN["x"], GIVEN["y"], None, w))(-GIVEN["w"])
    with pytest.raises(ValueError, match="must be of the same size"):
        sdgrad.grad(lambda w: stats.energy_distance(GIVEN["x"], GIVEN["y"], w))(GIVEN["w"])
