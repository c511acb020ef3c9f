"""Gradients of DaCe graphs that communicate, on two ranks; and what of them is refused."""

import dace
import pytest
from dace.libraries.comm.nodes import Allreduce

import sdgrad
from tests.distributed.ranks import run

GRAPHS = ("messages", "from_the_root_and_back", "transposed", "columns_in_a_loop", "overlapped", "by_hand")


@pytest.fixture(scope="module")
def two():
    return run("tests.distributed.graphs", 2)


@pytest.mark.parametrize("name", GRAPHS)
def test_on_two_ranks(two, name):
    assert {k: v for k, v in two[name].items() if not v <= 1e-7} == {}


def mean():
    sdfg = dace.SDFG("mean")
    sdfg.add_array("x", [4], dace.float64)
    sdfg.add_array("s", [4], dace.float64)
    state, node = sdfg.add_state(), Allreduce("mean", "avg")
    state.add_node(node)
    state.add_edge(state.add_read("x"), None, node, "_inbuffer", dace.Memlet("x"))
    state.add_edge(node, "_outbuffer", state.add_write("s"), None, dace.Memlet("s"))
    return sdfg


def test_what_is_not_read_is_no_constant():
    """What came from another rank had been one, without a word."""
    with pytest.raises(sdgrad.DifferentiationError, match=r"'mean'(.|\n)*the average of the ranks(.|\n)*with mpi4py"):
        sdgrad.add_backward_pass(mean(), inputs=["x"], outputs=["s"])
