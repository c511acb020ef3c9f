"""Values of stencil terms that are stored, and those that are recomputed for each neighbour."""

from dataclasses import replace

from treetext import program

from sdgrad.config import config
from sdgrad.optimize.reductions.stencil_recognition import stencils
from sdgrad.optimize.reductions.stencil_terms import is_light, shared_parts, with_part
from sdgrad.program.tree import Load
from sdgrad.symbolic.expr import sym

TWO_TERMS = """
argument x: float64[20]
argument a: float64[21]
body
  map i=0:20:
    t = x[i]
    e = {}
    u = {}
    a[i] += e
    a[i + 1] += u
"""


def group(first, second):
    found = program(TWO_TERMS.format(first, second))
    ((found,), _) = stencils(found.body[0], found)
    return found


def test_light_values():
    leaf = program(TWO_TERMS.format("2.0 * t", "t / e")).body[0]
    load, product, quotient = leaf.body[:3]
    assert is_light((load, product)) and not is_light((load, quotient))
    with config.override(machine=replace(config.machine, stencil_loads=0)):
        assert not is_light((load, product))


def test_a_shared_costly_value_is_stored():
    assert shared_parts(group("exp(t)", "2.0 * e")) == {"e": "e", "u": "e"}


def test_terms_that_share_nothing_costly_are_stored_themselves():
    assert shared_parts(group("exp(t)", "cos(t)")) == {"e": "e", "u": "u"}


def test_light_terms_are_recomputed():
    assert shared_parts(group("2.0 * t", "3.0 * t")) == {}


def test_loading_a_part():
    _, second = group("exp(t)", "2.0 * e").terms
    assert [str(i) for i in with_part(second, Load("e", "part", (sym("i"),)))] == ["e = part[i]", "u = 2.0 * e"]
