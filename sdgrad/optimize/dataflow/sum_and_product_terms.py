"""The parameters of a leaf in other terms, and its values as sums and products."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

import sympy

from sdgrad.program.leaves import live, mentioned, rename_instr
from sdgrad.program.tree import Leaf, Let, Param, Store
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import free_names, sym


def upright(leaf: Leaf) -> Leaf:
    """The leaf with parameters that are only used as distances from others as places: ``p + q`` becomes ``p``."""
    pairs = ((p, q) for p in leaf.params for q in leaf.params if p is not q)
    return next((moved for p, q in pairs if (moved := _from(p, q, leaf)) is not None), leaf)


def _from(p: Param, q: Param, leaf: Leaf) -> Leaf | None:
    by, origin = sym(p.name), sym(q.name)
    if any(p.name in mentioned(i) for i in leaf.lets) or free_names(q.start, q.stop) & {p.name}:
        return None
    seen = [sympy.expand(e) for i in leaf.body if not isinstance(i, Let) for e in i.index if p.name in free_names(e)]
    if not seen or any(e.coeff(by) != 1 or e.coeff(origin) != 1 or (e - by - origin).has(by, origin) for e in seen):
        return None
    if any(p.name in free_names(o.start, o.stop) for o in leaf.params):
        return None
    moved = (rename_instr(i, {}, {p.name: by - origin}) for i in leaf.body)
    body = tuple(i if isinstance(i, Let) else replace(i, index=tuple(map(sympy.expand, i.index))) for i in moved)
    params = (*(o for o in leaf.params if o is not p), replace(p, start=p.start + origin, stop=p.stop + origin))
    return replace(leaf, params=params, body=body)


def range_without(param: Param, gone: set[str], params: Sequence[Param]) -> Param | None:
    """A parameter with all the values that it takes for any of other parameters; None where that is no plain range."""
    starts, stops = (free_names(e) & gone for e in (param.start, param.stop))
    if not starts and not stops:
        return param
    if (starts and stops) or len(starts | stops) > 1 or param.step != 1:
        return None
    other = next(p for p in params if p.name in starts | stops)
    if free_names(other.start, other.stop) & {p.name for p in params} or other.step != 1:
        return None
    bound = sympy.expand(param.start if starts else param.stop)
    by = sym(other.name)
    slope = bound.coeff(by)
    if slope not in (1, -1) or (bound - slope * by).has(by):
        return None
    end = other.start if (slope == 1) == bool(starts) else other.stop
    return replace(param, **{"start" if starts else "stop": bound.subs(by, end)})


def factors(leaf: Leaf, value: ast.expr) -> list[ast.expr]:
    """A value as a product, as far as it is written as one."""
    return _operands(leaf, value, ast.Mult)


def addends(leaf: Leaf, name: str) -> list[ast.expr]:
    """A value as a sum, as far as it is written as one."""
    return _operands(leaf, code.name(name), ast.Add)


def _operands(leaf: Leaf, value: ast.expr, op: type[ast.operator]) -> list[ast.expr]:
    lets = {i.name: i.expr for i in leaf.lets}

    def taken_apart(expr: ast.expr) -> list[ast.expr]:
        if isinstance(expr, ast.Name) and isinstance(lets.get(expr.id), (ast.Name, ast.BinOp)):
            inner = taken_apart(lets[expr.id])
            return inner if len(inner) > 1 or isinstance(inner[0], ast.Name) else [expr]
        if isinstance(expr, ast.BinOp) and isinstance(expr.op, op):
            return [*taken_apart(expr.left), *taken_apart(expr.right)]
        return [expr]

    return taken_apart(value)


def each_sum(leaf: Leaf) -> tuple[Leaf, ...]:
    """A leaf that adds to an array several times as a leaf for each of its stores."""
    targets = [s.container for s in leaf.stores]
    if len(set(targets)) == len(targets) or set(targets) & {x.container for x in leaf.loads} or leaf.sequential:
        return (leaf,)
    if any(s.mode != "sum" or s.fresh for s in leaf.stores):
        return (leaf,)
    others = [i for i in leaf.body if not isinstance(i, Store)]
    return tuple(replace(leaf, body=live((*others, s), set())) for s in leaf.stores)
