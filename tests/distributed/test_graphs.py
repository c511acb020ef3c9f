"""Gradients of DaCe graphs that communicate, on two ranks; and what of them is refused."""

import sys

import dace
import numpy as np
import pytest

import sdgrad
from tests.distributed.ranks import run

GRAPHS = ("messages", "from_the_root_and_back", "transposed", "columns_in_a_loop", "overlapped", "by_hand")


@pytest.fixture(scope="module")
def two():
    return run("tests.distributed.graphs", 2)


@pytest.mark.parametrize("name", GRAPHS)
def test_on_two_ranks(two, name):
    assert {k: v for k, v in two[name].items() if not v <= 1e-7} == {}


@dace.program
def received(x: dace.float64[4], s: dace.float64[1]):
    y = np.zeros((4,), dtype=np.float64)
    dace.comm.Recv(y, 1, 3)
    s[0] = np.sum(x * y)


def test_nothing_is_a_constant_in_silence(monkeypatch):
    """What came from another rank had been one: without MPI in the process, the graph is refused."""
    monkeypatch.delitem(sys.modules, "mpi4py.MPI", raising=False)
    with pytest.raises(sdgrad.DifferentiationError, match="import mpi4py.MPI before the graph is differentiated"):
        sdgrad.add_backward_pass(received.to_sdfg(), inputs=["x"], outputs=["s"])
