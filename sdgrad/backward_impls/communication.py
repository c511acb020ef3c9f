"""Reverse the communications of MPI programs (J. Utke et al., Toward adjoinable MPI, 2009).

A program on P ranks is one function of all ranks' inputs, and a communication a linear map between their memories. Its
adjoint is the transpose: what was sent comes back and is added, what was received goes back and is cleared; a broadcast
becomes a sum, a sum a broadcast, and a sum that all ranks get stays one; sums over the ranks before become sums over
those after. Maxima, minima and products are linear at the
values that all ranks have. A rank takes part whether or not a derivative passes here: others cannot know.

A communication that takes its time has two nodes, and its adjoint too: it starts where the primal one ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sympy

from sdgrad.autodiff.contexts import CallContext, TangentContext
from sdgrad.autodiff.rule_builder import ONE, Builder, clear_cotangent, extents
from sdgrad.errors import DifferentiationError, Problem
from sdgrad.program.kinds import kind_of
from sdgrad.program.registry import Rule, register_rule
from sdgrad.program.tree import Node, NodeCall, Program, Region
from sdgrad.runtime.libraries.communication import GROUP, ORDER, ORDERED, Communication, messages
from sdgrad.symbolic.expr import sym

TRANSPOSED = {
    "send": "receive",
    "receive": "send",
    "exchange": "exchange",
    "broadcast": "reduce",
    "reduce": "broadcast",
    "allreduce": "allreduce",
    "scatter": "gather",
    "gather": "scatter",
    "allgather": "reduce_scatter",
    "reduce_scatter": "allgather",
    "all_to_all": "all_to_all",
    "scan": "scan",
    "exscan": "exscan",
    "start_send": "end_receive",
    "end_receive": "start_send",
    "start_receive": "end_send",
    "end_send": "start_receive",
}
"""The adjoint of each kind, where it sums; of a barrier there is none."""
NONLINEAR = ("PROD", "MIN", "MAX")
SUMS = {"reduce_scatter": "Reduce_scatter", "scan": "Scan", "exscan": "Exscan"}
"""Kinds that have derivatives where they sum, by what mpi4py calls them."""
OTHERS = "multiply, add, or take the largest or the smallest: MPI.SUM, PROD, MIN, MAX"


def _applies(call: NodeCall, program: Program) -> str | None:
    node = call.node
    if not _is_float(call, program) or node.kind not in (*SUMS, "reduce", "allreduce"):
        return None
    if node.operator != "SUM" and node.kind in SUMS:
        return (
            f"{SUMS[node.kind]} with MPI.{node.operator} has no derivative here: write Allgather, and combine the rows"
        )
    if node.operator not in ("SUM", *NONLINEAR):
        return f"MPI.{node.operator} has no derivative here: {OTHERS}"
    return None


def _is_float(call: NodeCall, program: Program) -> bool:
    dtypes = [program.containers[call.regions[c].container].dtype for c in messages(call.regions)]
    return any(kind_of(dtype) in ("float", "complex") for dtype in dtypes)


def _needs(call: NodeCall, program: Program, wanted: tuple[str, ...]) -> tuple[str, ...]:
    """Return the places of a message that only a run knows, and what a maximum or a product was taken of."""
    places = tuple(c for c in ("_to", "_sender" if "_sender" in call.outputs else "_from") if c in call.regions)
    if _is_linear(call.node):
        return places
    return ("_x",) if call.node.operator == "PROD" else tuple(c for c in ("_x", "_y") if c in call.regions)


def _is_linear(node: Communication) -> bool:
    return node.kind not in ("reduce", "allreduce") or node.operator not in NONLINEAR


@dataclass
class Writer:
    """Add communications to the nodes of a rule."""

    build: Builder

    @property
    def context(self) -> CallContext | TangentContext:
        return self.build.context

    @property
    def node(self) -> Communication:
        """Return the node that is differentiated."""
        return self.context.call.node

    def call(self, kind: str, inputs: Mapping[str, Region], outputs: Mapping[str, Region], **facts: Any) -> None:
        """Add a communication in the place of the one that is differentiated: in the same order, by the same group."""
        own = self.context.call
        given = {**inputs, **{c: own.inputs[c] for c in (ORDER, GROUP) if c in own.inputs}}
        found = {**outputs, ORDERED: own.outputs[ORDERED]}
        self.build.call(Communication(kind, {*given, *found}, **{**self.node.facts(), **facts}), given, found)

    def temporary(self, like: Region) -> Region:
        return self.build.temporary("message", extents(like) or [ONE], self.build.dtype(like))

    def all_ranks(self, value: Region) -> Region:
        """Return the sum of a value over the ranks."""
        found = self.temporary(value)
        self.call("allreduce", {"_x": value}, {"_y": found})
        return found

    def partial(self, x: Region, y: Region) -> Region:
        """Return the derivative of a maximum, a minimum or a product over the ranks by what this rank gave.

        Ranks whose values are the extreme share it.
        """
        found = self.temporary(x)
        if self.node.operator == "PROD":
            self._of_product(x, found)
            return found
        self.build.elementwise(found, "1 if a == b else 0", a=x, b=y)
        self.build.elementwise(found, "a / b", a=found, b=self.all_ranks(found))
        return found

    def _of_product(self, x: Region, found: Region) -> None:
        """Multiply what the other ranks gave: without a division, for it may be zero."""
        sizes, ranks = extents(found), self.node.size
        gathered = self.build.temporary("gathered", [sympy.Integer(ranks), *sizes], self.build.dtype(x))
        count = sympy.prod(sizes, start=ONE)
        self.call("allgather", {"_x": x}, {"_y": gathered}, counts=[int(count)] * ranks)
        params = self.build.params(sizes)
        index = [sym(p.name) for p in params]
        conj = kind_of(self.build.dtype(x)) == "complex"
        names = {f"a{k}": (gathered, [sympy.Integer(k), *index]) for k in range(ranks) if k != self.node.rank}
        text = " * ".join(f"conj({n})" if conj else n for n in names) or "1"
        self.build.leaf(params, names, text, found, index)


def _reverse(context: CallContext) -> list[Node]:
    """Return the transposed communication: it takes the cotangents of what came, and adds to those of what went."""
    writer = Writer(Builder(context))
    call, node, build = context.call, writer.node, writer.build
    if not _is_float(call, context.program) or node.kind not in TRANSPOSED:
        return []
    if node.kind in ("start_receive", "end_send"):
        _reverse_alone(writer)
        return build.nodes
    _seed(context, build)
    if not _is_linear(node):
        _reverse_nonlinear(writer)
    else:
        _transposed(writer)
    for connector in messages(call.outputs):
        clear_cotangent(build, context, connector)
    return build.nodes


def _seed(context: CallContext, build: Builder) -> None:
    """Make the cotangents of what came arrays, also where they are known to be zero: other ranks wait for them."""
    for connector in messages(context.call.outputs):
        build.nodes += context.adjoints.writable(context.call.outputs[connector].container)


def _places(context: CallContext, node: Communication) -> tuple[dict[str, Region], dict[str, Any]]:
    """Return where the adjoint sends to and receives from: operands, and what is known of it."""
    own = context.call
    sender = "_sender" if "_sender" in own.outputs else "_from"
    places = {"_to": sender, "_from": "_to"}
    return {c: context.primal(p) for c, p in places.items() if p in own.regions}, {"to": node.source, "source": node.to}


def _transposed(writer: Writer) -> None:
    context, build, node = writer.context, writer.build, writer.node
    assert isinstance(context, CallContext)
    call, kind = context.call, TRANSPOSED[node.kind]
    inputs, facts = _places(context, node)
    outputs: dict[str, Region] = {}
    if "_y" in call.outputs:
        inputs["_x"] = context.cotangent("_y")
    has_x = "_x" in call.inputs and not (node.kind == "broadcast" and node.rank != node.root)
    if has_x:
        outputs["_y"] = writer.temporary(call.inputs["_x"])
    if node.kind == "end_receive":
        outputs |= _flight(context, zero=False)
    if node.kind == "start_send":
        inputs |= _flight(context)
    lists = (node.own, node.counts) if node.kind == "all_to_all" else (node.counts, [])
    facts |= {"root": node.root, "counts": lists[0], "own": lists[1], "backwards": not node.backwards}
    writer.call(kind, inputs, outputs, **facts)
    if has_x:
        build.elementwise(build.target("_x"), "a", "sum", a=outputs["_y"])


def _flight(context: CallContext, zero: bool = True) -> dict[str, Region]:
    """Return the memory of the adjoint's message while it is on its way, and its request."""
    regions = {c: context.call.regions[c] for c in ("_flight", "_request")}
    if not zero:
        context.adjoints.writable(regions["_flight"].container, zero=False)
    return {c: Region(context.adjoints.container(r.container).name, r.subset) for c, r in regions.items()}


def _reverse_alone(writer: Writer) -> None:
    """Add the adjoint of what neither sends nor receives by itself: it starts to receive, or waits for what it sent."""
    context, node = writer.context, writer.node
    assert isinstance(context, CallContext)
    inputs, facts = _places(context, node)
    starts = node.kind == "end_send"
    flight = _flight(context, zero=not starts)
    given, found = (inputs, flight) if starts else (flight, {})
    writer.call(TRANSPOSED[node.kind], given, found, **facts)
    if not starts:
        clear_cotangent(writer.build, context, "_flight")


def _reverse_nonlinear(writer: Writer) -> None:
    """Add the sum of the cotangents of a maximum, a minimum or a product, times the partial of what this rank gave."""
    context, build, node = writer.context, writer.build, writer.node
    assert isinstance(context, CallContext)
    if node.kind == "allreduce":
        seed, y = writer.all_ranks(context.cotangent("_y")), context.primal("_y")
    else:
        seed, y = _of_root(writer, context, "cotangent"), context.primal("_x")
        y = _of_root(writer, context, "primal") if node.operator != "PROD" else y
    build.elementwise(build.target("_x"), "a * b", "sum", a=seed, b=writer.partial(context.primal("_x"), y))


def _of_root(writer: Writer, context: CallContext | TangentContext, what: str) -> Region:
    """Return what the root has of a result, on all ranks."""
    x = context.call.inputs["_x"]
    given = {"_x": getattr(context, what)("_y")} if "_y" in context.call.outputs else {}
    found = writer.temporary(x)
    writer.call("broadcast", given, {"_y": found}, root=writer.node.root)
    return found


def _forward(context: TangentContext) -> list[Node]:
    """Return the communication, and that of the tangents after it."""
    build = Builder(context, [context.call])
    writer = Writer(build)
    call, node = context.call, writer.node
    if not _is_float(call, context.program) or node.kind not in TRANSPOSED:
        return build.nodes
    if node.kind == "end_receive" and node.source and node.source[0] < 0:  # MPI.ANY_SOURCE
        message = "waits for a message of any rank, and forward mode has to know whose tangent comes"
        raise DifferentiationError([Problem("Irecv", message, str(call.source), "name the rank, or write Recv")])
    moved = ("_request", *messages(call.regions))
    inputs, outputs = (
        {c: context.tangent(c) if c in moved else r for c, r in regions.items() if c != "_sender"}
        for regions in (call.inputs, call.outputs)
    )
    if "_sender" in call.outputs:
        inputs["_from"] = call.outputs["_sender"]
    if not _is_linear(node):
        y = call.outputs.get("_y")
        if node.kind == "reduce" and node.operator != "PROD":
            y = _of_root(writer, context, "primal")
        partial, own = writer.partial(call.inputs["_x"], y or call.inputs["_x"]), writer.temporary(call.inputs["_x"])
        conj = kind_of(build.dtype(partial)) == "complex"
        build.elementwise(own, "a * conj(b)" if conj else "a * b", a=inputs["_x"], b=partial)
        inputs["_x"] = own
    facts = {"counts": node.counts, "own": node.own, "to": node.to, "source": node.source, "root": node.root}
    writer.call(node.kind, inputs, outputs, **facts, backwards=node.backwards)
    return build.nodes


register_rule("Communication", Rule("communication", _needs, _reverse, _applies, _forward))
