"""Run loops and maps backwards: the bounds and the step of the reversed iteration.

``loop i = a .. b step s`` becomes ``loop i = last .. a step -s``, with
``last`` = ``a + (floor((b - a + s) / s) - 1) * s``:
C++ divides towards zero. A loop without a trip may end less than a step before it begins; with ``floor((b - a) / s)``,
which is 0 then, the reversed loop would have a trip.
"""

from __future__ import annotations

import ast
from dataclasses import replace

import sympy
from dace import symbolic

from sdgrad.program.tree import Loop, Node, Scope, Value
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import to_ast, to_expr


def backwards_loop(scope: Scope) -> Node:
    """Return a map as nested loops over its instances, the last one first."""
    node: Node = replace(scope, params=())
    for p in reversed(scope.params):
        start, stop, step = (Value((), to_ast(sympy.sympify(x))) for x in (p.start, p.stop, p.step))
        node = Loop(p.name, last_value(start, stop, step), start, negated(step), (node,), scope.source)
    return node


def last_value(start: Value, stop: Value, step: Value) -> Value:
    """Return the loop variable in the last iteration; one before the first if there is none."""
    loads = (*start.loads, *stop.loads, *step.loads)
    if loads:
        a, b, s = (f"({ast.unparse(v.expr)})" for v in (start, stop, step))
        return Value(loads, code.parse(f"{a} + (int_floor({b} - {a} + {s}, {s}) - 1) * {s}"))
    first, end, by = (to_expr(ast.unparse(v.expr)) for v in (start, stop, step))
    if by in (1, -1):
        return Value((), to_ast(sympy.sympify(end)))
    return Value((), to_ast(first + (symbolic.int_floor(end - first + by, by) - 1) * by))


def negated(step: Value) -> Value:
    """Return the step of the reversed loop."""
    try:
        return Value((), code.parse(str(-int(ast.literal_eval(step.expr)))))
    except (ValueError, TypeError):
        return Value(step.loads, ast.UnaryOp(op=ast.USub(), operand=step.expr))
