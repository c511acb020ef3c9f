"""Bring a model to double precision, so that finite differences mean something."""

from __future__ import annotations

import copy

import numpy as np
import onnx

T = onnx.TensorProto
REAL = {T.FLOAT, T.DOUBLE, T.FLOAT16, T.BFLOAT16}
TYPES = ("to", "dtype", "softmax_precision", "stash_type")  # attributes that name a type


def in_double(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a copy in which inputs, constants and casts to real numbers are double."""
    wide = copy.deepcopy(model)
    _widen(wide.graph)
    return wide


def _widen(graph: onnx.GraphProto) -> None:
    """Bring the tensors and types of a graph to double precision, in place."""
    for value in [*graph.input, *graph.output, *graph.value_info]:
        if value.type.HasField("tensor_type") and value.type.tensor_type.elem_type in REAL:
            value.type.tensor_type.elem_type = T.DOUBLE
    for tensor in graph.initializer:
        _widen_tensor(tensor)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                _widen_tensor(attribute.t)
            elif attribute.type == onnx.AttributeProto.GRAPH:
                _widen(attribute.g)
            elif attribute.name in TYPES and attribute.i in REAL:
                attribute.i = T.DOUBLE


def _widen_tensor(tensor: onnx.TensorProto) -> None:
    if tensor.data_type in REAL and tensor.data_location != T.EXTERNAL:
        array = onnx.numpy_helper.to_array(tensor).astype(np.float64)
        tensor.CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))
