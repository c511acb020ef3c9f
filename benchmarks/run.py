"""Gradients by sdgrad, JAX, ``dace.autodiff`` and PyTorch, side by side.

``python -m benchmarks.run --kernels gemm,mlp --engines sdgrad,jax --sizes medium --threads 1 --reps 9``

Each engine runs each kernel in a process of its own, on the same cores, with the same number of threads and the same
arguments, in float64. Results are compared first. Then the engines take turns, one sample each in every repetition, so
that a slow minute of the machine slows all alike; medians are reported, and their ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.engines import ENGINES, Engine
from benchmarks.kernels import ALL, load
from benchmarks.report import Row, measured, plots, preparations, save, table

SIZES = ("small", "medium", "large")
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Suite:
    """The engines, the module that runs one of them with a kernel, and the seconds that a first gradient may take."""

    engines: Mapping[str, type[Engine]]
    worker: str = "benchmarks.worker"
    patience: float = 600


class Refused(Exception):
    """An engine cannot do a kernel, or does it wrongly."""


class Process:
    """An engine with a kernel, in a process of its own."""

    def __init__(self, suite: Suite, engine: str, kernel: str, size: str, threads: int, folder: Path) -> None:
        self.results, self.log, self.patience = folder / "results.npz", folder / "log", suite.patience
        command = [sys.executable, "-m", suite.worker, engine, kernel, size, str(threads), str(folder)]
        paths = [str(Path(__file__).parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, env=environment
            )

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """
        :raises Refused: it failed, crashed, or took too long.
        """
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps({"do": do, **request}) + "\n")
            self.process.stdin.flush()
            line = _line(self.process, self.patience)
        except BrokenPipeError:
            line = ""
        if not line:
            raise Refused(f"the process ended with {self.process.poll()}")
        reply = json.loads(line)
        if "error" in reply:
            raise Refused(reply["error"])
        return reply

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


def _line(process: subprocess.Popen, patience: float) -> str:
    """The next line that a process says; it is ended when that takes too long."""
    timer = threading.Timer(patience, process.kill)
    timer.start()
    try:
        assert process.stdout is not None
        return process.stdout.readline()
    finally:
        timer.cancel()


def results_of(engine: str, process: Process) -> dict[str, Any]:
    with np.load(process.results) as found:
        own = dict(found)
    return {n: np.conj(v) if engine == "jax" else v for n, v in own.items()}  # JAX has the conjugate


def compare(found: dict[str, Any], right: dict[str, Any]) -> None:
    """
    :raises Refused: value or gradients are not those of the reference.
    """
    for name, reference in right.items():
        if name == "value" and name not in found:
            continue
        if found[name].size != reference.size:
            raise Refused(f"wrong: {name.removeprefix('of_')} has {found[name].size} elements, not {reference.size}")
        scale = np.max(np.abs(reference), initial=0.0) or 1.0
        apart = np.max(np.abs(found[name].reshape(reference.shape) - reference), initial=0.0) / scale
        if not apart <= TOLERANCE:
            raise Refused(f"wrong: {name.removeprefix('of_')} is {apart:.1e} apart")


def run_kernel(
    name: str, size: str, engines: Sequence[str], options: argparse.Namespace, suite: Suite = Suite(ENGINES)
) -> Row:
    """Measure one kernel at one size. What fails is written in the row, and the others go on."""
    row = Row(name, size)
    processes: dict[str, Process] = {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            right: dict[str, Any] | None = None
            for engine in sorted(engines, key=lambda e: e != "jax"):  # the others are compared with it
                (own := Path(folder) / engine).mkdir()
                processes[engine] = Process(suite, engine, name, size, options.threads, own)
                try:
                    reply: dict[str, Any] = {}
                    if suite.engines[engine].differentiates:
                        reply = processes[engine].ask("gradient", results=str(processes[engine].results))
                        found = results_of(engine, processes[engine])
                        if right is None:
                            right = found
                        compare(found, right)
                    value = {"value": np.asarray(processes[engine].ask("forward")["value"])}
                    if right is not None:
                        right = {**value, **right}
                        compare(value, {"value": right["value"]})
                except Refused as refusal:
                    row.errors[engine] = str(refusal)
                    processes.pop(engine).end()
                    continue
                if "first" in reply:
                    row.first[engine] = reply["first"]
                for what in ("memory", "preparation"):
                    if reply.get(what) is not None:
                        getattr(row, what)[engine] = reply[what]
            samples: dict[tuple[str, str], list[float]] = {}
            for _ in range(options.reps):
                for engine, process in processes.items():
                    for what in ("forward", "gradient") if suite.engines[engine].differentiates else ("forward",):
                        samples.setdefault((what, engine), []).append(process.ask("time", what=what)["seconds"])
            for (what, engine), times in samples.items():
                getattr(row, what)[engine] = statistics.median(times)
        finally:
            for process in processes.values():
                process.end()
    return row


def choices(known: Sequence[str]) -> Callable[[str], list[str]]:
    """Read names with commas between them."""

    def parse(text: str) -> list[str]:
        chosen = text.split(",")
        for name in chosen:
            if name not in known:
                raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(known)}")
        return chosen

    return parse


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    kernels = list(ALL)
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__.split("\n")[0])
    parser.add_argument("--kernels", type=choices(kernels), default=kernels, help=f"of {', '.join(kernels)}")
    parser.add_argument(
        "--engines",
        type=choices(list(ENGINES)),
        default=list(ENGINES),
        help=f"of {', '.join(ENGINES)}",
    )
    parser.add_argument("--sizes", type=choices(SIZES), default=["medium"], help=f"of {', '.join(SIZES)}")
    parser.add_argument("--threads", type=int, default=1, help="cores and threads for each engine")
    parser.add_argument("--reps", type=int, default=9, help="repetitions, of which the median is taken")
    parser.add_argument("--out", type=Path, help="a folder for numbers, table and plots")
    parser.add_argument(
        "--add", action="store_true", help="to those in the folder: kernels not measured now stay there"
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = options_of(arguments)
    found = {(r.size, r.kernel): r for r in measured(options.out)} if options.add and options.out is not None else {}
    for size in options.sizes:
        for name in options.kernels:
            print(f"{name} ({size}) ...", end=" ", file=sys.stderr, flush=True)
            start = time.perf_counter()
            engines = [e for e in options.engines if not e.startswith("torch") or load(name).torch_version]
            row = found[size, name] = run_kernel(name, size, engines, options)
            failed = f", not by {', '.join(row.errors)}" if row.errors else ""
            print(f"{time.perf_counter() - start:.0f} s{failed}", file=sys.stderr)
            if options.out is not None:
                save(in_order(found), vars(options), options.out)  # what there is, should this be interrupted
    rows = in_order(found)
    print(table(rows, options.engines))
    print("\n".join(preparations(rows)))
    for row in rows:
        for engine, error in row.errors.items():
            print(f"- {row.kernel} ({row.size}), {engine}: {' '.join(error.split())[:200]}")
    if options.out is not None:
        plots(rows, options.engines, options.out)
        print(f"\nwritten to {options.out}")
    return int(any("sdgrad" in row.errors for row in rows))


def in_order(found: Mapping[tuple[str, str], Row]) -> list[Row]:
    """Rows by size and kernel, in the order of these."""
    return [found[size, name] for size in SIZES for name in ALL if (size, name) in found]


if __name__ == "__main__":
    sys.exit(main())
