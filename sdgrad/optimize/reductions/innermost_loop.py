"""Choose the innermost loop of a nest of sums by how its accesses walk through memory.

Along a *row* each access stays at one element or moves to the next one in memory; along a *column* it moves from one
cache line to another. In ::

    map i=0:n, j=0:n:
      t = A[i, j]
      u = x[i]
      w = t * u
      y[j] += w

the loop over ``j`` walks along the rows of ``A``, so that whole rows are added to ``y``. The loop over ``i``, which the
sum reduces, would walk down the columns. (Allen & Kennedy 2001, on loop interchange for
locality.)
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations

from sdgrad.config import device
from sdgrad.optimize.locality.loop_interchange import cost
from sdgrad.optimize.locality.strides import contiguous, steps
from sdgrad.optimize.reductions.store_groups import StoreGroups
from sdgrad.program.tree import Leaf, Load, Param, Program, Store
from sdgrad.symbolic.expr import free_names


class InnermostLoop:
    """Choose the parameter of a leaf along which its sums are computed."""

    def __init__(self, program: Program, stores: StoreGroups) -> None:
        self.program, self.stores = program, stores

    def interchanged(self, leaf: Leaf) -> Leaf:
        """Move a parameter along which all stores have stride one to the inside; unchanged if there is none."""
        rows = [p for p in self.movable(leaf) if p.count != 1 and self.has_unit_strides(leaf, p)]
        return replace(leaf, params=(*(p for p in leaf.params if p not in rows[:1]), *rows[:1]))

    def movable(self, leaf: Leaf) -> list[Param]:
        """Return the parameters on which no loop bound depends: each can become the innermost one."""
        bounds = {n for p in leaf.params for n in free_names(p.start, p.stop, p.step)}
        return [p for p in leaf.params if p.name not in bounds]

    def has_unit_strides(self, leaf: Leaf, param: Param) -> bool:
        """True if all stores walk through neighbouring elements along a parameter."""
        return all(steps(s, param, self.program) in (1, -1) for s in leaf.stores)

    def along(self, leaf: Leaf, kept: tuple[Param, ...], reduced: tuple[Param, ...]) -> Param | None:
        """Choose the parameter for an inner loop that adds whole rows; None if a loop that reduces is no worse."""
        found = contiguous(leaf, self.program)
        if found is not None or not self.columns(leaf, reduced[-1]):
            return found
        rows = [p for p in kept if not self.columns(leaf, p)]
        return min(rows, key=lambda p: cost(leaf, p, self.program), default=None)

    def row(self, leaf: Leaf) -> Param | None:
        """Choose a parameter along which each sum stays at one element, or walks through different ones.

        Return None if there is none, if data decide where the sums go, or if the leaf reads what it changes.
        """
        if device() == "gpu" or self.stores.roots(leaf.loads) & self.stores.roots(leaf.stores):
            return None
        if any(s.guard is not None or s.index_names & leaf.defined for s in leaf.stores):
            return None
        free = [p for p in self.movable(leaf) if self.is_row(leaf, p)]
        return min(free, key=lambda p: (self.columns(leaf, p), cost(leaf, p, self.program)), default=None)

    def columns(self, leaf: Leaf, row: Param) -> int:
        """Count the accesses with several subscripts that walk from one cache line to another along a parameter."""
        others = {p.name for p in leaf.params if p != row}
        accesses: list[Load | Store] = [*leaf.loads, *leaf.stores]
        wide = [x for x in accesses if x.index_names & others]
        return sum(steps(x, row, self.program) not in (None, 0, 1, -1) for x in wide)

    def is_row(self, leaf: Leaf, row: Param) -> bool:
        """True if iterations that differ in ``row`` only store to different elements, or by a sum all to the same."""
        walking = [s for s in leaf.stores if row.name in s.index_names]
        collected = [s for s in leaf.stores if s not in walking]
        if any(s.mode == "set" for s in collected) or self.shares_fresh(leaf):
            return False
        if self.stores.roots(walking) & self.stores.roots(collected):
            return False
        one = replace(leaf, params=(row,))
        injective = all(self.stores.is_injective(s, one) for s in walking)
        return injective and not any(self.stores.meet(a, b, one) for a, b in combinations(walking, 2))

    def shares_fresh(self, leaf: Leaf) -> bool:
        """True if a leaf has another store to the container of a reduction that starts from its identity."""
        several = Counter(self.program.root(s.container) for s in leaf.stores)
        return any(several[self.program.root(s.container)] > 1 for s in leaf.stores if s.fresh)
