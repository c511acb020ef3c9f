"""Derivatives where a function has a kink: finite wherever the branch taken is, and as the page says.

The page ``docs/kinks.md`` holds what sdgrad, JAX and PyTorch were found to say; this compares it with a run.
"""

from pathlib import Path

import numpy as np
import pytest
from kinks import KINKS, sdgrads, table

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
