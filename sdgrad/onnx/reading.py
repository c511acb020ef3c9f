"""Read a model from a file: check it, inline functions, tell weights from constants."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import defs, inliner

from sdgrad.errors import InvalidModel
from sdgrad.onnx.bodies import with_bodies
from sdgrad.onnx_ops.registry import plain_domain

SHAPING = {
    ("Resize", 1), ("Resize", 2), ("Upsample", 1), ("Range", 0), ("Range", 1), ("Range", 2), ("Dropout", 1),
}  # fmt: skip
"""Floating-point operands that decide shapes: their content is part of the program, and no weight."""


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
    check_operators(proto, label)
    if proto.functions:
        proto = inliner.inline_local_functions(proto)
    proto = with_bodies(proto, label)
    opsets = {plain_domain(o.domain): o.version for o in proto.opset_import}
    opsets.setdefault("", 1)
    weights, constants = initializers(proto.graph, folder, label)
    return Reading(proto, folder, weights, constants, opsets)


def check_operators(proto: onnx.ModelProto, label: str) -> None:
    """Raise an error unless every node is an operator of a known set, or one of the model's functions."""
    own = {(plain_domain(f.domain), f.name) for f in proto.functions}
    opsets = {plain_domain(o.domain): o.version for o in proto.opset_import}
    newest = defs.onnx_opset_version()
    if opsets.get("", 1) > newest:
        raise InvalidModel(
            f"{label} uses operator set {opsets['']}; the installed onnx {onnx.__version__} knows them up to {newest}"
        )
    problems = []
    for node in proto.graph.node:
        domain = plain_domain(node.domain)
        if (domain, node.op_type) in own:
            continue
        if domain not in opsets and domain != "":
            problems.append(f"{node.op_type} '{node.name}': the model does not import the domain '{domain}'")
        elif not defs.has(node.op_type, opsets.get(domain, 1), domain):
            where = f"version {opsets.get(domain, 1)} of the operator set '{domain or 'ai.onnx'}'"
            problems.append(f"{node.op_type} '{node.name}': there is no such operator in {where}")
    if problems:
        raise InvalidModel(f"{label} cannot be read:\n  " + "\n  ".join(dict.fromkeys(problems)))


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
        constants[sparse.values.name] = dense(sparse)
    return weights, constants


def content(tensor: onnx.TensorProto, folder: str, label: str) -> np.ndarray:
    """Return an initializer's numbers; those in a file of their own stay there until they are read."""
    if tensor.data_location != onnx.TensorProto.EXTERNAL:
        try:
            return onnx.numpy_helper.to_array(tensor)
        except (ValueError, TypeError) as error:
            raise InvalidModel(f"{label}: the initializer '{tensor.name}' cannot be read: {error}") from None
    entries = {e.key: e.value for e in tensor.external_data}
    path = Path(folder, entries.get("location", ""))
    if not path.is_file():
        raise InvalidModel(f"{label}: the data of '{tensor.name}' should be in {path}, which does not exist")
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
    offset, shape = int(entries.get("offset", 0)), tuple(tensor.dims)
    needed = offset + int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if path.stat().st_size < needed:
        raise InvalidModel(
            f"{label}: the data of '{tensor.name}' ends at byte {needed} of {path}, which has {path.stat().st_size}"
        )
    return np.memmap(path, dtype, "c", offset, shape)


def dense(sparse: onnx.SparseTensorProto) -> np.ndarray:
    """Return a sparse initializer as a dense array."""
    values, indices = onnx.numpy_helper.to_array(sparse.values), onnx.numpy_helper.to_array(sparse.indices)
    result = np.zeros(tuple(sparse.dims), values.dtype)
    if indices.ndim == 1:
        result.flat[indices] = values
    else:
        result[tuple(indices.T)] = values
    return result
