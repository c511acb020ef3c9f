"""Build a graph of ONNX operators for what PyTorch computes, with casts and constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import sympy
import torch

from sdgrad.onnx_ops.fold import OWN
from sdgrad.program.names import Names
from sdgrad.record.elements import Dim, product

OPSET = 23


class Unsupported(Exception):
    """A rule does not cover an operation; the message says what of it."""


DTYPES: dict[torch.dtype, np.dtype] = {
    torch.float16: np.dtype(np.float16),
    torch.float32: np.dtype(np.float32),
    torch.float64: np.dtype(np.float64),
    torch.int8: np.dtype(np.int8),
    torch.int16: np.dtype(np.int16),
    torch.int32: np.dtype(np.int32),
    torch.int64: np.dtype(np.int64),
    torch.uint8: np.dtype(np.uint8),
    torch.bool: np.dtype(np.bool_),
}
TENSOR_TYPES = {numpy: dtype for dtype, numpy in DTYPES.items()}


def numbers(shape: Sequence[Dim]) -> tuple[int, ...]:
    """Sizes of an operation that needs to know them.

    :raises Unsupported: some are open.
    """
    found = tuple(n for n in shape if isinstance(n, int))
    if len(found) < len(shape):
        raise Unsupported("dimensions that are open; leave them out of dynamic_shapes")
    return found


@dataclass(frozen=True)
class Value:
    """A tensor of the graph. Shape and dtype are known of what PyTorch computes, and of casts and constants of it."""

    name: str
    extents: tuple[Dim, ...] | None = None
    kind: torch.dtype | None = None

    @property
    def shape(self) -> tuple[Dim, ...]:
        assert self.extents is not None, f"the shape of {self.name} is not known"
        return self.extents

    @property
    def dtype(self) -> torch.dtype:
        assert self.kind is not None, f"the type of {self.name} is not known"
        return self.kind

    @property
    def numbers(self) -> tuple[int, ...]:
        """The shape of a tensor without open dimensions.

        :raises Unsupported: it has some.
        """
        return numbers(self.shape)

    @property
    def size(self) -> Dim:
        """The number of elements."""
        return product(self.shape)

    @property
    def rank(self) -> int:
        return len(self.shape)

    def axis(self, dim: int) -> int:
        """A dimension counted from the front."""
        return dim % max(self.rank, 1)


@dataclass(frozen=True)
class Type:
    """What an operation's result is, or the results of one with several."""

    shape: tuple[Dim, ...]
    dtype: torch.dtype

    @property
    def numbers(self) -> tuple[int, ...]:
        """The shape, where it has no open dimensions."""
        return numbers(self.shape)


@dataclass
class Graph:
    """Nodes in order, and the constants they use."""

    names: Names = field(default_factory=lambda: Names(()))
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: dict[str, onnx.TensorProto] = field(default_factory=dict)
    label: str = ""
    line: str = ""  # of the module, where the next nodes come from
    _known: dict[Any, Value] = field(default_factory=dict)

    def op(
        self, kind: str, *inputs: Value | None, domain: str = "", like: Value | None = None, **attributes: Any
    ) -> Value:
        """A node with one result, of the type of ``like``."""
        (found,) = self.ops(kind, *inputs, domain=domain, **attributes)
        return found if like is None else Value(found.name, like.shape, like.dtype)

    def ops(
        self, kind: str, *inputs: Value | None, outputs: int = 1, domain: str = "", **attributes: Any
    ) -> tuple[Value, ...]:
        """A node; attributes that are None are left out."""
        made = [self.names.fresh(kind.lower()) for _ in range(outputs)]
        given = {k: v for k, v in attributes.items() if v is not None}
        taken = ["" if x is None else x.name for x in inputs]
        while taken and not taken[-1]:
            taken.pop()
        label, line = self.label or made[0], self.line
        self.nodes.append(onnx.helper.make_node(kind, taken, made, label, domain=domain, doc_string=line, **given))
        return tuple(Value(n) for n in made)

    def constant(self, content: Any, dtype: torch.dtype | None = None) -> Value:
        """A tensor of known content."""
        array = np.asarray(content, DTYPES[dtype] if dtype is not None else None)
        key = (array.tobytes(), array.shape, array.dtype)
        if key not in self._known:
            name = self.names.fresh("constant")
            self.constants[name] = onnx.numpy_helper.from_array(array, name)
            kind = TENSOR_TYPES.get(array.dtype)
            self._known[key] = Value(name, array.shape, kind)
        return self._known[key]

    def integers(self, values: Sequence[Dim]) -> Value:
        """A tensor of sizes or positions."""
        known = [n for n in values if isinstance(n, (int, np.integer))]
        if len(known) == len(values):
            return self.constant(np.array(known, np.int64))
        key = tuple(map(str, values))
        if key not in self._known:
            made = self.op("Extents", domain=OWN, extents=list(key))
            self._known[key] = Value(made.name, (len(key),), torch.int64)
        return self._known[key]

    def positions(self, count: Dim) -> Value:
        """``0, 1, ..`` below a size."""
        if isinstance(count, int):
            return self.constant(np.arange(count), torch.int64)
        made = self.op("Positions", domain=OWN, extent=str(count))
        return Value(made.name, (count,), torch.int64)

    def cast(self, x: Value, dtype: torch.dtype) -> Value:
        """The value in another type."""
        if x.kind == dtype:
            return x
        to = onnx.helper.np_dtype_to_tensor_dtype(DTYPES[dtype])
        return Value(self.op("Cast", x, to=to).name, x.extents, dtype)

    def operand(self, x: Value | float | int | bool | sympy.Expr, dtype: torch.dtype) -> Value:
        """A tensor or a number, in a type; a number may be made of open dimensions."""
        if isinstance(x, sympy.Expr):
            x = self.reshape(self.integers([x]), ())
        return self.cast(x, dtype) if isinstance(x, Value) else self.constant(x, dtype)

    def reshape(self, x: Value, shape: Sequence[Dim]) -> Value:
        target = tuple(shape)
        if x.extents == target:
            return x
        return Value(self.op("Reshape", x, self.integers(target), allowzero=1).name, target, x.kind)

    def transpose(self, x: Value, order: Sequence[int]) -> Value:
        return self.op("Transpose", x, perm=list(order)) if list(order) != sorted(order) else x

    def unsqueeze(self, x: Value, *axes: int) -> Value:
        return self.op("Unsqueeze", x, self.integers(axes))

    def reduce(self, kind: str, x: Value, axes: Sequence[int] | None, keep: bool) -> Value:
        """``ReduceSum`` and others; over all axes where none is given."""
        chosen = [] if axes is None else [x.axis(a) for a in axes]
        if x.extents == ():
            return x
        return self.op(kind, x, self.integers(chosen) if chosen else None, keepdims=int(keep))

    def slice(self, x: Value, axis: int, start: Dim, stop: Dim, step: int = 1) -> Value:
        at = (self.integers([n]) for n in (start, stop, axis, step))
        return self.op("Slice", x, *at)
