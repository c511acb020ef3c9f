"""Accesses beyond an array's ends: NumPy counts negative indices from the end, and cuts slices off there.

What is looked at are accesses in loops, where sizes and bounds are numbers and no condition keeps a trip from
happening: what certainly happens. Indices that only a run knows are taken to be fine.
"""

from __future__ import annotations

from dataclasses import replace

import islpy as isl
import sympy

from sdgrad.analysis.places import Place, dims_of, places
from sdgrad.analysis.relations import access_relation
from sdgrad.errors import ParseError
from sdgrad.program.tree import Block, Branch, Leaf, Load, Loop, Node, Program, Scope, Store, children, with_children
from sdgrad.symbolic.expr import Expr, free_names


def within_arrays(program: Program) -> Program:
    """The program with negative indices counted from the end.

    :raises ParseError: a slice certainly begins before its array or ends beyond it, or an index is out of range.
    """
    wrapped: dict[tuple[int, ...], Leaf] = {}
    for place, node in places(program.body):
        certain = not any(isinstance(n, Branch) or isinstance(n, Loop) and n.also is not None for _, n in place.outer)
        if isinstance(node, Leaf) and place.loops and certain:
            body = tuple(_within(i, node, place, program) if isinstance(i, (Load, Store)) else i for i in node.body)
            if body != node.body:
                wrapped[place.path] = replace(node, body=body)
    return replace(program, body=_replaced(program.body, (), wrapped)) if wrapped else program


def _replaced(block: Block, path: tuple[int, ...], by: dict[tuple[int, ...], Leaf]) -> Block:
    out: list[Node] = []
    for k, node in enumerate(block):
        here = (*path, k)
        inner = tuple(_replaced(b, (*here, arm), by) for arm, b in enumerate(children(node)))
        out.append(by.get(here) or with_children(node, inner))
    return tuple(out)


def _within(access: Load | Store, leaf: Leaf, place: Place, program: Program) -> Load | Store:
    """An access with its negative indices counted from the end."""
    shape = program.containers[access.container].shape
    if access.guard is not None or not all(n.is_number for n in shape):
        return access
    index = [_index(e, int(n), access, leaf, place) for e, n in zip(access.index, shape, strict=True)]
    return replace(access, index=tuple(index)) if index != list(access.index) else access


def _index(expr: Expr, size: int, access: Load | Store, leaf: Leaf, place: Place) -> Expr:
    _refuse_negative_end(expr, access, leaf, place)
    own = {p.name for p in leaf.params} | {d.name for _, n in place.outer if isinstance(n, Scope) for d in dims_of(n)}
    used = free_names(expr)
    ranges = {n for p in leaf.params if p.name in used for n in free_names(p.start, p.stop)}
    if not (used | ranges) - own:
        return expr
    found = _values(expr, leaf, place, True)
    if found is None or found.is_subset(_interval(0, size)):
        return expr
    if not used & own and found.is_subset(_interval(-size, size)):
        return sympy.Mod(expr + size, size)
    raise ParseError(
        f"{leaf.source}: a slice or an index of '{access.container}' reaches beyond its array, of {size} elements, "
        "in some trip of a loop. Slices are not cut off there: write min(.., the array's size) for their end"
    )


def _refuse_negative_end(expr: Expr, access: Load | Store, leaf: Leaf, place: Place) -> None:
    """``x[: k - 3]`` counts from the end where ``k`` is below 3: here it would have nothing."""
    for p in leaf.params:
        if p.step == 1 and expr.coeff(_symbol(expr, p.name)) == 1:
            end = expr.subs(_symbol(expr, p.name), p.stop + 1)
            found = _values(end, leaf, place, False)
            if found is not None and not found.is_subset(_interval(0, 1 << 60)):
                raise ParseError(
                    f"{leaf.source}: a slice of '{access.container}' has a negative end in some trip of a loop. Bounds "
                    "that a loop computes are not counted from the array's end: add its size"
                )


def _symbol(expr: Expr, name: str) -> sympy.Symbol:
    return next((s for s in expr.free_symbols if s.name == name), sympy.Symbol(name))


def _values(expr: Expr, leaf: Leaf, place: Place, own: bool) -> isl.Set | None:
    """The values of an expression in all trips; None where they are not known exactly."""
    local = frozenset(i.name for i in leaf.body if not isinstance(i, Store))
    params = leaf.params if own else ()
    dims = [(d.name, d.param) for d in place.dims] + [(p.name, p) for p in params]
    found = access_relation((expr,), dims, local, 1)
    return found.elements if found.exact and found.map.dim(isl.dim_type.param) == 0 else None


def _interval(first: int, end: int) -> isl.Set:
    return isl.Set(f"{{ [e0] : {first} <= e0 < {end} }}")
