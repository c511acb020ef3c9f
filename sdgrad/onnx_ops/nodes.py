"""Generate a DaCe library node ``ONNX<Operator>`` for every operator of the standard, from its schema.

``ONNXSoftmax("softmax", axis=1)`` has the connectors that the schema names: its inputs ``input``, its output
``output``. Connectors of variadic operands are numbered, ``data_0__0``, ``data_0__1``; an output that is called like an
input gets ``_out`` behind it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
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
from sdgrad.onnx_ops.recording import OUTSIDE, Operands, Recorded, captures, connectors, contents, record_once, written
from sdgrad.onnx_ops.registry import Operation, plain_domain
from sdgrad.optimize import optimize
from sdgrad.program.emit import emit
from sdgrad.program.tree import Program
from sdgrad.record.elements import Declined
from sdgrad.runtime.compile.python_call import calling


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
    checked = properties.Property(dtype=bool, default=False, desc="Tells of indices that lie outside of an axis")

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
        self.known = json.dumps({c: written(a) for c, a in (known or {}).items()})
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
        return contents(self.known)

    def check_indices(self, operands: Mapping[str, dt.Data]) -> tuple[str, Sequence[BaseException]] | None:
        """Let the node check what it finds; indices outside of an axis count as the first one of it.

        :returns: the connector of a number of a failed check, and what the checks say; None if there are none.
        """
        self.checked = True
        told = () if self.lowered(operands) is None else self.recorded(shapes(operands)).told
        self.checked = bool(told)
        if not told:
            return None
        self.add_out_connector(OUTSIDE)
        return OUTSIDE, told

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
            return self.recorded(shapes(operands)).program
        except Declined as reason:
            self._declined = str(reason)
            return None

    def recorded(self, operands: Operands) -> Recorded:
        """Return the node's program, and what its results are; recorded once for operands like these.

        :raises Declined: there is no lowering for them.
        """
        taken = tuple((c, tuple(s), t.type) for c, (s, t) in sorted(operands.items()))
        found = record_once(self.proto, self.opsets, self.known, taken, self.checked)
        if isinstance(found, Declined):
            raise found
        return found


def newest_opsets(domain: str, schema: defs.OpSchema) -> dict[str, int]:
    """Return the newest operator sets that are known, for an operator's newest schema."""
    newest = defs.onnx_opset_version()
    return {"": newest, domain: schema.since_version if domain else newest}


def shapes(operands: Mapping[str, dt.Data]) -> Operands:
    """Return shapes and types of the data of connectors."""
    return {c: described(d) for c, d in operands.items()}


def described(desc: dt.Data) -> tuple[tuple[Any, ...], np.dtype]:
    """Return shape and type of a connector's data; a scalar has no axes."""
    return () if isinstance(desc, dt.Scalar) else tuple(desc.shape), np.dtype(desc.dtype.type)


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
