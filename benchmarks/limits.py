"""Gradients beside C that was written for them by hand: how far from the limit they are.

``python -m benchmarks.limits --reps 21 --out benchmarks/results``

The C in :mod:`benchmarks.handwritten` computes value and gradient together and knows what each kernel is. It is
compiled with ``-O3 -march=native -ffast-math``. One thread, calls of both interleaved, medians; the gradients are
compared first.
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.clock import limit_threads, medians

SOURCE = Path(__file__).parent / "handwritten" / "kernels.c"
SIZES: dict[str, tuple[int, ...]] = {
    "cholesky": (100,),
    "seidel_2d": (8, 50),
    "heat_3d": (50, 40),
    "jacobi_2d": (80, 350),
}
ARRAYS = {"cholesky": (1, 1), "seidel_2d": (1, 1), "heat_3d": (2, 4), "jacobi_2d": (2, 4)}
"""Of each function, how many arrays it is given, and how many it needs besides: gradients first, then scratch."""
FLAGS = ("-O3", "-march=native", "-ffast-math", "-fPIC", "-shared", "-lm")


def compiled(folder: Path, source: Path = SOURCE) -> ctypes.CDLL:
    """What C has in a file, as a library."""
    target = folder / "handwritten.so"
    subprocess.run(["gcc", str(source), *FLAGS, "-o", str(target)], check=True)
    return ctypes.CDLL(str(target))


def by_hand(library: ctypes.CDLL, name: str, args: Sequence[Any]) -> Callable[[], tuple[float, list[Any]]]:
    """Value and gradients, by a function that works on copies of its arrays."""
    import numpy as np

    given, more = ARRAYS[name]
    arrays, counts = list(args[-given:]), list(args[:-given])
    own = [np.empty_like(arrays[0]) for _ in range(given + more)]
    function = library[name]
    function.restype = ctypes.c_double
    function.argtypes = [ctypes.c_long] * (len(counts) + 1) + [ctypes.c_void_p] * (given + more)
    pointers = [a.ctypes.data for a in own]

    def call() -> tuple[float, list[Any]]:
        for copy, array in zip(own, arrays, strict=False):
            np.copyto(copy, array)
        value = function(*counts, arrays[0].shape[0], *pointers)
        return value, own[given : 2 * given]

    return call


def measure(name: str, library: ctypes.CDLL, reps: int) -> dict[str, float]:
    """Seconds of a call, by sdgrad and by hand.

    :raises AssertionError: they do not agree.
    """
    import numpy as np

    import sdgrad
    from benchmarks.kernels import load

    kernel = load(name)
    args = kernel.inputs(SIZES[name], np.random.default_rng(0))
    gradient = sdgrad.value_and_grad(kernel.numpy_version, wrt=kernel.wrt)
    calls: dict[Any, Callable[[], Any]] = {"by hand": by_hand(library, name, args), "sdgrad": lambda: gradient(*args)}
    (value, wanted), (own, found) = calls["by hand"](), calls["sdgrad"]()
    np.testing.assert_allclose(own, value, rtol=1e-11)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9 * float(np.max(np.abs(b))))
    return medians(calls, reps)


def table(rows: dict[str, dict[str, float]]) -> str:
    lines = ["| kernel | size | by hand, ms | sdgrad, ms | sdgrad / by hand |", "|---|---|---:|---:|---:|"]
    for name, times in rows.items():
        ours, theirs = 1e3 * times["sdgrad"], 1e3 * times["by hand"]
        lines.append(f"| {name} | {SIZES[name]} | {theirs:.3f} | {ours:.3f} | {ours / theirs:.2f} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.limits", description=__doc__.split("\n")[0])
    parser.add_argument("--reps", type=int, default=21)
    parser.add_argument("--out", type=Path, help="a folder for the table")
    options = parser.parse_args(arguments)
    limit_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        library = compiled(Path(folder))
        rows = {name: measure(name, library, options.reps) for name in SIZES}
    text = table(rows)
    print(text)
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        head = f"# Beside C by hand\n\nOne thread, {options.reps} repetitions, `{' '.join(FLAGS[:3])}`.\n\n"
        (options.out / "limits.md").write_text(head + text + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
