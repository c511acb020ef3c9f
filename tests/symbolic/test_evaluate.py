"""Values of index expressions."""

import numpy as np
import pytest

from sdgrad.symbolic import code
from sdgrad.symbolic.evaluate import evaluated


def test_element_by_element():
    expr = code.parse("int_floor(n, 2) + Min(n, 3)")
    np.testing.assert_array_equal(evaluated(expr, {"n": np.arange(6)}), [0, 1, 3, 4, 5, 5])


def test_unknown_names():
    with pytest.raises(NameError):
        evaluated(code.parse("n + m"), {"n": 1})
