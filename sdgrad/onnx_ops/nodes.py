"""Generate a DaCe library node ``ONNX<Operator>`` for every operator of the standard, from its schema.

``ONNXSoftmax("softmax", axis=1)`` has the connectors that the schema names: its inputs ``input``, its output
``output``. Connectors of variadic operands are numbered, ``data_0__0``, ``data_0__1``; an output that is called like an
input gets ``_out`` behind it.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import dace
import dace.library
import numpy as np
import onnx
from dace import data as dt
from dace import nodes as nd
from dace import properties
from dace.transformation.transformation import ExpandTransformation
from google.protobuf import text_format
from onnx import defs

from sdgrad.errors import UnsupportedOperator
from sdgrad.onnx_ops import session
from sdgrad.onnx_ops.lower import lower
from sdgrad.onnx_ops.registry import Operation, plain_domain
from sdgrad.optimize import optimize
from sdgrad.program.emit import emit
from sdgrad.program.rename import renamed_program
from sdgrad.program.tree import Program, Source, lasting
from sdgrad.record.builder import Builder
from sdgrad.record.elements import Declined, dim
from sdgrad.record.tensors import Tensor
from sdgrad.runtime.compile.python_call import calling
from sdgrad.symbolic.expr import free_names as symbols_of
from sdgrad.symbolic.expr import to_expr

Variadic = defs.OpSchema.FormalParameterOption.Variadic


Operands = Mapping[str, tuple[tuple[Any, ...], np.dtype]]


@dace.library.expansion
class ExpandPure(ExpandTransformation):
    """Expand the node to maps and tasklets, by its lowering."""

    environments: ClassVar[list] = []

    @staticmethod
    def expansion(node: ONNXOp, state: dace.SDFGState, sdfg: dace.SDFG, **kwargs: Any) -> dace.SDFG:
        descs = {e.dst_conn: sdfg.arrays[e.data.data] for e in state.in_edges(node)}
        program = node.lowered(descs)
        if program is None:
            raise UnsupportedOperator(node.kind, node.label, node.declined)
        return emit(optimize(program))


@dace.library.expansion
class ExpandOnnxruntime(ExpandTransformation):
    """Expand the node to a call of onnxruntime."""

    environments: ClassVar[list] = []

    @staticmethod
    def expansion(node: ONNXOp, state: dace.SDFGState, sdfg: dace.SDFG, **kwargs: Any) -> dace.SDFG:
        """Return the graph that calls onnxruntime for this node alone."""
        proto, known = node.node, node.constants()
        takes, gives = connectors(proto, node.schema)
        names = dict(zip(takes, [*proto.input, *captures(proto)], strict=True))
        descs = {e.dst_conn: sdfg.arrays[e.data.data] for e in state.in_edges(node)}
        types = {names[c]: _numbers(d) for c, d in descs.items()}
        fixed = {names[c]: a for c, a in known.items()}
        model, found = session.one_node(Operation(proto, json.loads(node.opsets)), types, fixed)
        made = {n: c for n, c in zip(proto.output, gives, strict=True) if n}
        text = session.described(model, types, found)
        outs = {e.src_conn: sdfg.arrays[e.data.data] for e in state.out_edges(node)}
        return calling(node.label, session.__name__, text, descs, {made[n]: outs[made[n]] for n, _, _ in found})


def _numbers(desc: dt.Data) -> tuple[tuple[int, ...], np.dtype]:
    shape, dtype = described(desc)
    return tuple(int(n) for n in shape), dtype


@properties.make_properties
class ONNXOp(nd.LibraryNode):
    """A node of an ONNX model.

    :param name: the node's label.
    :param opset: the version of the operator set; the newest that is known unless given.
    :param outputs: how many results are asked for.
    :param attributes: the operator's attributes, as Python values.
    """

    kind: ClassVar[str] = ""
    domain: ClassVar[str] = ""
    implementations: ClassVar[dict[str, type]] = {"pure": ExpandPure, "onnxruntime": ExpandOnnxruntime}
    default_implementation: ClassVar[str | None] = "pure"

    proto = properties.Property(dtype=str, default="", desc="The node as ONNX has it, as text")
    opsets = properties.Property(dtype=str, default="{}", desc="Versions of the operator sets, as JSON")
    known = properties.Property(dtype=str, default="{}", desc="Operands whose content is fixed, as JSON by connector")

    def __init__(
        self,
        name: str = "",
        *,
        opset: int | None = None,
        inputs: int | None = None,
        outputs: int = 1,
        location: Any = None,
        **attributes: Any,
    ) -> None:
        super().__init__(name or self.kind)
        self._declined = ""
        if not self.kind:
            return
        versions = newest_opsets(self.domain, defs.get_schema(self.kind, self.domain))
        versions[self.domain] = opset or versions[self.domain]
        schema = defs.get_schema(self.kind, versions[self.domain], self.domain)
        taken = [f"x{k}" for k in range(inputs if inputs is not None else schema.min_input)]
        made = [f"y{k}" for k in range(outputs)]
        self._describe(onnx.helper.make_node(self.kind, taken, made, name, domain=self.domain, **attributes), versions)

    @staticmethod
    def of(
        node: onnx.NodeProto, opsets: Mapping[str, int], known: Mapping[str, np.ndarray], entering: Collection[str]
    ) -> ONNXOp:
        """Return the library node for a node of a model.

        :param known: operands of fixed content, by connector.
        :param entering: the connectors of those operands that have memory.
        """
        made = NODES[plain_domain(node.domain), node.op_type](node.name or node.op_type)
        made.in_connectors, made.out_connectors = {}, {}
        made._describe(node, opsets, known, entering)
        return made

    def _describe(
        self,
        node: onnx.NodeProto,
        opsets: Mapping[str, int],
        known: Mapping[str, np.ndarray] | None = None,
        entering: Collection[str] | None = None,
    ) -> None:
        """Set the node's properties and connectors."""
        self.proto = text_format.MessageToString(node)
        self.opsets = json.dumps(dict(opsets))
        self.known = json.dumps({c: _written(a) for c, a in (known or {}).items()})
        takes, gives = connectors(node, self.schema)
        for connector in takes if entering is None else entering:
            if connector:
                self.add_in_connector(connector)
        for connector in gives:
            if connector:
                self.add_out_connector(connector)

    @property
    def node(self) -> onnx.NodeProto:
        """Return the node as ONNX has it."""
        return text_format.Parse(self.proto, onnx.NodeProto())

    def constants(self) -> dict[str, np.ndarray]:
        """Return operands of fixed content, by connector."""
        return _contents(self.known)

    @property
    def declined(self) -> str:
        """Return why the last call of :meth:`lowered` found no program."""
        return self._declined

    @property
    def schema(self) -> defs.OpSchema:
        return defs.get_schema(self.kind, json.loads(self.opsets)[self.domain], self.domain)

    def lowered(self, operands: Mapping[str, dt.Data]) -> Program | None:
        """Return the node's program for operands like these; None, with the reason in ``declined``, if it has none."""
        if (self.implementation or type(self).default_implementation) == "onnxruntime":
            self._declined = "it is run by onnxruntime, which has no derivative"
            return None
        try:
            return self.recorded({c: described(d) for c, d in operands.items()}).program
        except Declined as reason:
            self._declined = str(reason)
            return None

    def recorded(self, operands: Operands) -> Recorded:
        """Return the node's program, and what its results are; recorded once for operands like these.

        :raises Declined: there is no lowering for them.
        """
        found = _recorded(
            self.proto, self.opsets, self.known, tuple((c, tuple(s), t.type) for c, (s, t) in sorted(operands.items()))
        )
        if isinstance(found, Declined):
            raise found
        return found


@dataclass(frozen=True)
class Recorded:
    """Hold the program of a node, and what its results are."""

    program: Program
    results: Operands


@functools.lru_cache(maxsize=4096)
def _recorded(proto: str, opsets: str, known: str, operands: tuple) -> Recorded | Declined:
    node = text_format.Parse(proto, onnx.NodeProto())
    try:
        return record(node, json.loads(opsets), {c: (s, np.dtype(t)) for c, s, t in operands}, _contents(known))
    except Declined as reason:
        return reason


def record(
    node: onnx.NodeProto, opsets: Mapping[str, int], operands: Operands, known: Mapping[str, np.ndarray]
) -> Recorded:
    """Record a node of a model as a program whose arguments are its connectors.

    :raises Declined: it has no lowering for operands like these.
    """
    b = Builder(f"onnx_{node.op_type}".lower(), Source(label=node.name or node.op_type))
    schema = defs.get_schema(node.op_type, opsets[plain_domain(node.domain)], plain_domain(node.domain))
    takes, gives = connectors(node, schema)
    b.names.add([c for c in (*takes, *gives) if c])
    b.names.add(symbols_of(*(n for shape, _ in operands.values() for n in shape)))
    tensors = _declared(b, takes, operands, known)
    outside = {name: tensors[c] for name, c in captures(node).items() if c in tensors}
    op = Operation(node, opsets, {}, outside)
    found = lower(b, op, [tensors.get(c) if c else None for c in takes[: len(node.input)]])
    results: dict[str, tuple[tuple[Any, ...], np.dtype]] = {}
    renaming: dict[str, str] = {}
    for connector, tensor in zip(gives, found, strict=False):
        if connector:
            own = _own_array(b, tensor, connector, renaming)
            renaming[own.container] = connector
            results[connector] = own.shape, own.dtype
    taken = [c for c in tensors if c in operands]
    return Recorded(_with_arguments(renamed_program(b.program([*taken, *renaming]), renaming), renaming), results)


def _declared(
    b: Builder, takes: Sequence[str], operands: Operands, known: Mapping[str, np.ndarray]
) -> dict[str, Tensor]:
    """Declare the operands of a node by connector: arguments of its program, or constants."""
    tensors: dict[str, Tensor] = {}
    for connector in dict.fromkeys(c for c in takes if c):
        content = known.get(connector)
        if connector in operands:
            shape, dtype = operands[connector]
            tensors[connector] = replace(b.declare(connector, [dim(n) for n in shape], dtype, True), known=content)
        elif content is not None:
            tensors[connector] = b.constant(content)
    return tensors


def _own_array(b: Builder, tensor: Tensor | None, connector: str, taken: Collection[str]) -> Tensor:
    """Return a result in an array of its own: a copy, unless the array may become the result itself."""
    if tensor is None:
        raise Declined(f"no output {connector}")
    if _may_become_result(b, tensor) and tensor.container not in taken:
        return tensor
    fresh = b.declare("result", tensor.shape, tensor.dtype)
    b.copy(tensor, fresh)
    return fresh


def _may_become_result(b: Builder, tensor: Tensor) -> bool:
    """True if a tensor is all of a local array that no view and no constant shares."""
    own = b.containers.get(tensor.container)
    mine = own is not None and own.transient and own.view_of is None and tensor.place is None
    viewed = any(c.view_of == tensor.container for c in b.containers.values())
    return mine and not viewed and tensor.container not in b.constants.values()


def _with_arguments(program: Program, renaming: Mapping[str, str]) -> Program:
    """Return the program with its results as arguments, in memory of the caller."""
    given = set(renaming.values())
    containers = {
        n: replace(c, desc=lasting(c.desc, False)) if n in given else c for n, c in program.containers.items()
    }
    return replace(program, containers=containers)


def _written(array: np.ndarray) -> list[Any]:
    """Return the content of an operand for JSON; expressions over open dimensions as text."""
    values = array.ravel().tolist()
    return [str(array.dtype), list(array.shape), list(map(str, values)) if array.dtype == object else values]


def _contents(known: str) -> dict[str, np.ndarray]:
    """Return operands of fixed content, by connector, from JSON."""
    found = {}
    for connector, (dtype, shape, values) in json.loads(known).items():
        content = [dim(to_expr(v)) for v in values] if dtype == "object" else values
        found[connector] = np.array(content, dtype=dtype).reshape(shape)
    return found


def newest_opsets(domain: str, schema: defs.OpSchema) -> dict[str, int]:
    """Return the newest operator sets that are known, for an operator's newest schema."""
    newest = defs.onnx_opset_version()
    return {"": newest, domain: schema.since_version if domain else newest}


def described(desc: dt.Data) -> tuple[tuple[Any, ...], np.dtype]:
    """Return shape and type of a connector's data; a scalar has no axes."""
    return () if isinstance(desc, dt.Scalar) else tuple(desc.shape), np.dtype(desc.dtype.type)


def connectors(node: onnx.NodeProto, schema: defs.OpSchema) -> tuple[list[str], list[str]]:
    """Return the connectors of a node's inputs and outputs, in order; blank if one is left out.

    Behind the inputs come those of what its subgraphs see of the graph around.
    """
    takes = [_named(schema.inputs, k) if name else "" for k, name in enumerate(node.input)]
    inner = list(captures(node).values())
    gives = [_named(schema.outputs, k) if name else "" for k, name in enumerate(node.output)]
    taken = {*takes, *inner}
    return [*takes, *inner], [f"{c}_out" if c in taken and c else c for c in gives]


def _named(formal: Sequence[defs.OpSchema.FormalParameter], k: int) -> str:
    last = formal[-1]
    if k >= len(formal) - 1 and last.option == Variadic:
        return f"{last.name}__{k - len(formal) + 1}"
    return formal[k].name


def captures(node: onnx.NodeProto) -> dict[str, str]:
    """Return the names that subgraphs take from the graph around, and the connectors they come in by."""
    found: dict[str, str] = {}
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            for name in free_names(attribute.g):
                found.setdefault(name, f"outer__{len(found)}")
    return found


def free_names(graph: onnx.GraphProto) -> list[str]:
    """Return the names that a subgraph uses and does not define, in order."""
    defined = {i.name for i in graph.input} | {t.name for t in graph.initializer}
    found: dict[str, None] = {}
    for node in graph.node:
        used = [n for n in node.input if n]
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                used += free_names(attribute.g)
        found.update(dict.fromkeys(n for n in used if n not in defined))
        defined |= set(node.output)
    found.update(dict.fromkeys(o.name for o in graph.output if o.name not in defined))
    return list(found)


def _generated(schema: defs.OpSchema) -> type[ONNXOp]:
    """Return the node class of an operator."""
    name = f"ONNX{schema.name}"
    body = {
        "kind": schema.name,
        "domain": schema.domain,
        "implementations": dict(ONNXOp.implementations),
        "__doc__": schema.doc,
        "__module__": __name__,
    }
    made = dace.library.node(type(name, (ONNXOp,), body))
    globals()[name] = made
    return made


NODES: dict[tuple[str, str], type[ONNXOp]] = {(s.domain, s.name): _generated(s) for s in defs.get_all_schemas()}
"""Node classes by domain and operator."""
