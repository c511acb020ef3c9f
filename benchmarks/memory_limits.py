"""Limits of memory on kernels and networks: what calls take, counted by the allocator, and how much longer they run.

``python -m benchmarks.memory_limits --out benchmarks/results``

Each kernel, and each training step of :mod:`benchmarks.modules`, within 75, 50 and 25% of the bytes that its value and
gradients take without a limit. A limit is met, or refused with the least that the program can do with.

Bytes are the most that the allocator has given out at once during a call, arguments not counted (``tests/meter.c``,
loaded before the C library). One thread; times are medians, relative to a call without a limit. Gradients are compared
with those without a limit.
"""

from __future__ import annotations

import copy
import ctypes
import gc
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.clock import limit_threads, medians
from benchmarks.tables import options_of, publish

METER = Path(__file__).parents[1] / "tests" / "meter.c"
VARIABLE = "BENCHMARK_METER"
SHARES = ("75%", "50%", "25%")
SIZE = "medium"
ROOM = 20_000  # bytes that Python's own objects may take during a call


def with_meter(given: Sequence[str]) -> None:
    """Run this program again, its memory counted."""
    target = Path(tempfile.mkdtemp()) / "meter.so"
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", str(METER), "-o", str(target)], check=True)
    environment = {**os.environ, "LD_PRELOAD": str(target), VARIABLE: str(target)}
    os.execve(sys.executable, [sys.executable, "-m", "benchmarks.memory_limits", *given], environment)


def flat(found: tuple) -> list[Any]:
    """Copy a value and its gradients, as one list of arrays."""
    import numpy as np

    value, gradients = found
    return [np.array(x) for x in (value, *(gradients if isinstance(gradients, tuple) else (gradients,)))]


def bytes_of(call: Callable[..., Any], arguments: Callable[[], tuple], meter: Any) -> int:
    """Return the most bytes that a call takes at once."""
    import sdgrad

    given = arguments()
    gc.collect()
    sdgrad.free_memory()
    before = meter.meter_start()
    held = call(*given)
    taken = meter.meter_most() - before
    del held
    return taken


def error_of(found: Sequence[Any], right: Sequence[Any]) -> float:
    """Return the largest difference, relative to the largest element of its array."""
    import numpy as np

    sizes = [max(float(np.max(np.abs(b), initial=0.0)), 1e-300) for b in right]
    return max(float(np.max(np.abs(a - b), initial=0.0)) / s for a, b, s in zip(found, right, sizes, strict=True))


@dataclass(frozen=True)
class Case:
    """What is run within limits.

    :param within: a call within a limit, or without one.
    :param found: the results of a call, copied, as a list of arrays.
    :param plans: how many plans there are.
    :param all: bytes without a limit.
    :param least: bytes that it takes at least.
    """

    name: str
    within: Callable[[Any], Callable[..., Any]]
    arguments: Callable[[], tuple]
    found: Callable[[Any], list[Any]]
    plans: int
    all: int
    least: int


def of_kernel(name: str) -> Case:
    """Return a kernel of the benchmark."""
    import numpy as np

    import sdgrad
    from benchmarks.kernels import load

    kernel = load(name)

    def arguments() -> tuple:
        return kernel.inputs(kernel.sizes[SIZE], np.random.default_rng(3))

    f, wrt = kernel.numpy_version, tuple(kernel.positions)
    curve = sdgrad.memory_plan(f, *arguments(), wrt=wrt, points=20)
    return Case(
        name,
        lambda limit: sdgrad.value_and_grad(f, wrt, memory_limit=limit),
        arguments,
        flat,
        len(curve.points),
        curve.unlimited,
        curve.least,
    )


def of_module(name: str, meter: Any) -> Case:
    """Return a training step of a module; a share is one of what it takes without a limit, as measured."""
    import torch

    import sdgrad
    from benchmarks.modules import modules, step

    torch.manual_seed(0)
    module, args = modules()[name]()

    def within(limit: Any) -> Callable[..., Any]:
        bytes_ = int(whole * float(limit[:-1]) / 100) if isinstance(limit, str) else limit
        own = sdgrad.Module(copy.deepcopy(module), **({} if limit is None else {"memory_limit": bytes_}))

        def call(*given: Any) -> list[Any]:
            step(own, given)
            return [p.grad for p in own.parameters()]

        return call

    whole, least = 0, 0
    free = within(None)
    free(*args)
    whole = bytes_of(free, lambda: args, meter)
    try:
        within(1)(*args)
    except sdgrad.errors.MemoryLimitError as refusal:
        least = refusal.least
    return Case(
        f"module {name}",
        within,
        lambda: args,
        lambda found: [g.numpy().copy() for g in found],
        len(SHARES),
        whole,
        least,
    )


def measure(case: Case, meter: Any, reps: int) -> dict[str, Any]:
    """Measure a case within each limit."""
    import sdgrad

    free, arguments = case.within(None), case.arguments
    right = case.found(free(*arguments()))
    row: dict[str, Any] = {"name": case.name, "all": case.all, "least": case.least, "plans": case.plans}
    calls: dict[str, Callable[[], Any]] = {"all": lambda: free(*arguments())}
    for share in SHARES:
        limited = case.within(share)
        try:
            error = error_of(case.found(limited(*arguments())), right)
        except sdgrad.errors.MemoryLimitError as refusal:
            row[share] = {"refused": refusal.least}
            continue
        allowed, taken = int(case.all * float(share[:-1]) / 100), bytes_of(limited, arguments, meter)
        row[share] = {"allowed": allowed, "taken": taken, "error": error, "met": taken <= allowed + ROOM}
        calls[share] = lambda limited=limited: limited(*arguments())
    times = medians(calls, reps) if len(calls) > 1 else {}
    for share in times.keys() & set(SHARES):
        row[share]["slowdown"] = times[share] / times["all"]
    return row


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the programs that have more plans than one as Markdown, and the counts of all."""

    def shown(row: dict[str, Any], share: str) -> str:
        found = row[share]
        return "refused" if "refused" in found else f"{found['taken'] / 1e6:.2f} MB, {found['slowdown']:.2f}"

    tried = [r[s] for r in rows for s in SHARES]
    met, refused = [t for t in tried if t.get("met")], [t for t in tried if "refused" in t]
    wrong = sum(t["refused"] != r["least"] for r in rows for s in SHARES if "refused" in (t := r[s]))
    error = max((t["error"] for t in met), default=0.0)
    lines = [
        f"{len(rows)} programs, {len(tried)} limits: {len(met)} met, {len(refused)} refused, "
        f"{len(tried) - len(met) - len(refused)} passed over. {wrong} refusals name another least than the plan. "
        f"Gradients differ by {error:.0e} at most.\n",
        "Programs with a choice (bytes taken, time relative to a call without a limit):\n",
        "| program | all, MB | least, MB | 75% | 50% | 25% |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for row in (r for r in rows if r["plans"] > 1):
        parts = " | ".join(shown(row, s) for s in SHARES)
        lines.append(f"| {row['name']} | {row['all'] / 1e6:.2f} | {row['least'] / 1e6:.2f} | {parts} |")
    return "\n".join(lines)


def main(given: Sequence[str] | None = None) -> int:
    options = options_of("memory_limits", __doc__ or "", "kernels", 5, given)
    if VARIABLE not in os.environ:
        with_meter(sys.argv[1:] if given is None else given)
    limit_threads(1)
    import sdgrad
    from benchmarks.kernels import ALL
    from benchmarks.modules import modules
    from sdgrad.runtime.call import persistent_workspace

    meter = ctypes.CDLL(os.environ[VARIABLE])
    meter.meter_start.restype = meter.meter_most.restype = ctypes.c_long
    persistent_workspace.MOST = 0  # all memory is that of a call
    rows = []
    with sdgrad.config.override(verify="never"):
        cases = {name: partial(of_kernel, name) for name in ALL}
        cases |= {f"module {name}": partial(of_module, name, meter) for name in modules()}
        for make in (make for name, make in cases.items() if options.only in name):
            rows.append(measure(make(), meter, options.reps))
            print(rows[-1], file=sys.stderr, flush=True)
    publish("memory_limits", __doc__ or "", rows, table(rows), options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
