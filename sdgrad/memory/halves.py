"""Plan the two halves of a pullback within a limit: what the first keeps, and what the second computes again."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sdgrad.autodiff.differentiate import Differentiated
from sdgrad.machine.limits import Limit
from sdgrad.memory.footprint import results
from sdgrad.memory.limited import Alternative, unplaced
from sdgrad.memory.plan import MemoryPlan, Planner, as_given
from sdgrad.program.tree import Block, Program, writes
from sdgrad.tape.split import Halves, split

SHARES = (1.0, 0.7, 0.5)
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
        return max(self.forward.bytes, results(self.forward.apart) + self.backward.bytes)

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

        What both halves as one program would compute again is not kept, and what it starts from is. As one program they
        need not keep all of the tape until the end, so that less and less of the limit is tried.

        :param whole: both halves as one program.
        """
        most = limit.within(self.bytes)
        if most is None:
            return None
        plans = (whole.planner.fastest(int(most * share)) for share in SHARES)
        tried = (self._without(plan, whole.result, most) for plan in plans if plan is not None and plan.again)
        return next((found for found in tried if found is not None), None)

    def _without(self, whole: MemoryPlan, result: Differentiated, most: int) -> PlannedHalves | None:
        """Return halves within some bytes that keep no more than a plan of both does; None if they take more."""
        once = _written_once(result.forward, result.program)
        parts = split(
            result.program, result.forward, result.backward, once & ((self.parts.kept - whole.again) | whole.starts)
        )
        if parts.sizes is None:
            return None
        forward = as_given(unplaced(parts.forward))
        backward = Planner(unplaced(parts.backward)).fastest(most - results(forward.apart))
        return PlannedHalves(parts, forward, backward) if backward is not None and forward.bytes <= most else None


def _written_once(block: Block, program: Program) -> set[str]:
    """Return the containers that one node of a block writes, and no other."""
    found: dict[str, int] = {}
    for node in block:
        for name in {program.root(n) for n in writes(node)}:
            found[name] = found.get(name, 0) + 1
    return {n for n, count in found.items() if count == 1}
