"""Limits of memory: what the allocator counts stays within them, and gradients are those of the whole tape."""

import json
import os
import subprocess
import sys
from pathlib import Path

import dace
import long_tapes as programs
import numpy as np
import pytest
from checkpointed import every_loop, fresh, in_room_for

import sdgrad
from sdgrad.errors import ArgumentError, MemoryLimitError
from sdgrad.memory import plan
from sdgrad.runtime.compile.compiler import compiler_name
from sdgrad.testing import check_grads

TESTS = Path(__file__).parents[1]
REORDERED = ("layers", "model")
"""Products that each trip adds to one matrix are one without checkpoints; functions are computed by other loops."""
OBJECTS = 20_000  # bytes of Python's own: arrays' headers, tuples


SMALL = {"diffusion": 0.15, "layers": 0.7, "steps_in_place": 0.85, "two_loops": 0.2, "branching": 0.2, "nested": 0.1}
"""The least memory of some programs, as a part of what the whole tape takes."""


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """What calls of a program take, by its name, measured in a process of its own."""
    if sys.platform != "linux":
        pytest.skip("counts calls of glibc")
    meter = tmp_path_factory.mktemp("meter") / "meter.so"
    how = ["-x", "c", "-O2", "-shared", "-fPIC"]
    subprocess.run([compiler_name(), *how, str(TESTS / "meter.c"), "-o", str(meter)], check=True)
    path = os.pathsep.join([str(TESTS), *sys.path])
    environment = {**os.environ, "LD_PRELOAD": str(meter), "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}

    def rows(name):
        command = [sys.executable, str(TESTS / "measured_memory.py"), str(meter), name]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout.splitlines()[-1])

    return rows


@pytest.mark.parametrize("name", [f.__name__ for f in programs.ALL])
def test_calls_stay_within_their_limits(measured, name):
    rows = measured(name)
    for row in rows:
        if "taken" in row:
            assert row["taken"] <= row["allowed"] + OBJECTS, row
            assert row["error"] <= (1e-12 if name in REORDERED else 0), row
        else:
            assert row["least"] > row["allowed"], row
    if name in SMALL:
        assert rows[-1]["taken"] <= SMALL[name] * rows[0]["taken"]


@pytest.mark.parametrize("name", ["function", "model", "module"])
def test_pullbacks_stay_within_their_limits(measured, name):
    """What the first call leaves, copies of arguments among it, counts for both."""
    rows = measured(name)
    for row in rows:
        if "taken" in row:
            assert row["taken"] <= row["limit"] + OBJECTS, row
            assert row["error"] <= (1e-12 if name in REORDERED else 0), row
        else:
            assert row["least"] > row["limit"], row
    assert rows[-1]["taken"] < 0.8 * rows[-1]["whole"]


@pytest.mark.parametrize("seconds", [1e-9, 2.0])
def test_a_search_that_ends_early(seconds, monkeypatch):
    """Plans are within their limits, and say that they may not be the fastest."""
    monkeypatch.setattr(plan, "SECONDS", seconds)
    args = programs.arguments(programs.two_loops)
    curve = sdgrad.memory_plan(fresh(programs.two_loops), *args, points=6)
    assert [p.bytes for p in curve.points] == sorted((p.bytes for p in curve.points), reverse=True)
    assert curve.least < 0.2 * curve.unlimited
    assert ("perhaps not the fastest" in str(curve)) == (seconds < 1) == any(p.gap > 0 for p in curve.points)
    gradient = sdgrad.grad(fresh(programs.two_loops), memory_limit="40%")(*args)
    np.testing.assert_array_equal(gradient, sdgrad.grad(programs.two_loops)(*args))


def test_time_does_not_grow_with_the_limit():
    curve = sdgrad.memory_plan(programs.diffusion, *programs.arguments(programs.diffusion), points=20)
    slowdowns = [p.slowdown for p in curve.points]
    assert len(slowdowns) > 10
    assert slowdowns == sorted(slowdowns)
    assert [p.bytes for p in curve.points] == sorted((p.bytes for p in curve.points), reverse=True)
    assert "1 loop with checkpoints" in str(curve)


def test_times_are_relative_to_the_checkpoints_that_loops_have_without_a_limit(monkeypatch):
    args = programs.arguments(programs.diffusion)
    tapes = sdgrad.memory_plan(programs.diffusion, *args, points=4)
    every_loop(monkeypatch)
    in_room_for(4, monkeypatch)
    rooms = sdgrad.memory_plan(programs.diffusion, *args, points=4)
    assert rooms.unlimited < tapes.unlimited
    assert rooms.points[0].slowdown == 1
    assert 1 < rooms.points[-1].slowdown < 0.7 * tapes.points[-1].slowdown


def test_a_curve_is_measured():
    curve = sdgrad.memory_plan(
        programs.steps_in_place, *programs.arguments(programs.steps_in_place), points=2, measure=True
    )
    assert all(p.seconds > 0 for p in curve.points)
    with pytest.raises(ArgumentError, match="two points"):
        sdgrad.memory_plan(programs.diffusion, *programs.arguments(programs.diffusion), points=1)


def test_an_error_names_the_least_and_the_largest_arrays():
    x = programs.arguments(programs.diffusion)
    with pytest.raises(MemoryLimitError, match=r"'diffusion' takes .* at least .*memory_limit of 1000 bytes") as error:
        sdgrad.grad(programs.diffusion, memory_limit=1000)(*x)
    assert "long_tapes.py" in str(error.value)
    assert isinstance(error.value, MemoryError)
    found = sdgrad.grad(programs.diffusion, memory_limit=error.value.least)(*x)
    assert np.array_equal(found, sdgrad.grad(programs.diffusion)(*x))


def test_an_error_names_what_is_no_array():
    """Of many cheap steps on little state the tables of the schedule take the most."""
    with pytest.raises(MemoryLimitError, match="memory_limit of 1 byte:.*\n.* KiB 'tables of checkpoints'"):
        sdgrad.grad(programs.counted, memory_limit=1.0)(np.ones(16), 4000)


class Uncounted:
    """A function that is equal to others, so that Python has no hash of it."""

    def __eq__(self, other):
        return isinstance(other, Uncounted)

    def __call__(self, x):
        return programs.diffusion(x)


def test_plans_of_gradients_and_of_what_has_no_hash():
    (x,) = programs.arguments(programs.diffusion)
    least = sdgrad.memory_plan(programs.diffusion, x, points=2).least
    assert sdgrad.memory_plan(sdgrad.grad(programs.diffusion), x, points=2).least == least
    assert sdgrad.memory_plan(Uncounted(), x, points=2).least == least
    limited = sdgrad.explain(sdgrad.grad(programs.diffusion), x, memory_limit=least)
    assert limited.limit == least and "room" in str(limited)


@pytest.mark.parametrize("wrong", ["2 parsecs", "x%", -4, 3.5, [], "GiB", "0.5", True])
def test_limits_that_are_none(wrong):
    with pytest.raises(ArgumentError, match="memory limit"):
        sdgrad.grad(programs.diffusion, memory_limit=wrong)


def test_a_limit_knows_integers_and_other_calls_do_not():
    x, _ = programs.arguments(programs.counted)
    limited = sdgrad.grad(programs.counted, memory_limit="40%")
    for steps in (40, 50, 40):
        assert np.array_equal(limited(x, steps), sdgrad.grad(programs.counted)(x, steps))


def test_a_limit_is_that_of_the_outermost_derivative():
    inner = sdgrad.grad(programs.diffusion, memory_limit="50%")
    with pytest.raises(ArgumentError, match="outermost"):
        sdgrad.grad(lambda x: np.sum(inner(x) ** 2))(*programs.arguments(programs.diffusion))


@pytest.mark.parametrize("limit", ["100%", "30%", "min", 10**8])
def test_pullbacks(limit):
    (x,) = programs.arguments(programs.diffusion)
    outputs, pullback = sdgrad.vjp(programs.values, x)
    again, limited = sdgrad.vjp(programs.values, x, memory_limit=limit)
    cotangent = np.linspace(0, 1, len(x))
    assert np.array_equal(outputs, again)
    for factor in (1.0, 2.0):
        assert np.array_equal(limited(factor * cotangent)[0], pullback(factor * cotangent)[0])


def test_forward_and_backward_apart():
    (x,) = programs.arguments(programs.diffusion)
    cotangent = np.ones(len(x))
    forward, backward = sdgrad.grad(programs.values, requires=["x"], memory_limit="25%")
    _, tape = forward(x)
    assert tape.nbytes == 0
    assert np.array_equal(backward(tape, out=cotangent)["x"], sdgrad.vjp(programs.values, x)[1](cotangent)[0])
    with pytest.raises(ArgumentError, match="tapes"):
        sdgrad.grad(programs.values, requires=["x"], tapes="all", memory_limit="25%")


def six_layers(x, A, B, C, D, E, F):
    for W in (A, B, C, D, E, F):
        x = np.tanh(x @ W) + 1.0
    return x


def widened(x, A, B, C, D, E, F):
    """The gradient by ``F`` needs nothing that comes after its product: it may be computed before the values are."""
    for W, V in ((A, B), (C, D), (E, F)):
        x = x + np.sin(x @ W) @ V
    return x


@pytest.mark.parametrize("f", [six_layers, widened])
def test_halves_keep_what_they_may(f):
    """Not nothing: what runs again runs just before it is needed, in the second half."""
    names, rng = tuple("ABCDEF"), np.random.default_rng(0)
    args = (rng.standard_normal((400, 40)), *rng.standard_normal((6, 40, 40)) / 6)
    kept, found = [], []
    for limit in (None, "80%", "65%"):
        forward, backward = sdgrad.grad(f, requires=names, memory_limit=limit)
        _, tape = forward(*args)
        kept.append(tape.nbytes)
        found.append(backward(tape, out=np.ones((400, 40))))
    assert kept[0] > kept[1] > kept[2] > 0
    assert all(np.allclose(found[0][n], other[n], rtol=1e-13) for other in found[1:] for n in names)


def test_functions_are_computed_again_where_that_is_faster():
    """Than to run the products again: values of ``tanh`` had been kept whatever that took."""
    args = (np.ones((400, 40)), *np.ones((6, 40, 40)))
    curve = sdgrad.memory_plan(lambda *x: np.sum(six_layers(*x) ** 2), *args, wrt=(1, 2, 3, 4, 5, 6), points=16)
    assert curve.least < 0.5 * curve.unlimited
    assert any(0.62 < p.bytes / curve.unlimited < 0.72 and p.slowdown < 1.4 for p in curve.points)


@pytest.mark.parametrize("limit", ["60%", "min"])
def test_graphs(limit):
    f, args = programs.diffusion, programs.arguments(programs.diffusion)
    found = []
    for own in (None, limit):
        graph = sdgrad.add_backward_pass(sdgrad.to_sdfg(f, *args), "x", "__return", memory_limit=own)
        given = {"x": args[0], "gradient_x": np.zeros_like(args[0]), "gradient___return": np.ones(1)}
        status = {"sdgrad_status": np.zeros(1, np.int64)} if "sdgrad_status" in graph.arrays else {}
        graph.compile()(**given, **status, __return=np.zeros(1))
        found.append((given["gradient_x"], sum(d.total_size for d in graph.arrays.values() if d.transient)))
    assert np.array_equal(found[0][0], found[1][0])
    with pytest.raises(MemoryLimitError):
        sdgrad.add_backward_pass(sdgrad.to_sdfg(f, *args), "x", "__return", memory_limit=10)
    with pytest.raises(ArgumentError, match="separate_sdfgs"):
        sdgrad.add_backward_pass(sdgrad.to_sdfg(f, *args), "x", "__return", memory_limit=10, separate_sdfgs=True)


def test_specialized_graphs():
    """Symbols that ``specialize`` makes constants are numbers."""
    n = dace.symbol("n")

    @dace.program
    def waves(x: dace.float64[n], y: dace.float64[1]):
        u = np.sin(x)
        y[0] = np.sum(u * u)

    graph = waves.to_sdfg()
    graph.specialize({"n": 40})
    sdgrad.add_backward_pass(graph, "x", "y", memory_limit="min")
    x, slope = np.arange(40) / 40, np.zeros(40)
    graph(x=x, y=np.zeros(1), gradient_x=slope, gradient_y=np.ones(1))
    np.testing.assert_allclose(slope, np.sin(2 * x), rtol=1e-12)


def test_modules_and_models():
    torch = pytest.importorskip("torch")
    net = torch.nn.Sequential(*(m for _ in range(6) for m in (torch.nn.Linear(32, 32), torch.nn.Tanh())))
    x = torch.randn(256, 32)
    parameters = list(net.parameters())
    wanted = torch.autograd.grad(net(x).sum(), parameters)
    for limit in ("100%", 3_000_000):
        found = torch.autograd.grad(sdgrad.Module(net, memory_limit=limit)(x).sum(), parameters)
        assert all(torch.allclose(a, b, atol=1e-4) for a, b in zip(found, wanted, strict=True))
    with pytest.raises(MemoryLimitError):
        sdgrad.Module(net, memory_limit=1000)(x)


def test_open_dimensions_within_a_limit():
    """Each size has a plan of its own, made at the call."""
    torch = pytest.importorskip("torch")
    net = torch.nn.Sequential(*(m for _ in range(4) for m in (torch.nn.Linear(16, 16), torch.nn.Tanh())))
    limited = sdgrad.Module(net, dynamic_shapes=({0: "batch"},), memory_limit=150_000)
    for size in (64, 128, 32):
        x = torch.randn(size, 16)
        wanted = torch.autograd.grad(net(x).sum(), [*net.parameters()])
        found = torch.autograd.grad(limited(x).sum(), [*net.parameters()])
        assert all(torch.allclose(a, b, atol=1e-4) for a, b in zip(found, wanted, strict=True))
    with pytest.raises(MemoryLimitError):
        limited(torch.randn(2000, 16))


def test_classes_of_modules():
    torch = pytest.importorskip("torch")

    class Chain(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList(torch.nn.Linear(16, 16) for _ in range(4))

        def forward(self, x):
            for layer in self.layers:
                x = torch.tanh(layer(x))
            return x.sum()

    def gradients(net):
        return torch.autograd.grad(net(x), list(net.parameters()))

    x, net = torch.randn(128, 16), Chain()
    wanted = gradients(net)
    with pytest.raises(MemoryLimitError) as error:
        gradients(_limited(Chain, net, 1000))
    found = gradients(_limited(Chain, net, error.value.least))
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(found, wanted, strict=True))


def _limited(cls, net, limit):
    """A module of a decorated class, with the weights of another module."""
    made = sdgrad.module(backward=True, memory_limit=limit)(type(f"{cls.__name__}Within", (cls,), {}))()
    made.load_state_dict(net.state_dict())
    return made


def test_sizes_that_only_a_run_knows_are_refused():
    x = np.linspace(0.1, 1, 100)
    with (
        sdgrad.config.override(without=("checkpoints",)),
        pytest.raises(ArgumentError, match="known when the program runs"),
    ):
        sdgrad.grad(settle_and_sum, memory_limit=10**9)(x)


def test_a_share_of_what_only_a_run_knows_is_refused():
    def f(x):
        y = np.copy(x)
        for k in range(3):
            while np.sum(y * y) > 4.0 - k:
                y[:] = 0.9 * np.sin(y)
        return np.sum(y)

    x = np.linspace(0.1, 1, 100)
    with pytest.raises(ArgumentError, match="give the limit in bytes"):
        sdgrad.grad(f, memory_limit="50%")(x)
    assert np.array_equal(sdgrad.grad(f, memory_limit=10**9)(x), sdgrad.grad(f)(x))


def settle_and_sum(x):
    return np.sum(settle(x * 1.0))


def settle(y):
    while np.sum(y * y) > 0.5:
        y = 0.8 * np.sin(y)
    return y * 1.0


@pytest.mark.parametrize("limit", [10**6, "min"])
def test_while_loops_in_a_function_of_their_own(limit):
    """As the error says: within a loop they have a fixed number of places."""
    inner = sdgrad.checkpoint(settle)

    def f(x):
        for k in range(4):
            x = inner(x + 0.3 * k)
        return np.sum(x)

    x = np.array([0.5, 0.9])
    np.testing.assert_allclose(sdgrad.grad(f, memory_limit=limit)(x), sdgrad.grad(f)(x), rtol=1e-12)
    check_grads(f, (x,))


def test_a_share_of_what_nobody_knows_is_refused():
    (x,) = programs.arguments(programs.left_early)
    with pytest.raises(ArgumentError, match="give the limit in bytes"):
        sdgrad.grad(programs.left_early, memory_limit="50%")(x)
    curve = sdgrad.memory_plan(programs.left_early, x, points=4)
    assert curve.unlimited is None
    assert "unknown without a limit" in str(curve)


def test_explanations_show_the_memory(tmp_path):
    args = programs.arguments(programs.diffusion)
    found = sdgrad.explain(programs.diffusion, *args, memory_limit="30%")
    text = str(found)
    assert "the largest arrays:" in text
    assert "long_tapes.py" in text
    assert "forward, then backward" in text
    page = found.to_html(tmp_path / "page.html").read_text()
    assert "<svg" in page
    assert "stroke='red'" in page
