"""Loops whose step is not written as a number: DaCe takes it to be positive. They count their trips instead."""

from __future__ import annotations

import ast

from sdgrad.frontend.syntax import bound_values, each_statement, is_range, statement


def plain_steps(function: ast.FunctionDef) -> None:
    """Rewrite a function so that every ``range`` steps by a number that is written there."""
    negative_numbers(function)
    function.body = each_statement(function.body, _counted)


def negative_numbers(function: ast.FunctionDef) -> None:
    """Names that are one negative integer all the time are that integer: steps, and indices from the end."""
    arguments = {a.arg for a in function.args.args}
    bound = {n: v for n, v in bound_values(function).items() if n not in arguments and len(v) == 1}
    numbers = {n: v[0] for n, v in bound.items() if _is_negative(v[0])}
    if numbers:
        function.body = [_Inlined(numbers).visit(s) for s in function.body]


def _is_negative(value: ast.expr | None) -> bool:
    return (
        isinstance(value, ast.UnaryOp)
        and isinstance(value.op, ast.USub)
        and isinstance(value.operand, ast.Constant)
        and type(value.operand.value) is int
    )


class _Inlined(ast.NodeTransformer):
    def __init__(self, numbers: dict) -> None:
        self.numbers = numbers

    def visit_Name(self, node: ast.Name) -> ast.expr:
        found = self.numbers.get(node.id) if isinstance(node.ctx, ast.Load) else None
        return ast.copy_location(ast.parse(ast.unparse(found), mode="eval").body, node) if found is not None else node


def _counted(loop: ast.stmt) -> list[ast.stmt]:
    """``for i in range(a, b, s)`` as a loop over trips, of which there are ``ceil((b - a) / s)``."""
    if not (isinstance(loop, ast.For) and is_range(loop.iter) and len(loop.iter.args) == 3):
        return [loop]
    call, where = loop.iter, f"{loop.lineno}_{loop.col_offset}"
    if isinstance(call.args[2], ast.Constant) or _is_negative(call.args[2]) or not isinstance(loop.target, ast.Name):
        return [loop]
    first, last, step, trips, trip = (f"{n}_{where}" for n in ("first", "last", "step", "trips", "trip"))
    given = zip((first, last, step), call.args, strict=True)
    before = [statement(f"{n} = +({ast.unparse(v)})", loop) for n, v in given]
    before.append(statement(f"{trips} = max(0, -(({first} - {last}) // {step}))", loop))
    loop.body.insert(0, statement(f"{loop.target.id} = {first} + {trip} * {step}", loop))
    loop.target = ast.copy_location(ast.Name(trip, ast.Store()), loop.target)
    loop.iter = ast.copy_location(ast.parse(f"range({trips})", mode="eval").body, call)
    return [*before, loop]
