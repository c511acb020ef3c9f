"""Programs as working people write them: the value of NumPy, the gradient of differences; or refused, with a place."""

import linecache

import numpy as np
import pytest
from people import CASES

import sdgrad
from sdgrad.errors import ParseError

REFUSED = {
    "operations_research.inventory_simulation": "pipeline has other entries",
    "operations_research.call_centre_staffing": "an index of Python's",
    "power_systems.economic_dispatch": "the truth value",
}
"""Programs that are not differentiated yet, and what the error names."""


@pytest.mark.parametrize("case", [c for c in CASES if c.name not in REFUSED], ids=lambda case: case.name)
def test_program(case):
    value, gradient = sdgrad.value_and_grad(case.function, case.wrt)(*case.arguments())
    np.testing.assert_allclose(value, case.value(), rtol=1e-10, atol=1e-12)
    found, wanted = case.slope(gradient)
    assert abs(found - wanted) <= case.tolerance * max(1.0, abs(wanted)), (found, wanted)


@pytest.mark.parametrize("case", [c for c in CASES if c.name in REFUSED], ids=lambda case: case.name)
def test_refused(case):
    """The error begins with a line of the program, and says what is missing."""
    with pytest.raises(ParseError) as caught:
        sdgrad.value_and_grad(case.function, case.wrt)(*case.arguments())
    place, source, *_ = str(caught.value).splitlines()
    file, line = case.function.__code__.co_filename, int(place.rpartition(":")[2])
    assert file.endswith(place.rpartition(":")[0]) and linecache.getline(file, line).strip() == source.strip()
    assert REFUSED[case.name] in str(caught.value)
