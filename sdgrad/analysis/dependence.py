"""Dependences between the trips of a loop, as integer relations: what keeps trips from running in any order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import islpy as isl

from sdgrad.analysis.access_relations import Relation, access_relation
from sdgrad.program.tree import Leaf, Let, Load, Param, Program, Store
from sdgrad.symbolic.expr import free_names


def in_the_way(body: Sequence[Leaf], trips: Param, program: Program) -> str | None:
    """A container that keeps the leaves of a loop from running over all trips, one leaf after the other.

    Within a leaf no trip may touch what another one writes; of two leaves, the first may not touch in a later trip what
    the second touches in an earlier one. Accumulations of one kind into one element have no order.
    """
    accesses = [(k, a, leaf) for k, leaf in enumerate(body) for a in _accesses(leaf)]
    for k, first, one in accesses:
        for j, second, other in accesses:
            if j < k or not (isinstance(first, Store) or isinstance(second, Store)):
                continue
            if program.root(first.container) != program.root(second.container) or _commute(first, second):
                continue
            if first.container != second.container:
                return first.container
            rank = len(program.containers[first.container].shape)
            earlier = _touch(first, one, trips, rank), _touch(second, other, trips, rank)
            if _meet(*earlier, "!=" if j == k else ">" if trips.step > 0 else "<"):
                return first.container
    return None


def _accesses(leaf: Leaf) -> list[Load | Store]:
    return [i for i in leaf.body if not isinstance(i, Let)]


def _commute(first: Load | Store, second: Load | Store) -> bool:
    if not (isinstance(first, Store) and isinstance(second, Store)):
        return False
    return first.mode == second.mode != "set" and not first.fresh and not second.fresh


def _touch(access: Load | Store, leaf: Leaf, trips: Param, rank: int) -> Relation:
    """``{ [trip] -> [element] }``"""
    params = (trips, *leaf.params)
    found = access_relation(access.index, [(p.name, p) for p in params], leaf.defined, rank)
    return Relation(found.map.project_out(isl.dim_type.in_, 1, len(leaf.params)), found.exact and access.guard is None)


def _meet(first: Relation, second: Relation, order: str) -> bool:
    """Whether some trip of the first and a trip of the second, in an order of these, touch one element."""
    pairs = first.map.apply_range(second.map.reverse())
    return not pairs.intersect(isl.Map(f"{{ [a] -> [b] : a {order} b }}")).is_empty()


def defined_first(container: str, body: Sequence[Leaf], trips: Param, program: Program) -> bool:
    """Whether each trip writes all that it reads of a container before it does so."""
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
    """The instances that start a fresh reduction, which are there even if there is nothing to reduce."""
    return replace(leaf, params=tuple(p for p in leaf.params if p.name in free_names(*store.index)))


def _reads(leaf: Leaf, container: str) -> Iterator[Load | Store]:
    yield from (x for x in leaf.loads if x.container == container)
    yield from (s for s in leaf.stores if s.container == container and s.mode != "set" and not s.fresh)
