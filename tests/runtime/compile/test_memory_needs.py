"""A program whose arrays find no memory is an error, which names the largest of them."""

import dace
import numpy as np
import pytest

import sdgrad
from sdgrad.config import config
from sdgrad.runtime.compile.memory_needs import ALL, memory_needs, shown


def simulation(A, steps):
    A = A.copy()
    for _ in range(steps):
        A[:] = np.sin(A) + 0.1
    return np.sum(A)


def test_a_tape_without_memory_is_an_error():
    """More bytes than any machine has addresses for; calls afterwards are as before."""
    A = np.full((300, 300), 0.5)
    gradient = sdgrad.grad(simulation)
    few = gradient(A, 3)
    with config.override(without=("checkpoints",)):
        for _ in range(3):  # the second and later calls take another way
            with pytest.raises(MemoryError, match=r"'tape_A\w*' takes 8\*90000\*.*steps.*sdgrad.explain"):
                gradient(A, 10**9)
    np.testing.assert_array_equal(gradient(A, 3), few)


def test_the_largest_array_is_named():
    sdfg = dace.SDFG("graph")
    assert memory_needs(sdfg) == ALL
    sdfg.add_transient("a", [1024], dace.float64)
    sdfg.add_transient("b", [3, 1024, 1024], dace.float32)
    sdfg.add_array("x", [1 << 40], dace.float32)
    sdfg.add_transient("open", [dace.symbol("N")], dace.float64)
    text = "its temporaries take 12 MiB, 'b' alone 12 MiB; 'open' takes 8*N bytes"
    assert memory_needs(sdfg) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (5, "5 bytes"),
        (1000, "1000 bytes"),
        (2048, "2 KiB"),
        (1023 << 10, "1023 KiB"),
        (3 << 29, "1.5 GiB"),
        (1 << 60, "1048576 TiB"),
    ],
)
def test_sizes_in_words(size, text):
    assert shown(size) == text
