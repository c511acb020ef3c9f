"""Temporaries of their own for blocks that set what they read: fewer bytes live, and the same results."""

import numpy as np
import pytest
from private_loops import DECLARATIONS, PRIVATE
from treetext import program

import sdgrad
from sdgrad.config import config
from sdgrad.optimize.dataflow.own_temporaries import own_temporaries
from sdgrad.program.naming import all_names

GOES_ON = PRIVATE.replace("t[j] = v", "t[j] += v")
READS = """
      do:
        v = t[0]
        y[0] = v
"""


def separated(body: str) -> str:
    of = program(DECLARATIONS + body)
    return str(own_temporaries(of, all_names(of)))


def test_each_loop_has_its_own():
    found = separated(PRIVATE + PRIVATE)
    assert found.count("t[j] = v") == 1 and found.count("t_0[j] = v") == 1
    assert found.count("w = t[j]") == 1 and found.count("w = t_0[j]") == 1


@pytest.mark.parametrize(
    "body", [PRIVATE, PRIVATE + GOES_ON, GOES_ON + PRIVATE, PRIVATE + READS, PRIVATE + READS + PRIVATE]
)
def test_declines(body):
    assert separated(body) == str(program(DECLARATIONS + body))


def test_elements_that_several_leaves_set():
    parts = PRIVATE.replace("map j=0:8:\n          v = x[i, j]\n          t[j] = v", "").replace(
        "        map j=0:8:\n          w",
        "        map j=0:5:\n          v = x[i, j]\n          t[j] = v\n"
        "        map j=5:8:\n          v = x[i, j]\n          t[j] = v\n        map j=0:8:\n          w",
    )
    assert "t_0" in separated(parts + parts)
    assert "t_0" not in separated(parts + parts.replace("j=5:8", "j=6:8"))


def step(u, v):
    """A step whose temporaries are set in parts."""
    around = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1)
    made = u * v * v
    return u + 0.1 * (around - 4 * u) - made, v + 0.5 * made - 0.1 * v


def simulate(u, v):
    for _ in range(40):
        u, v = step(u, v)
    return np.sum(u * v)


def test_less_is_live():
    rng = np.random.default_rng(0)
    u, v = 0.5 + 0.1 * rng.random((2, 60, 60))
    found = sdgrad.memory_plan(simulate, u, v, wrt=("u", "v"), points=2).least
    gradient = sdgrad.grad(simulate, ("u", "v"), memory_limit="min")(u, v)
    with config.override(without=("own-temporaries",)):
        shared = sdgrad.memory_plan(simulate, u, v, wrt=("u", "v"), points=2).least
        wanted = sdgrad.grad(simulate, ("u", "v"))(u, v)
    assert found < 0.9 * shared
    for a, b in zip(gradient, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
