"""Every program of the zoo: values as in NumPy, gradients as in JAX, a closed form or differences."""

import pytest
from programs import PROGRAMS
from references import check

UNPARSED: dict[str, str] = {}
"""Programs that DaCe's frontend cannot turn into a graph, with the reason."""

assert {n for n in UNPARSED} <= {p.name for p in PROGRAMS}


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.name not in UNPARSED], ids=str)
def test_program(program):
    check(program)
