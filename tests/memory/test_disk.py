"""States of loops on the disk: gradients are those of the whole tape, files within their limit, and gone afterwards."""

import sys
from pathlib import Path

import numpy as np
import pytest
from checkpointed import fresh

import sdgrad
from sdgrad.config import config
from sdgrad.errors import ArgumentError, DiskError, MemoryLimitError


def two_states(x, w):
    """A loop with two arrays of different types for its state, backwards."""
    y, z = np.copy(x), x[:7].astype(np.float32)
    for k in range(30, 0, -2):
        y = np.sin(y * w) + 0.001 * k * np.mean(z)
        z = np.cos(z) * 0.5 * y[:7].astype(np.float32)
    return np.sum(y) + np.sum(z)


def until_small(x, w):
    """A loop that nobody knows the trips of."""
    y, k = np.copy(x), 0
    while np.sum(y * y) > 1e-3 and k < 500:
        y = 0.9 * np.sin(y) * w
        k = k + 1
    return np.sum(y)


def left(x, w):
    """A loop that is left."""
    y = np.copy(x)
    for k in range(100):
        y = np.sin(y) * w + 0.01 * k
        if np.sum(y) > 20:
            break
    return np.sum(y)


def sweeps(x, w):
    """Loops in a loop."""
    y = np.copy(x)
    for _ in range(12):
        for _ in range(15):
            y[1:] = np.sin(y[1:]) * w[1:] + 0.1 * y[:-1]
        y = y * 1.1
        n = 0
        while np.sum(y * y) > 20.0 and n < 9:
            y = 0.9 * y * w
            n = n + 1
    return np.sum(y)


def two_loops(x, w):
    y = np.copy(x)
    for _ in range(25):
        y = np.sin(y) * 1.1 + 0.1 * w
    z = np.cos(y)
    for k in range(40):
        z = np.tanh(z * y) + 0.01 * k
    return np.sum(z * y)


PROGRAMS = [two_states, until_small, left, sweeps, two_loops]
N = 4000


def vectors():
    rng = np.random.default_rng(0)
    return 0.3 + 0.6 * rng.random(N), 0.4 + 0.6 * rng.random(N)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients(f):
    args = vectors()
    wanted = sdgrad.value_and_grad(f, wrt=("x", "w"))(*args)
    without = sdgrad.memory_plan(f, *args, wrt=("x", "w"), points=2).least
    curve = sdgrad.memory_plan(f, *args, wrt=("x", "w"), points=4, disk_limit="1GiB")
    on_disk = [p.bytes for p in curve.points if p.disk > 0]
    assert on_disk and "on the disk" in str(curve)
    assert curve.least <= without
    for limit in {on_disk[-1], curve.least}:
        found = sdgrad.value_and_grad(fresh(f), ("x", "w"), memory_limit=limit, disk_limit="1GiB")(*args)
        assert found[0] == wanted[0]
        assert all(np.array_equal(a, b) for a, b in zip(found[1], wanted[1], strict=True))


@pytest.mark.parametrize("share", [1.0, 0.4, 0.1])
def test_files_are_within_their_limit(share):
    args = vectors()
    curve = sdgrad.memory_plan(two_loops, *args, wrt=("x", "w"), points=2, disk_limit="1GiB")
    allowed = int(share * curve.points[-1].disk)
    for limit in ("min", "20%"):
        plan = sdgrad.memory_plan(two_loops, *args, wrt=("x", "w"), points=3, disk_limit=allowed)
        assert all(p.disk <= allowed for p in plan.points)
        sdgrad.grad(two_loops, memory_limit=limit, disk_limit=allowed)(*args)


def files_of(process: str = "self") -> list[str]:
    """Files that are mapped into a process and have no name."""
    return [line for line in Path(f"/proc/{process}/maps").read_text().splitlines() if "(deleted)" in line]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_nothing_is_left(tmp_path):
    before = files_of()
    with config.override(disk_folder=tmp_path):
        gradient = sdgrad.grad(fresh(two_loops), memory_limit="min", disk_limit="1GiB")
        gradient(*vectors())
        gradient(*vectors())
    assert files_of() == before
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_used(tmp_path):
    with config.override(disk_folder=tmp_path / "missing"):
        gradient = sdgrad.grad(fresh(two_loops), memory_limit="min", disk_limit="1GiB")
        with pytest.raises(DiskError, match=r"missing .*its files take"):
            gradient(*vectors())
        (tmp_path / "missing").mkdir()
        wanted = sdgrad.grad(two_loops)(*vectors())
        assert np.array_equal(gradient(*vectors()), wanted)  # the next call works


def test_wrong_limits():
    for disk in ("25%", "min", "a lot", -1, True, 2.5):
        with pytest.raises(ArgumentError):
            sdgrad.grad(two_loops, memory_limit="min", disk_limit=disk)
    with pytest.raises(ArgumentError, match="memory_limit"):
        sdgrad.grad(two_loops, disk_limit="1GiB")
    with pytest.raises(MemoryLimitError):
        sdgrad.grad(two_loops, memory_limit=1000, disk_limit="1GiB")(*vectors())
