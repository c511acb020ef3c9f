"""Every communication in a small function, and what its derivatives have to fulfil, summed over the ranks.

``python -m mpi4py -m tests.distributed.cases [NAME ..]`` under ``mpiexec`` prints one line of JSON for each.
"""

import json
import sys
from collections.abc import Callable

import numpy as np
from mpi4py import MPI

import sdgrad

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
n = 4
right, left = (rank + 1) % size, (rank - 1) % size
halves = comm.Split(rank % 2, rank)
LENGTHS = np.array([k % n + 1 for k in range(size)])
line = comm.Create_cart([size], periods=[False])
CASES: dict[str, Callable] = {}


def case(f):
    CASES[f.__name__] = f
    return f


@case
def messages_with_tags(x):
    y = np.zeros(n)
    if rank == 0:
        for p in range(1, size):
            comm.Send(x * p, dest=p, tag=p)
        for p in range(1, size):
            comm.Recv(y, source=p, tag=7)
            x = x + np.sin(y)
        return x
    comm.Recv(y, source=0, tag=rank)
    comm.Send(y * x, dest=0, tag=7)
    return x * y


@case
def messages_out_of_order(x):
    """The one that is sent last is received first, by its tag."""
    if rank == 0:
        requests = [comm.Isend(np.sin(x) * k, dest=size - 1, tag=k) for k in (1, 2)]
        MPI.Request.Waitall(requests)
        return x
    if rank < size - 1:
        return x
    first, second = np.empty(n), np.empty(n)
    comm.Recv(second, source=0, tag=2)
    comm.Recv(first, source=0, tag=1)
    return x * first + second * second


@case
def whoever_sends(x):
    comm.Barrier()  # a message of the next call must not come first
    y = np.zeros(n)
    if rank:
        comm.Send(x * x, dest=0, tag=rank)
        return x
    total = np.sin(x)
    for _ in range(1, size):
        comm.Recv(y)
        total = total + np.exp(y)
    return total


@case
def ring(x):
    y = np.empty(n)
    comm.Sendrecv(np.sin(x), dest=right, recvbuf=y, source=left)
    comm.Sendrecv_replace(y, dest=right, source=left)
    return y * x


@case
def halo(x):
    below, above = line.Shift(0, 1)
    u = np.zeros(n + 2)
    u[1:-1] = x
    for _ in range(3):
        line.Sendrecv(u[-2:-1], dest=above, recvbuf=u[:1], source=below)
        line.Sendrecv(u[1:2], dest=below, recvbuf=u[-1:], source=above)
        u[1:-1] = u[1:-1] + 0.1 * np.sin(u[2:] - 2 * u[1:-1] + u[:-2])
    return u


@case
def halo_that_is_computed_again(x):
    def step(u):
        ghost = np.empty(2)
        comm.Sendrecv(u[-1:], dest=right, recvbuf=ghost[:1], source=left)
        comm.Sendrecv(u[:1], dest=left, recvbuf=ghost[1:], source=right)
        wide = np.concatenate([ghost[:1], u, ghost[1:]])
        return u + 0.1 * np.sin(wide[2:] - 2 * u + wide[:-2])

    for _ in range(4):
        x = sdgrad.checkpoint(step)(x)
    return x


@case
def checks_in_what_is_computed_again(x):
    """The rank that a message goes to is computed, and has to be one: the check runs no message twice."""

    def step(u):
        if rank == 1:
            for k in range(size):
                if k != 1:
                    comm.Send(u * (k + 0.5), dest=k, tag=k)
            return u * 0.9
        y = np.empty(n)
        comm.Recv(y, source=1, tag=rank)
        return 0.9 * np.sin(y) * u

    for _ in range(3):
        x = sdgrad.checkpoint(step)(x)
    return x


@case
def overlap(x):
    below, above = np.empty(n), np.empty(n)
    requests = [
        comm.Irecv(below, source=left, tag=1),
        comm.Irecv(above, source=right, tag=2),
        comm.Isend(np.sin(x), dest=right, tag=1),
        comm.Isend(np.cos(x), dest=left, tag=2),
    ]
    inner = x * x
    MPI.Request.Waitall(requests)
    return inner * below + above


@case
def broadcasts(x):
    y = np.zeros(n)
    if rank == size - 1:
        y[:] = np.sin(x)
    comm.Bcast(y, root=size - 1)
    return x * y


@case
def sums(x):
    y, z = np.empty(n), np.zeros(n)
    comm.Allreduce(np.sin(x) * x, y)
    comm.Allreduce(MPI.IN_PLACE, y)
    comm.Reduce(y * x, z, root=size - 1)
    return 0.1 * x * y + z


@case
def extremes(x):
    y, z, w = np.empty(n), np.empty(n), np.zeros(n)
    comm.Allreduce(np.sin(x), y, op=MPI.MAX)
    comm.Allreduce(np.cos(x), z, op=MPI.MIN)
    comm.Reduce(x, w, op=MPI.MAX, root=size - 1)
    return x * y + z + w


@case
def products(x):
    y, w = np.empty(n), np.zeros(n)
    comm.Allreduce(np.sin(x), y, op=MPI.PROD)
    comm.Reduce(x, w, op=MPI.PROD, root=size - 1)
    return x * y + w


@case
def products_of_complex_numbers(x):
    y = np.empty(n, np.complex128)
    comm.Allreduce(np.exp(1j * x) * x, y, op=MPI.PROD)
    return np.real(y) * x + np.imag(y)


@case
def scatters_and_gathers(x):
    y = np.empty(n)
    whole = np.outer(np.arange(1.0, size + 1), x) if rank == 0 else None
    comm.Scatter(whole, y, root=0)
    found = np.empty((size, n)) if rank == size - 1 else None
    comm.Gather(np.sin(x + y), found, root=size - 1)
    return x + y * y + (np.sum(found, axis=0) if rank == size - 1 else 0)


@case
def parts_of_several_lengths(x):
    own, counts = LENGTHS[rank], [k % n + 1 for k in range(size)]
    whole, part = np.empty(sum(counts)), np.empty(own)
    comm.Allgatherv(np.sin(x[:own]), [whole, counts])
    comm.Scatterv([whole * whole, counts] if rank == 0 else None, part, root=0)
    found = np.empty(sum(counts)) if rank == 0 else None
    comm.Gatherv(part * x[:own], [found, LENGTHS, MPI.DOUBLE] if rank == 0 else None, root=0)
    return np.sum(whole) * x + (np.sum(found * found) if rank == 0 else 0)


@case
def gathers_for_all(x):
    whole, y = np.empty((size, n)), np.empty(n)
    comm.Allgather(np.sin(x), whole)
    comm.Reduce_scatter_block(whole * whole * x, y)
    return np.sum(whole * np.arange(1.0, size + 1)[:, None], axis=0) * x + y


@case
def transposes(x):
    sent, found = np.empty(size), np.empty(size)
    sent[:] = 0.1 * np.sum(x) * np.arange(1.0, size + 1)
    comm.Alltoall(sent, found)
    return np.sum(np.sin(found) * found) * x


@case
def results_in_place_of_buffers(x):
    total = comm.allreduce(np.sum(x * x))
    each = comm.allgather(np.sum(np.sin(x)))
    first = comm.reduce(x[0], root=0)
    weighted = sum(k * v for k, v in enumerate(each))
    return 0.1 * x * total + weighted + (first * first if rank == 0 else 0)


@case
def sums_over_the_ranks_before(x):
    y, z = np.empty(n), np.cos(x)
    comm.Scan(np.sin(x) * (rank + 1), y)
    comm.Exscan(x * y, z)  # that of the first rank stays as it is
    comm.Scan(MPI.IN_PLACE, z)
    comm.Exscan(MPI.IN_PLACE, y)
    before = comm.exscan(x[0] * x[1])
    return 0.1 * x * z + y * y + comm.scan(np.sum(np.sin(x))) + (before * x if rank else 0)


@case
def some_of_the_ranks(x):
    y = np.empty(n)
    halves.Allreduce(np.sin(x), y)
    line.Scan(x * y, y)
    return x * y * comm.allreduce(x[0])


@case
def loop_until_all_agree(x):
    y, u, k = np.empty(n), x * 1.0, 0
    comm.Allreduce(np.sin(u), y)
    while comm.allreduce(np.sum(u * u)) > 0.5 * size and k < 20:
        comm.Allreduce(np.sin(u), y)
        u = u * 0.7 + 0.1 * y / size * u
        k += 1
    return u


@case
def loop_that_never_runs(x):
    """The cotangent of what decides is zero in front of the loop, whatever its memory held."""
    u, k = x * 1.0, 0
    while comm.allreduce(np.sum(u * u)) < 0 and k < 3:
        u = u * np.sin(u)
        k += 1
    return u * x


@case
def a_value_that_one_rank_only_has(x):
    """A rank without a derivative takes part in those of the others."""
    y = np.empty(n)
    if rank == 0:
        comm.Send(np.ones(n), dest=size - 1)
        return x
    if rank < size - 1:
        return x
    comm.Recv(y, source=0)
    return x * y


def summed(value) -> float:
    return float(comm.allreduce(float(value)))


def check(f: Callable, random: np.random.Generator, second: bool) -> dict[str, float]:
    """Errors: of the value, of both modes to each other, to differences, and of second derivatives."""
    x, v = (random.normal(size=(size, n))[rank] for _ in range(2))
    x = x + 0.3
    plain = f(x)
    found, pull = sdgrad.vjp(f, x)
    w = random.normal(size=(size, *np.shape(plain)))[rank]
    (g,) = pull(w)
    pushed, t = sdgrad.jvp(f, (x,), (v,))
    h = 1e-6
    step = (f(x + h * v) - f(x - h * v)) / (2 * h)
    sides = [summed(np.vdot(a, b)) for a, b in ((g, v), (w, t), (w, step))]
    scale = max(1.0, abs(sides[0]))
    errors = {"value": summed(np.max(np.abs(found - plain)) + np.max(np.abs(pushed - plain)))}
    errors |= {"modes": abs(sides[0] - sides[1]) / scale, "differences": abs(sides[0] - sides[2]) / scale}
    if second:
        gradient = sdgrad.grad(lambda x: np.sum(np.sin(f(x))))
        h = 1e-4
        step = (gradient(x + h * v) - gradient(x - h * v)) / (2 * h)
        forward = sdgrad.jvp(gradient, (x,), (v,))[1]
        reverse = sdgrad.grad(lambda x: np.vdot(gradient(x), v))(x)
        scale = max(1.0, summed(np.max(np.abs(step))))
        errors["second modes"] = summed(np.max(np.abs(forward - reverse))) / scale
        errors["second differences"] = summed(np.max(np.abs(forward - step))) / scale
    return errors


def main(names: list[str]) -> None:
    second = "--second" in names
    chosen = [name for name in names if not name.startswith("--")] or list(CASES)
    for name in chosen:
        found = check(CASES[name], np.random.default_rng(len(name)), second)
        if rank == 0:
            print(json.dumps({"name": name, **found}), flush=True)


if __name__ == "__main__":
    with sdgrad.config.override(optimization_level=0):
        main(sys.argv[1:])
