"""Bounds and steps of reversed loops."""

import pytest
from treetext import program, text

from sdgrad.autodiff.reversed_loops import backwards_loop, last_value, negated
from sdgrad.program.tree import Load, Program, Value
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import sym


def value(source, *loads):
    return Value(loads, code.parse(source))


@pytest.mark.parametrize(
    ("start", "stop", "step", "last"),
    [
        ("1", "7", "2", "7"),
        ("0", "7", "2", "6"),
        ("7", "0", "-3", "1"),
        ("a", "b", "1", "b"),
        ("a", "b", "-1", "b"),
        ("a", "b", "2", "a + 2 * int_floor(-a + b + 2, 2) - 2"),
        ("4", "3", "2", "2"),  # no trip
    ],
)
def test_last_iteration(start, stop, step, last):
    assert str(last_value(value(start), value(stop), value(step))) == last


def test_bounds_from_memory_stay_code():
    load = Load("n", "sizes", (sym("k"),))
    assert str(last_value(value("0"), value("n", load), value("1"))) == (
        "0 + (int_floor(n - 0 + 1, 1) - 1) * 1 with n = sizes[k]"
    )


@pytest.mark.parametrize(("step", "expected"), [("1", "-1"), ("-2", "2"), ("s", "-s")])
def test_negated_step(step, expected):
    assert str(negated(value(step))) == expected


def test_map_becomes_loops_from_the_last_instance_on():
    given = program("""
        argument x: float64[8]
        body
          map i=0:8, j=0:8:2:
            loop k = 0 .. 1 step 1:
              do:
                v = x[j]
                x[i] = v
    """)
    (scope,) = given.body
    shown = text(Program("p", given.containers, {}, {}, (backwards_loop(scope),)))
    assert shown.startswith("loop i = 7 .. 0 step -1:\n  loop j = 6 .. 0 step -2:\n    scope:\n")
