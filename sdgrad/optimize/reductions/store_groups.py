"""Partition the stores of a leaf into groups that can share a loop: the decision of loop distribution.

Two accumulations share a loop only if their order does not matter, or if both sum over the same parameters. In ::

    map i=0:n, j=0:n:
      t = x[i, j]
      a[i] += t
      b[j] += t

``a`` sums over ``j`` and ``b`` over ``i``, so that each store is a group of its own. With ``b[i]`` both would be in one
group. Dependence tests are exact for affine accesses; all other accesses conflict. (Allen & Kennedy 2001, on loop
distribution.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations

from sdgrad.analysis.access_relations import apart, injective
from sdgrad.analysis.cost_model import slow_calls
from sdgrad.optimize.reductions.nests import starts
from sdgrad.program.leaves import live
from sdgrad.program.naming import is_status
from sdgrad.program.reductions import EXTREMES
from sdgrad.program.tree import Leaf, Let, Load, Program, Store
from sdgrad.symbolic.expr import free_names


class StoreGroups:
    """Find output dependences between the stores of a leaf, and group the stores by them."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def roots(self, accesses: Iterable[Load | Store]) -> set[str]:
        """Return the containers whose memory some accesses touch."""
        return {self.program.root(x.container) for x in accesses}

    def partition(self, leaf: Leaf) -> list[list[Store]]:
        """Group the stores of a leaf that can share a loop; assignments come last, in one group."""
        groups: list[list[Store]] = []
        for s in leaf.stores:
            if s.mode == "set":
                continue
            accepts = self.is_independent if self.is_injective(s, leaf) else self.is_joint
            group = next((g for g in groups if accepts(g, s, leaf)), None)
            groups.append([s]) if group is None else group.append(s)
        sets = [s for s in leaf.stores if s.mode == "set"]
        return groups + ([sets] if sets else [])

    def with_checks(self, leaf: Leaf, groups: list[list[Store]]) -> list[list[Store]]:
        """Let the check of a subscript share the loop that stores there: both compute it."""
        checks = [g for g in groups if all(is_status(s.container) for s in g)]
        scatter = next((g for g in groups if all(s.index_names & leaf.defined for s in g)), None)
        if scatter is None or len(checks) != 1 or self.roots(leaf.loads) & self.roots(scatter):
            return groups
        return [g + checks[0] if g is scatter else g for g in groups if g is not checks[0]]

    def kept(self, leaf: Leaf) -> list[Store]:
        """Return the assignments that keep values on which the leaf's extremes depend, and functions that sums need.

        Values are compared with their extreme later on. Two loops need not compute the same bits, so that the loop of
        the extreme reads what was kept. Slow functions are not computed by two loops.
        """
        extremes = [s for s in leaf.stores if s.mode in EXTREMES]
        needed = {i.name for i in only(leaf, extremes).body if isinstance(i, Let)} if extremes else set()
        sums = [s for s in leaf.stores if s.mode != "set"]
        needed |= {i.name for i in only(leaf, sums).body if isinstance(i, Let) and slow_calls((i,))} if sums else set()
        return [s for s in leaf.stores if s.mode == "set" and s.value in needed and self.is_readable(s, leaf)]

    def is_readable(self, store: Store, leaf: Leaf) -> bool:
        """True if each instance has an element of its own, which nothing else in the leaf reads or writes."""
        if store.guard is not None or store.index_names & leaf.defined or not self.is_injective(store, leaf):
            return False
        others: list[Load | Store] = [*leaf.loads, *(s for s in leaf.stores if s is not store)]
        return self.program.root(store.container) not in self.roots(others)

    def is_independent(self, group: Sequence[Store], store: Store, leaf: Leaf) -> bool:
        """True if an injective store and a group of injective stores never touch the same element."""
        return all(self.is_injective(o, leaf) and not self.meet(o, store, leaf) for o in group)

    def is_joint(self, group: Sequence[Store], store: Store, leaf: Leaf) -> bool:
        """True if a sum can share a loop with other sums into other containers.

        Either all of them reduce the same parameters, or all have subscripts that depend on data.
        """
        stores = (*group, store)
        roots = self.roots(stores)
        if len(roots) != len(stores) or self.roots(leaf.loads) & roots:
            return False
        if any(self.is_injective(s, leaf) for s in stores):
            return False
        if all(s.index_names & leaf.defined for s in stores):
            return True
        params = {p.name for p in leaf.params}
        same = len({frozenset(s.index_names & params) for s in stores}) == 1
        return same and all(self.is_regular(s, leaf) for s in stores)

    def is_regular(self, store: Store, leaf: Leaf) -> bool:
        """True if a sum reduces some parameters, the innermost among them, and is injective in the others."""
        used = store.index_names
        if store.guard is not None or used & leaf.defined:
            return False
        kept = tuple(p for p in leaf.params if p.name in used)
        reduced = {p.name for p in leaf.params if p.name not in used}
        if not reduced or leaf.params[-1].name not in reduced:
            return False
        if free_names(*(b for p in kept for b in (p.start, p.stop, p.step))) & reduced:
            return False
        return injective(store, leaf, len(store.index), kept)

    def is_injective(self, store: Store, leaf: Leaf) -> bool:
        """True if no two iterations of the leaf store to the same element."""
        return injective(store, leaf, len(store.index))

    def meet(self, first: Store, second: Store, leaf: Leaf) -> bool:
        """True if two different iterations may store to one element, each by one of two stores."""
        if self.program.root(first.container) != self.program.root(second.container):
            return False
        return first.mode != second.mode or not apart(first, second, leaf)

    def conflicting(self, leaf: Leaf) -> list[Store]:
        """Return the sums to which several iterations of the leaf may contribute, or for some elements none."""
        return [s for s in leaf.stores if s.mode != "set" and not (self.is_injective(s, leaf) and starts(s, leaf))]

    def overlapping(self, stores: Iterable[Store], leaf: Leaf) -> bool:
        """True if two sums of a leaf may accumulate into the same element."""
        return any(self.meet(a, b, leaf) for a, b in combinations((s for s in stores if s.mode != "set"), 2))

    def assigns_and_sums(self, leaf: Leaf) -> bool:
        """True if a leaf assigns to a container to which it also accumulates."""
        sums = self.roots(s for s in leaf.stores if s.mode != "set")
        return bool(sums & self.roots(s for s in leaf.stores if s.mode == "set"))

    def reads_sums(self, leaf: Leaf, conflicts: Sequence[Store]) -> bool:
        """True if a leaf with several stores reads a container of conflicting sums, whose order it may then see."""
        sums = sum(s.mode != "set" for s in leaf.stores)
        several = sums + (sums < len(leaf.stores)) > 1
        return several and bool(self.roots(leaf.loads) & self.roots(conflicts))


def rereading(leaf: Leaf, kept: Sequence[Store]) -> Leaf:
    """Return the leaf with loads of what some of its stores keep, in place of the values themselves."""
    loads = {s.value: Load(s.value, s.container, s.index) for s in kept}
    return replace(leaf, body=tuple(loads[i.name] if isinstance(i, Let) and i.name in loads else i for i in leaf.body))


def only(leaf: Leaf, stores: Sequence[Store]) -> Leaf:
    """Return the slice of a leaf that some of its stores need."""
    return replace(leaf, body=live((i for i in leaf.body if not isinstance(i, Store) or i in stores), set()))
