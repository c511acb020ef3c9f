"""Split innermost loops where a subscript begins again on a ring, so that each part walks memory.

Index-set splitting (Allen & Kennedy 2001, 5.3)::

    map i=0:n, j=0:512: y[i, j] = x[i, (j + 1) % 512]      map i=0:n:
                                                             map j=0:511: y[i, j] = x[i, j + 1]
                                                             do:          y[i, 511] = x[i, 0]

Outer loops keep their moduli, which cost nothing beside a row. So do the ends of a loop with many different turns.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import sympy

from sdgrad.program.leaves import rename_instr
from sdgrad.program.tree import Block, Expr, Leaf, Let, Node, Param, Program, Scope, rewritten
from sdgrad.program.turned import Turned, stays_within, turned

MOST_CUTS = 2
"""With more, only the longest part has no moduli: each part has a body of its own to compile."""


def split_rings(program: Program) -> Program:
    """Split the innermost loops of leaves at the ends of rings."""

    def split(node: Node) -> Block:
        return _split(node) if isinstance(node, Leaf) else (node,)

    return replace(program, body=rewritten(program.body, split))


def _split(leaf: Leaf) -> Block:
    """Return the parts of a leaf; itself if it has no ring along its innermost loop."""
    cuts = sorted(_cuts(leaf))
    if not cuts:
        return (leaf,)
    *outer, inner = leaf.params
    if len(cuts) > MOST_CUTS:
        ends = [int(inner.start), *cuts, int(inner.stop) + 1]
        cuts = [*max(itertools.pairwise(ends), key=lambda pair: pair[1] - pair[0])]
    starts = sorted({inner.start, *(sympy.Integer(c) for c in cuts if c <= inner.stop)})
    stops = [*(s - 1 for s in starts[1:]), inner.stop]
    parts = [_part(leaf, replace(inner, start=a, stop=b)) for a, b in zip(starts, stops, strict=True)]
    if not outer:
        return tuple(parts)
    scope = Scope(tuple(outer), tuple(parts), (), leaf.source, leaf.sequential, leaf.schedule)
    return (scope,)


def _cuts(leaf: Leaf) -> set[int]:
    """Return the values of the innermost parameter at which a subscript begins again."""
    if not leaf.params:
        return set()
    inner = leaf.params[-1]
    found = [t for i in leaf.accesses for e in i.index if (t := _along(e, inner)) is not None]
    if not (inner.start.is_Integer and inner.stop.is_Integer):
        return set()
    return {t.size - t.shift for t in found if inner.start < t.size - t.shift <= inner.stop}


def _along(expr: Expr, inner: Param) -> Turned | None:
    """Return the parts of a subscript that goes around a ring with a parameter, once at most; None of any other."""
    found = turned(expr)
    if found is None or str(found.inner) != inner.name or not stays_within(found.inner, found.size, (inner,)):
        return None
    return found


def _part(leaf: Leaf, inner: Param) -> Leaf:
    """Return a part of a leaf's innermost loop; one iteration is no loop."""
    is_one = inner.start == inner.stop
    value = {inner.name: inner.start} if is_one else {}
    body = []
    for instr in leaf.body:
        if not isinstance(instr, Let):
            instr = replace(instr, index=tuple(_straight(e, inner) for e in instr.index))
        body.append(rename_instr(instr, {}, value))
    return replace(leaf, params=() if is_one else (inner,), body=tuple(body))


def _straight(expr: Expr, inner: Param) -> Expr:
    """Return a subscript on a ring without its modulus, in a part of the loop in which it does not begin again."""
    found = _along(expr, inner)
    if found is None:
        return expr
    turns = {int(e + found.shift) // found.size for e in (inner.start, inner.stop)}
    return found.inner + found.shift - found.size * turns.pop() if len(turns) == 1 else expr
