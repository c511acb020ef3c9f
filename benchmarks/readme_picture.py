"""Draw ``docs/speed.png``: the times of gradients beside JAX, from ``benchmarks/results/results.json``.

Run it as ``python -m benchmarks.readme_picture`` after the results have been measured again.
"""

from __future__ import annotations

import json
import statistics
from pathlib import Path

from benchmarks.report import Row, measured

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PICTURE = ROOT / "docs" / "speed.png"
TICKS = (1, 2, 5, 10, 20, 50)
BAR, MEAN, GRID = "#2a6f97", "#c1121f", "#d9d9d9"


def speedups(rows: list[Row], engine: str = "jax") -> list[tuple[str, float]]:
    """Return each kernel with the other engine's gradient time over this library's, largest first."""
    found = [(row.kernel, 1 / over) for row in rows if (over := row.over(engine, "gradient")) is not None]
    return sorted(found, key=lambda pair: pair[1], reverse=True)


def caption() -> str:
    """Describe the machine of the measurement in one line."""
    content = json.loads((RESULTS / "results.json").read_text())
    machine, threads = content["machine"], content["options"]["threads"]
    return f"{machine['cpu']}, {threads} thread{'s' if threads != 1 else ''}, double precision, JAX {machine['jax']}"


def draw(bars: list[tuple[str, float]], told: str, file: Path) -> None:
    """Draw one bar for each kernel on a logarithmic axis, and the geometric mean as a line."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    mean = statistics.geometric_mean([value for _, value in bars])
    figure, axes = pyplot.subplots(figsize=(10, 4.2), layout="constrained")
    axes.bar(range(len(bars)), [value - 1 for _, value in bars], 0.75, bottom=1, color=BAR, zorder=2)
    axes.axhline(1, color="black", linewidth=0.8, zorder=3)
    axes.axhline(mean, color=MEAN, linewidth=1.2, linestyle="--", zorder=3)
    axes.text(len(bars) - 0.4, mean * 1.05, f"geometric mean {mean:.1f}×", color=MEAN, ha="right", va="bottom")
    axes.set_yscale("log")
    axes.set_ylim(min(0.8, bars[-1][1]), bars[0][1] * 1.2)
    axes.set_yticks(TICKS, [f"{tick}×" for tick in TICKS])
    axes.set_yticks([], minor=True)
    axes.grid(axis="y", color=GRID, linewidth=0.6, zorder=0)
    axes.set_ylabel("time of JAX / time of sdgrad")
    axes.set_xticks(range(len(bars)), [kernel for kernel, _ in bars], rotation=90, fontsize=8)
    axes.set_xlim(-0.7, len(bars) - 0.3)
    axes.set_title(f"Gradients of {len(bars)} kernels: how much faster than JAX", loc="left")
    axes.set_title(told, loc="right", fontsize=8, color="#555555")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(file, dpi=150)
    pyplot.close(figure)


if __name__ == "__main__":
    draw(speedups(measured(RESULTS)), caption(), PICTURE)
