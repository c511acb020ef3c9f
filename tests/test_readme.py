"""The numbers in ``README.md`` are those of ``benchmarks/results``."""

import statistics
from pathlib import Path

import pytest

from benchmarks.readme_picture import RESULTS, caption, draw, speedups
from benchmarks.report import Row, measured

README = " ".join((Path(__file__).parents[1] / "README.md").read_text().split())


def mean(values):
    return f"{statistics.geometric_mean(values):.1f}"


def test_speedups_are_sorted_and_leave_out_what_was_not_measured():
    rows = [
        Row("slow", "small", gradient={"sdgrad": 1.0, "jax": 2.0}),
        Row("fast", "small", gradient={"sdgrad": 1.0, "jax": 8.0}),
        Row("alone", "small", gradient={"sdgrad": 1.0}),
    ]
    assert speedups(rows) == [("fast", 8.0), ("slow", 2.0)]


def test_the_picture_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    draw([("fast", 8.0), ("slow", 2.0)], caption(), tmp_path / "speed.png")
    assert (tmp_path / "speed.png").read_bytes().startswith(b"\x89PNG")


def test_numbers_beside_jax():
    rows = measured(RESULTS)
    bars = speedups(rows)
    (best, most), (worst, least) = bars[0], bars[-1]
    geometric = mean([value for _, value in bars])
    assert f"{least:.2f} for `{worst}`, {most:.0f} for `{best}`, {geometric} in the geometric mean" in README
    assert f"for {len(bars)} kernels, with a geometric mean of {geometric}]" in README
    own, other = (mean([cost for row in rows if (cost := row.cost(engine))]) for engine in ("sdgrad", "jax"))
    assert f"A gradient takes {own} times as long as the function alone. For JAX this factor is {other}." in README


def test_numbers_of_compilation():
    rows = measured(RESULTS)
    own, other = (statistics.median(row.first[engine] for row in rows) for engine in ("sdgrad", "jax"))
    once = statistics.median(row.preparation["sdgrad"] for row in rows)
    assert f"{own:.1f} seconds in the median over the kernels above, {other:.1f} in JAX." in README
    assert f"takes {once:.1f} seconds more, for the C++ header." in README


def test_the_number_of_two_threads(tmp_path):
    (tmp_path / "results.json").write_text((RESULTS / "two_threads.json").read_text())
    two = mean([value for _, value in speedups(measured(tmp_path))])
    assert f"A second thread changes the mean to {two}." in README
