"""Regions with a derivative of their own: their operands, and what they may not do."""

from dataclasses import replace

import dace
import pytest
from treetext import program

from sdgrad.errors import DifferentiationError
from sdgrad.lift.custom_regions import close_calls
from sdgrad.program.custom_call import CustomCall
from sdgrad.program.custom_rule import CustomRule
from sdgrad.program.tree import Program

SOURCE = """
    argument x: float64[8]
    argument y: float64[8]
    local t: float64[8]
    local u: float64[8]
    body
"""


def region(before: str, inside: str, after: str) -> Program:
    """A program of three parts, of which the second one is a region without variables."""
    parts = [program(SOURCE + part).body for part in (before, inside, after)]
    found = program(SOURCE)
    call = CustomCall(dace.nodes.Tasklet("region"), {}, {}, block=parts[1], rule=CustomRule("region", None))
    return replace(found, body=(*parts[0], call, *parts[2]), arguments=("x", "y"))


def closed(inside: str, after: str = "") -> CustomCall:
    found = close_calls(region("", inside, after), lambda p: p)
    return next(n for n in found.body if isinstance(n, CustomCall))


def operands(call: CustomCall) -> tuple[list[str], list[str]]:
    return sorted(map(str, call.inputs.values())), sorted(map(str, call.outputs.values()))


def test_what_is_read_is_an_input_and_what_is_written_an_output():
    call = closed("""
      map i=2:5:
        a = x[i]
        t[i] = a
      map i=2:5:
        a = t[i]
        y[i + 1] = a
    """)
    assert operands(call) == (["x[2:5]"], ["y[3:6]"])
    assert list(call.containers) == ["t"]


def test_a_container_that_the_program_uses_as_well_is_no_private_one():
    call = closed(
        """
      map i=0:8:
        a = x[i]
        t[i] = a
    """,
        """
      map i=0:8:
        a = t[i]
        y[i] = a
    """,
    )
    assert operands(call) == (["x[0:8]"], ["t[0:8]"])
    assert not call.containers


def test_what_is_overwritten_first_is_no_input():
    call = closed("""
      map i=0:8:
        a = 1.0
        y[i] = a
      map i=0:8:
        a = y[i]
        x[i] = a
    """)
    assert operands(call) == ([], ["x[0:8]", "y[0:8]"])


def test_an_update_is_both():
    assert operands(
        closed("""
      map i=0:8:
        a = 1.0
        y[i] += a
    """)
    ) == (["y[0:8]"], ["y[0:8]"])


def test_symbols_of_others_are_mentioned_and_own_ones_are_not():
    call = closed("""
      k := 3
      map i=0:m:
        a = x[k]
        y[i] = a
    """)
    assert call.mentioned == {"m"}


def test_a_symbol_that_the_region_assigns_and_others_use_is_refused():
    with pytest.raises(DifferentiationError, match="assigns k, which is used after it"):
        closed("      k := 3", "      map i=0:k:\n        a = 1.0\n        y[i] = a\n")


def test_programs_without_calls_stay():
    before = program(SOURCE)
    assert close_calls(before, lambda p: p) is before
