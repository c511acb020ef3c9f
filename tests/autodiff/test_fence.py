"""The fence: all that cannot be differentiated, at once."""

import pytest
from treetext import program

from sdgrad.analysis.activity import activity
from sdgrad.autodiff.fence import check_program, check_request
from sdgrad.autodiff.request import Request
from sdgrad.errors import DifferentiationError, NameNotFound, UnusedInputError

SOURCE = """
argument x: float64[8]
argument z: float64[8]
argument n: int64[8]
argument y: float64[8]
body
  map i=0:8:
    v = x[i]
    w = sin(v)
    y[i] = w
"""


def check(source, *inputs, unused="zero"):
    given, request = program(source), Request(inputs, ("y",), unused=unused)
    check_request(given, request)
    check_program(given, request, activity(given, inputs, ("y",)))


def problems(source, *inputs):
    with pytest.raises(DifferentiationError) as caught:
        check(source, *inputs)
    return [p.construct for p in caught.value.problems]


def test_differentiable_programs_pass():
    check(SOURCE, "x", "z")


def test_names_that_are_not_there():
    with pytest.raises(NameNotFound):
        check(SOURCE, "other")


def test_integers_have_no_gradient():
    assert problems(SOURCE, "n") == ["input 'n'"]


def test_every_problem_is_reported():
    bad = SOURCE + "  map j=0:8:\n    a = x[j]\n    b = unheard(a)\n    y[j] bitor= b\n"
    assert problems(bad, "x") == ["function 'unheard'", "write-conflict resolution 'bitor'"]


def test_what_carries_no_derivative_may_be_anything():
    check(SOURCE + "  map j=0:8:\n    a = z[j]\n    b = unheard(a)\n    y[j] = b\n", "x")


def test_input_without_influence():
    with pytest.raises(UnusedInputError, match="'z'"):
        check(SOURCE, "x", "z", unused="error")
