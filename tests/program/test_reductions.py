"""Identities of reductions."""

import ast

import dace
import pytest

from sdgrad.program.reductions import identity, is_identity


@pytest.mark.parametrize(
    ("mode", "dtype", "expected"),
    [
        ("sum", dace.float64, "0"),
        ("prod", dace.float64, "1"),
        ("max", dace.float64, "-1e309"),
        ("min", dace.int32, "2147483647"),
        ("max", dace.int32, "-2147483648"),
        ("and", dace.bool_, "True"),
    ],
)
def test_identity(mode, dtype, expected):
    assert ast.unparse(identity(mode, dtype)) == expected


@pytest.mark.parametrize(
    ("mode", "number", "expected"),
    [
        ("sum", 0, True),
        ("sum", 1, False),
        ("prod", 1.0, True),
        ("max", float("-inf"), True),
        ("max", 0.0, False),
        ("or", 0, True),
        ("bitxor", 0, False),
        ("sum", "n", False),
    ],
)
def test_is_identity(mode, number, expected):
    assert is_identity(mode, number, dace.float64) is expected
