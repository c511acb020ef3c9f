"""Record the calls of mpi4py's communicators in which all ranks take part."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from mpi4py import MPI

from sdgrad.errors import ParseError
from sdgrad.record.communication import Group, buffer_of, group_of, of_comm, put, received
from sdgrad.record.functions.table import FUNCTIONS, array, fixed, rule
from sdgrad.record.tensors import Tensor
from sdgrad.runtime.libraries.communication import OPERATORS


def _operator(op: Any) -> str:
    found = next((name for name in OPERATORS if getattr(MPI, name) == op), None)
    if found is None:
        told = "for others write comm.allgather, and combine what comes (np.min, np.argmin, ..)"
        raise ParseError(f"an operator of a recorded function is one of MPI.{', '.join(OPERATORS)}: {told}")
    return found


def _given(sendbuf: Any, recvbuf: Any) -> Any:
    """Return what is sent: with MPI.IN_PLACE it is what is received into."""
    return buffer_of(recvbuf if isinstance(sendbuf, type(MPI.IN_PLACE)) else sendbuf)


def _length(value: Any, name: str) -> int:
    """Return the number of elements of an array."""
    found = array(value).size
    if not isinstance(found, int):
        raise ParseError(f"{name} needs arrays of sizes that are numbers, not {found}")
    return found


def _result(group: Group, target: Any, name: str, kind: str, given: dict[str, Any], **facts: Any) -> None:
    """Record a communication with a result, which goes into an array of the function's."""
    own = received(target, name)
    found = group.room(own.tensor.shape, own.dtype)
    _agree(name, kind, group, given.get("_x"), found, facts.get("counts", []), facts.get("own", []))
    group.record(kind, given, {"_y": found}, **facts)
    put(group, own, found)


def _agree(
    name: str, kind: str, group: Group, x: Tensor | None, y: Tensor, counts: Sequence[int], own: Sequence[int]
) -> None:
    """Raise an error unless what is sent and what is received have one type, and as many elements as they must.

    MPI reads and writes what it is told, also outside of arrays.

    :param counts: elements of each rank; empty where a rank does not know them.
    :param own: those that this rank gets from each.
    """
    if x is None:
        return
    if x.dtype != y.dtype:
        raise TypeError(f"comm.{name} sends {x.dtype} and receives {y.dtype}: convert one of them")
    whole, part = sum(counts), counts[group.rank] if counts else 0
    wanted = {
        "scatter": (whole, part),
        "reduce_scatter": (whole, part),
        "gather": (part, whole),
        "allgather": (part, whole),
        "all_to_all": (whole, sum(own)),
    }.get(kind, (math.prod(y.shape),) * 2)
    for tensor, size, does in zip((x, y), wanted, ("sends", "receives"), strict=True):
        if math.prod(tensor.shape) != size:
            raise ValueError(f"comm.{name} {does} an array of {math.prod(tensor.shape)} elements, and needs {size}")


@of_comm("Bcast")
def broadcast(comm: MPI.Comm, buf: Any, root: int = 0) -> None:
    """Record that the root's array goes to all ranks."""
    group, target = group_of(comm), received(buf, "Bcast")
    found = group.room(target.tensor.shape, target.dtype)
    group.record("broadcast", {"_x": group.message(target)}, {"_y": found}, root=int(root))
    if group.rank != root:
        put(group, target, found)


@of_comm("Reduce")
def reduce(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, op: Any = MPI.SUM, root: int = 0) -> None:
    """Record a sum over the ranks, which the root gets, or a product, a minimum or a maximum."""
    group = group_of(comm)
    x = group.message(_given(sendbuf, recvbuf))
    if group.rank != root:
        group.record("reduce", {"_x": x}, {}, root=int(root), operator=_operator(op))
        return
    _result(group, recvbuf, "Reduce", "reduce", {"_x": x}, root=int(root), operator=_operator(op))


@of_comm("Allreduce")
def allreduce(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, op: Any = MPI.SUM) -> None:
    """Record a sum over the ranks, which all get, or a product, a minimum or a maximum."""
    group = group_of(comm)
    given = {"_x": group.message(_given(sendbuf, recvbuf))}
    _result(group, recvbuf, "Allreduce", "allreduce", given, operator=_operator(op))


@of_comm("Barrier", "barrier")
def barrier(comm: MPI.Comm) -> None:
    """Record that all ranks wait for each other."""
    group_of(comm).record("barrier", {}, {})


def _parts(value: Any, name: str, size: int) -> tuple[Any, list[int]]:
    """Return an array, and how many elements of it are each rank's: all the same, or as a list next to it says.

    :raises ParseError: the parts do not lie one behind the other.
    """
    if not isinstance(value, (list, tuple)):
        return value, _equal_parts(value, name, size)
    found, *rest = value
    numbers = [x for x in rest if not isinstance(x, (MPI.Datatype, str)) and x is not None]
    if len(numbers) == 1 and isinstance(numbers[0], (list, tuple)) and np.ndim(numbers[0][0]):
        numbers = list(numbers[0])
    if not numbers or not np.ndim(numbers[0]):
        return found, _equal_parts(found, name, size)
    counts, *more = ([int(n) for n in np.asarray(fixed(x))] for x in numbers if x is not None)
    starts = more[0] if more else None
    if starts is not None and starts != [sum(counts[:k]) for k in range(size)]:
        raise ParseError(f"{name}: the parts of the ranks lie one behind the other in a recorded function")
    if len(counts) != size:
        raise ValueError(f"{name} needs {size} counts, one for each rank, not {len(counts)}")
    return found, counts


def _equal_parts(value: Any, name: str, size: int) -> list[int]:
    length = _length(value, name)
    if length % size:
        raise ValueError(f"comm.{name}: an array of {length} elements has no {size} equal parts")
    return [length // size] * size


@of_comm("Scatter", "Scatterv")
def scatter(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
    """Record that each rank gets its part of the root's array."""
    group = group_of(comm)
    given: dict[str, Any] = {}
    counts: list[int] = []
    if group.rank == root:
        value, counts = _parts(sendbuf, "Scatter", group.size)
        given = {"_x": group.message(value)}
    _result(group, recvbuf, "Scatter", "scatter", given, root=int(root), counts=counts)


@of_comm("Gather", "Gatherv")
def gather(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
    """Record that the root gets the arrays of all ranks."""
    group = group_of(comm)
    given = {"_x": group.message(buffer_of(sendbuf))}
    if group.rank != root:
        group.record("gather", given, {}, root=int(root))
        return
    target, counts = _parts(recvbuf, "Gather", group.size)
    _result(group, target, "Gather", "gather", given, root=int(root), counts=counts)


@of_comm("Allgather", "Allgatherv")
def allgather(comm: MPI.Comm, sendbuf: Any, recvbuf: Any) -> None:
    """Record that all ranks get the arrays of all."""
    group = group_of(comm)
    target, counts = _parts(recvbuf, "Allgather", group.size)
    _result(group, target, "Allgather", "allgather", {"_x": group.message(buffer_of(sendbuf))}, counts=counts)


@of_comm("Reduce_scatter_block")
def reduce_scatter_block(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, op: Any = MPI.SUM) -> None:
    """Record a sum over the ranks, of which each gets an equal part."""
    _reduce_scatter(comm, sendbuf, recvbuf, [_length(buffer_of(recvbuf), "Reduce_scatter_block")] * comm.Get_size(), op)


@of_comm("Reduce_scatter")
def reduce_scatter(
    comm: MPI.Comm, sendbuf: Any, recvbuf: Any, recvcounts: Sequence[int] | None = None, op: Any = MPI.SUM
) -> None:
    """Record a sum over the ranks, of which each gets its part."""
    if recvcounts is None:
        return reduce_scatter_block(comm, sendbuf, recvbuf, op)
    return _reduce_scatter(comm, sendbuf, recvbuf, [int(n) for n in recvcounts], op)


def _reduce_scatter(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, counts: list[int], op: Any) -> None:
    group = group_of(comm)
    given = {"_x": group.message(buffer_of(sendbuf))}
    facts = {"counts": counts, "operator": _operator(op)}
    _result(group, recvbuf, "Reduce_scatter", "reduce_scatter", given, **facts)


@of_comm("Scan")
def scan(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, op: Any = MPI.SUM) -> None:
    """Record a sum over the ranks before this one, and this one."""
    group = group_of(comm)
    given = {"_x": group.message(_given(sendbuf, recvbuf))}
    _result(group, recvbuf, "Scan", "scan", given, operator=_operator(op))


@of_comm("Exscan")
def exscan(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, op: Any = MPI.SUM) -> None:
    """Record a sum over the ranks before this one; before the first there is none, and its array stays as it is."""
    group = group_of(comm)
    x = group.message(_given(sendbuf, recvbuf))
    if group.rank:
        _result(group, recvbuf, "Exscan", "exscan", {"_x": x}, operator=_operator(op))
    else:
        group.record("exscan", {"_x": x}, {"_y": group.room(x.shape, x.dtype)}, operator=_operator(op))


@of_comm("Alltoall", "Alltoallv")
def all_to_all(comm: MPI.Comm, sendbuf: Any, recvbuf: Any) -> None:
    """Record that each rank sends a part of its array to each."""
    group = group_of(comm)
    (value, counts), (target, own) = (_parts(b, "Alltoall", group.size) for b in (sendbuf, recvbuf))
    _result(group, target, "Alltoall", "all_to_all", {"_x": group.message(value)}, counts=counts, own=own)


# --- results in place of buffers -------------------------------------------------------------------------------
@of_comm("allreduce")
def allreduced(comm: MPI.Comm, sendobj: Any, op: Any = MPI.SUM) -> Any:
    """Record a sum over the ranks, and return it to all: of numbers, or of arrays, element by element."""
    return _returned(comm, "allreduce", sendobj, op)


@of_comm("scan")
def scanned(comm: MPI.Comm, sendobj: Any, op: Any = MPI.SUM) -> Any:
    """Record a sum over the ranks before this one, and this one, and return it."""
    return _returned(comm, "scan", sendobj, op)


@of_comm("exscan")
def exclusively_scanned(comm: MPI.Comm, sendobj: Any, op: Any = MPI.SUM) -> Any:
    """Record a sum over the ranks before this one, and return it; None to the first."""
    found = _returned(comm, "exscan", sendobj, op)
    return found if comm.Get_rank() else None


def _returned(comm: MPI.Comm, kind: str, value: Any, op: Any) -> Any:
    """Record a communication of which each rank gets a result like what it sends."""
    group, x = _sent(comm, kind, value, op)
    found = group.room(x.shape, x.dtype)
    group.record(kind, {"_x": x}, {"_y": found}, operator=_operator(op), compares=True)
    return group.value(found)


@of_comm("reduce")
def reduced(comm: MPI.Comm, sendobj: Any, op: Any = MPI.SUM, root: int = 0) -> Any:
    """Record a sum over the ranks, and return it to the root; None to the others."""
    group, x = _sent(comm, "reduce", sendobj, op)
    outputs = {"_y": group.room(x.shape, x.dtype)} if group.rank == root else {}
    group.record("reduce", {"_x": x}, outputs, root=int(root), operator=_operator(op), compares=True)
    return group.value(outputs["_y"]) if outputs else None


def _sent(comm: MPI.Comm, kind: str, value: Any, op: Any) -> tuple[Group, Any]:
    """Return a value as a message; of arrays Python has no largest."""
    group = group_of(comm)
    x = group.message(value)
    if x.shape and _operator(op) in ("MIN", "MAX"):
        raise ParseError(f"comm.{kind} compares whole arrays by MPI.{_operator(op)}: write comm.{kind.capitalize()}")
    return group, x


@of_comm("allgather")
def all_gathered(comm: MPI.Comm, sendobj: Any) -> list[Any]:
    """Record that all ranks get a number of each, or an array of the same shape; return them as a list."""
    group = group_of(comm)
    x = group.message(sendobj)
    found = group.room((group.size, *x.shape), x.dtype)
    count = int(np.prod(x.shape, dtype=int))
    group.record("allgather", {"_x": x}, {"_y": found}, counts=[count] * group.size, compares=True)
    whole = group.recorder.array(found)
    return [whole[k] for k in range(group.size)]


INSTEAD = {
    **{n: f"comm.{n.capitalize()} of an array" for n in ("send", "recv", "bcast", "scatter", "gather", "alltoall")},
    **{n: f"comm.{n.capitalize()} of an array" for n in ("isend", "irecv", "issend", "ibsend", "sendrecv")},
    **{
        f"I{n}": f"comm.{n.capitalize()}, which waits"
        for n in ("allreduce", "bcast", "reduce", "allgather", "alltoall")
    },
    **dict.fromkeys(("Probe", "Iprobe", "probe", "iprobe"), "a Recv of an array whose size is known"),
    "Abort": "raise, which ends all ranks of `python -m mpi4py`",
    **dict.fromkeys(("Send_init", "Recv_init"), "comm.Isend and comm.Irecv"),
}
"""What to write in place of a call without a rule: pickled objects have no size, nor a derivative."""
NEIGHBOURS = "comm.Irecv and comm.Isend with each of the neighbours, and MPI.Request.Waitall"
KNOWN = re.compile(r"Get_|Is_|Cart_map|Graph_map|Compare|Shift|Set_name|py2f|f2py|toint|from")
"""How the names of methods begin that ask for what is known when a function is recorded, and move nothing."""


MAKING = (
    *("Clone", "Dup", "Idup", "Split", "Split_type", "Create", "Create_group", "Create_cart", "Create_graph"),
    *("Create_dist_graph", "Create_dist_graph_adjacent", "Create_intercomm", "Dup_with_info", "Sub", "Free"),
)
"""Methods that make communicators: all ranks call them, and a recording may run more often on one than on another."""


def _refused(function: Any, told: str) -> None:
    @rule(function, aliases=True)
    def refuse(comm: MPI.Comm, *args: Any, **kwargs: Any) -> Any:
        raise ParseError(told)


def _refuse_others() -> None:
    """Refuse all other methods that move something, or make communicators."""
    for kind in (MPI.Intracomm, MPI.Cartcomm, MPI.Graphcomm, MPI.Distgraphcomm):
        for name in (n for n in dir(kind) if not n.startswith("_")):
            method = getattr(kind, name)
            if not callable(method) or method in FUNCTIONS or KNOWN.match(name):
                continue
            others = NEIGHBOURS if name.lower().lstrip("i").startswith("neighbor") else "it outside of the function"
            told = f"comm.{name} is not recorded: write {INSTEAD.get(name, others)}"
            made = f"comm.{name} in a recorded function: make communicators outside of it"
            _refused(method, made if name in MAKING else told)


_refuse_others()
