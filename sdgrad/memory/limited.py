"""Differentiate a program within a limit of memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sdgrad.autodiff.differentiate import Differentiated, differentiate_program
from sdgrad.autodiff.request import Request
from sdgrad.config import config, device
from sdgrad.errors import ArgumentError, MemoryLimitError
from sdgrad.machine.limits import Limit, shown
from sdgrad.memory.plan import MemoryPlan, fastest, smallest, unlimited
from sdgrad.optimize.passes import optimize
from sdgrad.program.tree import Program

SHARING = ("checkpoint-memory", "buffer-sharing")
"""Passes that a plan does the work of."""


@dataclass(frozen=True)
class Alternative:
    """One way to differentiate a program: all tapes where they pay, or checkpoints on every loop."""

    result: Differentiated
    program: Program


def alternatives(program: Program, request: Request) -> Sequence[Callable[[], Alternative]]:
    """Return the ways to differentiate a program, those that take less time first; each is made when it is called."""
    own = replace(request, memory_limit=None)
    return [lambda r=r: _made(program, r) for r in (own, replace(own, least=True))]


def _made(program: Program, request: Request) -> Alternative:
    result = differentiate_program(program, request)
    with config.override(without=(*config.without, *SHARING)):
        return Alternative(result, optimize(result.program))


def within(program: Program, request: Request) -> tuple[Differentiated, MemoryPlan]:
    """Differentiate a program such that it takes no more memory than the request allows, and the least time.

    :raises MemoryLimitError: it takes more, whatever is computed again.
    :raises ArgumentError: it runs on a GPU, or has arrays of sizes that are not known.
    """
    assert request.memory_limit is not None
    if device() != "cpu":
        raise ArgumentError("memory_limit is for programs that run on the CPU: leave it out on a GPU")
    made = [make() for make in alternatives(program, request)]
    limit = request.memory_limit.within(unlimited(made[0].program).bytes)
    if limit is None:
        limit = min(smallest(a.program).bytes for a in made)
    found = [(a.result, plan) for a in made if (plan := fastest(a.program, limit)) is not None]
    if not found:
        raise _too_large(program, request.memory_limit, [smallest(a.program) for a in made])
    return min(found, key=lambda pair: pair[1].seconds)


def _too_large(program: Program, limit: Limit, plans: Sequence[MemoryPlan]) -> MemoryLimitError:
    """Return the error that says how much a program takes at least, and what for."""
    least = min(plans, key=lambda p: p.bytes)
    return MemoryLimitError(
        f"the derivative of '{program.name}' takes {shown(least.bytes)} at least ({least.bytes:,} bytes), more than its "
        f'memory_limit of {limit}: give it more, or "min" for as little as it can do with',
        least.bytes,
    )
