"""Read a model from a file: check it, inline functions, tell weights from constants."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import inliner

from sdgrad.errors import InvalidModel
from sdgrad.onnx.bodies import with_bodies
from sdgrad.onnx.soundness import check_depth, check_functions, check_names, check_operators, check_versions
from sdgrad.onnx_ops.registry import plain_domain

SHAPING = {
    ("Resize", 1), ("Resize", 2), ("Upsample", 1), ("Range", 0), ("Range", 1), ("Range", 2), ("Dropout", 1),
}  # fmt: skip
"""Floating-point operands that decide shapes: their content is part of the program, and no weight."""
UNREADABLE = (ValueError, TypeError, KeyError, IndexError, OverflowError, MemoryError)
"""What ``onnx`` and NumPy raise at tensors whose description does not fit their data."""


@dataclass(frozen=True, eq=False)
class Reading:
    """Hold what a model's file says."""

    proto: onnx.ModelProto
    folder: str
    weights: Mapping[str, np.ndarray]  # floating-point initializers
    constants: Mapping[str, np.ndarray]  # all others
    opsets: Mapping[str, int] = field(default_factory=dict)

    @property
    def graph(self) -> onnx.GraphProto:
        return self.proto.graph

    @property
    def inputs(self) -> list[onnx.ValueInfoProto]:
        """Return the names of what a caller gives."""
        held = {*self.weights, *self.constants}
        return [i for i in self.graph.input if i.name not in held]

    @property
    def outputs(self) -> list[str]:
        return [o.name for o in self.graph.output]


def read(model: str | os.PathLike | bytes | onnx.ModelProto) -> Reading:
    """Read a model from a path, from the content of a file, or from ``onnx``'s object.

    :raises InvalidModel: it is corrupt, or names operators or operator sets that the installed ``onnx`` does not know.
    """
    folder = ""
    if isinstance(model, (str, os.PathLike)):
        path = Path(model)
        folder = str(path.parent)
        if not path.is_file():
            raise InvalidModel(f"there is no file {path}")
        model = path.read_bytes()
        label = str(path)
    else:
        label = "the model"
    if isinstance(model, bytes):
        proto = onnx.ModelProto()
        try:
            proto.ParseFromString(model)
        except DecodeError as error:
            raise InvalidModel(f"{label} is not an ONNX model: {error}") from None
    else:
        proto = model
    if not proto.HasField("graph") or not proto.opset_import and not proto.graph.node:
        raise InvalidModel(f"{label} is not an ONNX model: it has no graph")
    check_depth(proto, label)
    if proto.functions:
        proto = inlined(proto, label)
    check_operators(proto, label)
    check_names(proto.graph, label)
    proto = with_bodies(proto, label)
    opsets = {plain_domain(o.domain): o.version for o in proto.opset_import}
    opsets.setdefault("", 1)
    weights, constants = initializers(proto.graph, folder, label)
    return Reading(proto, folder, weights, constants, opsets)


def inlined(proto: onnx.ModelProto, label: str) -> onnx.ModelProto:
    """Return the model with its functions written out.

    :raises InvalidModel: an operator in one of them is another one in the model's version of the operator set.
    """
    check_functions(proto, label)
    result = onnx.ModelProto()
    result.CopyFrom(proto)
    versions = {plain_domain(o.domain): o.version for o in result.opset_import}
    for function in result.functions:
        check_versions(function, versions, label)
        for own in function.opset_import:  # what is of another version stays a call
            own.version = versions.get(plain_domain(own.domain), own.version)
    return inliner.inline_local_functions(result)


def initializers(
    graph: onnx.GraphProto, folder: str, label: str
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return weights, and constants that are no weights."""
    shaping = {n for node in graph.node for k, n in enumerate(node.input) if (node.op_type, k) in SHAPING}
    data = {n for node in graph.node for k, n in enumerate(node.input) if (node.op_type, k) not in SHAPING}
    weights: dict[str, np.ndarray] = {}
    constants: dict[str, np.ndarray] = {}
    for tensor in graph.initializer:
        array = content(tensor, folder, label)
        weight = array.dtype.kind == "f" and (tensor.name in data or tensor.name not in shaping)
        (weights if weight else constants)[tensor.name] = array
    for sparse in graph.sparse_initializer:
        try:
            constants[sparse.values.name] = dense(sparse)
        except UNREADABLE as error:
            raise _unreadable(sparse.values.name, label, error) from None
    return weights, constants


def content(tensor: onnx.TensorProto, folder: str, label: str) -> np.ndarray:
    """Return an initializer's numbers; those in a file of their own stay there until they are read."""
    if any(n < 0 for n in tensor.dims):
        raise _unreadable(tensor.name, label, f"its shape is {tuple(tensor.dims)}")
    if tensor.data_location != onnx.TensorProto.EXTERNAL:
        try:
            return onnx.numpy_helper.to_array(tensor)
        except UNREADABLE as error:
            raise _unreadable(tensor.name, label, error) from None
    entries = {e.key: e.value for e in tensor.external_data}
    location = PurePosixPath(entries.get("location", ""))
    if location.is_absolute() or ".." in location.parts:
        raise InvalidModel(f"{label}: the data of '{tensor.name}' should be in {location}, outside of its folder")
    path = Path(folder, location)
    if not path.is_file():
        raise InvalidModel(f"{label}: the data of '{tensor.name}' should be in {path}, which does not exist")
    try:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
        offset, shape = int(entries.get("offset", 0)), tuple(tensor.dims)
    except UNREADABLE as error:
        raise _unreadable(tensor.name, label, error) from None
    if offset < 0:
        raise _unreadable(tensor.name, label, f"its data begin at byte {offset}")
    needed = offset + math.prod(shape) * dtype.itemsize
    if path.stat().st_size < needed:
        raise InvalidModel(
            f"{label}: the data of '{tensor.name}' ends at byte {needed} of {path}, which has {path.stat().st_size}"
        )
    return np.memmap(path, dtype, "c", offset, shape)


def _unreadable(name: str, label: str, why: object) -> InvalidModel:
    return InvalidModel(f"{label}: the initializer '{name}' cannot be read: {why}")


def dense(sparse: onnx.SparseTensorProto) -> np.ndarray:
    """Return a sparse initializer as a dense array."""
    values, indices = onnx.numpy_helper.to_array(sparse.values), onnx.numpy_helper.to_array(sparse.indices)
    result = np.zeros(tuple(sparse.dims), values.dtype)
    if indices.ndim == 1:
        result.flat[indices] = values
    else:
        result[tuple(indices.T)] = values
    return result
