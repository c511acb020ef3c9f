"""Labels of nodes as names that C++ takes."""

import pytest

from sdgrad.program.dataflow import identifier


@pytest.mark.parametrize(
    ("label", "name"), [("/2/Gemm", "Gemm"), ("a.b-c", "a_b_c"), ("_x_", "x"), ("42", ""), ("größe", "gr__e")]
)
def test_identifiers(label, name):
    assert identifier(label) == name
