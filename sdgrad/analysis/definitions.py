"""Check that reads follow definitions, element by element, in straight-line blocks of leaves (reaching definitions).

The question is asked of a block, with elements as points (``isl.Set``), or of each iteration of a loop, with pairs of
an iteration and an element (``isl.Map``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import islpy as isl

from sdgrad.program.tree import Leaf, Load, Store

Points = TypeVar("Points", isl.Set, isl.Map)


def defines(access: Load | Store) -> bool:
    """True if an access gives elements a value that does not depend on the one they had."""
    return isinstance(access, Store) and (access.mode == "set" or access.fresh)


def union(known: Points | None, more: Points) -> Points:
    """Add points to a set or a map; None stands for the empty one."""
    return more if known is None else known.union(more)


@dataclass
class Definitions(Generic[Points]):
    """Collect the points of a container that the leaves of a block have defined so far.

    :param relation: the points of an access in a leaf, and true if these are exact; None if they cannot be compared.
    """

    container: str
    relation: Callable[[Load | Store, Leaf], tuple[Points, bool] | None]
    known: Points | None = None

    def enter(self, leaf: Leaf) -> bool:
        """Add the points that a leaf defines; return False if it reads one that no earlier leaf has defined.

        A definition counts from the next leaf on: instances of one leaf run in any order.
        """
        made: Points | None = None
        for access in leaf.accesses:
            if access.container != self.container:
                continue
            found = self.relation(access, leaf)
            if found is None:
                return False
            points, exact = found
            if defines(access):
                made = union(made, points) if exact and access.guard is None else made
            elif self.known is None or not points.is_subset(self.known):
                return False
        if made is not None:
            self.known = union(self.known, made)
        return True
