"""Forward mode: tangents of the zoo's programs against JAX's, and the functions that compute them."""

import pytest
from programs import PROGRAMS
from references import check_forward


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_program(program):
    check_forward(program)
