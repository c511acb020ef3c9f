"""Call onnxruntime from a node of a graph, and from what a lowering records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import dace
import dace.library
import onnx
from dace import nodes as nd
from dace import properties
from dace.transformation.transformation import ExpandTransformation

from sdgrad.onnx_ops import session
from sdgrad.onnx_ops.registry import Operation
from sdgrad.record.builder import Builder
from sdgrad.record.elements import Declined
from sdgrad.record.tensors import Tensor
from sdgrad.runtime.compile.python_call import calling

DRAWS_SINCE = 13
"""The operator set in which random numbers are drawn: they are the same in newer ones, which onnxruntime lacks."""


@dace.library.expansion
class ExpandSession(ExpandTransformation):
    """Expand to the tasklet that calls."""

    environments: ClassVar[list] = []

    @staticmethod
    def expansion(node: Session, state: dace.SDFGState, sdfg: dace.SDFG, **kwargs: Any) -> dace.SDFG:
        inputs = {e.dst_conn: sdfg.arrays[e.data.data] for e in state.in_edges(node)}
        outputs = {e.src_conn: sdfg.arrays[e.data.data] for e in state.out_edges(node)}
        takes, gives = session.names_of(node.text)
        return calling(
            node.label, session.__name__, node.text, {n: inputs[n] for n in takes}, {n: outputs[n] for n in gives}
        )


@dace.library.node
class Session(nd.LibraryNode):
    """A model of one node, run by onnxruntime; connectors are called as its operands and results are."""

    implementations: ClassVar[dict[str, type]] = {"onnxruntime": ExpandSession}
    default_implementation: ClassVar[str] = "onnxruntime"

    text = properties.Property(dtype=str, default="", desc="The model, as sdgrad.onnx_ops.session.described has it")

    def __init__(self, name: str = "session", text: str = "") -> None:
        takes, gives = session.names_of(text) if text else ([], [])
        super().__init__(name, inputs=set(takes), outputs=set(gives))
        self.text = text


def drawn(b: Builder, op: Operation, kind: str, operands: Mapping[str, Tensor], **attributes: Any) -> Tensor:
    """Return the first result of another operator, run by onnxruntime: random numbers without derivative.

    :raises Declined: sizes are not known yet.
    """
    if not all(isinstance(n, int) for x in operands.values() for n in x.shape):
        raise Declined("random numbers of an open number")
    given = {n: v for n, v in attributes.items() if v is not None}
    node = onnx.helper.make_node(kind, list(operands), ["drawn"], f"{op.node.name}_{op.node.output[0]}", **given)
    types = {n: (x.shape, x.dtype) for n, x in operands.items()}
    model, found = session.one_node(Operation(node, {"": DRAWS_SINCE}), types, {})
    ((name, shape, dtype),) = found
    return b.call(Session("random_numbers", session.described(model, types, found)), operands, name, shape, dtype)
