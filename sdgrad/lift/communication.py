"""Read DaCe's nodes of ``dace.libraries.comm`` as communications that have adjoints.

A graph says nothing of ranks: it is read for the one that reads it. What it sends and receives is copied to and from
memory without gaps, and its root has to be a number.
"""

from __future__ import annotations

import ast
import itertools
import sys
from dataclasses import dataclass
from typing import Any

import dace
import sympy
from dace import data as dt
from dace import nodes as nd
from dace.libraries.comm import utils

from sdgrad.lift.data_access import DataAccess, source_of
from sdgrad.lift.views import Env
from sdgrad.program.arrays import fill, moved
from sdgrad.program.naming import ORDER as ORDER_NAME
from sdgrad.program.tree import (
    SCALAR,
    Block,
    Container,
    Leaf,
    Let,
    Load,
    Node,
    NodeCall,
    Region,
    Store,
    reads,
    walk,
    whole_region,
    writes,
)
from sdgrad.program.window import Window, whole_window
from sdgrad.runtime.libraries.communication import ORDER, ORDERED, Communication
from sdgrad.symbolic import code

KINDS = {
    "Send": "send",
    "Recv": "receive",
    "Bcast": "broadcast",
    "Reduce": "reduce",
    "Allreduce": "allreduce",
    "ReduceScatter": "reduce_scatter",
    "Scatter": "scatter",
    "Gather": "gather",
    "Allgather": "allgather",
    "Alltoall": "all_to_all",
    "Barrier": "barrier",
    "Isend": "start_send",
    "Irecv": "start_receive",
}
"""By the name of DaCe's class."""
INPUTS, OUTPUTS = ("_inbuffer", "_buffer"), ("_outbuffer", "_buffer")
WAITS = ("Wait", "Waitall")
ELSEWHERE = {("scatter", False), ("gather", True), ("reduce", True)}
"""What only the root has: the input of a scatter, the outputs of others."""
SAID = "write it with mpi4py in a function, and derive that"


class NotRead(Exception):
    """A communication that stays DaCe's node, which has no derivative; the text says why."""


def read_communication(node: nd.LibraryNode, access: DataAccess) -> list[Node]:
    """Return the nodes of a communication; DaCe's own, without a derivative, where it is none of these."""
    try:
        return _Reading(node, access).nodes()
    except NotRead as reason:
        return [access.call(node, f"{reason}: {SAID}")]


def begin_communications(body: Block, env: Env) -> Block:
    """Return a program's body after what its communications need; arrays of requests that nobody reads are dropped."""
    if ORDER_NAME not in env.containers:
        return body
    used = {c for node in walk(body) for c in reads(node) | writes(node)}
    for name in [n for n, c in env.containers.items() if isinstance(c.dtype, dace.dtypes.opaque) and n not in used]:
        del env.containers[name]
    return (fill(env.containers[ORDER_NAME], "0", env.names, ORDER_NAME), *body)


@dataclass(frozen=True)
class Begun:
    """A communication that has begun.

    :param flight: its memory and its request, by connector; ``places`` are whom it goes to or comes from.
    :param target: what a message is received into.
    """

    flight: dict[str, Region]
    places: dict[str, Region]
    target: tuple[Window, list[Any]] | None


@dataclass
class _Reading:
    """Read one node."""

    node: Any
    access: DataAccess

    def nodes(self) -> list[Node]:
        """Return copies of what is sent, the communication, and copies of what came."""
        if type(self.node).__name__ in WAITS:
            return self.ends()
        kind = KINDS.get(type(self.node).__name__)
        edges = {e.dst_conn: e for e in self.access.state.in_edges(self.node) if not e.data.is_empty()}
        out = {e.src_conn: e for e in self.access.state.out_edges(self.node) if not e.data.is_empty()}
        if kind is None or getattr(self.node, "nonblocking", False):
            raise NotRead(f"DaCe's {type(self.node).__name__} has no derivative here")
        if {"_grid", "_comm"} & edges.keys() or getattr(self.node, "fcomm", None):
            raise NotRead("a graph has a derivative here if it communicates in MPI_COMM_WORLD")
        operator, facts = self.operator(), self.facts()
        before: list[Node] = []
        inputs: dict[str, Region] = {}
        root = self.number(edges["_root"]) if "_root" in edges else 0
        is_root = facts["rank"] == root
        after: list[Node] = []
        outputs: dict[str, Region] = {}
        if (sent := next((edges[c] for c in INPUTS if c in edges), None)) and self.is_here(kind, False, is_root):
            inputs["_x"] = self.copied(sent, before)
        found = next((out[c] for c in OUTPUTS if c in out), None)
        if found and kind != "start_receive" and self.is_here(kind, True, is_root):
            outputs["_y"] = self.copied(found, after, back=True)
        for connector, peer in (("_to", "_dest"), ("_from", "_src")):
            if peer in edges:
                inputs[connector] = self.place(edges[peer], edges["_tag"], before)
        if "_request" in out:
            outputs |= self.begun(inputs, out["_request"], found)
        facts |= self.counts(kind, inputs, outputs, facts["size"]) | {"root": root, "operator": operator}
        return [*before, self.call(kind, inputs, outputs, facts), *after]

    def call(self, kind: str, inputs: dict[str, Region], outputs: dict[str, Region], facts: dict[str, Any]) -> NodeCall:
        """Return a communication in its place among the others."""
        now = self.order()
        given, made = {**inputs, ORDER: now}, {**outputs, ORDERED: now}
        return NodeCall(Communication(kind, {*given, *made}, **facts), given, made, source_of(self.node))

    def begun(self, inputs: dict[str, Region], request: Any, target: Any) -> dict[str, Region]:
        """Return memory for what begins here, and note it for the node that waits."""
        window = self.window(target) if target is not None else None
        like = inputs["_x"].container if "_x" in inputs else window[0].container if window else ""
        sizes = window[1] if window is not None else list(self.access.env.containers[like].shape)
        flight = {
            "_flight": self.memory("flight", sizes, self.access.env.containers[like].dtype),
            "_request": self.memory("request", [sympy.Integer(1)], dace.int64),
        }
        (key,) = self.elements(request)
        places = {c: r for c, r in inputs.items() if c in ("_to", "_from")}
        self.access.env.requests[key] = Begun(flight, places, window)
        return flight

    def ends(self) -> list[Node]:
        """Return the ends of all communications that a node waits for."""
        out = {e.src_conn: e for e in self.access.state.out_edges(self.node) if not e.data.is_empty()}
        states = self.access.sdfg.states()
        asked = {e.data.data for c, e in out.items() if c.startswith("_stat")}
        if any(n.data in asked and state.out_degree(n) for state in states for n in state.data_nodes()):
            raise NotRead("who sent a message is asked for, and a run knows it")
        (edge,) = (e for e in self.access.state.in_edges(self.node) if e.dst_conn == "_request")
        nodes: list[Node] = []
        for key in self.elements(edge):
            begun = self.access.env.requests.pop(key, None)
            if begun is None:
                raise NotRead("a graph waits for a communication that has not begun in it")
            nodes += self.end(begun)
        return nodes

    def end(self, begun: Begun) -> list[Node]:
        """Return the end of a communication, and the copy of what came."""
        inputs = {**begun.flight, **begun.places}
        if begun.target is None:
            return [self.call("end_send", inputs, {}, self.facts())]
        window, sizes = begun.target
        found = self.memory("message", sizes, self.access.env.containers[window.container].dtype)
        whole = whole_window(found.container, self.access.env.containers[found.container].desc)
        copied = moved(window, whole, sizes, "set", self.access.env.names)
        return [self.call("end_receive", inputs, {"_y": found}, self.facts()), copied]

    def elements(self, edge: Any) -> list[tuple[Any, ...]]:
        """Return the elements of an array of requests that a node names.

        :raises NotRead: a run knows which.
        """
        window, subset = self.access.outer(edge)
        ranges = [tuple(map(sympy.sympify, r)) for r in window.subset(self.access.env.range(subset)).ranges]
        if not all(n.is_Integer for r in ranges for n in r):
            raise NotRead("requests have places that are numbers")
        axes = [range(int(a), int(b) + 1, int(c)) for a, b, c in ranges]
        return [(window.container, *index) for index in itertools.product(*axes)]

    def memory(self, stem: str, sizes: list[Any], dtype: dace.typeclass) -> Region:
        """Return a new array."""
        env = self.access.env
        own = Container(env.names.fresh(stem), dt.Array(dtype, sizes, transient=True))
        env.containers[own.name] = own
        return whole_region(own.name, own.shape)

    def is_here(self, kind: str, result: bool, is_root: bool) -> bool:
        """True if this rank has an operand."""
        return is_root or (kind, result) not in ELSEWHERE

    def facts(self) -> dict[str, Any]:
        """Return what a node has to know of the world."""
        if "mpi4py.MPI" not in sys.modules:
            raise NotRead("import mpi4py.MPI before the graph is differentiated")
        from sdgrad.runtime.libraries.mpi_handles import MPI, facts_of, handles_of

        found = facts_of(MPI.COMM_WORLD)
        if found["width"] != 4:
            raise NotRead("graphs have derivatives with MPICH and its kin, whose handles are numbers")
        return {**found, "handles": [int(n) for n in handles_of(MPI.COMM_WORLD)[1]]}

    def operator(self) -> str:
        op = getattr(self.node, "op", "MPI_SUM")
        if utils.is_average(op):
            raise NotRead("the average of the ranks has no derivative here: divide their sum")
        return utils.mpi_op(op).removeprefix("MPI_")

    def window(self, edge: Any) -> tuple[Window, list[Any]]:
        """Return the part of a container that an operand is, and its sizes."""
        window, subset = self.access.outer(edge)
        part = self.access.env.range(subset)
        container = self.access.env.containers[window.container]
        whole = whole_window(window.container, container.desc)
        region = window.subset(part)
        base = tuple(b for b, _, _ in region.ranges)
        axes = tuple(
            None if a is None else type(a)(a.axis, step)
            for a, (_, _, step) in zip(whole.axes, region.ranges, strict=True)
        )
        return Window(window.container, base, axes), [sympy.sympify(n) for n in region.size()]

    def copied(self, edge: Any, nodes: list[Node], back: bool = False) -> Region:
        """Return memory without gaps for an operand, and add the copy to it, or from it."""
        window, sizes = self.window(edge)
        env = self.access.env
        own = self.memory("message", sizes, env.containers[window.container].dtype)
        ends = window, whole_window(own.container, env.containers[own.container].desc)
        target, source = ends if back else reversed(ends)
        nodes.append(moved(target, source, sizes, "set", env.names))
        return own

    def place(self, peer: Any, tag: Any, nodes: list[Node]) -> Region:
        """Return the rank and the tag of a message in memory."""
        env, own = self.access.env, self.memory("place", [sympy.Integer(2)], dace.int64)
        body: list[Any] = []
        for k, edge in enumerate((peer, tag)):
            window, _ = self.window(edge)
            v, w = env.names.fresh("v"), env.names.fresh("v")
            body += [Load(v, window.container, window.base or SCALAR), Let(w, code.parse(v))]
            body.append(Store(own.container, (sympy.Integer(k),), w))
        nodes.append(Leaf((), tuple(body), source_of(self.node)))
        return own

    def number(self, edge: Any) -> int:
        """Return a root, which a tasklet without operands has to write."""
        data = self.access.state.memlet_path(edge)[0].src.data
        writers = [
            e.src
            for state in self.access.sdfg.states()
            for n in state.data_nodes()
            if n.data == data
            for e in state.in_edges(n)
        ]
        if len(writers) == 1 and isinstance(writers[0], nd.Tasklet) and not writers[0].in_connectors:
            statement = writers[0].code.code[0] if isinstance(writers[0].code.code, list) else None
            if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
                return int(ast.unparse(statement.value))
        raise NotRead("the root of a communication of a graph has to be a number")

    def counts(
        self, kind: str, inputs: dict[str, Region], outputs: dict[str, Region], size: int
    ) -> dict[str, list[int]]:
        """Return how many elements each rank sends or gets: equal parts of the larger operand."""
        if kind not in ("scatter", "gather", "allgather", "reduce_scatter", "all_to_all"):
            return {}
        sizes = {c: self.length(r) for c, r in {**inputs, **outputs}.items() if c in ("_x", "_y")}
        if kind == "all_to_all":
            return {"counts": [sizes["_x"] // size] * size, "own": [sizes["_y"] // size] * size}
        part = "_y" if kind in ("scatter", "reduce_scatter") else "_x"
        return {"counts": [sizes[part]] * size}

    def length(self, region: Region) -> int:
        found = sympy.sympify(region.subset.num_elements())
        if not found.is_Integer:
            raise NotRead("arrays of all ranks have sizes that are numbers")
        return int(found)

    def order(self) -> Region:
        """Return what each communication reads and writes."""
        env = self.access.env
        if ORDER_NAME not in env.containers:
            env.names.add([ORDER_NAME])
            env.containers[ORDER_NAME] = Container(ORDER_NAME, dt.Array(dace.int64, [1], transient=True))
        return whole_region(ORDER_NAME, (sympy.Integer(1),))
