"""Integer variables of a Python function that get a real number."""

from dataclasses import replace

import dace
import pytest
from dace import data as dt
from treetext import program

from sdgrad.canonicalize.integer_truncation import refuse_truncation
from sdgrad.errors import ParseError
from sdgrad.program.tree import Program


def with_variable(value: str, dtype: dace.typeclass) -> Program:
    """A program that binds a value to a variable ``s``."""
    found = program(f"""
    local s: int64[1]
    body
      do:
        v = {value}
        s[0] = v
    """)
    container = replace(found.containers["s"], desc=dt.Scalar(dtype, transient=True))
    return replace(found, containers={"s": container})


def test_a_real_number_in_an_integer_variable_is_refused():
    with pytest.raises(ParseError, match=r"'s' holds int numbers .* Write the first one as 0\.0"):
        refuse_truncation(with_variable("0.5", dace.int64))


@pytest.mark.parametrize("value, dtype", [("2", dace.int64), ("0.5", dace.float64), ("2", dace.float64)])
def test_numbers_that_fit_pass(value, dtype):
    refuse_truncation(with_variable(value, dtype))


def test_elements_of_arrays_are_truncated_as_in_numpy():
    refuse_truncation(
        program("""
    argument a: int64[4]
    body
      do:
        v = 0.5
        a[0] = v
    """)
    )
