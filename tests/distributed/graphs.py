"""DaCe's nodes that communicate, in graphs of its frontend and of its interface, and the gradients of these graphs."""

import json
import sys

import dace
import numpy as np
from dace.libraries.comm.nodes import Allgather, Reduce, ReduceScatter
from mpi4py import MPI

import sdgrad

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
n = 4
m = n * size
left, right = (rank - 1) % size, (rank + 1) % size
MPI_Request = dace.opaque("MPI_Request")


@dace.program
def messages(x: dace.float64[n], s: dace.float64[1]):
    y = np.zeros((n,), dtype=np.float64)
    if rank == 0:
        y[:] = np.sin(x)
        dace.comm.Send(y, 1, 3)
        s[0] = np.sum(x)
    else:
        dace.comm.Recv(y, 0, 3)
        s[0] = np.sum(x * y)


@dace.program
def from_the_root_and_back(x: dace.float64[n], s: dace.float64[1]):
    y = np.zeros((size, n), dtype=np.float64)
    z = np.zeros((n,), dtype=np.float64)
    w = np.sin(x)
    dace.comm.Gather(x * x, y, root=0)
    dace.comm.Scatter(y, z, root=0)
    dace.comm.Bcast(w, root=1)
    s[0] = np.sum(z * x) + np.sum(y) + np.sum(w * x)


@dace.program
def transposed(x: dace.float64[n], s: dace.float64[1]):
    a = np.zeros((n,), dtype=np.float64)
    y = np.sin(x) * (rank + 1)
    dace.comm.Alltoall(y, a)
    s[0] = np.sum(a * a * x)


@dace.program
def columns_in_a_loop(x: dace.float64[n], s: dace.float64[1]):
    u = np.zeros((n,), dtype=np.float64)
    v = np.zeros((n, 3), dtype=np.float64)
    u[:] = x
    for _ in range(3):
        v[:, 1] = np.sin(u)
        MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, u, MPI.MAX)
        u[:] = u * x + v[:, 1]
    s[0] = np.sum(u)


@dace.program
def overlapped(x: dace.float64[n], s: dace.float64[1]):
    below = np.zeros((n,), dtype=np.float64)
    above = np.zeros((n,), dtype=np.float64)
    sent = np.sin(x)
    requests = np.empty((4,), dtype=MPI_Request)
    dace.comm.Irecv(below, left, 1, requests[0])
    dace.comm.Irecv(above, right, 2, requests[1])
    dace.comm.Isend(sent, right, 1, requests[2])
    dace.comm.Isend(x, left, 2, requests[3])
    inner = x * x
    dace.comm.Waitall(requests)
    s[0] = np.sum(inner * below + above * above * above)


def by_hand():
    """The graph of ``w = reduce_scatter(allgather(x) * [x, x, ..])``, and of the sum that rank 0 gets."""
    sdfg = dace.SDFG("by_hand")
    sdfg.add_array("x", [n], dace.float64)
    sdfg.add_array("s", [1], dace.float64)
    for name, length in (("all", m), ("squares", m), ("part", n), ("total", n)):
        sdfg.add_transient(name, [length], dace.float64)
    sdfg.add_transient("root", [1], dace.int32)
    first = sdfg.add_state()
    node = Allgather("gathered")
    first.add_node(node)
    first.add_edge(first.add_read("x"), None, node, "_inbuffer", dace.Memlet("x"))
    first.add_edge(node, "_outbuffer", first.add_write("all"), None, dace.Memlet("all"))
    second = sdfg.add_state_after(first)
    inputs = {"a": dace.Memlet("all[i]"), "b": dace.Memlet(f"x[i % {n}]")}
    out = {"c": dace.Memlet("squares[i]")}
    second.add_mapped_tasklet("squared", {"i": f"0:{m}"}, inputs, "c = a * a * b", out, external_edges=True)
    third = sdfg.add_state_after(second)
    scattered = ReduceScatter("scattered")
    third.add_node(scattered)
    third.add_edge(third.add_read("squares"), None, scattered, "_inbuffer", dace.Memlet("squares"))
    part = third.add_access("part")
    third.add_edge(scattered, "_outbuffer", part, None, dace.Memlet("part"))
    reduced = Reduce("reduced", "MPI_SUM")
    third.add_node(reduced)
    root = third.add_access("root")
    which = third.add_tasklet("which", {}, {"r"}, "r = 0")
    third.add_edge(which, "r", root, None, dace.Memlet("root"))
    third.add_edge(part, None, reduced, "_inbuffer", dace.Memlet("part"))
    third.add_edge(root, None, reduced, "_root", dace.Memlet("root"))
    third.add_edge(reduced, "_outbuffer", third.add_write("total"), None, dace.Memlet("total"))
    last = sdfg.add_state_after(third)
    text = "c = a * b" if rank == 0 else "c = b"
    inputs = {"a": dace.Memlet("total[i]"), "b": dace.Memlet("part[i]")}
    total = {"c": dace.Memlet("s[0]", wcr="lambda a, b: a + b")}
    last.add_mapped_tasklet("summed", {"i": f"0:{n}"}, inputs, text, total, external_edges=True)
    return sdfg


def same_by_hand(x):
    together = np.concatenate(comm.allgather(x))
    squares = together**2 * np.tile(x, size)
    part = comm.allreduce(squares).reshape(size, n)[rank]
    total = comm.reduce(part, root=0)
    return np.sum(total * part) if rank == 0 else np.sum(part)


GRAPHS = {p.name: p for p in (messages, from_the_root_and_back, transposed, columns_in_a_loop, overlapped)}


def check(name: str, random: np.random.Generator) -> dict[str, float]:
    """Errors of the gradient, to differences of the sum over the ranks; and of the value, where there is another."""
    x, v = (random.normal(size=(size, n))[rank] for _ in range(2))
    made = GRAPHS[name].to_sdfg(simplify=True) if name in GRAPHS else by_hand()
    graph = sdgrad.add_backward_pass(made, inputs=["x"], outputs=["s"])

    def call(x):
        s, gradient = np.zeros(1), np.zeros(n)
        graph(x=x.copy(), s=s, gradient_x=gradient, gradient_s=np.ones(1))
        return s[0], gradient

    value, gradient = call(x)
    h = 1e-6
    step = (call(x + h * v)[0] - call(x - h * v)[0]) / (2 * h)
    sides = [float(comm.allreduce(a)) for a in (np.vdot(gradient, v), step)]
    errors = {"differences": abs(sides[0] - sides[1]) / max(1.0, abs(sides[1]))}
    if name == "by_hand":
        errors["value"] = float(comm.allreduce(abs(value - same_by_hand(x))))
    return errors


def main(names: list[str]) -> None:
    for k, name in enumerate(names or [*GRAPHS, "by_hand"]):
        found = check(name, np.random.default_rng(k))
        if rank == 0:
            print(json.dumps({"name": name, **found}), flush=True)


if __name__ == "__main__":
    with sdgrad.config.override(optimization_level=0):
        main(sys.argv[1:])
