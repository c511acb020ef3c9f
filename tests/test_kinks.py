"""Derivatives where a function has a kink: finite wherever the branch taken is, and as the page says.

The page ``docs/kinks.md`` holds what sdgrad, JAX and PyTorch were found to say; this compares it with a run.
"""

from pathlib import Path

import numpy as np
import pytest
from kinks import KINKS, sdgrads, table

import sdgrad

PAGE = Path(__file__).parents[1] / "docs" / "kinks.md"
INFINITE = {"sqrt(a), a = 0"}
NOT_A_NUMBER = {"sqrt(sum(x * x)), x = 0", "a ** b, a = -1, b = 2", "arctan2(a, b), a = b = 0"}


def test_the_page_is_what_was_run():
    assert table() in PAGE.read_text(), "run: python tests/kinks.py"


@pytest.mark.parametrize("kink", [k for k in KINKS if k.text not in INFINITE | NOT_A_NUMBER], ids=lambda k: k.text)
def test_finite(kink):
    assert np.isfinite(sdgrads(kink)).all()


@pytest.mark.parametrize("kink", [k for k in KINKS if k.text in INFINITE | NOT_A_NUMBER], ids=lambda k: k.text)
def test_honest(kink):
    """Where the derivative is infinite, or there is none on the way taken, the result says so."""
    found = sdgrads(kink)
    assert np.isinf(found).any() if kink.text in INFINITE else np.isnan(found).any()


@pytest.mark.parametrize(
    ("f", "curvature"),
    [
        (lambda x: np.sum(np.abs(x) ** 2), 2.0),
        (lambda x: np.sum(np.exp(-np.abs(x) * np.abs(x))), -2.0),
        (lambda x: np.sum(np.cosh(np.abs(x)) + np.cos(np.abs(3.0 * x))), -8.0),
        (lambda x: np.sum((2.0 * np.abs(x)) ** 4 + 0.5 * np.abs(x) ** 2), 1.0),
        (lambda x: np.exp(-0.5 * (np.linalg.norm(x) / 0.5) ** 2), -4.0),
        (lambda x: np.log1p(np.linalg.norm(-3.0 * x) ** 2), 18.0),
    ],
)
def test_even_functions_of_kinks_have_second_derivatives(f, curvature):
    found = sdgrad.hessian(f)(np.zeros(2))
    np.testing.assert_allclose(np.diag(found), [curvature] * 2, rtol=1e-12)
    x = np.array([0.3, -0.4])
    sdgrad.testing.check_grads(f, (x,), order=2)
