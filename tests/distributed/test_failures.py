"""What goes wrong on a rank ends all of them, and is said."""

import pytest

from tests.distributed.ranks import failed, run

BEGIN = """
import numpy as np
from mpi4py import MPI
import sdgrad
sdgrad.config.optimization_level = 0
comm = MPI.COMM_WORLD
x = np.ones(4)

def f(x):
"""
END = """
sdgrad.grad(f)(x)
"""

SHORT = """
    y = np.zeros(6)
    if comm.rank == 0:
        comm.Send(x, dest=1)
        return np.sum(x)
    comm.Recv(y, source=0)
    return np.sum(y)
"""
LONG = SHORT.replace("zeros(6)", "zeros(2)")
MIXED = """
    return x[0] * comm.allreduce(np.sum(x) if comm.rank == 0 else 1)
"""
SEVERAL = """
    total = comm.reduce(x[: 1 + comm.rank])
    return np.sum(x) if total is None else np.sum(total)
"""
RAISES = """
    if comm.rank == 1:
        raise ValueError("rank 1 has no data")
    y = np.zeros(4)
    comm.Recv(y, source=1)
    return np.sum(x * y)
"""
CASES = {
    "a message that is shorter than its buffer": (SHORT, END, "4 elements is received into 6: receive it into a slice"),
    "a message that is longer than its buffer": (LONG, END, "MPI_Recv failed: .*trunc"),
    "numbers of two types": (MIXED, END, "numbers of several types, such as 1 and 1.0"),
    "arrays of two sizes": (SEVERAL, END, "arrays of several sizes to one call"),
    "a rank that raises": (RAISES, END, "rank 1 has no data"),
}


@pytest.mark.parametrize("name", CASES)
def test_failure(tmp_path, name):
    body, end, told = CASES[name]
    script = tmp_path / "script.py"
    script.write_text(BEGIN + body + end)
    failed(script, 2, told)


REFUSED = {
    "status": "receive from a rank that is named, without status=",
    "made_inside": "comm.Split in a recorded function: make communicators outside of it",
    "pickled": "comm.bcast is not recorded: write comm.Bcast of an array",
    "waits_elsewhere": "comm.Iallreduce is not recorded: write comm.Allreduce, which waits",
    "probe": "comm.Probe is not recorded: write a Recv of an array whose size is known",
    "largest_before": "Scan with MPI.MAX has no derivative here: write Allgather, and combine the rows",
    "largest_array_before": "comm.scan compares whole arrays by MPI.MAX: write comm.Scan",
    "of_types": "comm.Alltoallw is not recorded: write it outside of the function",
    "other_type": "comm.Allreduce sends float64 and receives float32: convert one of them",
    "other_size": "comm.Allreduce sends an array of 4 elements, and needs 3",
    "too_large": "comm.Allgather sends an array of 4 elements, and needs 6",
    "no_parts": "comm.Allgather: an array of 7 elements has no 2 equal parts",
    "test": "request.Test is not recorded: write request.Wait()",
    "whichever_comes": "MPI.Request.Waitany is not recorded: write MPI.Request.Waitall(requests)",
    "where_least": "for others write comm.allgather, and combine what comes",
    "of_neighbours": "write comm.Irecv and comm.Isend with each of the neighbours, and MPI.Request.Waitall",
    "abort": "comm.Abort is not recorded: write raise",
    "not_waited": "nobody waits for this communication: write request.Wait()",
    "jacobian": "a Jacobian has rows and columns of all ranks",
    "check_grads": "give comm=, and call the check on all its ranks",
    "saved": "it belongs to the processes that recorded it",
}


@pytest.fixture(scope="module")
def refusals():
    return run("tests.distributed.refusals", 2)


@pytest.mark.parametrize("name", REFUSED)
def test_refused_on_all_ranks(refusals, name):
    assert REFUSED[name] in refusals[name]["told"]


def test_no_refusal_is_left_out(refusals):
    assert set(refusals) == set(REFUSED)
