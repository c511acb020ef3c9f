"""Record the calls of mpi4py's communicators that move buffers: between two ranks, and among all of them.

Each becomes a communication of the program, which has an adjoint on every rank. A rank and the size of a communicator
are Python's integers, so that each rank records its own program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from mpi4py import MPI

from sdgrad.errors import ParseError
from sdgrad.record.communication import WHOLE, Group, buffer_of, received
from sdgrad.record.functions.table import active, array, rule
from sdgrad.record.stores import store
from sdgrad.record.tensors import Tensor
from sdgrad.record.values import Array, is_recorded
from sdgrad.runtime.libraries.communication import OPERATORS



def of_comm(*names: str) -> Callable[[Callable], Callable]:
    """Register a rule of methods of communicators; also where nothing that they take is recorded."""
    return rule(*(getattr(MPI.Comm, n) for n in names), aliases=True)


def _group(comm: MPI.Comm) -> Group:
    return Group(active(), comm)


def _put(group: Group, target: Array, found: Tensor) -> None:
    """Write what was received into the array that the program names."""
    store(target, Ellipsis, group.recorder.array(found))


# --- between two ranks -----------------------------------------------------------------------------------------
def _places(group: Group, connector: str, peer: Any, tag: Any) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return rank and tag of a message: as an operand if a run knows them, else as facts of the node."""
    if is_recorded(peer) or is_recorded(tag):
        return {connector: group.place(peer, tag)}, {}
    return {}, {connector: (int(peer), int(tag))}


def _is_nobody(peer: Any) -> bool:
    return not is_recorded(peer) and int(peer) == MPI.PROC_NULL


def _sender(group: Group, source: Any, tag: Any) -> dict[str, Tensor]:
    """Return room for whom a message came from, where the program does not say."""
    is_open = (not is_recorded(source) and source == MPI.ANY_SOURCE) or (not is_recorded(tag) and tag == MPI.ANY_TAG)
    return {"_sender": group.recorder.declare("sender", (2,), WHOLE)} if is_open else {}


def _without_status(status: Any) -> None:
    if status is not None:
        raise ParseError("a status is filled when a program runs: receive from a rank that is named, without status=")


@of_comm("Send", "Ssend", "Bsend", "Rsend")
def send(comm: MPI.Comm, buf: Any, dest: Any, tag: Any = 0) -> None:
    """Record that an array is sent."""
    if _is_nobody(dest):
        return
    group = _group(comm)
    places, facts = _places(group, "_to", dest, tag)
    group.record("send", {"_x": group.message(buffer_of(buf)), **places}, {}, to=facts.get("_to", ()))


@of_comm("Recv")
def receive(
    comm: MPI.Comm, buf: Any, source: Any = MPI.ANY_SOURCE, tag: Any = MPI.ANY_TAG, status: Any = None
) -> None:
    """Record that an array is received."""
    _without_status(status)
    target = received(buf, "Recv")
    if _is_nobody(source):
        return
    group = _group(comm)
    places, facts = _places(group, "_from", source, tag)
    found = group.room(target.tensor.shape, target.dtype)
    group.record("receive", places, {"_y": found, **_sender(group, source, tag)}, source=facts.get("_from", ()))
    _put(group, target, found)


@of_comm("Sendrecv")
def exchange(
    comm: MPI.Comm,
    sendbuf: Any,
    dest: Any,
    sendtag: Any = 0,
    recvbuf: Any = None,
    source: Any = MPI.ANY_SOURCE,
    recvtag: Any = MPI.ANY_TAG,
    status: Any = None,
) -> None:
    """Record that an array is sent and another one received."""
    _without_status(status)
    if _is_nobody(dest):
        return receive(comm, recvbuf, source, recvtag)
    if recvbuf is None or _is_nobody(source):
        return send(comm, sendbuf, dest, sendtag)
    group, target = _group(comm), received(recvbuf, "Sendrecv")
    (to, own), (places, others) = (
        _places(group, "_to", dest, sendtag),
        _places(group, "_from", source, recvtag),
    )
    found = group.room(target.tensor.shape, target.dtype)
    given = {"_x": group.message(buffer_of(sendbuf)), **to, **places}
    facts = {"to": own.get("_to", ()), "source": others.get("_from", ())}
    group.record("exchange", given, {"_y": found, **_sender(group, source, recvtag)}, **facts)
    _put(group, target, found)
    return None


@of_comm("Sendrecv_replace")
def replace(
    comm: MPI.Comm,
    buf: Any,
    dest: Any,
    sendtag: Any = 0,
    source: Any = MPI.ANY_SOURCE,
    recvtag: Any = MPI.ANY_TAG,
    status: Any = None,
) -> None:
    """Record that an array is sent, and another one received in its place."""
    exchange(comm, buf, dest, sendtag, buf, source, recvtag, status)


# --- among all ranks -------------------------------------------------------------------------------------------
def _operator(op: Any) -> str:
    found = next((name for name in OPERATORS if getattr(MPI, name) == op), None)
    if found is None:
        raise ParseError(f"an operator of a recorded function is one of MPI.{', '.join(OPERATORS)}")
    return found


def _given(sendbuf: Any, recvbuf: Any) -> Any:
    """Return what is sent: with MPI.IN_PLACE it is what is received into."""
    in_place = sendbuf is MPI.IN_PLACE or isinstance(sendbuf, type(MPI.IN_PLACE)) and sendbuf == MPI.IN_PLACE
    return buffer_of(recvbuf if in_place else sendbuf)


def _length(value: Any, name: str) -> int:
    """Return the number of elements of an array."""
    found = array(value).size
    if not isinstance(found, int):
        raise ParseError(f"{name} needs arrays of sizes that are numbers, not {found}")
    return found


@of_comm("Bcast")
def broadcast(comm: MPI.Comm, buf: Any, root: int = 0) -> None:
    """Record that the root's array goes to all ranks."""
    group, target = _group(comm), received(buf, "Bcast")
    found = group.room(target.tensor.shape, target.dtype)
    group.record("broadcast", {"_x": group.message(target)}, {"_y": found}, root=int(root))
    if group.rank != root:
        _put(group, target, found)


@of_comm("Reduce")
def reduce(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, op: Any = MPI.SUM, root: int = 0) -> None:
    """Record a sum over the ranks, which the root gets, or a product, a minimum or a maximum."""
    group = _group(comm)
    x = group.message(_given(sendbuf, recvbuf))
    if group.rank != root:
        group.record("reduce", {"_x": x}, {}, root=int(root), operator=_operator(op))
        return
    target = received(recvbuf, "Reduce")
    found = group.room(target.tensor.shape, target.dtype)
    group.record("reduce", {"_x": x}, {"_y": found}, root=int(root), operator=_operator(op))
    _put(group, target, found)


@of_comm("Allreduce")
def allreduce(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, op: Any = MPI.SUM) -> None:
    """Record a sum over the ranks, which all get, or a product, a minimum or a maximum."""
    group, target = _group(comm), received(recvbuf, "Allreduce")
    found = group.room(target.tensor.shape, target.dtype)
    group.record(
        "allreduce", {"_x": group.message(_given(sendbuf, recvbuf))}, {"_y": found}, operator=_operator(op)
    )
    _put(group, target, found)


@of_comm("Barrier", "barrier")
def barrier(comm: MPI.Comm) -> None:
    """Record that all ranks wait for each other."""
    _group(comm).record("barrier", {}, {})


@of_comm("Scatter")
def scatter(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
    """Record that each rank gets its part of the root's array."""
    target = received(recvbuf, "Scatter")
    _scatter(_group(comm), sendbuf, target, [_length(target, "Scatter")] * comm.Get_size(), int(root))


def _scatter(group: Group, sendbuf: Any, target: Array, counts: list[int], root: int) -> None:
    given = {"_x": group.message(buffer_of(sendbuf))} if group.rank == root else {}
    found = group.room(target.tensor.shape, target.dtype)
    group.record("scatter", given, {"_y": found}, root=root, counts=counts)
    _put(group, target, found)


@of_comm("Gather")
def gather(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
    """Record that the root gets the arrays of all ranks."""
    value = buffer_of(sendbuf)
    _gather(_group(comm), value, recvbuf, [_length(value, "Gather")] * comm.Get_size(), int(root))


def _gather(group: Group, value: Any, recvbuf: Any, counts: list[int], root: int) -> None:
    x = group.message(value)
    if group.rank != root:
        group.record("gather", {"_x": x}, {}, root=root, counts=counts)
        return
    target = received(recvbuf, "Gather")
    found = group.room(target.tensor.shape, target.dtype)
    group.record("gather", {"_x": x}, {"_y": found}, root=root, counts=counts)
    _put(group, target, found)


@of_comm("Allgather")
def allgather(comm: MPI.Comm, sendbuf: Any, recvbuf: Any) -> None:
    """Record that all ranks get the arrays of all."""
    group, target, value = _group(comm), received(recvbuf, "Allgather"), buffer_of(sendbuf)
    counts = [_length(value, "Allgather")] * group.size
    found = group.room(target.tensor.shape, target.dtype)
    group.record("allgather", {"_x": group.message(value)}, {"_y": found}, counts=counts)
    _put(group, target, found)


@of_comm("Reduce_scatter_block")
def reduce_scatter(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, op: Any = MPI.SUM) -> None:
    """Record a sum over the ranks, of which each gets its part."""
    group, target = _group(comm), received(recvbuf, "Reduce_scatter_block")
    counts = [_length(target, "Reduce_scatter_block")] * group.size
    found = group.room(target.tensor.shape, target.dtype)
    x = group.message(buffer_of(sendbuf))
    group.record("reduce_scatter", {"_x": x}, {"_y": found}, counts=counts, operator=_operator(op))
    _put(group, target, found)


@of_comm("Alltoall")
def all_to_all(comm: MPI.Comm, sendbuf: Any, recvbuf: Any) -> None:
    """Record that each rank sends a part of its array to each."""
    group, target, value = _group(comm), received(recvbuf, "Alltoall"), buffer_of(sendbuf)
    counts, own = ([_length(v, "Alltoall") // group.size] * group.size for v in (value, target))
    found = group.room(target.tensor.shape, target.dtype)
    group.record("all_to_all", {"_x": group.message(value)}, {"_y": found}, counts=counts, own=own)
    _put(group, target, found)
