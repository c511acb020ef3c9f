"""Tasklet code as straight-line instructions."""

import ast

import pytest
import sympy
from dace import subsets

from sdgrad.errors import UnsupportedNode
from sdgrad.lift.tasklets import (
    ArrayOperand,
    Output,
    ScalarOperand,
    as_sums_and_products,
    elementary_steps,
    lift_code,
    signed,
)
from sdgrad.program.names import Names
from sdgrad.program.tree import Let, Store
from sdgrad.program.window import Axis, Window
from sdgrad.symbolic import code


def array(name: str, size: int) -> ArrayOperand:
    """A connector that carries a whole vector."""
    one, zero = sympy.Integer(1), sympy.Integer(0)
    return ArrayOperand(Window(name, (zero,), (Axis(0, one),)), subsets.Range([(zero, size - one, one)]))


def lifted(source: str) -> list[str]:
    """Code over scalars ``a``, ``b`` and a vector ``p``, with outputs ``out`` to ``y[0]`` and ``q`` to a vector."""
    inputs = {"a": ScalarOperand("a0"), "b": ScalarOperand("b0"), "p": array("P", 8)}
    outputs = {"out": Output(array("y", 1)), "q": Output(array("Q", 8))}
    body = ast.parse(source).body
    instrs, _ = lift_code(body, inputs, outputs, {"n": code.name("n")}, Names())
    return list(map(str, instrs))


def test_polynomials_stay_together_and_calls_are_named():
    assert lifted("out = 2 * a * b + sin(a * b)") == [
        "v = a0 * b0",
        "v_0 = sin(v)",
        "v_1 = 2 * a0 * b0 + v_0",
        "y[0] = v_1",
    ]


def test_quotients_and_powers_are_named():
    assert lifted("out = a / b + a ** 2") == ["v = a0 / b0", "v_0 = a0 ** 2", "v_1 = v + v_0", "y[0] = v_1"]


def test_subscripts_become_loads_and_stores():
    assert lifted("q[n] = p[n + 1]") == ["v = n + 1", "v_P = P[v]", "Q[n] = v_P"]


def test_an_if_becomes_a_choice():
    assert lifted("x = a\nif a > b:\n    x = b\nout = x") == ["c = a0 > b0", "v = b0 if c else a0", "y[0] = v"]


def test_an_output_under_a_condition_is_a_guarded_store():
    assert lifted("if a > b:\n    out = a") == ["c = a0 > b0", "y[0] = a0 if c"]


def test_loads_and_stores_under_a_condition_have_its_guard():
    assert lifted("if a > b:\n    q[0] = p[n]\nelse:\n    q[1] = a") == [
        "c = a0 > b0",
        "v_P = P[n] if c",
        "Q[0] = v_P if c",
        "c_0 = not c",
        "Q[1] = a0 if c_0",
    ]


def test_loops_of_constant_bounds_are_unrolled():
    assert lifted("for k in range(2):\n    q[k] = a") == ["Q[0] = a0", "Q[1] = a0"]


def test_a_value_that_nothing_uses_is_left_out():
    assert lifted("log(3)\na * sin(b)\nout = a") == lifted("out = a")


@pytest.mark.parametrize(
    "source, reason",
    [
        ("for k in range(n):\n    q[k] = a", "bounds are not constant"),
        ("for k in range(1000):\n    q[k] = a", "loops 1000 times"),
        ("while a > b:\n    out = a", "holds the statement 'while a > b:'"),
        ("print(a)\nout = a", "holds the statement 'print\\(a\\)'"),
        ("out = p + a", "without a subscript"),
        ("out = [a, b]", "uses '\\[a, b\\]'"),
        ("q[0, 1] = a", "with 2 indices"),
    ],
)
def test_other_code_is_refused(source, reason):
    with pytest.raises(UnsupportedNode, match=reason):
        lifted(source)


def test_a_definition_is_split_into_elementary_steps():
    let = Let("g", code.parse("cos(x) * sin(x * y)"))
    assert list(map(str, elementary_steps(let, Names()))) == [
        "v = cos(x)",
        "v_0 = x * y",
        "v_1 = sin(v_0)",
        "g = v * v_1",
    ]


def test_differences_and_quotients_in_place_are_sums_and_products():
    zero = (sympy.Integer(0),)
    found = as_sums_and_products([Store("x", zero, "u", "sub"), Store("x", zero, "u", "div")], Names())
    assert list(map(str, found)) == ["v = -u", "x[0] += v", "v_0 = 1 / u", "x[0] *= v_0"]


def test_the_sign_of_a_number_is_a_number():
    assert ast.unparse(signed(ast.USub(), code.constant(2))) == "-2"
    assert isinstance(signed(ast.USub(), code.constant(2)), ast.Constant)
    assert isinstance(signed(ast.USub(), code.name("x")), ast.UnaryOp)
