"""The programs of GradBench by sdgrad, JAX, PyTorch, HIPS/autograd and C.

``python -m benchmarks.gradbench --programs gmm,lstm --engines sdgrad,jax --sizes small --reps 5``

Each engine runs each program in a process of its own. Objectives and derivatives are compared first; then the engines
take turns, one sample each in every repetition.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.gradbench import MODULES
from benchmarks.gradbench.engines import ENGINES
from benchmarks.gradbench.program import load, names
from benchmarks.gradbench.tables import save, text_of
from benchmarks.report import measured
from benchmarks.run import SIZES, Suite, choices, run_kernel


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gradbench", description=__doc__.split("\n")[0])
    parser.add_argument("--programs", type=choices(MODULES), default=list(MODULES), help=f"of {', '.join(MODULES)}")
    parser.add_argument(
        "--engines", type=choices(list(ENGINES)), default=list(ENGINES), help=f"of {', '.join(ENGINES)}"
    )
    parser.add_argument("--sizes", type=choices(SIZES), default=["small"], help=f"of {', '.join(SIZES)}")
    parser.add_argument("--threads", type=int, default=1, help="cores and threads for each engine")
    parser.add_argument("--reps", type=int, default=7, help="repetitions, of which the median is taken")
    parser.add_argument("--patience", type=float, default=300, help="seconds that a first derivative may take")
    parser.add_argument("--note", default="", help="what else is to be told of the machine")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent.parent / "results", help="a folder")
    parser.add_argument("--add", action="store_true", help="to the rows in the folder: others stay there")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = options_of(arguments)
    suite = Suite(ENGINES, "benchmarks.gradbench.worker", options.patience)
    found = {(r.kernel, r.size): r for r in measured(options.out, "gradbench")} if options.add else {}
    for name in names(options.programs):
        for size in (s for s in options.sizes if s in load(name).sizes):
            print(f"{name} ({size}) ...", end=" ", file=sys.stderr, flush=True)
            row = found[name, size] = run_kernel(name, size, options.engines, options, suite)
            print(f"{dict(row.gradient)}, not by {row.errors}", file=sys.stderr, flush=True)
            save(list(found.values()), vars(options), options.out)
    print(text_of(list(found.values()), vars(options)))
    return int(any("sdgrad" in row.errors for row in found.values()))


if __name__ == "__main__":
    sys.exit(main())
