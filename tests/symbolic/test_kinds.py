"""Kinds of numbers of expressions."""

import pytest

from sdgrad.symbolic import code
from sdgrad.symbolic.kinds import expression

KINDS = {"a": "float", "z": "complex", "c": "bool"}


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("a > 1", "bool"),
        ("n + 1", "int"),
        ("n * a", "float"),
        ("n / 2", "float"),
        ("z + a", "complex"),
        ("abs(z)", "float"),
        ("sin(n)", "float"),
        ("a if c else n", "float"),
        ("not c", "bool"),
    ],
)
def test_kind(source, kind):
    assert expression(code.parse(source), KINDS) == kind
