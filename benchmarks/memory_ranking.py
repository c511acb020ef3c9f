"""Predicted and measured times of plans within limits of memory: does the planner rank them as the clock does?

``python -m benchmarks.memory_ranking --out benchmarks/results``
``python -m benchmarks.memory_ranking --kernels --points 20 --out benchmarks/results``

For each program (with ``--kernels``: of the benchmark's kernels at medium size) the plans of ``sdgrad.memory_plan``,
from everything kept down to the least memory, in turns: each is called several times in a row, after a call that is not
measured. A pair of plans counts where the predicted times differ by a twentieth at least. Beside it stands by how much
more memory ever makes a program slower. One thread, medians.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.clock import limit_threads, seconds

if TYPE_CHECKING:
    from benchmarks.long_tapes import Case

APART = 0.05  # times that are closer are not ranked
SLOWEST = 12.0  # a plan that takes so many times as long is not measured
CALLS = 3  # in a row


@dataclass(frozen=True)
class Plan:
    """One plan: its bytes, and its time relative to that without a limit, predicted and in seconds."""

    bytes: int
    predicted: float
    seconds: float


def measure(case: Case, points: int, rounds: int) -> list[Plan]:
    """Measure the plans of a program."""
    import sdgrad

    curve = sdgrad.memory_plan(case.function, *case.arguments, wrt=case.wrt, points=points)
    found = [p for p in curve.points if p.slowdown <= SLOWEST]
    limited = [sdgrad.value_and_grad(case.function, case.wrt, memory_limit=p.bytes) for p in found]
    calls: list[Callable[[], Any]] = [lambda g=g: g(*case.arguments) for g in limited]
    samples: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, own in zip(calls, samples, strict=True):
            call()
            own += [seconds(call) for _ in range(CALLS)]
    return [Plan(p.bytes, p.slowdown, statistics.median(own)) for p, own in zip(found, samples, strict=True)]


def ranked(plans: Sequence[Plan]) -> tuple[int, int]:
    """Return how many pairs are ranked rightly, and how many there are."""
    pairs = [
        (a, b)
        for a, b in itertools.combinations(plans, 2)
        if abs(a.predicted / b.predicted - 1) >= APART  # the others are not ranked
    ]
    return sum((a.predicted < b.predicted) == (a.seconds < b.seconds) for a, b in pairs), len(pairs)


def slower_with_more(plans: Sequence[Plan]) -> float:
    """Return by how much a plan takes longer than one with fewer bytes, at most: 0 if none does."""
    ordered = sorted(plans, key=lambda p: p.bytes)
    fastest = itertools.accumulate((p.seconds for p in ordered), min)
    return max([0.0, *(b.seconds / least - 1 for b, least in zip(ordered[1:], fastest, strict=False))])


def table(found: dict[str, list[Plan]]) -> str:
    """Return the plans as Markdown."""
    counts = [ranked(plans) for plans in found.values()]
    right, pairs = (sum(c) for c in zip(*counts, strict=True))
    worst = max(found, key=lambda name: slower_with_more(found[name]))
    lines = [
        f"{right} of {pairs} pairs are ranked rightly. More memory makes a program slower by at most "
        f"{slower_with_more(found[worst]):.0%} ({worst}).\n",
        "| program | MB | s | times as long | predicted |",
    ]
    lines.append("|---|---:|---:|---:|---:|")
    for name, plans in found.items():
        for p in plans:
            ratio = p.seconds / plans[0].seconds
            lines.append(f"| {name} | {p.bytes / 1e6:.2f} | {p.seconds:.4f} | {ratio:.2f} | {p.predicted:.2f} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory_ranking", description=__doc__.split("\n")[0])
    parser.add_argument("--points", type=int, default=7, help="plans of each program")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--scale", type=float, default=1.0, help="factor of the sizes")
    parser.add_argument("--kernels", action="store_true", help="the kernels, instead of programs with long tapes")
    parser.add_argument("--only", nargs="*", help="programs whose names begin so")
    parser.add_argument("--out", type=Path, help="a folder for the table")
    options = parser.parse_args(arguments)
    limit_threads(1)
    from benchmarks.long_tapes import cases, kernels

    found = {}
    for case in kernels() if options.kernels else cases(options.scale):
        if not options.only or case.name.startswith(tuple(options.only)):
            plans = measure(case, options.points, options.rounds)
            right, pairs = ranked(plans)
            told = f"{len(plans)} plans, {right} of {pairs} pairs, slower with more by {slower_with_more(plans):.0%}"
            print(f"{case.name}: {told}", flush=True)
            if len(plans) > 1:
                found[case.name] = plans
    text = table(found)
    print(text)
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        name = "memory_ranking_kernels.md" if options.kernels else "memory_ranking.md"
        (options.out / name).write_text(f"# Ranking of plans\n\n{__doc__.split(chr(10))[0]}\n\n{text}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
