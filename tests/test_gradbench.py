"""The programs of GradBench beside central differences, and their table."""

import json
from pathlib import Path

import numpy as np
import pytest

import sdgrad
from benchmarks.gradbench import MODULES, ba
from benchmarks.gradbench.program import load, names
from benchmarks.gradbench.tables import save, table
from benchmarks.report import Row, measured
from benchmarks.run import Refused, compare

STEP = 1e-5


def differences(function, args, position):
    """The Jacobian of a function by one argument, by central differences: rows are elements of its result."""
    columns = []
    for place in range(np.size(args[position])):
        ends = []
        for step in (STEP, -STEP):
            moved = np.array(args[position], float)
            moved.reshape(-1)[place] += step
            own = (*args[:position], moved if moved.ndim else float(moved), *args[position + 1 :])
            ends.append(np.ravel(function(*own)))
        columns.append((ends[0] - ends[1]) / (2 * STEP))
    return np.stack(columns, axis=-1)


def derivatives_of(program, args):
    """What sdgrad finds, as Jacobians like those of ``differences``."""
    written = program.derivative("sdgrad")
    if program.kind == "jacobian":
        written = sdgrad.jacobian(program.numpy_version, wrt=program.wrt)
    if program.kind == "sparse":
        return [m.toarray() for m in program.finished(written(*args), args)]
    found = (
        sdgrad.value_and_grad(program.numpy_version, wrt=program.wrt)(*args)[1] if written is None else written(*args)
    )
    rows = np.size(program.numpy_version(*args))
    return [np.reshape(g, (rows, -1)) for g in found]


def check(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7 * float(np.max(np.abs(wanted))))


def tiny(name):
    program = load(name)
    return program, program.inputs(program.sizes["tiny"], np.random.default_rng(0))


@pytest.fixture(autouse=True)
def quickly_compiled(monkeypatch):
    monkeypatch.setattr(sdgrad.config, "optimization_level", 1)


@pytest.mark.parametrize("name", [n for n in names() if n not in ("kmeans", "ht_complicated")])
def test_the_derivative_is_that_of_differences(name):
    program, args = tiny(name)
    found = derivatives_of(program, args)
    assert len(found) == len(program.wrt)
    for jacobian, position in zip(found, program.positions, strict=True):
        check(jacobian, differences(program.numpy_version, args, position))


def test_kmeans_has_its_gradient_and_the_diagonal_of_its_hessian():
    program, (points, centroids) = tiny("kmeans")
    gradient, diagonal = program.derivative("sdgrad")(points, centroids)
    check(np.reshape(gradient, (1, -1)), differences(program.numpy_version, (points, centroids), 1))
    by_centroids = differences(sdgrad.grad(program.numpy_version, wrt="centroids"), (points, centroids), 1)
    check(np.diag(np.ravel(diagonal)), by_centroids)


def test_a_point_of_a_hand_depends_on_its_own_coordinates_only():
    """So the Jacobian by a shift of all of them holds all derivatives: that by one point's is its rows."""
    program, (shift, *rest, us) = tiny("ht_complicated")

    def moved(where):
        own = us.copy()
        own[1] += where
        return program.numpy_version(shift, *rest, own)

    whole = differences(program.numpy_version, (shift, *rest, us), 0).reshape(*us.shape[:1], 3, 2)
    one = differences(moved, (np.zeros(2),), 0).reshape(whole.shape)
    check(one[1], whole[1])
    assert not np.any(one[[0, 2]])


def test_the_path_of_the_particle_ends_at_the_origin_where_gradbench_says():
    """The minimum that GradBench's evaluation expects, of steps of 0.1."""
    assert load("particle").numpy_version(0.20719187464861194, 0.1) < 1e-7
    assert load("particle").numpy_version(0.0, 0.1) > 1e-3


def test_a_saddle_lies_where_the_function_has_no_slope_in_y():
    x, start = np.ones(2), np.ones(2)
    assert abs(load("saddle").numpy_version(x, start) - 2.0) < 1e-8


def test_blocks_of_bundle_adjustment_stand_in_the_columns_of_camera_and_point():
    program, args = tiny("ba")
    by_camera, by_point, by_weight = program.finished(program.derivative("sdgrad")(*args), args)
    p = args[2].size
    assert by_camera.shape == (3 * p, args[0].size) and by_point.shape == (3 * p, args[1].size)
    assert set(by_camera[4].indices) == set(ba.CAMERA * args[3][2] + np.arange(ba.CAMERA))
    assert by_weight[2 * p + 3, 3] == -2 * args[2][3]


def test_all_programs_have_sizes_from_small_on():
    assert len(MODULES) == 11
    assert all({"tiny", "small"} < set(load(n).sizes) for n in names())


def test_a_wrong_element_of_a_sparse_jacobian_is_found():
    found = {"value": np.ones(3), "of_w": np.arange(3.0)}
    compare({"of_w": np.arange(3.0)}, found)  # not every derivative comes with the value
    with pytest.raises(Refused, match="w is"):
        compare({"of_w": np.array([0.0, 1.0, 2.1])}, found)
    with pytest.raises(Refused, match="w has 2 elements"):
        compare({"of_w": np.arange(2.0)}, found)


def test_the_table_begins_with_the_worst(tmp_path):
    rows = [
        Row("lse", "small", {"sdgrad": 1.0}, {"sdgrad": 1.0, "jax": 2.0}),
        Row("llsq", "small", {"sdgrad": 1.0}, {"sdgrad": 3.0, "jax": 1.0}),
        Row("gmm", "small", errors={"sdgrad": "refused"}),
    ]
    body = [line for line in table(rows) if line.startswith("| ")]
    assert [line.split(" | ")[0] for line in body] == ["| program", "| gmm", "| llsq", "| lse", "| **geometric mean**"]
    assert "| 3.00 |" in body[2] and "128 x 128" in body[2]
    save(rows, {"threads": 1, "reps": 5, "out": Path(tmp_path)}, tmp_path)
    assert measured(tmp_path, "gradbench") == rows
    assert json.loads((tmp_path / "gradbench.json").read_text())["options"]["threads"] == 1
    assert "gmm (small), sdgrad: refused" in (tmp_path / "gradbench.md").read_text()
