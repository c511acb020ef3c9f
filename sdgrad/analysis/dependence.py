"""Test loop-carried dependences, as integer relations (Allen & Kennedy 2001; Verdoolaege 2010).

A loop can be distributed over its leaves, and each leaf run its iterations in parallel, if no dependence is carried
within a leaf, and none goes backwards between two leaves::

    for i: a[i] = b[i]; c[i] = a[i - 1]      -->      map i: a[i] = b[i]
                                                      map i: c[i] = a[i - 1]

With ``c[i] = a[i + 1]`` instead, the loop cannot be distributed: iteration ``i`` reads before iteration ``i + 1``
writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import islpy as isl

from sdgrad.analysis.access_relations import Relation, access_relation
from sdgrad.program.tree import Leaf, Load, Param, Program, Store
from sdgrad.symbolic.expr import free_names


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
    written: isl.Map | None = None
    for leaf in body:
        for access in _reads(leaf, container):
            if written is None or not _touch(access, leaf, trips, rank).map.is_subset(written):
                return False
        for store in leaf.stores:
            if store.container == container and (store.mode == "set" or store.fresh):
                found = _touch(store, _started(leaf, store) if store.fresh else leaf, trips, rank)
                if found.exact:
                    written = found.map if written is None else written.union(found.map)
    return True


def _started(leaf: Leaf, store: Store) -> Leaf:
    """Drop the reduced parameters: a fresh reduction starts its elements even with nothing to reduce."""
    return replace(leaf, params=tuple(p for p in leaf.params if p.name in free_names(*store.index)))


def _reads(leaf: Leaf, container: str) -> Iterator[Load | Store]:
    """Yield the accesses that read a container: loads, and accumulations that are not fresh."""
    yield from (x for x in leaf.loads if x.container == container)
    yield from (s for s in leaf.stores if s.container == container and s.mode != "set" and not s.fresh)
