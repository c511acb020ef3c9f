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
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

from benchmarks.clock import limit_threads

KERNELS = (
    *("atax", "azimint_hist", "cholesky2", "conv2d_bias", "correlation", "durbin", "gramschmidt", "hdiff", "jacobi_2d"),
    *("longformer", "mlp", "softmax", "spmv", "trisolv", "trmm", "vadv"),
)
FACTORS = (0.25, 4.0)
REPETITIONS = 7
RESULTS = Path(__file__).parent / "results"
BEFORE_OPTIMIZATION = {
    *("unknown_size", "function_cost", "open_loop_trips", "recomputed_terms", "fusion_window", "fusion_rounds"),
    *("fused_instructions", "expanded_elements", "distributed_statements", "distribution_rounds", "hoisting_gain"),
    *("rematerialized_instructions", "checkpointed_bytes", "checkpointed_trips", "checkpoint_level_share"),
    "instructions_per_taped_value",
}
"""Fields that differentiation follows as well, so that it has to run again."""


def machine_with(field: str, factor: float) -> Any:
    """The default machine with one field changed; None if that is the same number."""
    from sdgrad.machine import Machine

    default = getattr(Machine(), field)
    value = type(default)(default * factor)
    return None if value == default else dataclasses.replace(Machine(), **{field: value})


def changed(name: str, size: str, names: Container[str]) -> Iterator[tuple[str, float]]:
    """Yield those of some fields, with factors, that change the program of a kernel's gradient."""
    import numpy as np

    import sdgrad
    from benchmarks.kernels import load
    from sdgrad.config import config
    from sdgrad.convert.callables import bind_arguments
    from sdgrad.optimize import optimize
    from sdgrad.program.tree import walk

    kernel = load(name)
    args = kernel.inputs(kernel.sizes[size], np.random.default_rng(0))

    def differentiated() -> Any:
        function = sdgrad.value_and_grad(kernel.numpy_version, wrt=kernel.wrt)
        signature, _, _, request = function.question(bind_arguments(function.f, tuple(args), {}))
        return signature.differentiated(request).program

    def text(program: Any) -> str:
        program = optimize(program)
        layouts = [f"{n} {c.desc.strides} {c.desc.storage} {c.desc.total_size}" for n, c in program.containers.items()]
        schedules = [str(getattr(node, "schedule", "")) for node in walk(program.body)]
        return "\n".join((str(program), *layouts, *schedules))

    own = differentiated()
    default = text(own)
    for field in (f for f in dataclasses.fields(config.machine) if f.name in names):
        for factor in FACTORS:
            machine = machine_with(field.name, factor)
            if machine is None:
                continue
            with config.override(machine=machine):
                if text(differentiated() if field.name in BEFORE_OPTIMIZATION else own) != default:
                    yield field.name, factor


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


def _shown(ratio: float | None) -> str:
    """A measurement; a question mark where a program changes and nothing was measured yet."""
    return "?" if ratio is None else f"{ratio:.2f}"


def page(rows: dict[str, dict[str, dict[str, float | None]]]) -> str:
    """The results as Markdown, one line a field."""
    from sdgrad.machine import Machine

    lines = ["# Thresholds", "", "Time of a gradient with a changed threshold over that with the default, medium size,"]
    lines += ["one thread: above 1 the default is faster. `python -m benchmarks.thresholds` measures again.", ""]
    lines += ["| field | default | a quarter | four times |", "|---|---|---|---|"]
    for field in dataclasses.fields(Machine):
        found = rows.get(field.name, {}).items()
        cells = [", ".join(f"{k} {_shown(v[f])}" for k, v in found if f in v) for f in map(str, FACTORS)]
        lines.append(f"| {field.name} | {field.default} | {cells[0] or '-'} | {cells[1] or '-'} |")
    known = ", ".join(rows.get("kernels", KERNELS))
    lines += ["", f"Kernels: {known}. A dash: none of them has another program. ?: not measured yet.", ""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", default=",".join(KERNELS))
    parser.add_argument("--size", default="medium")
    parser.add_argument("--changes", action="store_true", help="only find the programs that change")
    parser.add_argument("--missing", action="store_true", help="only fields that change no kernel so far")
    options = parser.parse_args()
    limit_threads(1)
    from sdgrad.machine import Machine

    file = RESULTS / "thresholds.json"
    rows: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    known = rows.setdefault("kernels", [])

    def write() -> None:
        file.write_text(json.dumps(rows, indent=1) + "\n")
        (RESULTS / "thresholds.md").write_text(page(rows))

    names = {f.name for f in dataclasses.fields(Machine)} - (rows.keys() if options.missing else set())
    for name in (n for n in options.kernels.split(",") if n not in known):
        print(f"finding what changes {name}", flush=True)
        for field, factor in changed(name, options.size, names):
            rows.setdefault(field, {}).setdefault(name, {})[str(factor)] = None
        known.append(name)
        write()
    missing = [
        (field, name, factor)
        for field, kernels in rows.items()
        if field != "kernels"
        for name, factors in kernels.items()
        for factor, value in factors.items()
        if value is None
    ]
    for k, (field, name, factor) in enumerate(missing if not options.changes else ()):
        rows[field][name][factor] = round(ratio(name, options.size, machine_with(field, float(factor))), 3)
        print(f"{k + 1}/{len(missing)} {field} x {factor}: {name} {rows[field][name][factor]}", flush=True)
        write()


if __name__ == "__main__":
    main()
