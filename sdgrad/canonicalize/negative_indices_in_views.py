"""Count negative subscripts into parts of arrays from the end of the part, as NumPy does.

``y = x[2:8]; y[k]`` is an access of ``x`` at ``FromEnd(k, 6) + 2``, which becomes ``k + 2`` where ``k`` is known to be
nonnegative, and ``Mod(k, 6) + 2`` elsewhere.
"""

from __future__ import annotations

from dataclasses import replace

import dace
from sympy import sympify

from sdgrad.analysis.enclosing import Place, places
from sdgrad.analysis.paths import Path
from sdgrad.canonicalize.negative_indices import is_positive, replaced_at
from sdgrad.program.custom_call import CustomCall
from sdgrad.program.kept import kept
from sdgrad.program.tree import (
    Block,
    Container,
    Leaf,
    Let,
    Load,
    Node,
    NodeCall,
    Program,
    Region,
    Store,
    rewritten,
    with_values,
)
from sdgrad.program.window import FromEnd, counted, remainder
from sdgrad.symbolic.expr import Expr


def within_parts(program: Program) -> Program:
    """Resolve the subscripts of a program that may count from the end of a part."""
    changed: dict[Path, Node] = {}
    for place, node in places(program.body):
        if isinstance(node, CustomCall):
            changed[place.path] = _with_places(node, place, within_parts(replace(program, body=node.block)).body)
        if isinstance(node, Leaf):
            body = tuple(i if isinstance(i, Let) else _in_parts(i, node, place) for i in node.body)
            if body != node.body:
                changed[place.path] = replace(node, body=body)

    def subset(found: dace.subsets.Range) -> dace.subsets.Range:
        """Return a range with its bounds resolved."""
        return dace.subsets.Range([tuple(counted(x, remainder) for x in r) for r in found.ranges])

    def region(found: Region) -> Region:
        """Return a region with its bounds resolved."""
        return replace(found, subset=subset(found.subset))

    def others(node: Node) -> Block:
        """Resolve the operands of a call, and the values of a control node."""
        if isinstance(node, NodeCall):
            ins, outs = ({n: region(r) for n, r in found.items()} for found in (node.inputs, node.outputs))
            return (replace(node, inputs=ins, outputs=outs),)
        return (with_values(node, lambda v: replace(v, loads=tuple(index(x) for x in v.loads))),)

    def index(load: Load) -> Load:
        """Return a load with its subscript resolved."""
        return replace(load, index=tuple(counted(e, remainder) for e in load.index))

    views = {
        n: replace(c, view_subset=subset(c.view_subset))
        for n, c in program.containers.items()
        if c.view_subset is not None and _counts_from_end(c)
    }
    resolved = rewritten(replaced_at(program.body, (), changed), others)
    return replace(program, body=resolved, containers={**program.containers, **views})


@kept
def _counts_from_end(view: Container) -> bool:
    """True if where a view begins, or ends, may be counted from the end of a part."""
    return view.view_subset is not None and any(sympify(x).has(FromEnd) for r in view.view_subset.ranges for x in r)


def _in_parts(access: Load | Store, leaf: Leaf, place: Place) -> Load | Store:
    """Resolve the subscript of an access."""
    if not any(e.has(FromEnd) for e in access.index):
        return access
    return replace(access, index=tuple(_counted(e, leaf, place) for e in access.index))


def _counted(expr: Expr, leaf: Leaf, place: Place) -> Expr:
    """Resolve an expression: a remainder only where it may be negative."""

    def resolved(k: Expr, n: Expr) -> Expr:
        """Return ``k`` counted from the end of ``n`` elements."""
        return k if is_positive(k, leaf, place) else remainder(k, n)

    return counted(expr, resolved)


def _with_places(call: CustomCall, place: Place, block: Block) -> CustomCall:
    """Resolve the windows of the variables of a custom call, whose block is resolved already."""
    found = {}
    for name, operand in call.variables.items():
        base = tuple(_counted(b, Leaf((), ()), place) for b in operand.window.base)
        found[name] = replace(operand, window=replace(operand.window, base=base))
    return replace(call, variables=found, block=block)
