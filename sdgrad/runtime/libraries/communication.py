"""Define the library node of a communication between the ranks of an MPI program (``sdgrad_mpi.h``).

A program reads the handles of its communicator, of types and of operators from an array (:data:`HANDLES`), so that it
names no MPI. The integer ``_order``, which every communication reads and writes, keeps them in the order of the
program: a rank that sends another one's message first would wait for ever.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, ClassVar

import dace
import dace.library
import numpy as np
from dace import nodes as nd
from dace import properties
from dace.transformation.transformation import ExpandTransformation

from sdgrad.program.custom_call import CustomCall
from sdgrad.program.tree import walk
from sdgrad.runtime import INCLUDE
from sdgrad.runtime.libraries.triangular_solve import cpp_tasklet

HEADER = str(INCLUDE / "sdgrad_mpi.h")
ORDER, ORDERED, GROUP = "_order", "_ordered", "_handles"
"""Connectors of every communication: the order before it and after it, and the handles."""
NUMBERS = frozenset({ORDER, ORDERED, GROUP, "_to", "_from", "_sender", "_request"})
"""Connectors of what is no part of a message."""

TYPES = {
    dace.float32: "FLOAT",
    dace.float64: "DOUBLE",
    dace.complex64: "C_FLOAT_COMPLEX",
    dace.complex128: "C_DOUBLE_COMPLEX",
    dace.bool_: "C_BOOL",
    dace.int8: "INT8_T",
    dace.int16: "INT16_T",
    dace.int32: "INT32_T",
    dace.int64: "INT64_T",
    dace.uint8: "UINT8_T",
    dace.uint16: "UINT16_T",
    dace.uint32: "UINT32_T",
    dace.uint64: "UINT64_T",
}
"""MPI's names of types."""
OPERATORS = ("SUM", "PROD", "MIN", "MAX", "LAND", "LOR", "LXOR", "BAND", "BOR", "BXOR")
HANDLES = ("communicator", "source", "tag", *TYPES.values(), *OPERATORS)
"""What the array of handles holds: ``source`` and ``tag`` are their places in a status."""


@dataclass(frozen=True)
class Kind:
    """One kind of communication.

    :param code: the call of a method of ``Group``.
    :param inputs: the connectors of what it sends, ``outputs`` those of what it receives.
    """

    code: str
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()


KINDS = {
    "send": Kind("send(_x, {n_x}, {to})", ("_x",)),
    "receive": Kind("receive(_y, {n_y}, {source}{sender})", (), ("_y",)),
    "exchange": Kind("exchange(_x, {n_x}, {to}, _y, {n_y}, {source}{sender})", ("_x",), ("_y",)),
    "broadcast": Kind("broadcast({x}, _y, {n_y}, {root}, {rank})", ("_x",), ("_y",)),
    "reduce": Kind("reduce(_x, {y}, {n_x}, {root})", ("_x",), ("_y",)),
    "allreduce": Kind("allreduce(_x, _y, {n_x})", ("_x",), ("_y",)),
    "scatter": Kind("scatter({x}, counts, starts, _y, {n_y}, {root})", ("_x",), ("_y",)),
    "gather": Kind("gather(_x, {n_x}, {y}, counts, starts, {root})", ("_x",), ("_y",)),
    "allgather": Kind("allgather(_x, {n_x}, _y, counts, starts)", ("_x",), ("_y",)),
    "reduce_scatter": Kind("reduce_scatter(_x, _y, counts)", ("_x",), ("_y",)),
    "all_to_all": Kind("all_to_all(_x, counts, starts, _y, own, places)", ("_x",), ("_y",)),
    "scan": Kind("scan(_x, _y, {n_x}, {rank}, {backwards})", ("_x",), ("_y",)),
    "exscan": Kind("exscan(_x, _y, {n_x}, {rank}, {size}, {backwards})", ("_x",), ("_y",)),
    "barrier": Kind("barrier()"),
    "start_send": Kind("start_send(_x, _flight, {n_x}, {to}, _request)", ("_x",), ("_flight", "_request")),
    "start_receive": Kind("start_receive(_flight, {n_flight}, {source}, _request)", (), ("_flight", "_request")),
    "end_send": Kind("wait(_request)", ("_flight", "_request")),
    "end_receive": Kind("end_receive(_request, _flight, _y, {n_y}{sender})", ("_flight", "_request"), ("_y",)),
}
"""By the node's ``kind``. What only the root has is left out elsewhere: ``{x}`` and ``{y}`` are null pointers then."""


@dace.library.expansion
class ExpandCommunication(ExpandTransformation):
    """Expand to a call."""

    environments: ClassVar[list] = []

    @staticmethod
    def expansion(node: Communication, state: dace.SDFGState, sdfg: dace.SDFG, **kwargs: Any) -> nd.Tasklet:
        """Return the tasklet."""
        given: dict[str, Any] = {}
        found: dict[str, Any] = {}
        sizes: dict[str, str] = {}
        dtype = dace.int64
        for edge in state.all_edges(node):
            connector, desc = edge.dst_conn if edge.dst is node else edge.src_conn, sdfg.arrays[edge.data.data]
            (found if edge.src is node else given)[connector] = dace.pointer(desc.dtype)
            dtype = desc.dtype if connector not in NUMBERS else dtype
            sizes[f"n{connector}"] = dace.symbolic.symstr(desc.total_size, cpp_mode=True)
        tasklet = cpp_tasklet(node, given, found, _code(node, dtype, sizes, {*given, *found}), HEADER)
        tasklet.side_effects = True
        return tasklet


def _code(node: Communication, dtype: dace.typeclass, sizes: dict[str, str], connectors: set[str]) -> str:
    """Generate the call."""
    handle = "int" if node.width == 4 else "void*"
    type_, operator = (HANDLES.index(name) for name in (TYPES[dtype], node.operator))
    lists = {"counts": node.counts, "own": node.own}
    lists |= {"starts": _starts(node.counts), "places": _starts(node.own)}
    used = KINDS[node.kind].code
    written = "".join(_list(k, v) for k, v in lists.items() if re.search(rf"\b{k}\b", used))
    call = used.format(
        **sizes,
        x="_x" if "_x" in connectors else "(const void*)nullptr",
        y="_y" if "_y" in connectors else "(void*)nullptr",
        to=_envelope("_to", node.to, connectors),
        source=_envelope("_from", node.source, connectors),
        sender=", _sender" if "_sender" in connectors else "",
        root=node.root,
        rank=node.rank,
        size=node.size,
        backwards=int(node.backwards),
    )
    if node.handles:
        written += f"static const int64_t _handles[] = {{{', '.join(map(str, node.handles))}}};\n"
    if node.compares:
        whole, largest = HANDLES.index("INT64_T"), HANDLES.index("MAX")
        written += f"sdgrad::mpi::Group<{handle}>(_handles, {whole}, {largest}).agree({type_}, {sizes['n_x']});\n"
    return f"{written}sdgrad::mpi::Group<{handle}>(_handles, {type_}, {operator}).{call};"


def _list(name: str, values: Sequence[int]) -> str:
    return f"const int {name}[] = {{{', '.join(map(str, values))}}};\n" if values else f"const int* {name} = nullptr;\n"


def _starts(counts: Sequence[int]) -> list[int]:
    return list(accumulate(counts[:-1], initial=0)) if counts else []


def _envelope(connector: str, fixed: Sequence[int], connectors: set[str]) -> str:
    inside = connector if connector in connectors else ", ".join(map(str, fixed))
    return f"sdgrad::mpi::Envelope({inside})"


@dace.library.node
class Communication(nd.LibraryNode):
    """A communication of one of :data:`KINDS`: it sends ``_x`` and receives ``_y``, both contiguous.

    ``to`` and ``source`` are rank and tag; the operands ``_to`` and ``_from`` have them where only a run knows.
    ``_sender`` gets those of what came. ``counts`` are the elements of each rank, ``own`` those that this one receives
    from each. A scan that is ``backwards`` begins with the last rank. What is on its way is in ``_flight`` until a
    node that ends it has its ``_request``.
    """

    side_effects = True
    implementations: ClassVar[dict[str, type]] = {"MPI": ExpandCommunication}
    default_implementation: ClassVar[str] = "MPI"

    kind = properties.Property(dtype=str, default="barrier", choices=list(KINDS))
    width = properties.Property(dtype=int, default=4, desc="Bytes of a handle")
    size = properties.Property(dtype=int, default=1, desc="Ranks of the communicator")
    rank = properties.Property(dtype=int, default=0, desc="This one")
    root = properties.Property(dtype=int, default=0)
    backwards = properties.Property(dtype=bool, default=False)
    compares = properties.Property(dtype=bool, default=False, desc="All ranks have to send the same type and size")
    operator = properties.Property(dtype=str, default="SUM", choices=list(OPERATORS))
    to = properties.ListProperty(element_type=int, default=[])
    source = properties.ListProperty(element_type=int, default=[])
    counts = properties.ListProperty(element_type=int, default=[])
    own = properties.ListProperty(element_type=int, default=[])
    handles = properties.ListProperty(element_type=int, default=[], desc="In place of the operand, if they are numbers")

    def __init__(self, kind: str = "barrier", connectors: Collection[str] = (), **facts: Any) -> None:
        known = KINDS[kind]
        inputs = {c for c in (*known.inputs, "_to", "_from") if c in connectors}
        outputs = {c for c in (*known.outputs, "_sender") if c in connectors}
        inputs |= {ORDER} if facts.get("handles") else {ORDER, GROUP}
        super().__init__(kind, inputs=inputs, outputs={*outputs, ORDERED})
        self.kind = kind
        for name, value in facts.items():
            setattr(self, name, list(value) if isinstance(value, tuple) else value)

    def facts(self) -> dict[str, Any]:
        """Return what the node knows of its communicator: the same for the node of its adjoint."""
        return {"width": self.width, "size": self.size, "rank": self.rank, "handles": self.handles}


def typeclass_of(dtype: Any) -> dace.typeclass:
    """Return DaCe's name of a type that messages can have.

    :raises TypeError: MPI has none.
    """
    found = dace.dtypes.dtype_to_typeclass(np.dtype(dtype).type)
    if found not in TYPES:
        raise TypeError(f"MPI sends no arrays of {np.dtype(dtype)}: convert them")
    return found


def is_communication(node: Any) -> bool:
    """True of a call by which ranks communicate: it has an adjoint whatever this rank knows of derivatives."""
    if isinstance(node, CustomCall):
        return any(map(is_communication, walk(node.block)))
    called = getattr(node, "node", None)
    return isinstance(called, Communication) or is_of_dace(called)


def is_of_dace(node: Any) -> bool:
    """True of DaCe's own nodes that communicate, which have no rule here."""
    return type(node).__module__.startswith("dace.libraries.comm.")


def messages(regions: Mapping[str, Any]) -> list[str]:
    """Return the connectors of what is sent or received, among those of a call."""
    return [c for c in regions if c not in NUMBERS]
