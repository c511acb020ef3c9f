"""Accesses beyond the end of an array: NumPy cuts slices off there, generated code would not."""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from sdgrad.analysis.places import Place, places
from sdgrad.analysis.relations import access_relation
from sdgrad.program.tree import Branch, Leaf, Load, Loop, Program, Store


def overruns(program: Program) -> Iterator[tuple[Leaf, str]]:
    """Leaves that certainly reach beyond an array in some trip of a loop, and the array.

    Only where sizes and bounds are numbers, and no condition keeps the trip from happening.
    """
    for place, node in places(program.body):
        if isinstance(node, Leaf) and place.loops and not any(map(_may_skip, (n for _, n in place.outer))):
            accesses: tuple[Load | Store, ...] = (*node.loads, *node.stores)
            for access in accesses:
                if access.guard is None and _reaches_beyond(access, node, place, program):
                    yield node, access.container


def _may_skip(node: object) -> bool:
    return isinstance(node, Branch) or isinstance(node, Loop) and node.also is not None


def _reaches_beyond(access: Load | Store, leaf: Leaf, place: Place, program: Program) -> bool:
    shape = program.containers[access.container].shape
    if not all(n.is_number for n in shape):
        return False
    local = frozenset(i.name for i in leaf.body if not isinstance(i, Store))
    dims = [(d.name, d.param) for d in place.dims] + [(p.name, p) for p in leaf.params]
    found = access_relation(access.index, dims, local, len(shape))
    if not found.exact or found.map.dim(isl.dim_type.param) > 0:
        return False
    names = ", ".join(f"e{k}" for k in range(len(shape)))
    inside = " and ".join(f"0 <= e{k} < {int(n)}" for k, n in enumerate(shape)) or "true"
    return not found.elements.is_subset(isl.Set(f"{{ [{names}] : {inside} }}"))
