"""Headers and declarations before generated code."""

import dace
from treetext import program

from sdgrad.program.prelude import functions, is_vectorized, prelude

SOURCE = """
argument x: float64[8]
body
  map i=0:8:
    v = x[i]
    w = {}
    x[i] = w
"""


def leaf(expression):
    return program(SOURCE.format(expression)).body[0]


def test_functions_with_versions_for_several_numbers_are_declared():
    text = prelude((leaf("exp(v)"),), {dace.float64})
    assert "__GLIBC_PREREQ(2, 22)" in text
    assert '__attribute__((simd("notinbranch"))) double exp(double) noexcept;' in text
    assert "using std::exp" not in text


def test_single_precision_needs_the_overloads_of_std():
    assert "using std::exp;" in prelude((leaf("exp(v)"),), {dace.float32})


def test_nothing_is_needed_for_products():
    assert prelude((leaf("v * v"),), {dace.float64}) == ""
    assert not is_vectorized(leaf("v * v"))


def test_own_functions_come_from_a_header():
    assert "sdgrad_math.h" in prelude((leaf("sdgrad_sin(v)"),), {dace.float64})


def test_functions_of_a_leaf():
    assert functions(leaf("sin(v) + v ** 3")) == {"sin", "pow"}
    assert functions(leaf("sdgrad_sin(v)")) == {"sin", "sdgrad_sin"}
