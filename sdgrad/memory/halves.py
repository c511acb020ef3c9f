"""Plan the two halves of a pullback within a limit: what the first keeps, and what the second computes again."""

from __future__ import annotations

import sys
from collections.abc import Set
from dataclasses import dataclass, replace
from functools import cached_property

from sdgrad.autodiff.differentiate import Differentiated
from sdgrad.errors import MemoryLimitError
from sdgrad.machine.limits import Limit
from sdgrad.memory.footprint import results
from sdgrad.memory.limited import Alternative, fastest, too_large, unplaced
from sdgrad.memory.plan import MemoryPlan, Planner, as_given
from sdgrad.program.own_memory import bytes_of
from sdgrad.program.tree import Block, Leaf, Node, Program, Store, reads, writes
from sdgrad.rewrite.dead_code import drop_stores
from sdgrad.rewrite.fusion import depends, roots
from sdgrad.tape.split import Halves, split


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
        """Return halves within a limit that keep less, for the least those with the fewest bytes; None if none are.

        :param whole: both halves as one program.
        """
        most, behind = limit.within(self.bytes), BehindValues(whole.result)
        if most is None:
            return behind.smallest(whole)
        plan = fastest((own for p in whole.planners() if (own := behind.divided(p)) is not None), most)
        return behind.halves(plan.apart) if plan is not None else None

    @property
    def larger(self) -> MemoryPlan:
        """Return the half where both take the most, with the bytes of both."""
        return replace(max(self.forward, self.backward, key=lambda half: half.bytes), bytes=self.bytes)


def refusal(program: Program, whole: Alternative, limit: Limit, again: MemoryLimitError) -> MemoryLimitError:
    """Return the error for a limit that neither halves nor a second run of the function keep: it names the least.

    :param again: what the second run says.
    """
    least = BehindValues(whole.result).smallest(whole)
    if least is None or least.bytes + limit.beside >= again.least:
        return again
    return too_large(program, limit, limit.within(least.bytes) or 0, least.larger, 0)


@dataclass(frozen=True)
class BehindValues:
    """Divide a program that computes values and gradients behind its values.

    :param result: what it was optimised from.
    """

    result: Differentiated

    @cached_property
    def before(self) -> set[str]:
        """Return what the first half uses."""
        return {self.result.program.root(n) for node in self.result.forward for n in _uses(node)}

    @cached_property
    def values(self) -> set[str]:
        """Return the arguments that the first half writes."""
        program = self.result.program
        return {program.root(n) for node in self.result.forward for n in writes(node)} & {*program.arguments}

    def parted(self, program: Program) -> tuple[Block, Block] | None:
        """Return both halves of a body; None if values depend on gradients.

        What gradients have begun with before the last value is left to the second half.
        """
        at = [k for k, x in enumerate(program.body) if roots(writes(x), program) & self.values]
        if not at:
            return None
        last = program.body[at[-1]]
        first, second = _parted(last, program, self.values) if isinstance(last, Leaf) else ((last,), ())
        forward: list[Node] = []
        later: list[Node] = []
        seeds = {*program.arguments} - self.before
        for node in (*program.body[: at[-1]], *first):
            begins = bool(roots(_uses(node), program) & seeds)
            begins = begins or any(depends(x, node, program) or depends(node, x, program) for x in later)
            (later if begins else forward).append(node)
        if any(roots(writes(node), program) & self.values for node in later):
            return None
        return tuple(forward), (*later, *second, *program.body[at[-1] + 1 :])

    def divided(self, planner: Planner) -> Planner | None:
        """Return a planner of halves; None if the program cannot be divided."""
        parts, program = self.parted(planner.program), planner.program
        if parts is None:
            return None
        return replace(planner, program=replace(program, body=(*parts[0], *parts[1])), division=self)

    def smallest(self, whole: Alternative) -> PlannedHalves | None:
        """Return the halves with the fewest bytes; None if the program cannot be divided."""
        plans = [own.smallest for planner in whole.planners() if (own := self.divided(planner)) is not None]
        return self.halves(min(plans, key=lambda plan: plan.bytes).apart) if plans else None

    def second(self, program: Program) -> int | None:
        """Return the node where the second half begins."""
        found = self.parted(program)
        return len(found[0]) if found is not None else None

    def halves(self, program: Program) -> PlannedHalves | None:
        """Return the halves of a program; None if it cannot be divided."""
        found = self.parted(program)
        parts = split(program, *found) if found is not None else None
        if parts is None or parts.sizes is None:
            return None
        return PlannedHalves(parts, as_given(parts.forward), as_given(parts.backward))

    def bytes(self, program: Program) -> int:
        """Return what the halves of a program take."""
        found = self.halves(program)
        return found.bytes if found is not None else sys.maxsize


def _parted(leaf: Leaf, program: Program, values: Set[str]) -> tuple[Block, Block]:
    """Return the part of a leaf that makes values, and the rest, which reads none of them; else all as the first."""

    def is_value(store: Store) -> bool:
        return program.root(store.container) in values

    own, rest = drop_stores(leaf, lambda s: not is_value(s)), drop_stores(leaf, is_value)
    meets = roots(reads(rest), program) & values
    return ((own,), (rest,)) if rest.stores and not meets else ((leaf,), ())


def _uses(node: Node) -> set[str]:
    return reads(node) | writes(node)
