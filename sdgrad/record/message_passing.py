"""Record the calls of mpi4py that move buffers between two ranks.

Each becomes a communication of the program, which has an adjoint on both ranks. A rank and the size of a communicator
are Python's integers, so that each rank records its own program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mpi4py import MPI

from sdgrad.errors import ParseError
from sdgrad.record.communication import Group, buffer_of, group_of, of_comm, put, received
from sdgrad.record.functions.table import rule
from sdgrad.record.outside import shown_line
from sdgrad.record.shared_inputs import WHOLE
from sdgrad.record.tensors import Tensor
from sdgrad.record.values import Array, is_recorded

FACTS = {"_to": "to", "_from": "source"}
"""What a node calls rank and tag that are known, by the operand that has them otherwise."""


def _places(group: Group, connector: str, peer: Any, tag: Any) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return rank and tag of a message: as an operand if a run knows them, else as facts of the node."""
    if is_recorded(peer) or is_recorded(tag):
        return {connector: group.place(peer, tag)}, {}
    return {}, {FACTS[connector]: (int(peer), int(tag))}


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
    group = group_of(comm)
    places, facts = _places(group, "_to", dest, tag)
    group.record("send", {"_x": group.message(buffer_of(buf)), **places}, {}, **facts)


@of_comm("Recv")
def receive(comm: MPI.Comm, buf: Any, source: Any = MPI.ANY_SOURCE, tag: Any = MPI.ANY_TAG, status: Any = None) -> None:
    """Record that an array is received."""
    _without_status(status)
    target = received(buf, "Recv")
    if _is_nobody(source):
        return
    group = group_of(comm)
    places, facts = _places(group, "_from", source, tag)
    found = group.room(target.tensor.shape, target.dtype)
    group.record("receive", places, {"_y": found, **_sender(group, source, tag)}, **facts)
    put(group, target, found)


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
    group, target = group_of(comm), received(recvbuf, "Sendrecv")
    to, own = _places(group, "_to", dest, sendtag)
    places, others = _places(group, "_from", source, recvtag)
    found = group.room(target.tensor.shape, target.dtype)
    given = {"_x": group.message(buffer_of(sendbuf)), **to, **places}
    group.record("exchange", given, {"_y": found, **_sender(group, source, recvtag)}, **own, **others)
    put(group, target, found)
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


@dataclass(eq=False)
class Request:
    """A communication that a function has begun.

    :param flight: the memory of the message until it ends, and the number that MPI has given to it.
    :param facts: rank and tag, where they are known; else ``places`` has them.
    :param target: the array that gets the message.
    """

    group: Group
    flight: dict[str, Tensor]
    places: dict[str, Tensor]
    facts: dict[str, Any]
    target: Array | None = None
    sender: dict[str, Tensor] | None = None
    line: str = ""
    ended: bool = False

    def __post_init__(self) -> None:
        self.line = shown_line(self.group.recorder.where())
        self.group.recorder.ends.append(self.must_have_ended)

    def must_have_ended(self) -> None:
        """Raise an error for a communication that nobody waits for."""
        if not self.ended:
            raise ParseError(f"{self.line}nobody waits for this communication: write request.Wait()")

    def __getattr__(self, name: str) -> Any:
        if not hasattr(MPI.Request, name) or name.startswith("_"):
            raise AttributeError(name)
        raise ParseError(f"request.{name} is not recorded: write request.Wait(), or MPI.Request.Waitall(requests)")

    def Wait(self, status: Any = None) -> bool:
        """Record that the communication ends here."""
        _without_status(status)
        if self.ended:
            return True
        self.ended = True
        given = {**self.flight, **self.places}
        if self.target is None:
            self.group.record("end_send", given, {}, **self.facts)
            return True
        flight = self.flight["_flight"]
        found = self.group.room(flight.shape, flight.dtype)
        self.group.record("end_receive", given, {"_y": found, **(self.sender or {})}, **self.facts)
        put(self.group, self.target, found)
        return True

    wait = Wait


def _begun(group: Group, flight: Tensor) -> dict[str, Tensor]:
    return {"_flight": flight, "_request": group.recorder.declare("request", (1,), WHOLE)}


@of_comm("Isend", "Issend", "Ibsend", "Irsend")
def start_send(comm: MPI.Comm, buf: Any, dest: Any, tag: Any = 0) -> Any:
    """Record that an array begins to be sent."""
    if _is_nobody(dest):
        return MPI.REQUEST_NULL
    group = group_of(comm)
    places, facts = _places(group, "_to", dest, tag)
    x = group.message(buffer_of(buf))
    flight = _begun(group, group.room(x.shape, x.dtype))
    group.record("start_send", {"_x": x, **places}, flight, **facts)
    return Request(group, flight, places, facts)


@of_comm("Irecv")
def start_receive(comm: MPI.Comm, buf: Any, source: Any = MPI.ANY_SOURCE, tag: Any = MPI.ANY_TAG) -> Any:
    """Record that an array begins to be received."""
    target = received(buf, "Irecv")
    if _is_nobody(source):
        return MPI.REQUEST_NULL
    group = group_of(comm)
    places, facts = _places(group, "_from", source, tag)
    flight = _begun(group, group.room(target.tensor.shape, target.dtype))
    group.record("start_receive", places, flight, **facts)
    return Request(group, flight, places, facts, target, _sender(group, source, tag))


@rule(*(vars(MPI.Request)[name].__func__ for name in ("Waitall", "waitall")), aliases=True)
def wait_for_all(kind: type, requests: Sequence[Any], statuses: Any = None) -> bool:
    """Record that several communications end here."""
    _without_status(statuses)
    for request in requests:
        if request != MPI.REQUEST_NULL:
            request.Wait()
    return True


def _refuse_to_ask(name: str) -> None:
    @rule(vars(MPI.Request)[name].__func__, aliases=True)
    def refuse(kind: type, requests: Any, *args: Any, **kwargs: Any) -> Any:
        raise ParseError(f"MPI.Request.{name} is not recorded: write MPI.Request.Waitall(requests)")


for _name in ("Waitany", "Waitsome", "Testall", "Testany", "Testsome"):
    _refuse_to_ask(_name)
    _refuse_to_ask(_name.lower())


@rule(MPI.Request.Wait, MPI.Request.wait, aliases=True)
def wait(request: Any, status: Any = None) -> bool:
    """Record nothing: a request of mpi4py's own is one of nobody."""
    if request != MPI.REQUEST_NULL:
        raise ParseError("a communication that began outside of the function ends in it: begin it inside")
    return True
