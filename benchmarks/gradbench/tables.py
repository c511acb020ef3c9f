"""The table of GradBench's programs, the worst ratios first, and its numbers in a file."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.gradbench.engines import ENGINES
from benchmarks.gradbench.program import load
from benchmarks.report import OWN, PACKAGES, Row, machine

ABOUT = """Each engine runs in a process of its own, all with as many threads. Ratios are of medians; the engines take
turns. Above 1, sdgrad is slower. The derivative is a gradient with the value, or a Jacobian: of `ba` in SciPy's sparse
matrices, of `ht` dense. That of `kmeans` is the gradient with the diagonal of the Hessian. In `particle` and `saddle`
the objective has gradients in it. The first derivative is called in a new process, with an empty cache."""


def shown(value: float | None, form: str = ".2f") -> str:
    return "-" if value is None else format(value, form)


def ratio(row: Row, what: str, engine: str) -> str:
    """Times of sdgrad over those of another engine."""
    return shown(row.over(engine, what))


def worst_first(rows: Sequence[Row]) -> list[Row]:
    """By the ratio to JAX; what sdgrad refuses comes first."""
    return sorted(rows, key=lambda r: -(r.over("jax", "gradient") or (0.0 if OWN in r.gradient else 1e9)))


def table(rows: Sequence[Row]) -> list[str]:
    others = [e for e in ENGINES if e not in (OWN, "numpy") and any(e in r.gradient for r in rows)]
    head = ["program", "size", "derivative, ms", *(f"/ {e}" for e in others), "objective, ms", "/ jax", "/ numpy"]
    lines = [head]
    for row in worst_first(rows):
        size = " x ".join(map(str, load(row.kernel).sizes[row.size]))
        own = [shown(1e3 * t if t is not None else None, ".4g") for t in (row.gradient.get(OWN), row.forward.get(OWN))]
        by = [ratio(row, "gradient", e) for e in others]
        value = [ratio(row, "forward", e) for e in ("jax", "numpy")]
        lines.append([row.kernel, size, own[0], *by, own[1], *value])
    means = []
    for engine in others:
        found = [v for row in rows if (v := row.over(engine, "gradient"))]
        means.append(f"{statistics.geometric_mean(found):.2f} ({len(found)})" if found else "")
    lines.append(["**geometric mean**", "", "", *means, "", "", ""])
    return _markdown(lines)


def beside(rows: Sequence[Row], what: str, unit: float, form: str) -> list[str]:
    """A quantity of all engines that differentiate."""
    engines = [e for e in ENGINES if any(e in getattr(r, what) for r in rows)]
    lines = [["program", "size", *engines]]
    for row in rows:
        values = getattr(row, what)
        found = [shown(unit * values[e] if e in values else None, form) for e in engines]
        lines.append([row.kernel, row.size, *found])
    return _markdown(lines)


def _markdown(lines: Sequence[Sequence[str]]) -> list[str]:
    rule = "|---|---" + "|---:" * (len(lines[0]) - 2) + "|"
    body = [f"| {' | '.join(line)} |" for line in lines]
    return [body[0], rule, *body[1:]]


def text_of(rows: Sequence[Row], options: Mapping[str, Any]) -> str:
    told = "; ".join(f"{n} {v}" for n, v in machine((*PACKAGES, "autograd")).items())
    note = options.get("note") or ""
    head = f"{options['threads']} thread(s), {options['reps']} repetitions; {told}.{note}"
    refused = [f"- {r.kernel} ({r.size}), {e}: {' '.join(m.split())[:240]}" for r in rows for e, m in r.errors.items()
               if "not written in C" not in m and "a derivative in it" not in m]  # fmt: skip
    parts = [
        ["# GradBench", "", ABOUT, "", head, "", "## sdgrad's time over that of others", ""],
        [*table(rows), "", "## Seconds to the first derivative", ""],
        [*beside(rows, "first", 1.0, ".1f"), "", "## Memory of a derivative, MB", ""],
        [*beside(rows, "memory", 1e-6, ".1f"), ""],
        ["## Not measured", "", *refused] if refused else [],
    ]
    return "\n".join(line for part in parts for line in part)


def save(rows: Sequence[Row], options: Mapping[str, Any], folder: Path) -> None:
    """Numbers as ``gradbench.json``, the table as ``gradbench.md``."""
    folder.mkdir(parents=True, exist_ok=True)
    plain = {n: str(v) if isinstance(v, Path) else v for n, v in options.items()}
    content = {"machine": machine((*PACKAGES, "autograd")), "options": plain, "rows": [asdict(row) for row in rows]}
    (folder / "gradbench.json").write_text(json.dumps(content, indent=1) + "\n")
    (folder / "gradbench.md").write_text(text_of(rows, options).rstrip() + "\n")
