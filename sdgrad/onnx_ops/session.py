"""Run operators by onnxruntime from inside a compiled program: one session for each node.

The generated code calls :func:`run` with the addresses of the operands. The node, with types and shapes, is part of the
code, so that a compiled program needs nothing but this module.
"""

from __future__ import annotations

import base64
import functools
import json
from collections.abc import Mapping, Sequence

import numpy as np
import onnx
import onnxruntime
from onnx import shape_inference

from sdgrad.onnx_ops.registry import Operation
from sdgrad.record.elements import Declined
from sdgrad.runtime.compile.python_call import array_at, failed

NEWEST_IR = 10  # of the file format: one that every onnxruntime reads

Types = Mapping[str, tuple[tuple[int, ...], np.dtype]]  # of operands, by their names in the model
Results = Sequence[tuple[str, tuple[int, ...], np.dtype]]
Described = Sequence[tuple[str, tuple[int, ...], str]]  # name in the model, shape, dtype


def described(model: onnx.ModelProto, types: Types, results: Results) -> str:
    """Return a node for :func:`run` as text without quotes: what :func:`one_node` took and found."""
    takes = [(n, s, str(d)) for n, (s, d) in types.items()]
    parts = [base64.b64encode(model.SerializeToString()).decode(), takes, [(n, s, str(d)) for n, s, d in results]]
    return base64.b64encode(json.dumps(parts).encode()).decode()


def names_of(text: str) -> tuple[list[str], list[str]]:
    """Return the names of a node's operands and results, in order."""
    _, takes, gives = _parsed(text)
    return [n for n, _, _ in takes], [n for n, _, _ in gives]


def run(text: str, inputs: Sequence[int], outputs: Sequence[int]) -> bool:
    """Run a node on arrays at these addresses."""
    _, takes, gives = _parsed(text)
    targets = [array_at(address, shape, dtype) for address, (_, shape, dtype) in zip(outputs, gives, strict=True)]
    try:
        session = _session(text)
        feed = {n: array_at(a, s, d) for a, (n, s, d) in zip(inputs, takes, strict=True)}
        for target, value in zip(targets, session.run([n for n, _, _ in gives], feed), strict=True):
            target[...] = value
    except Exception as error:  # noqa: BLE001 (it must not pass through C)
        failed(error, targets)
    return True


@functools.lru_cache(maxsize=1024)
def _parsed(text: str) -> tuple[str, Described, Described]:
    model, takes, gives = json.loads(base64.b64decode(text))
    return model, takes, gives


@functools.lru_cache(maxsize=1024)
def _session(text: str) -> onnxruntime.InferenceSession:
    model, _, _ = _parsed(text)
    return session_of(onnx.ModelProto.FromString(base64.b64decode(model)))


def session_of(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    """Return a quiet session on the CPU, of any file version."""
    if model.ir_version > NEWEST_IR:
        newer, model = model, onnx.ModelProto()
        model.CopyFrom(newer)
        model.ir_version = NEWEST_IR
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])


def one_node(op: Operation, types: Types, known: Mapping[str, np.ndarray]) -> tuple[onnx.ModelProto, Results]:
    """Return a model of one node, and its results: names, shapes, dtypes.

    :param types: operands that come in, by their names in the model.
    :param known: operands of fixed content.
    :raises Declined: the shape of a result depends on numbers.
    """
    inputs = [
        onnx.helper.make_tensor_value_info(n, onnx.helper.np_dtype_to_tensor_dtype(d), s) for n, (s, d) in types.items()
    ]
    fixed = [onnx.numpy_helper.from_array(a, n) for n, a in known.items() if n not in types]
    outputs = [onnx.ValueInfoProto(name=n) for n in op.node.output if n]
    graph = onnx.helper.make_graph([op.node], "one", inputs, outputs, fixed)
    opsets = [onnx.helper.make_opsetid(d, v) for d, v in op.opsets.items()]
    model = onnx.helper.make_model(graph, opset_imports=opsets)
    inferred = shape_inference.infer_shapes(model, data_prop=True)
    found = []
    for value in inferred.graph.output:
        kind = value.type.tensor_type
        dims = [d.dim_value for d in kind.shape.dim if d.HasField("dim_value")]
        if not kind.elem_type or not kind.HasField("shape") or len(dims) != len(kind.shape.dim):
            raise Declined("the shape of its result depends on numbers")
        found.append((value.name, tuple(dims), onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)))
    return inferred, found
