"""Forward and gradient times of sdgrad and JAX, side by side.

``python -m benchmarks.run --kernels gemm,mlp --engines sdgrad,jax --sizes medium --threads 1 --reps 9``

The results are compared first. Then every repetition runs everything once, so that a slow minute of the
machine slows all alike, and medians are reported, as ratios. Both engines compute in float64, are compiled
for the shapes beforehand, and get the same number of threads, on the same cores. A JAX call lasts until its
results are there.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.npbench import Kernel

ENGINES = ("sdgrad", "jax")
RESULTS = Path(__file__).parent / "results"
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Engine:
    """One engine's functions for one kernel, ready to call, and the seconds it took to get there."""

    forward: Callable[[], Any]
    gradient: Callable[[], Any]
    first_forward: float
    first_gradient: float


@dataclass
class Row:
    """What was measured for a kernel: medians in seconds by engine, or why there are none."""

    kernel: str
    size: str
    forward: dict[str, float]
    gradient: dict[str, float]
    first_forward: dict[str, float]
    first_gradient: dict[str, float]
    error: str = ""

    def cost(self, engine: str) -> float | None:
        """Gradient over forward time."""
        return _ratio(self.gradient.get(engine), self.forward.get(engine))

    def against_jax(self, what: str) -> float | None:
        times = getattr(self, what)
        return _ratio(times.get("sdgrad"), times.get("jax"))


def _ratio(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a / b


# Setting up -------------------------------------------------------------------------------------------------


def limit_threads(threads: int) -> list[int]:
    """Give this process that many cores and threads. It comes before NumPy, JAX and DaCe are imported."""
    if "numpy" in sys.modules:
        raise RuntimeError("the number of threads has to be set before NumPy is imported")
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = str(threads)
    if threads == 1:  # XLA reads a file of flags unless the variable starts with "--"
        single = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        os.environ["XLA_FLAGS"] = f"{single} {os.environ.get('XLA_FLAGS', '')}".strip()
    os.environ["JAX_PLATFORMS"] = "cpu"
    cores = sorted(os.sched_getaffinity(0))
    if threads > len(cores):
        raise SystemExit(f"--threads {threads}: this process has {len(cores)} cores")
    os.sched_setaffinity(0, cores[-threads:])
    return cores[-threads:]


def prepare(engine: str, kernel: Kernel, args: Sequence[Any]) -> Engine:
    """Compile a kernel and its gradient, and time how long the first calls take."""
    forward, gradient = (_prepare_jax if engine == "jax" else _prepare_sdgrad)(kernel, args)
    return Engine(forward, gradient, _seconds(forward, 1), _seconds(gradient, 1))


def _prepare_jax(kernel: Kernel, args: Sequence[Any]) -> tuple[Callable[[], Any], Callable[[], Any]]:
    import jax

    jax.config.update("jax_enable_x64", True)
    static = kernel.counts(args)
    forward = jax.jit(kernel.jax_version, static_argnums=static)
    differentiated = jax.value_and_grad(kernel.jax_version, argnums=kernel.positions)
    gradient = jax.jit(differentiated, static_argnums=static)
    on_device = [a if i in static else jax.device_put(a) for i, a in enumerate(args)]
    return (
        lambda: jax.block_until_ready(forward(*on_device)),
        lambda: jax.block_until_ready(gradient(*on_device)),
    )


def _prepare_sdgrad(kernel: Kernel, args: Sequence[Any]) -> tuple[Callable[[], Any], Callable[[], Any]]:
    import sdgrad

    gradient = sdgrad.value_and_grad(kernel.numpy_version, wrt=kernel.wrt)
    return _Forward(kernel, args), lambda: gradient(*args)


class _Forward:
    """The kernel alone, compiled as DaCe compiles it."""

    def __init__(self, kernel: Kernel, args: Sequence[Any]) -> None:
        self.kernel, self.args = kernel, args
        self.call: Callable[[], Any] | None = None

    def __call__(self) -> Any:
        if self.call is None:
            self.call = self._compile()
        return self.call()

    def _compile(self) -> Callable[[], Any]:
        import sdgrad

        compiled = sdgrad.compile_forward(self.kernel.numpy_version)
        return lambda: compiled(*self.args)


def check(kernel: Kernel, engines: dict[str, Engine]) -> None:
    """Compare values and gradients of the engines, element by element."""
    import numpy as np

    if len(engines) < 2:
        return
    (value, gradients), (expected_value, expected) = (engines[e].gradient() for e in ("sdgrad", "jax"))
    forward = np.asarray(engines["sdgrad"].forward()).reshape(-1)[0]
    pairs = [("forward", forward, expected_value), ("value", value, expected_value)]
    for name, found, reference in [*pairs, *zip(kernel.wrt, gradients, expected, strict=True)]:
        reference = np.conj(np.asarray(reference))  # of a complex argument, JAX returns the conjugate
        floor = TOLERANCE * np.max(np.abs(reference), initial=0.0)
        np.testing.assert_allclose(
            found, reference, rtol=TOLERANCE, atol=floor, err_msg=f"{kernel.name}: {name}"
        )


# Measuring --------------------------------------------------------------------------------------------------


def _seconds(call: Callable[[], Any], times: int) -> float:
    start = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - start) / times


def measure(calls: dict[Any, Callable[[], Any]], reps: int, least: float = 0.02) -> dict[Any, float]:
    """The median time of each call; in each repetition all of them run, for at least `least` seconds each."""
    times = {key: max(1, math.ceil(least / max(_seconds(call, 1), 1e-7))) for key, call in calls.items()}
    samples: dict[Any, list[float]] = {key: [] for key in calls}
    for _ in range(reps):
        for key, call in calls.items():
            samples[key].append(_seconds(call, times[key]))
    return {key: statistics.median(values) for key, values in samples.items()}


def run_kernel(name: str, size: str, engine_names: Sequence[str], reps: int) -> Row:
    """Measure one kernel at one size. What fails is written in the row, and the other kernels go on."""
    import numpy as np

    from benchmarks.npbench import load

    row = Row(name, size, {}, {}, {}, {})
    try:
        kernel = load(name)
        args = kernel.inputs(kernel.sizes[size], np.random.default_rng(0))
        engines = {e: prepare(e, kernel, args) for e in engine_names}
        check(kernel, engines)
        calls: dict[tuple[str, str], Callable[[], Any]] = {}
        for engine, functions in engines.items():
            calls |= {(engine, "forward"): functions.forward, (engine, "gradient"): functions.gradient}
            row.first_forward[engine] = functions.first_forward
            row.first_gradient[engine] = functions.first_gradient
        for (engine, what), seconds in measure(calls, reps).items():
            getattr(row, what)[engine] = seconds
    except Exception as error:  # a benchmark of many kernels outlives one that fails
        row.error = f"{type(error).__name__}: {str(error).strip()}"
    return row


# Reporting --------------------------------------------------------------------------------------------------


def table(rows: Sequence[Row], engines: Sequence[str]) -> str:
    """A Markdown table, with geometric means in the last line."""
    columns: list[tuple[str, Callable[[Row], float | None], str]] = []
    for engine in engines:
        columns += [
            (f"{engine} forward ms", _entry("forward", engine, 1e3), ".3f"),
            (f"{engine} gradient ms", _entry("gradient", engine, 1e3), ".3f"),
            (f"{engine} first gradient s", _entry("first_gradient", engine), ".2f"),
            (f"{engine} gradient/forward", partial(Row.cost, engine=engine), ".2f"),
        ]
    if set(engines) == set(ENGINES):
        columns += [
            ("forward sdgrad/jax", partial(Row.against_jax, what="forward"), ".2f"),
            ("gradient sdgrad/jax", partial(Row.against_jax, what="gradient"), ".2f"),
        ]
    lines = [["kernel", "size", *(title for title, _, _ in columns)]]
    for row in rows:
        cells = [(value(row), form) for _, value, form in columns]
        lines.append([row.kernel, row.size, *("-" if v is None else format(v, form) for v, form in cells)])
    means = ["**geometric mean**", ""]
    for title, value, form in columns:
        values = [v for row in rows if (v := value(row)) is not None]
        is_ratio = "/" in title
        means.append(format(statistics.geometric_mean(values), form) if values and is_ratio else "")
    lines.append(means)
    body = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([body[0], "|---|---" + "|---:" * len(columns) + "|", *body[1:]])


def _head(text: str, lines: int = 12, width: int = 160) -> str:
    """The beginning of a message; the file of results has all of it."""
    shown = [line if len(line) <= width else line[:width] + " ..." for line in text.splitlines()[:lines]]
    return "\n  ".join([*shown, "..."] if len(text.splitlines()) > lines else shown)


def _entry(what: str, engine: str, unit: float = 1.0) -> Callable[[Row], float | None]:
    def value(row: Row) -> float | None:
        seconds = getattr(row, what).get(engine)
        return None if seconds is None else unit * seconds

    return value


def machine() -> dict[str, Any]:
    """What the numbers depend on."""
    from importlib.metadata import PackageNotFoundError, version

    def version_of(package: str) -> str:
        try:
            return version(package)
        except PackageNotFoundError:
            return "not installed"

    cpu = platform.processor()
    if os.path.exists("/proc/cpuinfo"):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
        cpu = models[0] if models else cpu
    packages = ("sdgrad", "dace", "jax", "jaxlib", "numpy", "scipy-openblas32")
    return {"cpu": cpu, "python": platform.python_version(), **{p: version_of(p) for p in packages}}


def save(rows: Sequence[Row], options: argparse.Namespace, cores: Sequence[int]) -> Path:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{datetime.datetime.now():%Y-%m-%d-%H%M%S}.json"
    content = {
        "machine": machine(),
        "options": {**vars(options), "cores": list(cores)},
        "rows": [asdict(row) for row in rows],
    }
    path.write_text(json.dumps(content, indent=1) + "\n")
    return path


# The command ------------------------------------------------------------------------------------------------


def _choices(known: Sequence[str]) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        chosen = text.split(",")
        for name in chosen:
            if name not in known:
                raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(known)}")
        return chosen

    return parse


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    from benchmarks.npbench import KERNELS

    kernels = list(KERNELS)
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__.split("\n")[0])
    parser.add_argument("--kernels", type=_choices(kernels), default=kernels, help=f"of {', '.join(kernels)}")
    parser.add_argument(
        "--engines", type=_choices(ENGINES), default=list(ENGINES), help="sdgrad, jax or both"
    )
    parser.add_argument(
        "--sizes",
        type=_choices(("small", "medium", "large")),
        default=["medium"],
        help="of small, medium, large",
    )
    parser.add_argument("--threads", type=int, default=1, help="cores and threads for either engine")
    parser.add_argument("--reps", type=int, default=9, help="repetitions, of which the median is taken")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = options_of(arguments)
    cores = limit_threads(options.threads)
    rows: list[Row] = []
    for size in options.sizes:
        for name in options.kernels:
            print(f"{name} ({size}) ...", end=" ", file=sys.stderr, flush=True)
            start = time.perf_counter()
            rows.append(run_kernel(name, size, options.engines, options.reps))
            status = "failed" if rows[-1].error else "done"
            print(f"{status}, {time.perf_counter() - start:.0f} s", file=sys.stderr)
    print(table(rows, options.engines))
    for row in rows:
        if row.error:
            print(f"\n{row.kernel} ({row.size}) failed: {_head(row.error)}")
    print(f"\nwritten to {save(rows, options, cores)}")
    return int(any(row.error for row in rows))


if __name__ == "__main__":
    sys.exit(main())
