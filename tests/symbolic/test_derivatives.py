"""Partials of one instruction: expression in, partials out."""

import ast

import pytest

from sdgrad.symbolic import code
from sdgrad.symbolic.derivatives import NoDerivative, partials, pull, push

KINDS = {"a": "float", "b": "float", "c": "bool", "z": "complex", "n": "int"}


def found(expression):
    """``operand: factor if guard`` for each partial."""
    shown = []
    for p in partials("y", code.parse(expression), KINDS):
        factor = "1" if p.factor is None else ast.unparse(p.factor)
        shown.append(f"{p.operand}: {factor}" + (f" if {ast.unparse(p.guard)}" if p.guard else ""))
    return shown


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("a * b + 2 * a", ["a: b + 2", "b: a"]),
        ("sin(a)", ["a: cos(a)"]),
        ("sqrt(a)", ["a: 0.5 / y"]),  # by the result
        ("a / b", ["a: 1 / b", "b: -y / b"]),
        ("a ** 3", ["a: 3 * a ** 2"]),
        ("a if c else b", ["a: 1 if c", "b: 1 if not c"]),
        (
            "max(a, b)",
            [
                "a: 0.5 * ((a > b) + (a >= b)) if a >= b",
                "b: 0.5 * (2 - ((a > b) + (a >= b))) if not a > b",
            ],
        ),
        ("floor(a)", []),
        ("n + 1", []),
        ("a > b", []),
    ],
)
def test_partials(expression, expected):
    assert found(expression) == expected


def test_function_without_a_row():
    with pytest.raises(NoDerivative, match="unheard"):
        found("unheard(a)")


def contribution(expression, operand):
    kinds = {**KINDS, "y": "complex" if "z" in expression else "float"}
    (partial,) = (p for p in partials("y", code.parse(expression), KINDS) if p.operand == operand)
    back = pull(partial, code.name("g"), kinds, "y", False, "dace.complex128")
    return ast.unparse(back), ast.unparse(push(partial, code.name("d"), kinds, "y", "dace.complex128"))


@pytest.mark.parametrize(
    ("expression", "operand", "expected"),
    [
        ("a * b", "a", ("b * g", "b * d")),
        ("a if c else b", "b", ("g", "d if not c else 0")),  # a cotangent keeps its condition until it is stored
        ("log(a)", "a", ("g / a", "sdgrad_strong(d / a, d)")),
        ("z * a", "z", ("conj(a) * g", "a * d")),  # the cotangent goes by the conjugate
        ("z * a", "a", ("real(conj(z) * g)", "z * d")),
        ("conj(z)", "z", ("conj(g)", "conj(d)")),
    ],
)
def test_contributions(expression, operand, expected):
    assert contribution(expression, operand) == expected
