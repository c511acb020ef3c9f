"""Loops that give arrays another shape in each trip are written out, trip by trip.

``for i in range(K): v = np.reshape(y, (2**i, -1))`` has no array of one shape for ``v``. Where the number of trips is
known when the program is parsed, each trip gets names of its own, and ``i`` is a number in it.
"""

from __future__ import annotations

import ast
import copy
from functools import partial

from sdgrad.errors import ParseError
from sdgrad.frontend.sizes import Inline, shaping_names
from sdgrad.frontend.syntax import change_blocks, is_range

MOST_TRIPS = 64


def unroll_shaping_loops(function: ast.FunctionDef) -> None:
    """Rewrite a function so that no shape is made of a loop variable."""
    shaping = shaping_names(function)
    if not any(isinstance(n, ast.For) and _variable(n) in shaping for n in ast.walk(function)):
        return
    bound = {a.arg for a in function.args.args}
    function.body = _block(function.body, shaping, bound, {})


def _block(block: list[ast.stmt], shaping: set[str], bound: set[str], renamed: dict[str, ast.Name]) -> list[ast.stmt]:
    out: list[ast.stmt] = []
    for statement in block:
        statement = _Rename(renamed).visit(statement) if renamed else statement
        if isinstance(statement, ast.For) and (trips := _trips(statement, shaping)) is not None:
            for trip in trips:
                names = {n: ast.Name(f"{n}_{trip}") for n in _bound(statement.body) - bound}
                names.pop(trip_name := _variable(statement), None)
                body = [_Rename(names).visit(copy.deepcopy(s)) for s in statement.body]
                body = [Inline({trip_name: ast.Constant(trip)}).visit(s) for s in body]
                out += _block(body, shaping, set(bound), {})
                renamed.update(names)
            continue
        change_blocks(statement, partial(_block, shaping=shaping, bound=bound | _bound(block), renamed={}))
        bound |= _bound([statement])
        out.append(statement)
    return out


def _variable(loop: ast.For) -> str:
    return loop.target.id if isinstance(loop.target, ast.Name) else ""


def _trips(loop: ast.For, shaping: set[str]) -> range | None:
    """The trips of a loop to be written out; None for other loops."""
    if _variable(loop) not in shaping or not is_range(loop.iter):
        return None
    values = [a.value if isinstance(a, ast.Constant) else None for a in loop.iter.args]
    if not all(type(v) is int for v in values):
        return None
    trips = range(*(v for v in values if isinstance(v, int)))
    if len(trips) > MOST_TRIPS:
        raise ParseError(
            f"line {loop.lineno}: '{_variable(loop)}' makes shapes, so that each of the loop's {len(trips)} trips has "
            f"arrays of its own; at most {MOST_TRIPS} are written out"
        )
    return trips


def _bound(body: list[ast.stmt]) -> set[str]:
    nodes = [n for s in body for n in ast.walk(s)]
    return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


class _Rename(ast.NodeTransformer):
    def __init__(self, names: dict[str, ast.Name]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        new = self.names.get(node.id)
        return ast.copy_location(ast.Name(new.id, node.ctx), node) if new is not None else node
