"""The kernels mean the same in NumPy and JAX, and the report computes what it says."""

import inspect
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.npbench import KERNELS, load
from benchmarks.run import Row, options_of, table


@pytest.mark.parametrize("name", KERNELS)
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


def test_the_table_has_ratios_and_their_geometric_means():
    rows = [
        Row(
            "one",
            "small",
            {"sdgrad": 1.0, "jax": 2.0},
            {"sdgrad": 4.0, "jax": 2.0},
            {},
            {"sdgrad": 1, "jax": 1},
        ),
        Row(
            "two",
            "small",
            {"sdgrad": 1.0, "jax": 2.0},
            {"sdgrad": 1.0, "jax": 2.0},
            {},
            {"sdgrad": 1, "jax": 1},
        ),
        Row("three", "small", {}, {}, {}, {}, error="ValueError: no"),
    ]
    lines = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in table(rows, ["sdgrad", "jax"]).split("\n")
    ]
    head, _, one, two, three, means = (dict(zip(lines[0], line, strict=True)) for line in lines)
    assert (one["sdgrad gradient/forward"], one["gradient sdgrad/jax"]) == ("4.00", "2.00")
    assert (two["gradient sdgrad/jax"], means["gradient sdgrad/jax"]) == ("0.50", "1.00")
    assert means["sdgrad gradient/forward"] == "2.00"
    assert means["forward sdgrad/jax"] == "0.50"
    assert three["sdgrad forward ms"] == "-"


def test_a_wrong_option_names_the_right_ones(capsys):
    with pytest.raises(SystemExit):
        options_of(["--kernels", "gemm,nothing"])
    assert "'nothing' is none of adi, arc_distance" in capsys.readouterr().err


def test_the_command_measures_and_writes_its_numbers():
    pytest.importorskip("jax")
    root = Path(__file__).parent.parent
    command = ["--kernels", "bicg", "--engines", "jax", "--sizes", "small", "--reps", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.run", *command],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    written = Path(done.stdout.strip().split("written to ")[1])
    try:
        content = json.loads(written.read_text())
    finally:
        written.unlink()
    (row,) = content["rows"]
    assert row["kernel"] == "bicg" and 0 < row["forward"]["jax"] < row["gradient"]["jax"] * 10
    assert content["options"]["threads"] == 1 and len(content["options"]["cores"]) == 1
