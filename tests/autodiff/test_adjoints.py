"""States of adjoints: known to be zero, seeded, live."""

from treetext import program, text

from sdgrad.autodiff.adjoints import Adjoints
from sdgrad.program.names import Names
from sdgrad.program.tree import Program

SOURCE = """
argument x: float64[4]
local t: float64[4]
local part: float64[2] view of t[0:2]
local h: float16[4]
body
"""


def adjoints():
    given = program(SOURCE)
    return Adjoints(given, Names(given.containers))


def shown(nodes):
    return text(Program("p", {}, {}, {}, tuple(nodes)))


def test_zero_until_something_is_added():
    found = adjoints()
    assert found.is_zero("t")
    assert shown(found.writable("t")) == "map i0=0:4:\n  v = 0\n  gradient_t[i0] = v"
    assert not found.is_zero("t")
    assert found.writable("t") == []  # it is live


def test_caller_that_defines_every_element_needs_no_zeros():
    found = adjoints()
    assert found.writable("t", zero=False) == []
    assert not found.is_zero("t")


def test_seed_is_copied_before_it_is_changed():
    found = adjoints()
    found.container("x")
    found.state["x"] = "seed"
    assert shown(found.writable("x")) == "map i0=0:4:\n  v = gradient_x[i0]\n  gradient_x_work[i0] = v"
    assert found.read("x").name == "gradient_x_work"


def test_view_has_the_state_of_its_memory():
    found = adjoints()
    found.writable("t")
    assert not found.is_zero("part")
    assert found.container("part").view_of == "gradient_t"


def test_only_what_is_private_to_a_region_may_be_forgotten():
    found = adjoints()
    assert found.may_forget("t")
    found.straight = frozenset({"t"})
    assert found.may_forget("part") and not found.may_forget("x")


def test_half_precision_has_single_precision_adjoints():
    assert adjoints().container("h").dtype.to_string() == "float32"
