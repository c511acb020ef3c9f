"""Plan the two halves of a pullback within a limit: what the first keeps, and what the second computes again."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace
from functools import cached_property

from sdgrad.autodiff.differentiate import Differentiated
from sdgrad.machine.limits import Limit
from sdgrad.memory.footprint import results
from sdgrad.memory.limited import Alternative, unplaced
from sdgrad.memory.plan import MemoryPlan, as_given
from sdgrad.program.own_memory import bytes_of
from sdgrad.program.tree import Block, Leaf, Node, Program, Store, reads, writes
from sdgrad.rewrite.dead_code import drop_stores
from sdgrad.tape.split import Halves, split

SHARES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4)
"""Of a limit, that both halves are planned within as one program."""


@dataclass(frozen=True)
class PlannedHalves:
    """Plans of a forward and a backward half."""

    parts: Halves
    forward: MemoryPlan
    backward: MemoryPlan

    @staticmethod
    def of(parts: Halves) -> PlannedHalves:
        """Place the arrays of both."""
        return PlannedHalves(parts, as_given(unplaced(parts.forward)), as_given(unplaced(parts.backward)))

    @property
    def bytes(self) -> int:
        """Return what one of both takes at most, with what the first one leaves: its results and the tape."""
        return max(self.forward.bytes, results(self.forward.apart) + self.backward.bytes) + self.copied

    @cached_property
    def copied(self) -> int:
        """Return the bytes of results that the second half reads: the user has copies, to change them."""
        both = {*self.parts.forward.arguments} & {*self.parts.backward.arguments} - self.parts.kept
        written = {self.parts.forward.root(n) for node in self.parts.forward.body for n in writes(node)}
        return sum(bytes_of(self.parts.forward.containers[n]) for n in both & written)

    def limit(self, given: Limit) -> Limit:
        """Return a limit whose share, if it is one, is one of both, as bytes."""
        most = given.within(self.bytes)
        return replace(given, share=None, bytes=None if most is None else most + given.beside)

    def fit(self, limit: Limit) -> bool:
        """True if they take no more than some bytes."""
        most = limit.within(self.bytes)
        return most is not None and self.bytes <= most

    def smaller(self, whole: Alternative, limit: Limit) -> PlannedHalves | None:
        """Return halves within a limit that keep less; None if none are found.

        They are those of a plan for both as one program, which need not keep all of the tape until the end: less and
        less of the limit is tried.

        :param whole: both halves as one program.
        """
        most = limit.within(self.bytes)
        if most is None:
            return None
        for share in SHARES:
            plan = whole.planner.fastest(int(most * share))
            if plan is None:
                break
            parts = cut(plan.apart, whole.result)
            if parts is None or parts.sizes is None:
                break
            found = PlannedHalves(parts, as_given(parts.forward), as_given(parts.backward))
            if found.bytes <= most:
                return found
        return None


def cut(program: Program, result: Differentiated) -> Halves | None:
    """Cut a program that computes values and gradients behind its values; None if it has begun with gradients by then.

    :param result: what it was optimised from.
    """
    before = {result.program.root(n) for x in result.forward for n in _used(x)}
    values = before & {result.program.root(n) for x in result.forward for n in writes(x)} & {*program.arguments}
    at = [k for k, node in enumerate(program.body) if {program.root(n) for n in writes(node)} & values]
    if not at:
        return None
    last = program.body[at[-1]]
    first, second = _parted(last, program, values) if isinstance(last, Leaf) else ((last,), ())
    forward, backward = (*program.body[: at[-1]], *first), (*second, *program.body[at[-1] + 1 :])
    begun = {program.root(n) for node in forward for n in _used(node)} & ({*program.arguments} - before)
    return split(program, forward, backward) if not begun else None


def _parted(leaf: Leaf, program: Program, values: Set[str]) -> tuple[Block, Block]:
    """Return the part of a leaf that makes values, and the rest, which reads none of them; else all as the first."""

    def is_value(store: Store) -> bool:
        return program.root(store.container) in values

    own, rest = drop_stores(leaf, lambda s: not is_value(s)), drop_stores(leaf, is_value)
    meets = {program.root(n) for n in reads(rest)} & values
    return ((own,), (rest,)) if rest.stores and not meets else ((leaf,), ())


def _used(node: Node) -> set[str]:
    return reads(node) | writes(node)
