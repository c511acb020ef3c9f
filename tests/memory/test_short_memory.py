"""Where the machine has no memory for a tape, a gradient keeps less: the system gives a process little."""

import subprocess
import sys

import pytest

PROGRAM = """
import resource, warnings
from dataclasses import replace
from pathlib import Path
import numpy as np
import sdgrad
from sdgrad.machine.free_memory import free_memory

def simulate(u, steps):
    u = np.copy(u)
    for _ in range(steps):
        u[1:-1] = np.sin(u[:-2]) * 0.4 + np.cos(u[2:]) * u[1:-1] * 0.4
    return np.sum(u)

def pages():
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()

sdgrad.config.machine = replace(sdgrad.config.machine, tape_share=120e6 / free_memory())
u = np.linspace(0.0, 1.0, 100_000)
gradient = sdgrad.value_and_grad(simulate)
few = gradient(u, 3)
kept = sdgrad.value_and_grad(simulate, memory_limit="100%")(u, 60)
resource.setrlimit(resource.RLIMIT_AS, (pages() + (1 << 30), resource.RLIM_INFINITY))
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    value, slope = gradient(u, 2000)
    again = gradient(u, 2000)
assert len(told) == 1 and "memory_limit=" in str(told[0].message), told
assert again[0] == value and np.array_equal(again[1], slope) and np.all(np.isfinite(slope)) and slope.any()
for n, wanted in ((60, kept), (3, few)):
    found = gradient(u, n)
    assert found[0] == wanted[0] and np.array_equal(found[1], wanted[1])
try:
    sdgrad.grad(simulate, inplace=True)(u, 2000)
except sdgrad.errors.OutOfMemory as error:
    assert "tape_u" in str(error)
else:
    raise AssertionError("arguments may have been written")
print("right")
"""


def test_a_gradient_runs_within_what_is_free(tmp_path):
    if sys.platform != "linux":
        pytest.skip("limits the addresses of a process")
    script = tmp_path / "script.py"
    script.write_text(PROGRAM)  # loops of functions without a source are written out
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "right", done.stderr[-3000:]
