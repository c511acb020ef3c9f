"""The kernels mean the same in NumPy and JAX, and the report computes what it says."""

import inspect
import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks import growth, limits, memory_limits, memory_ranking, run, thresholds
from benchmarks.kernels import ALL, load
from benchmarks.report import Row, measured, preparations, table
from benchmarks.run import Refused, compare, options_of
from sdgrad.machine import Machine


@pytest.mark.parametrize("name", ALL)
def test_both_versions_of_a_kernel_agree(name):
    jax = pytest.importorskip("jax")
    kernel = load(name)
    args = kernel.inputs(kernel.sizes["small"], np.random.default_rng(3))
    assert list(inspect.signature(kernel.numpy_version).parameters) == list(
        inspect.signature(kernel.jax_version).parameters
    )
    assert set(kernel.sizes) == {"small", "medium", "large"}
    assert all(np.issubdtype(args[p].dtype, np.inexact) for p in kernel.positions)
    with jax.enable_x64(True):
        both = jax.value_and_grad(kernel.jax_version, argnums=kernel.positions)
        expected, gradients = jax.jit(both, static_argnums=kernel.counts(args))(*args)
    fresh = kernel.inputs(kernel.sizes["small"], np.random.default_rng(3))  # it may write its arguments
    assert kernel.numpy_version(*fresh) == pytest.approx(float(expected), rel=1e-12)
    # A gradient that vanishes would compare nothing.
    assert all(np.max(np.abs(g)) > 1e-12 for g in gradients)


@pytest.mark.parametrize("name", [n for n in ALL if load(n).torch_version is not None])
def test_versions_in_pytorch_agree(name):
    kernel = load(name)
    args = kernel.inputs(kernel.sizes["small"], np.random.default_rng(3))
    own = [torch.as_tensor(a) if isinstance(a, np.ndarray) else a for a in args]
    assert float(kernel.torch_version(*own)) == pytest.approx(kernel.numpy_version(*args), rel=1e-12)


def test_the_table_has_ratios_and_their_geometric_means():
    rows = [
        Row("one", "small", {"sdgrad": 1.0, "jax": 2.0}, {"sdgrad": 4.0, "jax": 2.0}),
        Row("two", "small", {"sdgrad": 1.0, "jax": 2.0}, {"sdgrad": 1.0, "jax": 2.0}, memory={"jax": 3e6}),
        Row("three", "small", errors={"sdgrad": "ValueError: no"}),
    ]
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table(rows, ["sdgrad", "jax"]).split("\n")]
    head, _, one, two, three, means = (dict(zip(lines[0], line, strict=True)) for line in lines)
    assert (one["sdgrad / own forward"], one["gradient / jax"]) == ("4.00", "2.00")
    assert (two["gradient / jax"], means["gradient / jax"]) == ("0.50", "1.00 (2)")
    assert means["sdgrad / own forward"] == "2.00 (2)"
    assert means["forward / jax"] == "0.50 (2)"
    assert (two["jax peak, MB"], one["jax peak, MB"]) == ("3.0", "-")
    assert three["sdgrad gradient, ms"] == "-"


def test_what_is_made_once_is_told_beside_the_table():
    rows = [Row(str(k), "small", preparation={"sdgrad": seconds}) for k, seconds in enumerate((1.0, 2.0, 6.0))]
    assert preparations([*rows, Row("none", "small")]) == ["Once for a machine, sdgrad takes 2.0 s before that."]


def test_a_wrong_option_names_the_right_ones(capsys):
    with pytest.raises(SystemExit):
        options_of(["--kernels", "gemm,nothing"])
    assert "'nothing' is none of adi, arc_distance" in capsys.readouterr().err


def test_the_command_measures_and_writes_its_numbers(tmp_path):
    pytest.importorskip("jax")
    root = Path(__file__).parent.parent
    command = ["--kernels", "bicg", "--engines", "jax", "--sizes", "small", "--reps", "1", "--out", str(tmp_path)]
    subprocess.run([sys.executable, "-m", "benchmarks.run", *command], cwd=root, capture_output=True, check=True)
    content = json.loads((tmp_path / "results.json").read_text())
    (row,) = content["rows"]
    assert row["kernel"] == "bicg" and 0 < row["forward"]["jax"] < row["gradient"]["jax"] * 10
    assert row["memory"]["jax"] >= 0 < row["first"]["jax"]
    assert content["options"]["threads"] == 1 and content["machine"]["jax"]
    assert "| bicg | small |" in (tmp_path / "results.md").read_text()


def test_rows_are_added_to_those_of_a_run_before(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "run_kernel", lambda name, size, engines, options: Row(name, size, {"jax": options.reps}))

    def measure(reps, kernels, *more):
        run.main(["--engines", "jax", "--reps", str(reps), "--kernels", kernels, "--out", str(tmp_path), *more])
        return [(r.kernel, r.forward["jax"]) for r in measured(tmp_path)]

    measure(1, "gemm,atax")
    measure(2, "mlp,atax", "--add")
    assert measure(3, "bicg", "--add") == [("atax", 2), ("bicg", 3), ("gemm", 1), ("mlp", 2)]
    assert measure(4, "mlp") == [("mlp", 4)]


def test_wrong_results_of_an_engine_are_told():
    right = {"value": np.asarray(1.0), "of_A": np.array([1.0, 2.0])}
    compare({"value": np.asarray(1.0), "of_A": np.array([1.0, 2.0 + 1e-12])}, right)
    with pytest.raises(Refused, match="A is 5.0e-02 apart"):
        compare({"value": np.asarray(1.0), "of_A": np.array([1.1, 2.0])}, right)
    with pytest.raises(Refused, match="nan apart"):
        compare({"value": np.asarray(np.nan), "of_A": np.array([1.0, 2.0])}, right)


def test_growth():
    """Exponents of known values, and a table of what was measured."""
    assert growth.slope([3.0 * k**2 for k in growth.FACTORS]) == pytest.approx(2)
    assert growth.slope([0.0] * len(growth.FACTORS)) == 0
    row = growth.measure("durbin", [(4 * k,) for k in growth.FACTORS], 1)
    assert all(len(v) == len(growth.FACTORS) for v in row.found.values()) and min(row.found["gradient"]) > 0
    assert growth.table([row]).splitlines()[-1].startswith("| durbin | (4,) to (64,) | ")


def test_limits(monkeypatch, tmp_path):
    """What was written by hand computes the same, and stands in the table beside ours."""
    few = {"cholesky": (9,), "seidel_2d": (2, 7), "heat_3d": (3, 6), "jacobi_2d": (3, 7)}
    monkeypatch.setattr(limits, "SIZES", few)
    library = limits.compiled(tmp_path)
    rows = {name: limits.measure(name, library, 1) for name in few}
    assert all(seconds > 0 for times in rows.values() for seconds in times.values())
    rows = {"cholesky": {"sdgrad": 3e-3, "by hand": 2e-3}}
    assert limits.table(rows).splitlines()[-1] == "| cholesky | (9,) | 2.000 | 3.000 | 1.50 |"


def test_thresholds_are_changed_one_at_a_time():
    assert thresholds.machine_with("triangle_rows", 4.0) == Machine(triangle_rows=256)
    assert thresholds.machine_with("broadcast_rounds", 0.25) == Machine(broadcast_rounds=1)
    assert {f.name for f in fields(Machine)} >= thresholds.BEFORE_OPTIMIZATION


def test_page_of_thresholds():
    rows = {"triangle_rows": {"trmm": {"0.25": 1.5, "4.0": None}}, "kernels": ["trmm"]}
    lines = thresholds.page(rows).splitlines()
    assert "| triangle_rows | 64 | trmm 1.50 | trmm ? |" in lines
    assert "| stack_row | 2048 | - | - |" in lines


def test_pairs_of_plans_are_ranked():
    plans = [memory_ranking.Plan(*p) for p in ((3, 1.0, 2.0), (2, 1.2, 1.9), (1, 1.22, 3.0))]
    assert memory_ranking.ranked(plans) == (1, 2)  # the last two are too close to each other


def test_plans_are_measured():
    how = ["--only", "matrices", "--scale", "0.2", "--points", "3", "--rounds", "1"]
    command = [sys.executable, "-m", "benchmarks.memory_ranking", *how]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parent.parent)
    assert done.returncode == 0, done.stderr[-3000:]
    assert " pairs are ranked rightly." in done.stdout and done.stdout.count("| matrices |") >= 2


def test_kernels_within_limits_are_measured():
    command = [sys.executable, "-m", "benchmarks.memory_limits", "--only", "floyd_warshall", "--reps", "1"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parent.parent)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "1 programs, 3 limits: 3 met, 0 refused, 0 passed over. 0 refusals" in done.stdout
    assert done.stdout.count(" MB, ") == 3


def test_limits_that_are_passed_over_are_counted():
    passed = {"allowed": 5, "taken": 9 * 10**6, "error": 0.0, "met": False, "slowdown": 1.5}
    rows = [
        {"name": "k", "all": 10, "least": 3, "plans": 2, "75%": passed, "50%": {"refused": 3}, "25%": {"refused": 4}}
    ]
    lines = memory_limits.table(rows).splitlines()
    assert "3 limits: 0 met, 2 refused, 1 passed over. 1 refusals name another least" in lines[0]
    assert lines[-1] == "| k | 0.00 | 0.00 | 9.00 MB, 1.50 | refused | refused |"
