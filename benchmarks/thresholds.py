"""What each threshold of ``sdgrad.config.machine`` is worth: gradients with a quarter and with four times of it.

``python -m benchmarks.thresholds`` changes one field at a time and finds the kernels with another generated program. It
measures these beside the default, alternating, in one process with one thread. A ratio above one says that the default
is faster. Fields that change no program of the chosen kernels have no measurement.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.clock import limit_threads

KERNELS = (
    *("adi", "atax", "azimint_hist", "cholesky", "cholesky2", "compute", "conv2d_bias", "correlation", "deriche"),
    *(
        "durbin",
        "fdtd_2d",
        "gemm",
        "gramschmidt",
        "hdiff",
        "heat_3d",
        "jacobi_2d",
        "lenet",
        "longformer",
        "mlp",
        "seidel_2d",
    ),
    *("softmax", "softras", "spmv", "symm", "trisolv", "trmm", "vadv"),
)
FACTORS = (0.25, 4.0)
REPETITIONS = 7
RESULTS = Path(__file__).parent / "results"


def settings(machine: Any) -> Iterator[tuple[str, float, Any]]:
    """Every field with a quarter and four times of its value."""
    for field in dataclasses.fields(machine):
        for factor in FACTORS:
            value = type(field.default)(field.default * factor)
            if value != field.default:
                yield field.name, factor, dataclasses.replace(machine, **{field.name: value})


def changed(name: str, size: str) -> dict[str, dict[float, Any]]:
    """Fields that change the program of a kernel's gradient, by factor."""
    import numpy as np

    import sdgrad
    from benchmarks.kernels import load
    from sdgrad.config import config
    from sdgrad.frontend.parse import bind_arguments
    from sdgrad.optimize import optimize
    from sdgrad.specialize.signature import Signature

    kernel = load(name)
    args = kernel.inputs(kernel.sizes[size], np.random.default_rng(0))

    def text() -> str:
        function = sdgrad.value_and_grad(kernel.numpy_version, wrt=kernel.wrt)
        signature, _, _, request = function.question(bind_arguments(function.f, tuple(args), {}))
        assert isinstance(signature, Signature)
        program = optimize(signature.differentiated(request).program)
        layouts = [f"{n} {c.desc.strides} {c.desc.storage} {c.desc.total_size}" for n, c in program.containers.items()]
        schedules = [str(getattr(node, "schedule", "")) for node in program.body]
        return "\n".join((str(program), *layouts, *schedules))

    default = text()
    found: dict[str, dict[float, Any]] = {}
    for field, factor, machine in settings(config.machine):
        with config.override(machine=machine):
            if text() != default:
                found.setdefault(field, {})[factor] = machine
    return found


def ratio(name: str, size: str, machine: Any) -> float:
    """The time of a kernel's gradient with a machine over that with the default, the median of pairs."""
    import numpy as np

    import sdgrad
    from benchmarks.kernels import load
    from sdgrad.config import config

    kernel = load(name)
    args = kernel.inputs(kernel.sizes[size], np.random.default_rng(0))
    default = sdgrad.value_and_grad(kernel.numpy_version, wrt=kernel.wrt)
    default(*args)
    with config.override(machine=machine):
        other = sdgrad.value_and_grad(kernel.numpy_version, wrt=kernel.wrt)
        other(*args)
    pairs = []
    for _ in range(REPETITIONS):
        times = []
        for function in (default, other):
            function(*args)
            start, count = time.perf_counter(), 0
            while time.perf_counter() - start < 0.05 or not count:
                function(*args)
                count += 1
            times.append((time.perf_counter() - start) / count)
        pairs.append(times[1] / times[0])
    return statistics.median(pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", default=",".join(KERNELS))
    parser.add_argument("--size", default="medium")
    parser.add_argument("--changes", action="store_true", help="only find the programs that change")
    options = parser.parse_args()
    limit_threads(1)
    from sdgrad.config import config

    rows: dict[str, dict[str, dict[str, float | None]]] = {f.name: {} for f in dataclasses.fields(config.machine)}
    for name in options.kernels.split(","):
        for field, machines in changed(name, options.size).items():
            for factor, machine in machines.items():
                value = None if options.changes else round(ratio(name, options.size, machine), 3)
                rows[field].setdefault(name, {})[str(factor)] = value
                print(f"{field} x {factor}: {name} {value}", flush=True)
    (RESULTS / "thresholds.json").write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
