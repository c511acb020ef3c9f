"""Search for the tape plan that keeps the fewest bytes.

The search is greedy. It restores containers on the way back if this takes less tape than the values read from them: it
tries each container alone, then adds them to the plan, the best first, as long as the tape gets shorter. Last it
checkpoints loops with long tapes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sdgrad.analysis.activity import Activity
from sdgrad.analysis.paths import Path
from sdgrad.analysis.survival import Memory
from sdgrad.config import config
from sdgrad.program.names import Names
from sdgrad.program.tree import Leaf, Program, Region, walk
from sdgrad.tape import checkpoints, restoring
from sdgrad.tape.cost_model import bytes_of, guess, worth_undoing
from sdgrad.tape.definitions import Definitions
from sdgrad.tape.plan import Checkpoint, TapePlan
from sdgrad.tape.planner import Planner
from sdgrad.tape.recomputation import Available


@dataclass(frozen=True)
class Trial:
    """Ask a plan to undo the writes to some containers, to redo those to others, and to checkpoint some loops."""

    undone: frozenset[str] = frozenset()
    redone: frozenset[str] = frozenset()
    checkpoints: Mapping[Path, Checkpoint] = field(default_factory=dict)


def plan_tape(
    program: Program,
    activity: Activity,
    operand_needs: Mapping[Path, Mapping[str, Region]],
    names: Names,
    rerun: bool = True,
    least: bool = False,
    nested: bool = False,
    part: bool = False,
    disk: bool = False,
) -> TapePlan:
    """Choose the tape plan of a program.

    :param operand_needs: operands of calls whose primal values the calls' adjoints mention.
    :param rerun: True if the reverse sweep may restore containers and run leaves again. Else all needed values that are
        overwritten go on the tape.
    :param least: True for checkpoints on every loop that can have them, in as little room as there can be.
    :param nested: True for checkpoints on loops inside of these, too.
    :param part: the program becomes a part of another one: True for no places for any number of trips.
    :param disk: True for loops with checkpoints that may keep states on the disk.
    """
    search = Search(program, activity, operand_needs, names, Memory.of(program), rerun, least, nested, part, disk)
    best = search.with_checkpoints(*search.redoing(*search.undoing())) if rerun else search.first()[0]
    names.add(c.name for c in best.containers)
    names.add(k.name for k in best.all_kept())
    names.add(n for c in best.counters.values() for n in (c.count, c.total))
    return best


LONG_PROGRAM, LITTLE_TAPE = 2_000, 1 << 20
"""Instructions of programs in which nothing is undone if their tape has fewer bytes: it takes longer than it gains."""
LEAST_TRIED, MOST_PLANNED = 4, 20_000
"""How many containers, the largest first, are tried to be undone; how many instructions all these trials plan."""


@dataclass
class Search:
    """Try plans of one program."""

    program: Program
    activity: Activity
    operand_needs: Mapping[Path, Mapping[str, Region]]
    names: Names
    memory: Memory
    rerun: bool
    least: bool = False
    nested: bool = False
    part: bool = False
    disk: bool = False
    cuts: dict[tuple, set[str]] = field(default_factory=dict)  # answers that all trials share

    def plan(self, asked: Trial) -> tuple[TapePlan, set[str]] | None:
        """Make a plan, and list the overwritten containers that needed values in loops are read from.

        Return None if a write to a container to restore cannot be undone.
        """
        available = Available(self.program, self.memory, asked.undone, asked.redone, self.rerun)
        if not restoring.possible(available):
            return None
        planner = Planner.of(self.activity, available, self.names.copy(), asked.checkpoints, self.cuts)
        return planner.plan(self.operand_needs), planner.lost

    def first(self) -> tuple[TapePlan, set[str]]:
        """Make the plan that restores no container."""
        found = self.plan(Trial())
        assert found is not None
        return found

    def size(self, plan: TapePlan) -> int:
        """Estimate the bytes of a plan's tapes."""
        return bytes_of(plan, self.program)

    def undoing(self) -> tuple[TapePlan, Trial]:
        """Add containers to undo to the plan, as long as this shortens the tape."""
        best, lost = self.first()
        asked = Trial()
        candidates = {c for c in lost if worth_undoing(c, self.program)}
        length = sum(len(n.body) if isinstance(n, Leaf) else 1 for n in walk(self.program.body))
        if length > LONG_PROGRAM and self.size(best) < LITTLE_TAPE:
            return best, asked
        together = restoring.tried_together(self.program, candidates)
        if len(together) > (most := max(LEAST_TRIED, MOST_PLANNED // max(length, 1))):
            sizes = {c: sum(guess(self.program.containers[n]) for n in c) for c in together}
            together = sorted(together, key=lambda c: -sizes[c])[:most]
        alone = {c: t for c in together if (t := self.plan(Trial(c))) is not None}
        for containers in sorted(alone, key=lambda c: self.size(alone[c][0])):
            more = Trial(asked.undone | containers)
            found = alone[containers] if not asked.undone else self.plan(more)
            if found is not None and self.size(found[0]) < self.size(best):
                best, asked = found[0], more
        return best, asked

    def redoing(self, best: TapePlan, asked: Trial) -> tuple[TapePlan, Trial]:
        """Redo, instead of undo, containers that each iteration defines anew, if the tape gets no longer.

        The reverse iterations are independent then.
        """
        redone = frozenset(c for c in best.undone if Definitions(self.memory).is_per_iteration(c))
        other = Trial(asked.undone - redone, redone)
        found = self.plan(other) if redone else None
        return (found[0], other) if found is not None and self.size(found[0]) <= self.size(best) else (best, asked)

    def with_checkpoints(self, best: TapePlan, asked: Trial) -> TapePlan:
        """Checkpoint loops with long tapes, one after the other, if it pays."""
        if "checkpoints" in config.without:
            return best
        for path in list(checkpoints.worthwhile(self.program, best, self.least)):
            more = self.checkpointed(path, best, asked)
            found = self.plan(more) if more is not None else None
            if found is None or more is None:
                continue
            plan = found[0]
            if self.nested or not checkpoints.fit(plan, path):
                plan, more = self.nesting(path, plan, more)
            if checkpoints.is_known(plan, path) and checkpoints.pays(plan, best, path, self.program, self.least):
                best, asked = plan, more
        return best

    def checkpointed(
        self, path: Path, plan: TapePlan, asked: Trial, least: bool = False, one_tape: bool = False
    ) -> Trial | None:
        """Ask for checkpoints on one more loop as well; None if it cannot have them."""
        least = least or self.least
        made = checkpoints.checkpoint(self.program, self.memory, plan, path, self.names, least, one_tape, self.disk)
        if made is None or self.part and made.is_open:
            return None
        return replace(asked, checkpoints={**asked.checkpoints, path: made})

    def nesting(self, outer: Path, plan: TapePlan, asked: Trial) -> tuple[TapePlan, Trial]:
        """Checkpoint loops inside of one with checkpoints, and what is inside of these, the outermost first.

        What they keep is there once, and the next trip of the loop around them writes over it: that loop keeps the tape
        of one trip at a time.
        """
        for path in checkpoints.inner_loops(self.memory, outer):
            if not checkpoints.can_be_nested(self.memory.nodes[path], path, plan):
                continue
            around = self.checkpointed(outer, plan, asked, least=len(outer) > 1, one_tape=True)
            more = self.checkpointed(path, plan, around, least=True) if around is not None else None
            found = self.plan(more) if more is not None else None
            if found is None or more is None:
                continue
            tried, more = self.nesting(path, found[0], more)
            if checkpoints.is_known(tried, path):
                plan, asked = tried, more
        return plan, asked
