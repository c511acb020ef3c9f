"""Programs as working people write them: the value of NumPy, and the gradient of differences."""

import numpy as np
import pytest
from people import CASES

import sdgrad


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_program(case):
    value, gradient = sdgrad.value_and_grad(case.function, case.wrt)(*case.arguments())
    np.testing.assert_allclose(value, case.value(), rtol=1e-10, atol=1e-12)
    found, wanted = case.slope(gradient)
    assert abs(found - wanted) <= case.tolerance * max(1.0, abs(wanted)), (found, wanted)
