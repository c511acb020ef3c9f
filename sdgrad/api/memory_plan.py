"""Show what limits of memory cost: ``memory_plan``."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sdgrad.api.gradient import DiskLimit, GradFunction, value_and_grad
from sdgrad.config import in_memory_of
from sdgrad.errors import ArgumentError
from sdgrad.machine.limits import Limit, shown
from sdgrad.memory.limited import Alternatives, files
from sdgrad.memory.plan import MemoryPlan
from sdgrad.record.shown import short
from sdgrad.specialize.argnums import Wrt
from sdgrad.specialize.arguments import Call

BAR = 40  # characters
REPEATS = 5
SHOWN_GAP = 0.01


@dataclass(frozen=True)
class PlanPoint:
    """One plan of a function's gradient.

    :param bytes: that a call takes at most, beside its arguments.
    :param slowdown: estimated time, relative to that without a limit.
    :param rooms: units for states and tapes of loops with checkpoints, by their schedules.
    :param segments: how many parts of the program run again.
    :param disk: bytes of files.
    :param gap: by how much the plan may be slower than the best one, as a part of the time that it runs again.
    :param seconds: of a call, measured; None if it was not.
    """

    bytes: int
    slowdown: float
    rooms: Mapping[str, int]
    segments: int
    disk: int = 0
    gap: float = 0.0
    seconds: float | None = None

    def __str__(self) -> str:
        measured = f"{self.seconds * 1e3:10.3f} ms" if self.seconds is not None else ""
        counts = (len(self.rooms), "loop", "with checkpoints"), (self.segments, "part", "run again")
        parts = [f"{n} {what}{'s' * (n > 1)} {how}" for n, what, how in counts if n]
        parts += [f"{shown(self.disk)} on the disk"] if self.disk else []
        parts += [f"perhaps not the fastest (within {self.gap:.0%})"] if self.gap >= SHOWN_GAP else []
        return f"{shown(self.bytes):>10}  {self.slowdown:6.2f} {measured}  {', '.join(parts) or 'everything is kept'}"


@dataclass(frozen=True)
class MemoryCurve:
    """The plans of a function's gradient, from the most memory to the least: print it.

    :param unlimited: bytes that a call takes without a limit; None if only a run knows.
    """

    name: str
    unlimited: int | None
    points: tuple[PlanPoint, ...]

    @property
    def least(self) -> int:
        """Return the bytes of ``memory_limit="min"``."""
        return self.points[-1].bytes

    def __str__(self) -> str:
        whole = "unknown" if self.unlimited is None else shown(self.unlimited)
        ends = f"{whole} without a limit, {shown(self.least)} at least"
        head = f"memory of the gradient of {self.name}: {ends}"
        rows = [f"{p}\n{'':>12}{'#' * max(1, round(BAR * p.bytes / self.points[0].bytes))}" for p in self.points]
        return "\n".join([head, "     bytes    time", *rows])


@short
def memory_plan(
    f: Callable,
    *args: Any,
    wrt: Wrt = 0,
    points: int = 12,
    measure: bool = False,
    disk_limit: DiskLimit = None,
    **kwargs: Any,
) -> MemoryCurve:
    """Return the plans by which the gradient of ``f`` keeps limits of memory, for arguments like these.

    :param f: a function that returns one scalar, as for :func:`~sdgrad.value_and_grad`; or what that (or ``grad``) has
        returned, whose plans these are then.
    :param points: how many limits are tried, from what it takes without one down to the least, each a constant factor
        below the one before.
    :param measure: compile each plan, and measure a call of it.
    :param disk_limit: as for :func:`~sdgrad.value_and_grad`.
    :returns: a curve that can be printed, with each plan once.
    """
    if not isinstance(points, (int, np.integer)) or points < 2:
        raise ArgumentError(f"a curve has two points at least, not points={points!r}")
    own = f if isinstance(f, GradFunction) else value_and_grad(f, wrt)
    assert isinstance(own, GradFunction)
    call = Call.of(own.f, args, kwargs)
    question = own.of_leaves(call)
    with in_memory_of(Limit()):  # integers are known
        signature, _, _, request = question.question(call.arguments)
        made = Alternatives.of(signature.program, replace(request, memory_limit=None), files(Limit.of(0, disk_limit)))
    found = made.curve(points)
    plans = [_point(p, made) for p in found]
    if measure:
        limits = [Limit.of(p.bytes, disk_limit) for p in plans]
        times = [_measured(replace(own, memory_limit=limit), args, kwargs) for limit in limits]
        plans = [replace(p, seconds=time) for p, time in zip(plans, times, strict=True)]
    whole = made.unlimited.bytes if made.plain else None
    return MemoryCurve(signature.program.name, whole, tuple(plans))


def _point(plan: MemoryPlan, made: Alternatives) -> PlanPoint:
    slowdown = 1 + (plan.seconds - made.before) / made.seconds
    return PlanPoint(plan.bytes, slowdown, plan.units, plan.segments, plan.disk, plan.gap)


def _measured(limited: Callable, args: Sequence[Any], kwargs: Mapping[str, Any]) -> float:
    """Return the median time of some calls, after the first one."""
    limited(*args, **kwargs)
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        limited(*args, **kwargs)
        times.append(time.perf_counter() - start)
    return float(np.median(times))
