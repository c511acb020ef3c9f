"""Memory of a program with a limit is its own in the next call, and nobody else's: no pages are cleared again."""

import resource

import numpy as np
import pytest

import sdgrad

RNG = np.random.default_rng(5)


def diffuse(u, v):
    for _ in range(60):
        u = u + 0.1 * np.sin(u) * (np.roll(v, 1, 0) - u)
        v = v + 0.1 * np.cos(v) * (np.roll(u, 1, 1) - v)
    return np.sum(u * v)


def faults(call) -> int:
    """Pages that a call takes from the system."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    call()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


@pytest.fixture
def fields():
    with sdgrad.config.override(optimization_level=1):  # its calls take longer than its compilation
        yield RNG.random((300, 300)), RNG.random((300, 300))


@pytest.mark.parametrize("limit", ["70%", "40%"])
def test_pages_are_used_again(limit, fields):
    gradient = sdgrad.grad(diffuse, wrt=(0, 1), memory_limit=limit)
    gradient(*fields)
    sdgrad.free_memory()
    new = faults(lambda: gradient(*fields))
    found = [faults(lambda: gradient(*fields)) for _ in range(6)]
    assert min(found) < 100 < new, (found, new)  # what else the process does only adds faults


def test_they_are_given_back_where_another_program_with_a_limit_begins(fields):
    one = sdgrad.grad(diffuse, memory_limit="70%")
    other = sdgrad.grad(diffuse, wrt=1, memory_limit="40%")
    for _ in range(3):
        one(*fields)
        other(*fields)
    assert min(faults(lambda: (one(*fields), other(*fields))) for _ in range(3)) > 500
