"""Fold operators of known operands while the model is read, by ONNX's reference implementation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from sdgrad.onnx_ops.registry import Operation
from sdgrad.record.elements import dim, divided, product
from sdgrad.record.tensors import Tensor
from sdgrad.symbolic.expr import to_expr

RANDOM = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli"}
RANDOM |= {"Dropout"}
OWN, EXTENTS = "sdgrad", "Extents"
"""The operator by which a model says what shapes are, where they depend on open dimensions."""
BY_SHAPE = {"Shape", "Size"}
"""Operators whose result follows from the shape of the operand."""


def folded(op: Operation, inputs: Sequence[Tensor | None]) -> list[np.ndarray] | None:
    """Return the results if nothing that they depend on is open; else None."""
    if (op.domain, op.kind) == (OWN, EXTENTS):
        return [open_extents(op)]
    if op.domain or op.kind in RANDOM or any(a.type == onnx.AttributeProto.GRAPH for a in op.node.attribute):
        return None
    if op.kind in BY_SHAPE and inputs[0] is not None:
        arrays = _by_shape(inputs[0])
        if arrays is None:
            return with_open(op, [inputs[0].shape])
    elif all(x is None or x.known is not None for x in inputs):
        arrays = _contents(inputs)
    else:
        return None
    return with_open(op, arrays) if any(a.dtype == object for a in arrays) else evaluate(op, arrays)


def _by_shape(x: Tensor) -> list[np.ndarray] | None:
    """Return an operand of the same shape, or of known content; None if its shape is open and its content unknown."""
    if all(isinstance(n, int) for n in x.shape):
        return [np.broadcast_to(np.zeros((), x.dtype), x.shape)]
    return [x.known] if x.known is not None else None


def _contents(inputs: Sequence[Tensor | None]) -> list[np.ndarray]:
    """Return the contents of the operands that are given."""
    return [x.known for x in inputs if x is not None and x.known is not None]


OPEN: dict[str, Callable[..., Any]] = {
    "Shape": lambda shape, start=0, end=None: shape[start:end],
    "Size": lambda shape: product(shape),
    "Identity": lambda x: x,
    "Cast": lambda x, to: x if to == onnx.TensorProto.INT64 else None,
    "Concat": lambda *xs, axis: np.concatenate(xs, axis),
    "Gather": lambda x, at, axis=0: np.take(x, at, axis),
    "Squeeze": lambda x, axes=None: np.squeeze(x, None if axes is None else tuple(axes)),
    "Unsqueeze": lambda x, axes: np.expand_dims(x, tuple(axes)),
    "Reshape": lambda x, shape, allowzero=0: np.reshape(x, shape),
    "Slice": lambda x, first, last, axes=(0,), steps=(1,): x[slice(int(first[0]), int(last[0]), int(steps[0]))],
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": np.vectorize(divided, otypes=[object]),
    "ReduceProd": lambda x, axes=None, keepdims=1: np.prod(x, keepdims=bool(keepdims)),
}
"""What models compute shapes with, on expressions over open dimensions: sizes, which are not negative."""


def with_open(op: Operation, arrays: Sequence[Any]) -> list[np.ndarray] | None:
    """Return the result of an operator on sizes; None if it is not known beforehand."""
    rule = OPEN.get(op.kind)
    if rule is None or any(np.ndim(a) > 1 for a in arrays):
        return None
    found = rule(*(np.array(a, object) if isinstance(a, tuple) else a for a in arrays), **op.attributes)
    if found is None:
        return None
    array = np.asarray(found, object)
    flat = [dim(n) for n in array.ravel()]
    closed = all(isinstance(n, int) for n in flat)
    return [np.array(flat, np.int64 if closed else object).reshape(array.shape)]


def open_extents(op: Operation) -> np.ndarray:
    """Return the node's content: numbers, and expressions over the symbols of open dimensions."""
    return np.array([dim(to_expr(text)) for text in op.attributes["extents"]], object)


def evaluate(op: Operation, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Run one operator."""
    given = iter(range(len(arrays)))
    node = onnx.NodeProto()
    node.CopyFrom(op.node)
    del node.input[:], node.output[:]
    node.input.extend(f"x{next(given)}" if name else "" for name in op.node.input)
    node.output.extend(f"y{k}" if name else "" for k, name in enumerate(op.node.output))

    def described(name: str, array: np.ndarray | None) -> onnx.ValueInfoProto:
        kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype) if array is not None else onnx.TensorProto.UNDEFINED
        return onnx.helper.make_tensor_value_info(name, kind, None)

    graph = onnx.helper.make_graph(
        [node],
        "one",
        [described(f"x{k}", a) for k, a in enumerate(arrays)],
        [described(n, None) for n in node.output if n],
    )
    opsets = [onnx.helper.make_opsetid(d, v) for d, v in op.opsets.items()]
    model = onnx.helper.make_model(graph, opset_imports=opsets)
    with np.errstate(all="ignore"):
        found = ReferenceEvaluator(model).run(None, {f"x{k}": a for k, a in enumerate(arrays)})
    results = iter(found)
    return [np.asarray(next(results)) if name else np.zeros(0) for name in op.node.output]
