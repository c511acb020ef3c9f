"""Test loop-carried dependences, as integer relations (Allen & Kennedy 2001; Verdoolaege 2010).

A loop can be distributed over its leaves, and each leaf run its iterations in parallel, if no dependence is carried
within a leaf, and none goes backwards between two leaves::

    for i: a[i] = b[i]; c[i] = a[i - 1]      -->      map i: a[i] = b[i]
                                                      map i: c[i] = a[i - 1]

With ``c[i] = a[i + 1]`` instead, the loop cannot be distributed: iteration ``i`` reads before iteration ``i + 1``
writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import islpy as isl

from sdgrad.analysis.access_relations import Relation, access_relation
from sdgrad.analysis.definitions import Definitions
from sdgrad.program.tree import Leaf, Load, Param, Program, Store


def in_the_way(body: Sequence[Leaf], trips: Param, program: Program) -> str | None:
    """Return a container with a dependence that prevents distribution; None if there is none.

    Within a leaf, no iteration may touch an element that another one writes. Of two leaves, the first may not touch in
    a later iteration an element that the second touches in an earlier one. Accumulations of one kind commute.
    """
    accesses = [(k, a, leaf) for k, leaf in enumerate(body) for a in leaf.accesses]
    backwards = ">" if trips.step > 0 else "<"
    for k, first, one in accesses:
        for j, second, other in accesses:
            if j < k or not _may_depend(first, second, program):
                continue
            if first.container != second.container:
                return first.container
            rank = len(program.containers[first.container].shape)
            touched = _touch(first, one, trips, rank), _touch(second, other, trips, rank)
            if _meet(*touched, "!=" if j == k else backwards):
                return first.container
    return None


def _may_depend(first: Load | Store, second: Load | Store, program: Program) -> bool:
    """True if two accesses to one container do not commute, and one of them writes."""
    if not (isinstance(first, Store) or isinstance(second, Store)):
        return False
    return program.root(first.container) == program.root(second.container) and not _commute(first, second)


def _commute(first: Load | Store, second: Load | Store) -> bool:
    """True if two accesses accumulate by the same operation."""
    if not (isinstance(first, Store) and isinstance(second, Store)):
        return False
    return first.mode == second.mode != "set" and not first.fresh and not second.fresh


def _touch(access: Load | Store, leaf: Leaf, trips: Param, rank: int) -> Relation:
    """Return ``{ [iteration of the loop] -> [element] }``."""
    params = (trips, *leaf.params)
    found = access_relation(access.index, [(p.name, p) for p in params], leaf.defined, rank)
    return Relation(found.map.project_out(isl.dim_type.in_, 1, len(leaf.params)), found.exact and access.guard is None)


def _meet(first: Relation, second: Relation, order: str) -> bool:
    """True if two iterations in an order, one of each relation, touch one element."""
    pairs = first.map.apply_range(second.map.reverse())
    return not pairs.intersect(isl.Map(f"{{ [a] -> [b] : a {order} b }}")).is_empty()


def defined_first(container: str, body: Sequence[Leaf], trips: Param, program: Program) -> bool:
    """True if each iteration writes all elements of a container before it reads them: the container is privatizable."""
    rank = len(program.containers[container].shape)

    def touched(access: Load | Store, leaf: Leaf) -> tuple[isl.Map, bool]:
        starts = isinstance(access, Store) and access.fresh
        found = _touch(access, _started(leaf, access) if starts else leaf, trips, rank)
        return found.map, found.exact

    definitions = Definitions(container, touched)
    return all(definitions.enter(leaf) for leaf in body)


def _started(leaf: Leaf, store: Load | Store) -> Leaf:
    """Drop the reduced parameters: a fresh reduction starts its elements even with nothing to reduce."""
    return replace(leaf, params=tuple(p for p in leaf.params if p.name in store.index_names))
