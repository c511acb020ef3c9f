"""A program for every direction: program in, program out."""

import dataclasses

import numpy as np
import pytest
from checkpointed import every_loop, in_room_for
from treetext import block, program

import sdgrad
from sdgrad.config import config
from sdgrad.rewrite import direction_axis
from sdgrad.rewrite.directions import in_every_direction, in_given_directions
from sdgrad.runtime.libraries.checkpoint_schedule import CheckpointSchedule

SOURCE = """
argument x: float64[3]
argument s: float64[3]
argument r: float64[3]
body
  map i=0:3:
    v = x[i]
    u = s[i]
    w = v * u
    r[i] = w
"""


def at_once(size):
    """Directions that have room in so many bytes are computed at once."""
    return config.override(machine=dataclasses.replace(config.machine, direction_bytes=size))


@pytest.fixture
def one_by_one():
    with at_once(0):
        yield


def test_unit_vectors(one_by_one):
    assert str(in_every_direction(program(SOURCE), ["x"], "s", ["r"], last=True)) == block("""
        program program
          argument x: float64[3]
          local s: float64[3]
          local r: float64[3]
          argument __return: float64[3, 3]
          body
            loop i0 = 0 .. 2 step 1:
              map i0_0=0:3:
                v_0 = 1 if i0_0 == i0 else 0
                s[i0_0] = v_0
              map i=0:3:
                v = x[i]
                u = s[i]
                w = v * u
                r[i] = w
              map i0_1=0:3:
                v_1 = r[i0_1]
                __return[i0_1, i0] = v_1
    """)


def test_axes_of_the_directions_may_come_first():
    assert "__return[i0, i0_1] = v_1" in str(in_every_direction(program(SOURCE), ["x"], "s", ["r"], last=False))


def test_given_directions(one_by_one):
    assert str(in_given_directions(program(SOURCE), ["x"], ["s"], ["r"], 4)) == block("""
        program program
          argument x: float64[3]
          local s: float64[3]
          local r: float64[3]
          argument directions_s: float64[4, 3]
          argument __return: float64[4, 3]
          body
            loop i0 = 0 .. 3 step 1:
              map i0_0=0:3:
                v_0 = directions_s[i0, i0_0]
                s[i0_0] = v_0
              map i=0:3:
                v = x[i]
                u = s[i]
                w = v * u
                r[i] = w
              map i0_1=0:3:
                v_1 = r[i0_1]
                __return[i0, i0_1] = v_1
    """)


def test_written_arguments_start_anew_for_each_direction(one_by_one):
    found = str(in_every_direction(program(SOURCE.replace("r[i] = w", "x[i] = w")), ["x"], "s", ["x"], last=True))
    assert "local work_x: float64[3]" in found
    assert (
        block("""
        map i0_0=0:3:
          v_0 = x[i0_0]
          work_x[i0_0] = v_0
    """).replace("\n", "\n      ")
        in found
    )


def test_unit_vectors_at_once():
    assert str(in_every_direction(program(SOURCE), ["x"], "s", ["r"], last=True)) == block("""
        program program
          argument x: float64[3]
          local s: float64[3, 3]
          local r: float64[3, 3]
          argument __return: float64[3, 3]
          body
            map i0_0=0:3, i0=0:3:
              v_0 = 1 if i0_0 == i0 else 0
              s[i0_0, i0] = v_0
            map i=0:3, direction=0:3:
              v = x[i]
              u = s[i, direction]
              w = v * u
              r[i, direction] = w
            map i0_1=0:3, i0=0:3:
              v_1 = r[i0_1, i0]
              __return[i0_1, i0] = v_1
    """)


def test_given_directions_at_once():
    found = str(in_given_directions(program(SOURCE), ["x"], ["s"], ["r"], 4))
    assert "v_0 = directions_s[i0, i0_0]" in found and "s[i0_0, i0] = v_0" in found
    assert "__return[i0, i0_1] = v_1" in found and "loop" not in found


def test_blocks_of_directions():
    """Two of five rows of three elements have room: the last block has one row."""
    source = SOURCE.replace("float64[3]", "float64[5, 3]").replace("i=0:3", "i=0:5, j=0:3").replace("[i]", "[i, j]")
    with at_once(7 * 2 * 8 * 15):
        found = str(in_every_direction(program(source), ["x"], "s", ["r"], last=True))
    assert "local r: float64[5, 3, 6]" in found and "loop i0_0 = 0 .. 2 step 1" in found
    assert "__return[i0_3, i1_0, 2*i0_0 + i0_1, i0] = v_1" in found and "Min(1, 4 - 2*i0_0)" in found


def test_what_does_not_vary_is_computed_once():
    """The leaf becomes two; what varies comes first, for it reads what the rest overwrites."""
    source = SOURCE.replace("    r[i] = w", "    r[i] = w\n    z = sin(v)\n    x[i] = z")
    found = str(in_every_direction(program(source), ["x"], "s", ["r"], last=True))
    wide, rest = found.index("r[i, direction] = w"), found.index("work_x[i] = z")
    assert wide < rest and found.count("sin(v)") == 1 and "local work_x: float64[3]" in found


@pytest.mark.parametrize(
    "source",
    [
        SOURCE.replace("    u = s[i]", "    x[i] = v\n    v1 = x[i]\n    u = s[i]").replace("v * u", "v1 * u"),
        SOURCE.replace("  map i=0:3:", "  if v > 0 with v = s[0]:\n   map i=0:3:").replace("    ", "     "),
    ],
)
def test_directions_that_have_to_follow_each_other(source):
    """Where values are read behind a store that is made once; where what runs depends on the direction."""
    found = str(in_every_direction(program(source), ["x"], "s", ["r"], last=True))
    assert "loop i0 = 0 .. 2 step 1" in found and "local r: float64[3]" in found


def steps(x):
    """A loop that overwrites what it reads, with a branch, a library call, and a matrix product."""
    a = np.outer(x, x) + 4.0 * np.eye(x.shape[0])
    y = x.copy()
    for k in range(3):
        y[1:] = np.sin(y[1:]) * y[:-1]
        if k == 1:
            y = np.linalg.solve(a, y)
        else:
            y = a @ y
    return y * np.sum(x)


def energy(x):
    y = steps(x[:, 0] + x[:, 1])
    return np.sum(y * np.exp(-y * y)) + np.sum(np.cumsum(x[:, 0]) * x[:, 1])


@pytest.mark.parametrize("room", [2_000, 10_000, 1 << 20])
def test_all_numbers_of_directions_give_the_same(room):
    x = np.linspace(0.3, 1.1, 10).reshape(5, 2)
    with at_once(0):
        right = [
            sdgrad.hessian(energy)(x),
            sdgrad.jacobian(steps, mode="forward")(x[:, 0]),
            sdgrad.jacobian(steps, mode="reverse")(x[:, 0]),
        ]
    with at_once(room):
        found = [
            sdgrad.hessian(energy)(x),
            sdgrad.jacobian(steps, mode="forward")(x[:, 0]),
            sdgrad.jacobian(steps, mode="reverse")(x[:, 0]),
        ]
    for a, b in zip(found, right, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * np.abs(b).max())
    step = 1e-6 * np.eye(10).reshape(10, 5, 2)
    slopes = [(sdgrad.grad(energy)(x + h) - sdgrad.grad(energy)(x - h)) / 2e-6 for h in step]
    np.testing.assert_allclose(found[0].reshape(5, 2, 10), np.moveaxis(slopes, 0, -1), rtol=1e-6, atol=1e-6)


def test_schedules_of_checkpoints_that_keep_tangents(monkeypatch):
    """Directions follow each other: with each of them the schedule drives the loop once more."""
    every_loop(monkeypatch)
    in_room_for(3, monkeypatch)
    refused = []
    monkeypatch.setattr(
        direction_axis, "_refuse", lambda call, refuse=direction_axis._refuse: _noted(refuse, call, refused)
    )

    def steps(x):
        for k in range(40):
            x = np.sin(x) * (1.0 + 0.01 * k) + 0.1 * np.roll(x, 1)
        return np.sum(x * x)

    x = np.linspace(0.2, 0.9, 5)
    found = sdgrad.hessian(steps)(x)
    assert any(isinstance(node, CheckpointSchedule) for node in refused)
    with config.override(without=("checkpoints",)):
        whole = sdgrad.hessian(lambda x: steps(x))(x)
    np.testing.assert_allclose(found, whole, rtol=1e-12, atol=1e-14)
    step = 1e-5 * np.eye(5)
    slopes = [(sdgrad.grad(steps)(x + d) - sdgrad.grad(steps)(x - d)) / 2e-5 for d in step]
    np.testing.assert_allclose(found, slopes, rtol=1e-6, atol=1e-7)


def _noted(refuse, call, refused):
    try:
        refuse(call)
    except direction_axis.OneByOne:
        refused.append(call.node)
        raise
