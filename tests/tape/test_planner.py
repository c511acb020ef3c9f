"""Operands of calls, and how the parts of a plan come together."""

import numpy as np

from sdgrad.autodiff.differentiate import differentiate_program
from sdgrad.autodiff.request import Request
from sdgrad.specialize.signature import Signature


def plan_of(function, *args):
    names = function.__code__.co_varnames[: len(args)]
    program = Signature.parse(function, dict(zip(names, args, strict=True))).program
    outputs = tuple(n for n in program.arguments if n.startswith("__return"))
    return differentiate_program(program, Request(("x",), outputs, accumulate=False)).plan


def solved(x, w):
    y = np.linalg.solve(x, w)
    return np.sum(y * y)


def solved_again_and_again(x, w):
    y = np.copy(w)
    for _ in range(3):
        y[:] = np.linalg.solve(x, y)
        x[:] = 1.5 * x
    return np.sum(y * y)


X, W = np.eye(4), np.ones(4)


def test_an_operand_of_a_call_that_survives():
    assert not plan_of(solved, X, W).regions


def test_an_operand_of_a_call_that_is_overwritten():
    plan = plan_of(solved_again_and_again, X, W)
    kept = {region.kept.of: region for region in plan.regions.values()}
    assert {"factors", "interchanges"} <= kept.keys()
    assert [str(n) for n in kept["factors"].kept.tape.shape] == ["3", "4", "4"]
    assert kept["factors"].scratch.shape == (4, 4)


def test_a_plan_prints_what_it_keeps(planned):
    found = planned("""
      loop j = 0 .. 7 step 1:
        map i=0:8:
          v = x[i]
          u = sin(v)
          x[i] = u
      map i=0:8:
        v = x[i]
        s[0] += v
    """)
    assert found.tape == ["tape_x[j, i] keeps v = x[i]"]
    assert found.plan.numbers() == 64
