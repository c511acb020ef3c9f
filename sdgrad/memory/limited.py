"""Differentiate a program within a limit of memory."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sdgrad.analysis.uses import users
from sdgrad.autodiff.differentiate import Differentiated, differentiate_program
from sdgrad.autodiff.request import Request
from sdgrad.config import config, device
from sdgrad.errors import ArgumentError, MemoryLimitError
from sdgrad.machine.disk import free_disk
from sdgrad.machine.limits import Limit, shown
from sdgrad.memory.durations import seconds
from sdgrad.memory.footprint import bounds_of_loops, largest, results
from sdgrad.memory.plan import MemoryPlan, Planner, as_given
from sdgrad.memory.report import Timeline
from sdgrad.optimize.dataflow.checkpoint_memory import rooms
from sdgrad.optimize.dataflow.checkpoint_places import asked_in, asks_ahead
from sdgrad.optimize.passes import optimize
from sdgrad.program.tree import Loop, Node, Program, children, walk

OTHERS = ("checkpoint-memory", "buffer-sharing", "kept-functions")
"""Passes that a plan does the work of, or that take memory to save time."""
REUSE = "function-reuse"
"""The pass that keeps values of functions for the way backwards, in arrays that nothing can free for a while."""
PATIENCE = 0.25
"""Part of a program's time that a plan may add before another program is tried, too."""
NAMED = 3  # arrays in an error


class UnknownSize(ArgumentError):
    """Report that nobody knows the bytes of a program before it runs."""


@dataclass(frozen=True)
class Alternative:
    """One way to differentiate a program: all tapes where they pay, or checkpoints on every loop.

    :param reuses: values of functions are kept for the way backwards.
    """

    result: Differentiated
    planner: Planner
    reuses: bool = False

    @staticmethod
    def of(result: Differentiated, disk: int = 0) -> Alternative:
        """Return a way with its planner.

        :raises UnknownSize: nobody knows what it takes before it runs.
        """
        changed: set[str] = set()
        planner = Planner(unplaced(result.program, changed), disk=disk)
        return Alternative(result, planner, REUSE in changed)

    @cached_property
    def computing(self) -> Planner:
        """Return the planner of a program that computes functions again."""
        with config.override(without=(*config.without, REUSE)):
            program = unplaced(self.result.program)
        own, longer = (seconds(p.body, p) for p in (self.planner.program, program))
        return Planner(program, disk=self.planner.disk, slower=max(0.0, longer - own))

    def planners(self) -> Iterator[Planner]:
        """Yield the planners of both programs, the faster one first."""
        yield self.planner
        if self.reuses:
            yield self.computing

    def fastest(self, limit: int) -> MemoryPlan | None:
        """Return the fastest plan within some bytes; None if none is found."""
        return fastest(self.planners(), limit)

    @property
    def smallest(self) -> MemoryPlan:
        """Return the plan with the fewest bytes that is found."""
        return min((p.smallest for p in self.planners()), key=lambda plan: plan.bytes)


def fastest(planners: Iterable[Planner], limit: int) -> MemoryPlan | None:
    """Return the fastest plan within some bytes for one of some programs, the most likely one first; None without any.

    Others are tried if the first that has a plan takes much longer than without a limit.
    """
    best: MemoryPlan | None = None
    for planner in planners:
        plan = planner.fastest(limit)
        if plan is not None and (best is None or plan.seconds < best.seconds):
            best = plan
        if best is not None and best.seconds <= PATIENCE * seconds(planner.program.body, planner.program):
            break
    return best


@dataclass
class Alternatives:
    """The ways to differentiate a program; those that need less memory are made when they are asked for.

    :param plain: as without a limit; None if nobody knows the bytes of that before the program runs.
    :param unknown: what is not known then.
    :param disk: bytes that files may have.
    """

    program: Program
    request: Request
    plain: Alternative | None
    unknown: UnknownSize | None = None
    disk: int = 0

    @staticmethod
    def of(program: Program, request: Request, disk: int = 0) -> Alternatives:
        """Differentiate a program as without a limit."""
        try:
            return Alternatives(program, request, _made(program, request), disk=disk)
        except UnknownSize as unknown:
            return Alternatives(program, request, None, unknown, disk)

    @cached_property
    def all(self) -> list[Alternative]:
        """Return all of them."""
        found = [self.plain] if self.plain else []
        if found and not any(isinstance(n, Loop) for n in walk(self.program.body)):  # they differ in loops alone
            return found
        unknown = self.unknown
        for nested in (False, True) if _has_nests(self.program) else (False,):
            try:
                asked = replace(self.request, least=True, nested=nested, disk=self.disk > 0)
                found.append(_made(self.program, asked, self.disk))
            except UnknownSize as error:
                unknown = error
        if not found:
            assert unknown is not None
            raise unknown
        return found

    @property
    def first(self) -> Alternative:
        """Return the one that keeps the most."""
        return self.plain or self.all[0]

    @cached_property
    def unlimited(self) -> MemoryPlan:
        """Return the plan without a limit.

        :raises UnknownSize: nobody knows what it takes before the program runs.
        """
        if self.plain is None:
            raise UnknownSize(f"give the limit in bytes: a share is one of what nobody knows. {self.unknown}")
        return as_given(self.plain.planner.program)

    @cached_property
    def largest(self) -> MemoryPlan:
        """Return the plan without a limit, or the fastest one of those whose bytes are known."""
        found = self.unlimited if self.plain else self.first.planner.fastest(sys.maxsize)
        assert found is not None
        return found

    @property
    def seconds(self) -> float:
        """Estimate the time of a call without a limit."""
        return max(1e-9, seconds_with_tapes(self.first.planner.program) + self.before)

    @property
    def before(self) -> float:
        """Estimate the time that a call without a limit takes beside one that keeps all tapes."""
        return self.unlimited.seconds if self.plain else 0.0

    @cached_property
    def smallest(self) -> tuple[Differentiated, MemoryPlan]:
        """Return the plan with the fewest bytes that is found."""
        return min(((a.result, a.smallest) for a in self.all), key=lambda pair: pair[1].bytes)

    def fastest(self, limit: int) -> tuple[Differentiated, MemoryPlan] | None:
        """Return the fastest plan within some bytes; None if there is none."""
        quick = self.first.planner.fastest(limit)
        if quick is not None and quick.seconds == 0:
            return self.first.result, quick
        found = [(a.result, plan) for a in self.all if (plan := a.fastest(limit)) is not None]
        if found:
            return min(found, key=lambda pair: pair[1].seconds)
        return self.smallest if self.smallest[1].bytes <= limit else None

    def curve(self, points: int) -> list[MemoryPlan]:
        """Return plans for limits from the most that it takes down to the least, without any that others beat."""
        limits = np.geomspace(self.largest.bytes, self.smallest[1].bytes, points)
        plans = [self.smallest[1], *(found[1] for n in limits[:-1] if (found := self.fastest(int(n))) is not None)]
        return list(_better(sorted([self.largest, *plans], key=lambda p: (p.bytes, p.seconds))))[::-1]


def seconds_with_tapes(program: Program) -> float:
    """Estimate the time of a program whose loops keep all tapes: each part of a schedule stands for all trips."""
    trips = {r.numbers: r.reckoned for r in rooms(program)}

    def of_node(node: Node) -> float:
        inside = [n for n in walk((node,)) if isinstance(n, Loop) and asked_in(n) & trips.keys()]
        if not inside:
            return seconds((node,), program)
        if not isinstance(node, Loop) or node is not inside[0]:
            return sum(of_node(n) for block in children(node) for n in block)
        (name,) = asked_in(node)
        parts = [n for n in node.body if isinstance(n, Loop)]
        return trips[name] * sum(map(of_node, node.body if asks_ahead(node) else parts[-1].body))

    return sum(map(of_node, program.body))


def _better(plans: list[MemoryPlan]) -> Iterator[MemoryPlan]:
    """Yield those of some plans, of more and more bytes, that are faster than all with fewer."""
    best = float("inf")
    for plan in plans:
        if plan.seconds < best:
            best = plan.seconds
            yield plan


def within(
    program: Program, request: Request, given: bool = False, plain: Alternative | None = None
) -> tuple[Differentiated, MemoryPlan]:
    """Differentiate a program such that it takes no more memory than the request allows, and the least time.

    :param given: the caller has made the arrays of the results, which count for nothing then.
    :param plain: what has been made of it for a request without a limit.
    :raises MemoryLimitError: it takes more, whatever is computed again.
    :raises ArgumentError: it runs on a GPU, or has arrays of sizes that are not known.
    """
    assert request.memory_limit is not None
    asked, disk = replace(request, memory_limit=None), files(request.memory_limit)
    known = plain is not None and not disk
    made = Alternatives(program, asked, plain) if known else Alternatives.of(program, asked, disk)
    theirs = results(made.first.planner.program) if given else 0
    is_share = request.memory_limit.share is not None
    limit = request.memory_limit.within(made.unlimited.bytes - theirs if is_share else 0)
    if limit is None:
        return made.smallest
    found = made.fastest(limit + theirs)
    if found is None or limit + request.memory_limit.beside < request.memory_limit.least:
        raise too_large(program, request.memory_limit, limit, made.smallest[1], theirs)
    return found


def files(limit: Limit | None) -> int:
    """Return the bytes that files may take: as many as the user allows, and the disk has."""
    return min(limit.disk, free_disk(config.disk_folder)) if limit is not None and limit.disk else 0


def _has_nests(program: Program) -> bool:
    """True if a loop of a program stands in another one."""
    return any(isinstance(n, Loop) for loop in program.body if isinstance(loop, Loop) for n in walk(loop.body))


def _made(program: Program, request: Request, disk: int = 0) -> Alternative:
    return Alternative.of(differentiate_program(program, request), disk)


def unplaced(program: Program, changed: set[str] | None = None) -> Program:
    """Optimise a program, but for the places of its arrays.

    :param changed: takes the names of the passes that find something to do.
    :raises ArgumentError: it runs on a GPU.
    :raises UnknownSize: it has arrays of sizes that are not known before it runs.
    """
    if device() != "cpu":
        raise ArgumentError("memory_limit is for programs that run on the CPU: leave it out on a GPU")
    with config.override(without=(*config.without, *OTHERS)):
        made = optimize(program, changed=changed)
    bounds = bounds_of_loops(made.body)
    for name in users(made.body, made):
        if (desc := made.containers[name].desc).free_symbols and largest(made.containers[name], bounds) is None:
            size = " * ".join(map(str, desc.shape))
            raise UnknownSize(
                f"memory_limit: the size of '{name}' in '{program.name}', {size}, is known when the program runs, and "
                "no plan can be made before. Leave the limit out, or use arrays whose shapes follow from arguments; a "
                "'while' or a 'break' inside of another loop may stand in a function of its own, with sdgrad.checkpoint"
            )
    return made


def primal_within(program: Program, limit: Limit) -> tuple[MemoryPlan, Limit]:
    """Return the plan of a function, and the limit for its gradient that runs after it, while its results are there."""
    plan = as_given(unplaced(program))
    return plan, replace(limit, beside=limit.beside + results(plan.apart), least=limit.beside + plan.bytes)


def too_large(program: Program, limit: Limit, own: int, least: MemoryPlan, theirs: int) -> MemoryLimitError:
    """Return the error that says how much a program takes at least, and what for.

    :param own: bytes of the limit for the program.
    """
    needed = max(limit.least, least.bytes - theirs + limit.beside)
    what = "\n".join(f"    {piece}" for piece in Timeline.of(least).at_peak()[:NAMED])
    most = max(0, own + limit.beside)
    exact = f" ({most:,} bytes)" if shown(most) == shown(needed) else ""
    allowed = f"{limit}, {shown(most)}{exact}" if limit.share is not None else f"{limit}{exact}"
    told = (
        f"'{program.name}' takes {shown(needed)} at least ({needed:,} bytes), more than its memory_limit of {allowed}"
    )
    return MemoryLimitError(
        f'{told}: give it more, or "min" for as little as it can do with. Where most is live there are\n{what}', needed
    )
