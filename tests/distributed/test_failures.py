"""What goes wrong on a rank ends all of them, and is said."""

import pytest

from tests.distributed.ranks import failed

BEGIN = """
import numpy as np
from mpi4py import MPI
import sdgrad
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
RAISES = """
    if comm.rank == 1:
        raise ValueError("rank 1 has no data")
    y = np.zeros(4)
    comm.Recv(y, source=1)
    return np.sum(x * y)
"""
STATUS = """
    y = np.zeros(4)
    comm.Recv(y, source=0, status=MPI.Status())
    return np.sum(y)
"""
MADE_INSIDE = """
    return np.sum(x) * comm.Split(comm.rank % 2).allreduce(x[0])
"""
PICKLED = """
    return np.sum(comm.bcast(x))
"""
MATRIX = """
    return comm.allreduce(np.sum(x))
"""
CASES = {
    "a message that is shorter than its buffer": (SHORT, END, "4 elements is received into 6: receive it into a slice"),
    "a message that is longer than its buffer": (LONG, END, "MPI_Recv failed: .*trunc"),
    "a rank that raises": (RAISES, END, "rank 1 has no data"),
    "a status": (STATUS, END, "receive from a rank that is named, without status="),
    "a communicator that is made inside": (MADE_INSIDE, END, "make communicators outside of it"),
    "a pickled object": (PICKLED, END, "comm.bcast is not recorded: write Bcast"),
    "a Jacobian": (MATRIX, "\nsdgrad.jacobian(f)(x)\n", "a Jacobian has rows and columns of all ranks"),
}


@pytest.mark.parametrize("name", CASES)
def test_failure(tmp_path, name):
    body, end, told = CASES[name]
    script = tmp_path / "script.py"
    script.write_text(BEGIN + body + end)
    failed(script, 2, told)
