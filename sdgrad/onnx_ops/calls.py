"""Call onnxruntime from a node of a graph, and from what a lowering records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import dace
import dace.library
import onnx
from dace import data as dt
from dace import nodes as nd
from dace import properties
from dace.transformation.transformation import ExpandTransformation

from sdgrad.onnx_ops import session
from sdgrad.onnx_ops.registry import Operation
from sdgrad.program.tree import lasting
from sdgrad.record.builder import Builder
from sdgrad.record.elements import Declined
from sdgrad.record.tensors import Tensor

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
        return calling(node.label, node.text, {n: inputs[n] for n in takes}, {n: outputs[n] for n in gives})


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


def calling(label: str, text: str, inputs: Mapping[str, dt.Data], outputs: Mapping[str, dt.Data]) -> dace.SDFG:
    """Return a graph of one tasklet; its connectors have no array's name, which C++ would confuse."""
    inner = dace.SDFG(label if label.isidentifier() else "by_onnxruntime")
    inner.append_global_code(session.DECLARED)
    state = inner.add_state("call")
    for name, desc in {**inputs, **outputs}.items():
        inner.add_datadesc(name, lasting(desc, False))
    takes = {f"address_of_{c}": dace.pointer(d.dtype) for c, d in inputs.items()}
    gives = {f"address_of_{c}": dace.pointer(d.dtype) for c, d in outputs.items()}
    code = session.CALL.format(
        ins="K" * len(takes),
        outs="K" * len(gives),
        text=f'"{text}"',
        addresses="".join(f", (unsigned long long)({c})" for c in (*takes, *gives)),
    )
    tasklet = state.add_tasklet("session", takes, gives, code, language=dace.Language.CPP)
    for name, desc in inputs.items():
        state.add_edge(state.add_read(name), None, tasklet, f"address_of_{name}", dace.Memlet.from_array(name, desc))
    for name, desc in outputs.items():
        state.add_edge(tasklet, f"address_of_{name}", state.add_write(name), None, dace.Memlet.from_array(name, desc))
    return inner


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
