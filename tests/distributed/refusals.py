"""What is refused while a function is recorded, on all ranks alike."""

import json
from collections.abc import Callable

import numpy as np
from mpi4py import MPI

import sdgrad
from sdgrad.testing import check_grads

comm = MPI.COMM_WORLD
other = 1 - comm.rank
pair = comm.Create_cart([2], periods=[True])
x = np.ones(4)
CASES: dict[str, Callable] = {}


def case(f):
    CASES[f.__name__] = f
    return f


@case
def status(x):
    y = np.zeros(4)
    comm.Recv(y, source=other, status=MPI.Status())
    return np.sum(y)


@case
def made_inside(x):
    return np.sum(x) * comm.Split(comm.rank % 2).allreduce(x[0])


@case
def pickled(x):
    return np.sum(comm.bcast(x))


@case
def waits_elsewhere(x):
    y = np.zeros(4)
    comm.Iallreduce(x, y).Wait()
    return np.sum(y)


@case
def probe(x):
    comm.Probe(source=other)
    return np.sum(x)


@case
def largest_before(x):
    y = np.zeros(4)
    comm.Scan(x, y, op=MPI.MAX)
    return np.sum(y)


@case
def largest_array_before(x):
    return np.sum(comm.scan(x, op=MPI.MAX))


@case
def of_types(x):
    comm.Alltoallw(x, np.zeros(8))
    return np.sum(x)


@case
def other_type(x):
    y = np.zeros(4, np.float32)
    comm.Allreduce(x, y)
    return np.sum(y)


@case
def other_size(x):
    y = np.zeros(3)
    comm.Allreduce(x, y)
    return np.sum(y)


@case
def too_large(x):
    y = np.zeros(12)
    comm.Allgather(x, y)
    return np.sum(y)


@case
def no_parts(x):
    y = np.zeros(7)
    comm.Allgather(x, y)
    return np.sum(y)


@case
def test(x):
    request = comm.Isend(x, dest=other)
    while not request.Test():
        pass
    return np.sum(x)


@case
def whichever_comes(x):
    y = np.zeros(4)
    requests = [comm.Irecv(y, source=other), comm.Isend(x, dest=other)]
    MPI.Request.Waitany(requests)
    return np.sum(y)


@case
def where_least(x):
    return x[0] * comm.allreduce((np.sum(x), comm.rank), op=MPI.MINLOC)[0]


@case
def of_neighbours(x):
    y = np.zeros(4)
    pair.Neighbor_allgather(x, y)
    return np.sum(y)


@case
def abort(x):
    """Neither here nor where a function is recorded."""
    if np.sum(x) > 1e9:
        comm.Abort(1)
    return np.sum(x)


@case
def not_waited(x):
    y = np.zeros(4)
    comm.Isend(x, dest=other)
    comm.Recv(y, source=other)
    return np.sum(y)


def total(x):
    return comm.allreduce(np.sum(x * x))


WAYS = {name: lambda f=f: sdgrad.grad(f)(x) for name, f in CASES.items()}
WAYS["jacobian"] = lambda: sdgrad.jacobian(total)(x)
WAYS["check_grads"] = lambda: check_grads(total, (x,))
WAYS["saved"] = lambda: sdgrad.compile_gradient(total, x)


def main() -> None:
    for name, way in WAYS.items():
        try:
            told = f"no error: {way()}"
        except Exception as error:
            told = str(error)
        each = comm.gather(told, root=0)
        if each is not None:
            same = each[0] == each[1]
            print(json.dumps({"name": name, "told": each[0] if same else f"{each} differ"}), flush=True)


if __name__ == "__main__":
    with sdgrad.config.override(optimization_level=0):
        main()
