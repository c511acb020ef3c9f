"""Differentiate a program within a limit of memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sdgrad.analysis.uses import users
from sdgrad.autodiff.differentiate import Differentiated, differentiate_program
from sdgrad.autodiff.request import Request
from sdgrad.config import config, device
from sdgrad.errors import ArgumentError, MemoryLimitError
from sdgrad.machine.limits import Limit, shown
from sdgrad.memory.footprint import bounds_of_loops, bytes_of, largest, results
from sdgrad.memory.plan import MemoryPlan, as_given, fastest, smallest
from sdgrad.optimize.passes import optimize
from sdgrad.program.tree import Program, writes
from sdgrad.tape.split import Halves

SHARING = ("checkpoint-memory", "buffer-sharing")
"""Passes that a plan does the work of."""


@dataclass(frozen=True)
class Alternative:
    """One way to differentiate a program: all tapes where they pay, or checkpoints on every loop."""

    result: Differentiated
    program: Program


def within(program: Program, request: Request, given: bool = False) -> tuple[Differentiated, MemoryPlan]:
    """Differentiate a program such that it takes no more memory than the request allows, and the least time.

    :param given: the caller has made the arrays of the results, which count for nothing then.
    :raises MemoryLimitError: it takes more, whatever is computed again.
    :raises ArgumentError: it runs on a GPU, or has arrays of sizes that are not known.
    """
    assert request.memory_limit is not None
    own = replace(request, memory_limit=None)
    plain = _made(program, own)
    theirs = results(plain.program) if given else 0
    limit = request.memory_limit.within(as_given(plain.program).bytes - theirs)
    quick = fastest(plain.program, limit + theirs) if limit is not None else None
    if quick is not None and quick.seconds == 0:
        return plain.result, quick
    made = [plain, _made(program, replace(own, least=True))]
    if limit is not None:
        fast = [(a.result, plan) for a in made if (plan := fastest(a.program, limit + theirs)) is not None]
        if fast:
            return min(fast, key=lambda pair: pair[1].seconds)
    least = min(((a.result, smallest(a.program)) for a in made), key=lambda pair: pair[1].bytes)
    if limit is not None and least[1].bytes > limit + theirs:
        raise _too_large(program, request.memory_limit, least[1].bytes - theirs)
    return least


def _made(program: Program, request: Request) -> Alternative:
    result = differentiate_program(program, request)
    return Alternative(result, unplaced(result.program))


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
                f"memory_limit: the size of '{name}' in '{program.name}', {size}, is known when the program runs, and no "
                "plan can be made before. Leave the limit out, or use arrays whose shapes follow from those of arguments"
            )
    return made


def halves_within(parts: Halves, limit: Limit) -> tuple[tuple[MemoryPlan, MemoryPlan] | None, Limit]:
    """Return the plans of a forward and a backward half, and the limit in bytes.

    No plans if these take more, with what is between them.
    """
    plans = as_given(unplaced(parts.forward)), as_given(unplaced(parts.backward))
    takes = max(bytes_of_half(p, parts) for p in plans)
    most = limit.within(takes)
    return (plans if most is not None and takes <= most else None), Limit(most)


def bytes_of_half(plan: MemoryPlan, parts: Halves) -> int:
    """Return the bytes of a half with what the forward half leaves, wherever that is."""
    program = plan.program
    written = {program.root(w) for node in program.body for w in writes(node)}
    return plan.bytes + sum(bytes_of(program.containers[n]) for n in parts.kept - written if n in program.arguments)


def _too_large(program: Program, limit: Limit, least: int) -> MemoryLimitError:
    """Return the error that says how much a program takes at least."""
    return MemoryLimitError(
        f"'{program.name}' takes {shown(least)} at least ({least:,} bytes), more than its memory_limit of {limit}: give "
        'it more, or "min" for as little as it can do with',
        least,
    )
