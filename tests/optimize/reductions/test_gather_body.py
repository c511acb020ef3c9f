"""The code of a gather nest: shifted terms, and guards where their iteration may not exist."""

import ast

from treetext import expression, program

from sdgrad.optimize.reductions.gather_body import GatherBody
from sdgrad.optimize.reductions.stencil_recognition import stencils
from sdgrad.program.naming import all_names

STENCIL = """
argument x: float64[20]
argument a: float64[21]
body
  map i=0:20:
    t = x[i]
    a[i] += t
    a[i + 1] += t
"""


def stencil():
    found = program(STENCIL)
    ((group,), _) = stencils(found.body[0], found)
    return group, GatherBody(all_names(found), found.body[0].params, group)


def box(low, high):
    return [(expression(low), expression(high))]


def written(body):
    return [str(i) for i in body.body]


def test_a_term_is_shifted():
    group, body = stencil()
    assert ast.unparse(body.term(group.terms[1], None)) == "t_0"
    assert written(body) == ["t_0 = x[i - 1]"]


def test_a_guarded_term():
    group, body = stencil()
    when = body.inside(box("1", "25"))
    value = body.term(group.terms[1], when)
    assert written(body) == ["v = i >= 1", "t_0 = x[i - 1] if v"]
    assert ast.unparse(value) == "t_0 if v else 0"


def test_conditions():
    _, body = stencil()
    assert body.inside(box("0", "19")) is None, "true of all iterations"
    assert body.inside(box("1", "18")) == body.inside(box("1", "18")) == "v"
    assert written(body) == ["v = i >= 1 and i <= 18"]


def test_the_old_value():
    _, body = stencil()
    body.old_value(None)
    body.old_value("zeroed")
    assert written(body) == ["v = a[i]", "v_1 = not zeroed", "v_0 = a[i] if v_1"]
