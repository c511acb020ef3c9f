"""Measurements of an image, and of its parts by labels: SciPy's values and their derivatives."""

import numpy as np
import pytest
from scipy import ndimage
from together import differences

import sdgrad
from sdgrad.errors import ParseError

A = np.array([[0.5, 1.5, -0.7], [2.0, 0.3, 1.1]])
LABELS = np.array([[0, 1, 1], [3, 1, 3]])
NAMES = ("sum_labels", "mean", "variance", "standard_deviation", "minimum", "maximum", "median")
TEXTS = [
    *(f"ndimage.{n}({given})" for n in NAMES for given in ("a", "a, L", "a, L, 3", "a, L, [1, 3]")),
    "ndimage.sum(a, L, [[1, 7], [0, 3]])", "ndimage.mean(a, L[0], 1)",
    "ndimage.center_of_mass(a + 3.0)", "ndimage.center_of_mass(a + 3.0, L, 1)",
    "ndimage.center_of_mass(a + 3.0, L, [1, 3])",
    "ndimage.gaussian_gradient_magnitude(a, 0.8)", "ndimage.gaussian_gradient_magnitude(a, 0.8, mode='wrap', axes=1)",
]  # fmt: skip


def test_values_and_derivatives():
    assert differences(TEXTS, {"ndimage": ndimage, "L": LABELS}, {"a": A}, step=1e-3, loose=1e-6) == []


def test_labels_are_known():
    g = sdgrad.grad(lambda a, labels: ndimage.mean(a, labels, 1))
    assert np.allclose(g(A, LABELS), (LABELS == 1) / 3)
    assert np.allclose(g(A, 1 - (LABELS == 1)), (LABELS != 1) / 3)
    with pytest.raises(ParseError, match="that only a run knows"):
        sdgrad.grad(lambda a: ndimage.mean(a, a > 0, 1))(A)
