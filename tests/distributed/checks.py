"""The checks of derivatives, called by all ranks together: what they say of right and of wrong ones.

``python -m mpi4py -m tests.distributed.checks`` under ``mpiexec`` prints one line of JSON for each.
"""

import json

import numpy as np
from mpi4py import MPI

import sdgrad
from sdgrad.testing import check_grads, dot_product_test, taylor_test

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
x, k = np.linspace(0.3, 1.2 + rank, 4 + rank), 0.7  # other sizes on other ranks


def ring(x, k):
    y = np.empty(1)
    comm.Sendrecv(x[-1:], dest=(rank + 1) % size, recvbuf=y, source=(rank - 1) % size)
    return np.sum(np.sin(k * x) * y[0])


@sdgrad.custom_vjp
def sine(x):
    return np.sin(x)


@sine.defvjp
def sine_vjp(x, grad_out):
    return grad_out * np.cos(x) * (1.001 if rank == 1 else 1.0)


def wrong_on_rank_1(x, k):
    return ring(sine(x), k)


def parameters(p):
    return ring(p["x"], p["k"])


CASES = {
    "right": lambda: check_grads(ring, (x, k), 2, ("rev", "fwd"), comm=comm),
    "a nest": lambda: check_grads(parameters, ({"x": x, "k": k},), comm=comm),
    "dot product": lambda: dot_product_test(ring, (x, k), comm=comm),
    "Taylor": lambda: taylor_test(ring, (x, k), comm=comm),
    "wrong": lambda: check_grads(wrong_on_rank_1, (x, k), comm=comm),
    "wrong dot product": lambda: dot_product_test(wrong_on_rank_1, (x, k), gradient=gradient_of_wrong, comm=comm),
    "wrong Taylor": lambda: taylor_test(wrong_on_rank_1, (x, k), comm=comm),
    "other arguments": lambda: check_grads(ring, (x, k), wrt=[rank % 2], comm=comm),
    "alone": lambda: dot_product_test(ring, (x, k)),
}


def gradient_of_wrong(args, cotangents):
    return sdgrad.vjp(wrong_on_rank_1, *args)[1](*cotangents)


def main() -> None:
    for name, case in CASES.items():
        try:
            told = f"passed: {case()}"
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
        every = comm.gather(told.partition("\n\n")[0] if "wrong" in name else told.partition(":")[0], root=0)
        if every is not None:
            print(json.dumps({"name": name, "told": every}), flush=True)


if __name__ == "__main__":
    with sdgrad.config.override(optimization_level=0):
        main()
