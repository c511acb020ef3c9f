"""How time and memory of gradients grow with size, beside their functions: exponents over a sixteen-fold range.

``python -m benchmarks.growth --kernels cholesky,nbody --reps 5 --out benchmarks/results``

Exponents are slopes of least squares in logarithms. Memory is what the process grows by during the first call, at most:
results, temporaries and tapes, those included that programs keep for their next call.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from benchmarks.clock import limit_threads, medians, peak_memory

FACTORS = (1, 2, 4, 8, 16)
SIZES: dict[str, Sequence[Sequence[tuple]]] = {  # each is a row
    "jacobi_2d": [[(20, 50 * k) for k in FACTORS]],
    "seidel_2d": [[(8, 25 * k) for k in FACTORS]],
    "cholesky": [[(40 * k,) for k in FACTORS], [(160 * k,) for k in FACTORS]],
    "durbin": [[(200 * k,) for k in FACTORS], [(1600 * k,) for k in FACTORS]],
    "nbody": [[(16 * k, 10) for k in FACTORS], [(64 * k, 10) for k in FACTORS]],
}


def slope(values: Sequence[float]) -> float:
    """The exponent of values for sizes that are :data:`FACTORS`."""
    import numpy as np

    return float(np.polyfit(np.log(FACTORS), np.log(np.maximum(values, 1.0)), 1)[0])


class Row(NamedTuple):
    """Nanoseconds and bytes, of function and gradient, for each of some sizes."""

    name: str
    sizes: Sequence[tuple]
    found: dict[str, list[float]]


def measure(name: str, sizes: Sequence[tuple], reps: int) -> Row:
    import numpy as np

    from benchmarks.engines import Sdgrad
    from benchmarks.kernels import load

    kernel = load(name)
    found: dict[str, list[float]] = {n: [] for n in ("forward", "gradient", "forward_memory", "gradient_memory")}
    for size in sizes:
        engine = Sdgrad(kernel, kernel.inputs(size, np.random.default_rng(0)))
        engine.build_forward()
        engine.build_gradient()
        ready = {"forward": engine.forward, "gradient": engine.gradient}
        for what, call in ready.items():
            found[f"{what}_memory"].append(float(peak_memory(call) or 0))
        for what, seconds in medians(ready, reps).items():
            found[what].append(1e9 * seconds)
    return Row(name, sizes, found)


def table(rows: Sequence[Row]) -> str:
    """Exponents, and the ratio of gradient to function at the smallest and at the largest size."""
    head = "| kernel | sizes | exponent of time: function | gradient | ratio, smallest | largest "
    lines = [head + "| exponent of memory: function | gradient | MB, largest |", "|---|---|" + "---:|" * 7]
    for name, of, r in rows:
        sizes = f"{of[0]} to {of[-1]}"
        ratios = [r["gradient"][k] / r["forward"][k] for k in (0, -1)]
        numbers = [slope(r["forward"]), slope(r["gradient"]), *ratios]
        numbers += [slope(r["forward_memory"]), slope(r["gradient_memory"]), r["gradient_memory"][-1] / 1e6]
        lines.append(f"| {name} | {sizes} | " + " | ".join(f"{n:.2f}" for n in numbers) + " |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__.split("\n")[0])
    parser.add_argument("--kernels", default=",".join(SIZES), help="names, with commas")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--out", type=Path, help="a folder for the table")
    options = parser.parse_args(arguments)
    limit_threads(options.threads)
    rows = []
    for name in options.kernels.split(","):
        for sizes in SIZES[name]:
            print(f"{name} {sizes[0]} to {sizes[-1]} ...", file=sys.stderr, flush=True)
            with get_context("spawn").Pool(1) as process:  # without memory that another row has left behind
                rows.append(process.apply(measure, (name, sizes, options.reps)))
    text = table(rows)
    print(text)
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "growth.md").write_text(f"{options.threads} thread(s), {options.reps} repetitions.\n\n{text}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
