"""Find the assignment of zeros before a stencil that the stencil's gather form can absorb.

In ::

    map i=0:n:               map i=1:n - 1:
      z = 0.0                  t = x[i - 1]
      a[i] = z                 u = x[i]
    map i=0:n - 1:             v = t + u
      t = x[i]                 a[i] = v
      a[i] += t              ...
      a[i + 1] += t

the first leaf is not needed if the gather nests assign. It is declined if it sets other than a box of zeros, if the
box does not contain the interior or extends far beyond, or if the container or a symbol changes in between.
"""

from __future__ import annotations

from collections.abc import Sequence

from sdgrad.config import config
from sdgrad.optimize.reductions.index_boxes import Box, Range
from sdgrad.optimize.reductions.stencil_recognition import is_box, param_of
from sdgrad.optimize.reductions.stencil_terms import Group
from sdgrad.program.symbols import used_symbols
from sdgrad.program.tree import Expr, Leaf, Loop, Node, Program, Store, SymbolAssign, walk
from sdgrad.rewrite.dead_code import drop_stores
from sdgrad.rewrite.reduction_init import number, uses
from sdgrad.symbolic.expr import sym


def absorb_zeros(leaf: Leaf, group: Group, interior: Box, before: list[Node], program: Program) -> list[Range] | None:
    """Remove the assignment of zeros that a stencil follows from the nodes before it, and return its box.

    The box is over the leaf's parameters. Return None, with nothing removed, if there is no such assignment.
    """
    root = program.root(group.container)
    at = next((k for k in reversed(range(len(before))) if uses(before[k], root, program)), None)
    if at is None:
        return None
    node, later = before[at], before[at + 1 :]
    if not isinstance(node, Leaf) or (store := _only_access(node, root, program)) is None:
        return None
    if _assigned(later) & (used_symbols(node, program) | used_symbols(leaf, program)):
        return None
    box = _zeroed(store, node, group, leaf)
    if box is None or not _fits(box, interior):
        return None
    rest = drop_stores(node, lambda s: s is store)
    before[at : at + 1] = [rest] if rest.stores else []
    return box


def _only_access(leaf: Leaf, root: str, program: Program) -> Store | None:
    """Return the store that is the only access of a leaf to some memory; None if there are others."""
    if any(program.root(x.container) == root for x in leaf.loads):
        return None
    mine = [s for s in leaf.stores if program.root(s.container) == root]
    return mine[0] if len(mine) == 1 else None


def _assigned(nodes: Sequence[Node]) -> set[str]:
    """Return the symbols that some nodes assign."""
    return {n.symbol for n in walk(tuple(nodes)) if isinstance(n, (SymbolAssign, Loop))}


def _zeroed(store: Store, zero: Leaf, group: Group, leaf: Leaf) -> list[Range] | None:
    """Return the box of a stencil's parameters whose elements a store sets to zero; None if it does not."""
    if store.container != group.container or store.mode != "set" or store.guard or number(store, zero) != 0:
        return None
    if not is_box(zero.params):
        return None
    fixed = set(range(len(store.index))) - set(group.position.values())
    if any(store.index[d] != group.index[d] for d in fixed):
        return None
    params = {p.name: p for p in zero.params}
    along = {q: param_of(store.index[d], params.keys()) for q, d in group.position.items()}
    box: list[Range] = []
    for q in leaf.params:
        name, d = along[q.name], group.position[q.name]
        if name is None or list(along.values()).count(name) > 1:
            return None
        shift = store.index[d] - sym(name) - (group.index[d] - sym(q.name))
        box.append((params[name].start + shift, params[name].stop + shift))
    return box


def _fits(box: Box, interior: Box) -> bool:
    """True if a box contains the interior, and extends beyond it by a few elements."""
    margins = (m for (a, b), (low, high) in zip(box, interior, strict=True) for m in (low - a, b - high))
    return all(_is_narrow(m) for m in margins)


def _is_narrow(margin: Expr) -> bool:
    """True if a margin is a number of elements no larger than the widest stencil."""
    return bool(margin.is_Integer and 0 <= margin <= config.machine.stencil_width)
