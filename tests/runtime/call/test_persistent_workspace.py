"""A gradient's peak memory is that of its arguments, gradients, working copies, and the tape of its plan."""

import os
import subprocess
import sys
from pathlib import Path

import dace
import pytest

from sdgrad.runtime.call.persistent_workspace import allocate_once, keep_in_registers, keep_memory

HERE = Path(__file__).parents[2]
MB = 1e6
SCRIPT = '''
import sys

import numpy as np

import sdgrad
from tests.tape.test_search import numbers, plan_of


def status(key):
    """A line of the process's status, in bytes."""
    with open("/proc/self/status") as lines:
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith(key))


def linear(A):
    B = np.zeros((1200, 1200))
    for t in range(20):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1])
    return np.sum(A)


def nonlinear(A):
    for t in range(20):
        A[100:-100, :] = np.sin(A[100:-100, :]) * 1.1
    return np.sum(A)


def product(A):
    x = A[0, :] * 1.0
    for i in range(100):
        x = np.tanh(A @ x)
    return np.sum(x)


def unknown_trips(A):
    s = 0.0
    while s < 30.0:
        A[:, 600:] = A[:, 600:] * A[:, 600:]
        s += 2.0
    return np.sum(A)


A = np.random.default_rng(0).uniform(0.5, 0.9, (1200, 1200))
for function in (linear, nonlinear, product, unknown_trips):
    if function is unknown_trips:  # the tape is that of all trips, counted ahead
        sdgrad.config.without = ("checkpoints",)
    plan = plan_of(function, A)
    gradient = sdgrad.grad(function)
    gradient(A)  # compiles
    sdgrad.free_memory()  # what waits to be used again would not show
    with open("/proc/self/clear_refs", "w") as reset:
        reset.write("5")
    before = status("VmRSS")
    gradient(A)
    trips = {s.name: 15 for s in plan.numbers().free_symbols}
    print(function.__name__, A.nbytes, 8 * numbers(plan, **trips), status("VmHWM") - before)
'''
WORKING = {"linear": 5, "nonlinear": 3, "product": 2, "unknown_trips": 3}
"""Arrays of the argument's size beside the tape: its copy, the gradient, adjoints, temporaries, what is put back."""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peak memory is read from Linux's /proc")
def test_peak_is_the_plan(tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent)])}
    script = tmp_path / "measure.py"  # DaCe reads the functions' source
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    found = [line.split() for line in done.stdout.splitlines()]
    assert [name for name, *_ in found] == list(WORKING)
    for name, array, tape, peak in ((n, *map(int, rest)) for n, *rest in found):
        limit = tape + WORKING[name] * array + 4 * MB
        # memory that the first call gave back may be taken again without showing
        assert tape - array < peak < limit, f"{name}: {peak / MB:.0f} MB at the peak, tape {tape / MB:.0f} MB"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from Linux's /proc")
def test_memory_is_given_back(tmp_path):
    steps = "gradient = sdgrad.grad(nonlinear)\ngradient(A)\nbefore = status('VmRSS')\nsdgrad.free_memory()\n"
    script = tmp_path / "free.py"
    script.write_text(SCRIPT.split("for function in")[0] + steps + "print(before - status('VmRSS'))\ngradient(A)\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent)])}
    done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout) > 150 * MB  # the tape has 192


def test_small_temporaries_of_loops_are_allocated_once():
    """A state in a loop, whose array is as small as a number of bodies, takes no memory in each trip."""
    sdfg = dace.SDFG("workspace")
    for name, size in (("small", 8), ("large", 1 << 16), ("number", 1)):
        sdfg.add_transient(name, [size], dace.float64)
    keep_memory(sdfg)
    keep_in_registers(sdfg)
    allocate_once(sdfg)
    lifetimes = {name: desc.lifetime.name for name, desc in sdfg.arrays.items()}
    assert lifetimes == {"small": "SDFG", "large": "Persistent", "number": "Scope"}
    assert sdfg.arrays["number"].storage.name == "Register"
