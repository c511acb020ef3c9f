"""Prove that loops set all elements of an array before anything reads one (definite assignment).

::

    for i in range(8):
        for j in range(i + 1):   A[i, j] = ..
        for j in range(i + 1, 8): A[i, j] = ..
    read A

The union of the written elements is the whole array, as integer sets. The proof declines for views, for symbolic shapes
and bounds, and if a loop may stop early.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import islpy as isl

from sdgrad.analysis.access_relations import all_elements, leaf_relation, loop_param
from sdgrad.analysis.uses import users
from sdgrad.program.own_memory import viewed
from sdgrad.program.tree import Leaf, Loop, Node, Param, Program, Store


def filled_in_parts(program: Program, names: Iterable[str]) -> frozenset[str]:
    """Return those containers all of whose elements are set, by leaves in counted loops, before any other use."""
    return frozenset(n for n in names if n not in viewed(program) and _is_filled(n, program))


def _is_filled(name: str, program: Program) -> bool:
    """True if stores of a prefix of the program cover a container of constant shape."""
    shape = program.containers[name].shape
    whole = all_elements(shape)
    if whole is None or whole.dim(isl.dim_type.param):
        return False
    known: isl.Set | None = None
    for node in program.body:
        found = list(_stores(node, name, (), program))
        if None in found:
            return False
        for part in found:
            assert part is not None
            store, leaf, outer = part
            rel = leaf_relation(store, leaf, len(shape), outer)
            if not rel.exact or rel.map.dim(isl.dim_type.param):
                return False
            known = rel.elements if known is None else known.union(rel.elements)
        if known is not None and bool(whole.is_subset(known)):
            return True
    return False


def _stores(
    node: Node, name: str, outer: Sequence[Param], program: Program
) -> Iterator[tuple[Store, Leaf, Sequence[Param]] | None]:
    """Yield the stores that set elements, with the loops around them; None for any other use."""
    if isinstance(node, Leaf):
        mine = [s for s in node.stores if s.container == name]
        if any(x.container == name for x in node.loads) or any(s.mode != "set" or s.guard for s in mine):
            yield None
        else:
            yield from ((s, node, outer) for s in mine)
    elif isinstance(node, Loop) and name in users(node.body, program):
        variable = _counted(node)
        if variable is None:
            yield None
            return
        for inner in node.body:
            yield from _stores(inner, name, (*outer, variable), program)
    elif name in users((node,), program):
        yield None


def _counted(loop: Loop) -> Param | None:
    """Return the variable of a loop that runs all its iterations; None if it may stop early."""
    return loop_param(loop) if loop.also is None and loop.last is None else None
