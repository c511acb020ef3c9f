"""What the gradient of a program of several ranks costs: time, messages and bytes, beside the program itself.

``mpiexec -n 2 python -m mpi4py -m benchmarks.distributed --size 512 --steps 100 --reps 5``

Rows of a field of heat belong to the ranks: halos by ``Sendrecv``, or by ``Isend`` and ``Irecv`` with the inner rows
computed on the way, and a residual that all ranks sum at each tenth step. With ``LD_PRELOAD`` of the library that
``--counter`` compiles (``mpicc``), messages and bytes are counted. Rank 0 also prints the time that a model gives for
2 to 4,096 ranks, from these counts, and from latency, bandwidth and work as they are measured here.
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

SOURCE = Path(__file__).with_suffix(".c")
MODEL = tuple(2**k for k in range(1, 13))


def counter(folder: Path) -> Path:
    """Compile the library that counts, and return its path."""
    target = folder / "libcount_messages.so"
    subprocess.run(["mpicc", "-shared", "-fPIC", "-O2", str(SOURCE), "-o", str(target)], check=True)
    return target


def programs(comm: Any, steps: int) -> dict[str, Callable]:
    """The program, by how it exchanges halos."""
    from mpi4py import MPI

    above = comm.rank - 1 if comm.rank else MPI.PROC_NULL
    below = comm.rank + 1 if comm.rank + 1 < comm.size else MPI.PROC_NULL

    def inner(u, k):
        u[1:-1, 1:-1] += k * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])

    def blocking(u, k):
        total = 0.0
        for _ in range(steps // 10):
            for _ in range(10):
                comm.Sendrecv(u[1], dest=above, recvbuf=u[-1], source=below)
                comm.Sendrecv(u[-2], dest=below, recvbuf=u[0], source=above)
                inner(u, k)
            total += comm.allreduce(np.sum(u[1:-1] ** 2))
        return total / comm.size

    def overlapped(u, k):
        total = 0.0
        for _ in range(steps // 10):
            for _ in range(10):
                first, last = np.zeros(u.shape[1]), np.zeros(u.shape[1])
                waiting = [
                    comm.Irecv(last, source=below, tag=1),
                    comm.Irecv(first, source=above, tag=2),
                    comm.Isend(u[1], dest=above, tag=1),
                    comm.Isend(u[-2], dest=below, tag=2),
                ]
                new = u.copy()
                inner(new[1:-1], k)
                MPI.Request.Waitall(waiting)
                wide = np.concatenate([first[None], u[1:-1], last[None]])
                for row in (1, -2):
                    lap = wide[row - 1, 1:-1] + wide[row + 1, 1:-1] + u[row, 2:] + u[row, :-2] - 4 * u[row, 1:-1]
                    new[row, 1:-1] = u[row, 1:-1] + k * lap
                u = new
            total += comm.allreduce(np.sum(u[1:-1] ** 2))
        return total / comm.size

    return {"blocking": blocking, "overlapped": overlapped}


def sent() -> np.ndarray:
    """Messages, their bytes, sums of all ranks, their bytes: so far; zeros where nothing counts."""
    try:
        function = ctypes.CDLL(None).sent_so_far
    except AttributeError:
        return np.zeros(4, np.int64)
    function.restype = ctypes.POINTER(ctypes.c_longlong)
    return np.array(function()[:4])


def measured(call: Callable, comm: Any, reps: int) -> tuple[float, np.ndarray]:
    """Median seconds of the slowest rank, and what one call sends."""
    call()
    seconds = []
    for _ in range(reps):
        comm.Barrier()
        before, begin = sent(), time.perf_counter()
        call()
        seconds.append(comm.allreduce(time.perf_counter() - begin, op=_max()))
        counts = sent() - before
    return median(seconds), counts


def _max() -> Any:
    from mpi4py import MPI

    return MPI.MAX


def ping_pong(comm: Any, size: int, reps: int = 200) -> float:
    """Seconds of one message of ``size`` bytes from rank to rank."""
    data = np.zeros(size, np.uint8)
    comm.Barrier()
    begin = time.perf_counter()
    for _ in range(reps):
        for here in (0, 1):
            if comm.rank == here:
                comm.Send(data, dest=1 - here)
            elif comm.rank == 1 - here:
                comm.Recv(data, source=here)
    return (time.perf_counter() - begin) / (2 * reps)


def modelled(work: float, counts: np.ndarray, latency: float, per_byte: float, ranks: int) -> float:
    """Seconds of a strong-scaling run: work shared by all, each rank's messages, and sums along a tree."""
    messages, message_bytes, sums, _ = counts
    tree = sums * np.ceil(np.log2(ranks)) * latency
    return work / ranks + messages * latency + message_bytes * per_byte + tree


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--counter", type=Path, help="compile the library that counts into this folder, and end")
    options = parser.parse_args()
    if options.counter:
        print(counter(options.counter))
        return
    _compare(options)


def _compare(options: argparse.Namespace) -> None:
    from mpi4py import MPI

    import sdgrad

    comm = MPI.COMM_WORLD
    rows = options.size // comm.size
    u = np.random.default_rng(comm.rank).normal(size=(rows + 2, options.size))
    latency = ping_pong(comm, 8) if comm.size > 1 else 0.0
    per_byte = (ping_pong(comm, 2**20) - latency) / 2**20 if comm.size > 1 else 0.0
    if comm.rank == 0:
        print(f"{comm.size} ranks, {options.size}x{options.size}, {options.steps} steps; medians of {options.reps}")
        print(f"latency {latency * 1e6:.2f} us, {1e-9 / max(per_byte, 1e-15):.1f} GB/s")
    for name, program in programs(comm, options.steps).items():
        forward, gradient = sdgrad.compile_forward(program), sdgrad.grad(program, wrt=("u", "k"))
        found = [measured(lambda f=f: f(u.copy(), 0.1), comm, options.reps) for f in (forward, gradient)]
        if comm.rank == 0:
            _report(name, found, latency, per_byte, comm.size)


def _report(name: str, found: list, latency: float, per_byte: float, size: int) -> None:
    (primal, own), (whole, both) = found
    messages, message_bytes, sums, sum_bytes = both / np.maximum(own, 1)
    print(f"{name}: primal {primal * 1e3:.1f} ms, gradient {whole * 1e3:.1f} ms, {whole / primal:.2f} times")
    print(f"  sent by rank 0: {own[0]} messages of {own[1]} bytes, {own[2]} sums; the gradient {messages:.2f} times")
    print(f"  the messages, {message_bytes:.2f} times the bytes, {sums:.2f} times the sums")
    work = [max(0.0, s * size - size * (c[0] * latency + c[1] * per_byte)) for s, c in found]
    for ranks in MODEL:
        one, two = (modelled(w, c, latency, per_byte, ranks) for w, (_, c) in zip(work, found, strict=True))
        print(f"  model, {ranks} ranks: primal {one * 1e3:.3f} ms, gradient {two * 1e3:.3f} ms, {two / one:.2f} times")


if __name__ == "__main__":
    main()
