"""Read the values of a leaf as sums and products, and change the parameters of a leaf.

Values are taken apart as they are written, without rewriting: ``v = a * b; w = v + c`` has the addends ``v`` and
``c``, and ``v`` has the factors ``a`` and ``b``.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

import sympy

from sdgrad.program.leaves import live, rename_instr
from sdgrad.program.tree import Expr, Leaf, Let, Param, Store
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import free_names, sym


def upright(leaf: Leaf) -> Leaf:
    """Skew a leaf so that ``p + q`` becomes ``p`` in its subscripts; unchanged if no parameter is used like that.

    This is the change of variables ``p + q -> p`` (loop skewing, Wolfe 1989): ``for q, p: y[q] += x[p + q]`` with
    ``p < n`` becomes ``y[q] += x[p]`` with ``q <= p < q + n``.
    """
    pairs = ((p, q) for p in leaf.params for q in leaf.params if p is not q)
    return next((skewed for p, q in pairs if (skewed := _skewed(p, q, leaf)) is not None), leaf)


def _skewed(p: Param, q: Param, leaf: Leaf) -> Leaf | None:
    """Replace ``p + q`` by ``p`` in a leaf; None if ``p`` occurs in any other way."""
    by, origin = sym(p.name), sym(q.name)
    if not _occurs_as_offset(p, q, leaf):
        return None
    moved = (rename_instr(i, {}, {p.name: by - origin}) for i in leaf.body)
    body = tuple(i if isinstance(i, Let) else replace(i, index=tuple(map(sympy.expand, i.index))) for i in moved)
    params = (*(o for o in leaf.params if o is not p), replace(p, start=p.start + origin, stop=p.stop + origin))
    return replace(leaf, params=params, body=body)


def _occurs_as_offset(p: Param, q: Param, leaf: Leaf) -> bool:
    """True if a leaf mentions ``p`` only in subscripts, and there only in ``p + q``, up to other parameters."""
    if any(p.name in i.names for i in leaf.lets) or any(p.name in free_names(o.start, o.stop) for o in leaf.params):
        return False
    by, origin = sym(p.name), sym(q.name)
    seen = [e for i in leaf.body if not isinstance(i, Let) for e in i.index if p.name in free_names(e)]
    if not seen or not all(q.name in free_names(e) for e in seen):
        return False
    return all(
        e.coeff(by) == 1 and e.coeff(origin) == 1 and not (e - by - origin).has(by, origin)
        for e in map(sympy.expand, seen)
    )


def range_without(param: Param, gone: set[str], params: Sequence[Param]) -> Param | None:
    """Project a parameter's range: all its values for any values of other parameters.

    None if that is no interval, or if an end depends on more than one of the others.

    :param gone: the other parameters.
    """
    starts, stops = (free_names(e) & gone for e in (param.start, param.stop))
    if not starts and not stops:
        return param
    if (starts and stops) or len(starts | stops) > 1 or param.step != 1:
        return None
    other = next(p for p in params if p.name in starts | stops)
    end = "start" if starts else "stop"
    widest = _extreme(getattr(param, end), other, lowest=end == "start") if _is_closed(other, params) else None
    return replace(param, **{end: widest}) if widest is not None else None


def _is_closed(param: Param, params: Sequence[Param]) -> bool:
    """True if a parameter takes all values between bounds that depend on no parameter."""
    return param.step == 1 and not free_names(param.start, param.stop) & {p.name for p in params}


def _extreme(bound: Expr, other: Param, lowest: bool) -> Expr | None:
    """Return the least or greatest value of a bound for any value of a parameter; None unless its slope is 1 or -1."""
    bound, by = sympy.expand(bound), sym(other.name)
    slope = bound.coeff(by)
    if slope not in (1, -1) or (bound - slope * by).has(by):
        return None
    return bound.subs(by, other.start if (slope == 1) == lowest else other.stop)


def factors(leaf: Leaf, value: ast.expr) -> list[ast.expr]:
    """Return the factors of a value, as far as it is written as a product; else the value alone."""
    return _operands(leaf, value, ast.Mult)


def addends(leaf: Leaf, name: str) -> list[ast.expr]:
    """Return the addends of a value, as far as it is written as a sum; else the value alone."""
    return _operands(leaf, code.name(name), ast.Add)


def _operands(leaf: Leaf, value: ast.expr, op: type[ast.operator]) -> list[ast.expr]:
    """Return the operands of nested uses of one operator, following lets."""
    lets = {i.name: i.expr for i in leaf.lets}

    def taken_apart(expr: ast.expr) -> list[ast.expr]:
        """Return the operands of an expression; a name alone unless its let has several."""
        if isinstance(expr, ast.Name) and isinstance(lets.get(expr.id), (ast.Name, ast.BinOp)):
            inner = taken_apart(lets[expr.id])
            return inner if len(inner) > 1 or isinstance(inner[0], ast.Name) else [expr]
        if isinstance(expr, ast.BinOp) and isinstance(expr.op, op):
            return [*taken_apart(expr.left), *taken_apart(expr.right)]
        return [expr]

    return taken_apart(value)


def each_sum(leaf: Leaf) -> tuple[Leaf, ...]:
    """Distribute a leaf that adds to one array several times: one leaf for each store; the leaf alone if it cannot."""
    targets = [s.container for s in leaf.stores]
    if len(set(targets)) == len(targets) or set(targets) & {x.container for x in leaf.loads} or leaf.sequential:
        return (leaf,)
    if any(s.mode != "sum" or s.fresh for s in leaf.stores):
        return (leaf,)
    others = [i for i in leaf.body if not isinstance(i, Store)]
    return tuple(replace(leaf, body=live((*others, s), set())) for s in leaf.stores)
