"""Record communications between the ranks of an MPI program, by the communicators of mpi4py."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from mpi4py import MPI

from sdgrad.errors import ParseError
from sdgrad.record.checks import require_of_function
from sdgrad.record.elementwise import apply
from sdgrad.record.functions.table import active, array, rule
from sdgrad.record.recorder import Recorder
from sdgrad.record.shared_inputs import WHOLE, order, shared_input
from sdgrad.record.stores import in_memory, store
from sdgrad.record.tensors import Tensor
from sdgrad.record.values import Array, Number, is_recorded
from sdgrad.runtime.libraries.communication import GROUP, ORDER, ORDERED, Communication, typeclass_of
from sdgrad.runtime.libraries.mpi_handles import facts_of, handles_of


@dataclass(frozen=True)
class Group:
    """A communicator in a function that is recorded.

    :param comm: mpi4py's.
    """

    recorder: Recorder
    comm: Any

    @property
    def size(self) -> int:
        return self.comm.Get_size()

    @property
    def rank(self) -> int:
        return self.comm.Get_rank()

    def handles(self) -> Tensor:
        """Return the argument with the handles."""
        return shared_input(self.recorder, *handles_of(self.comm))

    def record(self, kind: str, inputs: Mapping[str, Tensor], outputs: Mapping[str, Tensor], **facts: Any) -> None:
        """Record a communication: what it reads and what it leaves, by connector."""
        now = order(self.recorder)
        given = {**inputs, ORDER: now, GROUP: self.handles()}
        found = {**outputs, ORDERED: now}
        node = Communication(kind, {*given, *found}, **facts_of(self.comm), **facts)
        self.recorder.call_into(node, given, found)

    def message(self, value: Any) -> Tensor:
        """Return a value in memory, as it is sent."""
        if not isinstance(value, Number):
            value = array(value)
        typeclass_of(value.dtype)
        if isinstance(value, Number):
            return self.recorder.stored(value, value.dtype)
        return in_memory(value, value.dtype)

    def room(self, shape: Sequence[Any], dtype: Any) -> Tensor:
        """Return new memory for a message."""
        typeclass_of(dtype)
        return self.recorder.declare("t", tuple(shape), np.dtype(dtype))

    def value(self, found: Tensor) -> Any:
        """Return what was received as a value of the function."""
        return self.recorder.array(found) if found.shape else self.recorder.read(found, ())

    def place(self, rank: Any, tag: Any) -> Tensor:
        """Return the rank and the tag of a message, of which a run knows one, in memory."""
        if is_recorded(rank):
            told = (
                "a rank that the program computes is negative: choose MPI.PROC_NULL by an if, for ranks that are known"
            )
            require_of_function(self.recorder, apply(np.greater_equal, [rank, 0]), ValueError(told))
        pair = self.recorder.declare("place", (2,), WHOLE)
        for k, value in enumerate((rank, tag)):
            self.recorder.write(pair, (k,), value)
        return pair


def of_comm(*names: str) -> Callable[[Callable], Callable]:
    """Register a rule of methods of communicators; also where nothing that they take is recorded."""
    return rule(*(getattr(MPI.Intracomm, n) for n in names), aliases=True)


def group_of(comm: Any) -> Group:
    """Return a communicator in the function that is recorded."""
    if isinstance(comm, MPI.Intercomm):
        raise ParseError("an inter-communicator has no derivative here: merge its groups outside of the function")
    return Group(active(), comm)


def put(group: Group, target: Array, found: Tensor) -> None:
    """Write what was received into the array that the program names."""
    store(target, Ellipsis, group.recorder.array(found))


def buffer_of(value: Any) -> Any:
    """Return the array of what mpi4py takes for one: itself, or the first of a list with a count and a type.

    :raises ParseError: it is only a part of the array, by a count; or none is named.
    """
    if isinstance(value, type(MPI.IN_PLACE)):
        raise ParseError(
            "MPI.IN_PLACE is recorded in Reduce, Allreduce, Scan and Exscan only: send an array of its own"
        )
    if not isinstance(value, (list, tuple)):
        return value
    first, *rest = value
    counts = [x for x in rest if isinstance(x, (int, np.integer))]
    if counts and getattr(first, "size", None) != counts[0]:
        raise ParseError(f"a message of {counts[0]} elements of an array of {first.size}: send a slice of it")
    return first


def received(target: Any, name: str) -> Array:
    """Return an array that a message is received into.

    :raises TypeError: it is none.
    """
    found = buffer_of(target)
    if not isinstance(found, Array):
        raise TypeError(f"{name} receives into an array that the function made, or an argument, not into {found!r}")
    return found
