"""What was measured, as numbers, as a table with geometric means, and as plots."""

from __future__ import annotations

import json
import platform
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.engines import ENGINES

Times = dict[str, float]
OWN = "sdgrad"
PACKAGES = ("sdgrad", "dace", "jax", "jaxlib", "torch", "numpy", "scipy-openblas32")


@dataclass
class Row:
    """What was measured for a kernel, by engine: medians in seconds, peak bytes, or why there are none."""

    kernel: str
    size: str
    forward: Times = field(default_factory=dict)
    gradient: Times = field(default_factory=dict)
    first: Times = field(default_factory=dict)
    memory: Times = field(default_factory=dict)
    preparation: Times = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)

    def cost(self, engine: str = OWN) -> float | None:
        """Gradient over forward time."""
        return _ratio(self.gradient.get(engine), self.forward.get(engine))

    def over(self, engine: str, what: str) -> float | None:
        """This library over another engine: times, or bytes of at least a page."""
        times = getattr(self, what)
        return _ratio(times.get(OWN), times.get(engine))

    def over_best(self, what: str) -> float | None:
        """This library over the fastest of the others."""
        times = getattr(self, what)
        return _ratio(times.get(OWN), min((t for e, t in times.items() if e != OWN), default=None))


def _ratio(a: float | None, b: float | None) -> float | None:
    return None if a is None or not b else max(a, 1e-9) / b


@dataclass(frozen=True)
class Column:
    """One column of the table; means are made of ratios."""

    title: str
    value: Callable[[Row], float | None]
    form: str = ".2f"
    ratio: bool = True


def columns(engines: Sequence[str]) -> list[Column]:
    others = [e for e in engines if e != OWN]
    own = OWN in engines
    shown = [OWN] if own else list(engines)
    both = [e for e in engines if ENGINES[e].differentiates]
    found = [Column(f"{e} gradient, ms", lambda r, e=e: _scaled(r.gradient.get(e), 1e3), ".3f", False) for e in shown]
    found += [Column(f"{e} / own forward", lambda r, e=e: r.cost(e)) for e in both]
    found += [Column(f"forward / {e}", lambda r, e=e: r.over(e, "forward")) for e in others if own]
    if own and len(others) > 1:
        found.append(Column("forward / best", lambda r: r.over_best("forward")))
    found += [Column(f"gradient / {e}", lambda r, e=e: r.over(e, "gradient")) for e in both if own and e != OWN]
    found += [Column(f"{e} peak, MB", lambda r, e=e: _scaled(r.memory.get(e), 1e-6), ".1f", False) for e in both]
    found += [Column(f"{e} first, s", lambda r, e=e: r.first.get(e), ".1f", False) for e in both]
    return found


def _scaled(value: float | None, unit: float) -> float | None:
    return None if value is None else value * unit


def table(rows: Sequence[Row], engines: Sequence[str]) -> str:
    """A Markdown table, with geometric means of its ratios in the last line."""
    shown = columns(engines)
    lines = [["kernel", "size", *(c.title for c in shown)]]
    for row in rows:
        values = [(c.value(row), c.form) for c in shown]
        lines.append([row.kernel, row.size, *("-" if v is None else format(v, form) for v, form in values)])
    means = []
    for c in shown:
        values = [v for row in rows if (v := c.value(row)) is not None] if c.ratio else []
        means.append(f"{statistics.geometric_mean(values):.2f} ({len(values)})" if values else "")
    lines.append(["**geometric mean**", "", *means])
    body = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([body[0], "|---|---" + "|---:" * len(shown) + "|", *body[1:]])


def preparations(rows: Sequence[Row]) -> list[str]:
    """What engines make once for a machine, which is no part of the times to the first gradient."""
    found: dict[str, list[float]] = {}
    for row in rows:
        for engine, seconds in row.preparation.items():
            found.setdefault(engine, []).append(seconds)
    return [f"Once for a machine, {e} takes {statistics.median(s):.1f} s before that." for e, s in found.items()]


def machine(packages: Sequence[str] = PACKAGES) -> dict[str, Any]:
    """What the numbers depend on."""

    def version_of(package: str) -> str:
        try:
            return version(package)
        except PackageNotFoundError:
            return "not installed"

    cpu, info = platform.processor(), Path("/proc/cpuinfo")
    if info.exists():
        models = [x.split(":")[1].strip() for x in info.read_text().splitlines() if x.startswith("model name")]
        cpu = models[0] if models else cpu
    return {"cpu": cpu, "python": platform.python_version(), **{p: version_of(p) for p in packages}}


def save(rows: Sequence[Row], options: Mapping[str, Any], folder: Path) -> None:
    """Numbers as ``results.json``, the table as ``results.md``."""
    folder.mkdir(parents=True, exist_ok=True)
    plain = {n: str(v) if isinstance(v, Path) else v for n, v in options.items()}
    content = {"machine": machine(), "options": plain, "rows": [asdict(row) for row in rows]}
    (folder / "results.json").write_text(json.dumps(content, indent=1) + "\n")
    told = "; ".join(f"{n} {v}" for n, v in machine().items())
    head = f"Measured with {options.get('threads')} thread(s), {options.get('reps')} repetitions; {told}.\n"
    errors = [f"- {r.kernel} ({r.size}), {e}: {' '.join(m.split())[:200]}" for r in rows for e, m in r.errors.items()]
    text = "\n".join([head, table(rows, options["engines"]), "", *preparations(rows), "", *errors])
    (folder / "results.md").write_text(text.rstrip() + "\n")


def measured(folder: Path, name: str = "results") -> list[Row]:
    """The rows that were saved in a folder; none where there is no such file."""
    file = folder / f"{name}.json"
    return [Row(**row) for row in json.loads(file.read_text())["rows"]] if file.exists() else []


def plots(rows: Sequence[Row], engines: Sequence[str], folder: Path) -> None:
    """How many times as long each engine's gradient takes as this library's, as ``gradients.png``."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    others = [e for e in engines if e != OWN and any(e in r.gradient for r in rows)]
    shown = [r for r in rows if OWN in r.gradient and any(e in r.gradient for e in others)]
    if not shown:
        return
    figure, axes = pyplot.subplots(figsize=(0.9 + 0.32 * len(shown), 4.2), layout="constrained")
    for k, engine in enumerate(others):
        width = 0.8 / len(others)
        bars = [(i, 1 / v) for i, r in enumerate(shown) if (v := r.over(engine, "gradient"))]
        axes.bar([i + (k + 0.5) * width - 0.4 for i, _ in bars], [v for _, v in bars], width, label=engine)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_yscale("log")
    axes.set_ylabel("gradient time over sdgrad's")
    axes.set_xticks(range(len(shown)), [r.kernel for r in shown], rotation=90)
    axes.margins(x=0.01)
    axes.legend(ncols=len(others), frameon=False)
    figure.savefig(folder / "gradients.png", dpi=120)
    pyplot.close(figure)
