"""Differentiate a program within a limit of memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sdgrad.analysis.uses import users
from sdgrad.autodiff.differentiate import Differentiated, differentiate_program
from sdgrad.autodiff.request import Request
from sdgrad.config import config, device
from sdgrad.errors import ArgumentError, MemoryLimitError
from sdgrad.machine.limits import Limit, shown
from sdgrad.memory.durations import seconds
from sdgrad.memory.footprint import bounds_of_loops, largest, results
from sdgrad.memory.plan import MemoryPlan, Planner, as_given
from sdgrad.memory.report import Timeline
from sdgrad.optimize.dataflow.checkpoint_memory import rooms
from sdgrad.optimize.passes import optimize
from sdgrad.program.tree import Loop, Node, NodeCall, Program, walk
from sdgrad.tape.split import Halves

SHARING = ("checkpoint-memory", "buffer-sharing")
"""Passes that a plan does the work of."""
NAMED = 3  # arrays in an error


@dataclass(frozen=True)
class Alternative:
    """One way to differentiate a program: all tapes where they pay, or checkpoints on every loop."""

    result: Differentiated
    planner: Planner


@dataclass
class Alternatives:
    """The ways to differentiate a program; those that need less memory are made when they are asked for."""

    program: Program
    request: Request
    plain: Alternative

    @staticmethod
    def of(program: Program, request: Request) -> Alternatives:
        """Differentiate a program as without a limit."""
        return Alternatives(program, request, _made(program, request))

    @cached_property
    def all(self) -> list[Alternative]:
        """Return all of them."""
        return [self.plain, _made(self.program, replace(self.request, least=True))]

    @cached_property
    def unlimited(self) -> MemoryPlan:
        """Return the plan without a limit."""
        return as_given(self.plain.planner.program)

    @property
    def seconds(self) -> float:
        """Estimate the time of a call without a limit."""
        return max(1e-9, seconds_with_tapes(self.plain.planner.program) + self.unlimited.seconds)

    @cached_property
    def smallest(self) -> tuple[Differentiated, MemoryPlan]:
        """Return the plan with the fewest bytes that is found."""
        return min(((a.result, a.planner.smallest) for a in self.all), key=lambda pair: pair[1].bytes)

    def fastest(self, limit: int) -> tuple[Differentiated, MemoryPlan] | None:
        """Return the fastest plan within some bytes; None if there is none."""
        quick = self.plain.planner.fastest(limit)
        if quick is not None and quick.seconds == 0:
            return self.plain.result, quick
        found = [(a.result, plan) for a in self.all if (plan := a.planner.fastest(limit)) is not None]
        if found:
            return min(found, key=lambda pair: pair[1].seconds)
        return self.smallest if self.smallest[1].bytes <= limit else None

    def curve(self, points: int) -> list[MemoryPlan]:
        """Return plans for limits from what it takes without one down to the least, without any that others beat."""
        limits = np.geomspace(self.unlimited.bytes, self.smallest[1].bytes, points)
        plans = [self.smallest[1], *(found[1] for n in limits[:-1] if (found := self.fastest(int(n))) is not None)]
        return list(_better(sorted([self.unlimited, *plans], key=lambda p: (p.bytes, p.seconds))))[::-1]


def seconds_with_tapes(program: Program) -> float:
    """Estimate the time of a program whose loops keep all tapes: each part of a schedule stands for all trips."""
    trips = {r.numbers: r.trips for r in rooms(program)}

    def of_node(node: Node) -> float:
        calls = [n for n in walk((node,)) if isinstance(n, NodeCall) and "_was" in n.inputs]
        found = next((n for c in calls if (n := c.inputs["_was"].container) in trips), None)
        inner = [n for n in node.body if isinstance(n, Loop)] if isinstance(node, Loop) else []
        if found is None or not inner:
            return seconds((node,), program)
        return trips[found] * seconds(inner[-1].body, program)

    return sum(map(of_node, program.body))


def _better(plans: list[MemoryPlan]) -> Iterator[MemoryPlan]:
    """Yield those of some plans, of more and more bytes, that are faster than all with fewer."""
    best = float("inf")
    for plan in plans:
        if plan.seconds < best:
            best = plan.seconds
            yield plan


def within(program: Program, request: Request, given: bool = False) -> tuple[Differentiated, MemoryPlan]:
    """Differentiate a program such that it takes no more memory than the request allows, and the least time.

    :param given: the caller has made the arrays of the results, which count for nothing then.
    :raises MemoryLimitError: it takes more, whatever is computed again.
    :raises ArgumentError: it runs on a GPU, or has arrays of sizes that are not known.
    """
    assert request.memory_limit is not None
    made = Alternatives.of(program, replace(request, memory_limit=None))
    theirs = results(made.plain.planner.program) if given else 0
    limit = request.memory_limit.within(made.unlimited.bytes - theirs)
    if limit is None:
        return made.smallest
    found = made.fastest(limit + theirs)
    if found is None or limit + request.memory_limit.beside < request.memory_limit.least:
        raise _too_large(program, request.memory_limit, made.smallest[1], theirs)
    return found


def _made(program: Program, request: Request) -> Alternative:
    result = differentiate_program(program, request)
    return Alternative(result, Planner(unplaced(result.program)))


def unplaced(program: Program) -> Program:
    """Optimise a program, but for the places of its arrays.

    :raises ArgumentError: it runs on a GPU, or has arrays of sizes that are not known.
    """
    if device() != "cpu":
        raise ArgumentError("memory_limit is for programs that run on the CPU: leave it out on a GPU")
    with config.override(without=(*config.without, *SHARING)):
        made = optimize(program)
    bounds = bounds_of_loops(made.body)
    for name in users(made.body, made):
        if (desc := made.containers[name].desc).free_symbols and largest(made.containers[name], bounds) is None:
            size = " * ".join(map(str, desc.shape))
            raise ArgumentError(
                f"memory_limit: the size of '{name}' in '{program.name}', {size}, is known when the program runs, and "
                "no plan can be made before. Leave the limit out, or use arrays whose shapes follow from arguments"
            )
    return made


@dataclass(frozen=True)
class PlannedHalves:
    """Plans of a forward and a backward half."""

    forward: MemoryPlan
    backward: MemoryPlan

    @staticmethod
    def of(parts: Halves) -> PlannedHalves:
        """Place the arrays of both."""
        return PlannedHalves(as_given(unplaced(parts.forward)), as_given(unplaced(parts.backward)))

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


def primal_within(program: Program, limit: Limit) -> tuple[MemoryPlan, Limit]:
    """Return the plan of a function, and the limit for its gradient that runs after it, while its results are there."""
    plan = as_given(unplaced(program))
    return plan, replace(limit, beside=limit.beside + results(plan.apart), least=limit.beside + plan.bytes)


def _too_large(program: Program, limit: Limit, least: MemoryPlan, theirs: int) -> MemoryLimitError:
    """Return the error that says how much a program takes at least, and what for."""
    needed = max(limit.least, least.bytes - theirs + limit.beside)
    what = "\n".join(f"    {piece}" for piece in Timeline.of(least).at_peak()[:NAMED])
    told = f"'{program.name}' takes {shown(needed)} at least ({needed:,} bytes), more than its memory_limit of {limit}"
    return MemoryLimitError(
        f'{told}: give it more, or "min" for as little as it can do with. Where most is live there are\n{what}', needed
    )
