"""Find out which inputs of a model index axes, so that a call can check them: runtimes raise an error, too.

Followed are inputs that operators use as they are, reshaped, joined or converted. Operators in the bodies of ``If``,
``Loop`` and ``Scan``, which may not run, are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import helper

from sdgrad.program.tree import Source
from sdgrad.record.elements import Dim
from sdgrad.record.index_limits import IndexLimit

MOVING = {"Cast", "Reshape", "Identity", "Unsqueeze", "Squeeze", "Transpose", "Flatten", "Expand", "Tile"}
"""Operators whose result holds every element of the first operand, and no others."""
ALONG = {"Gather", "GatherElements", "ScatterElements", "Scatter"}
DEEP = {"GatherND", "ScatterND"}


Held = frozenset[tuple[str, "int | None"]]
"""Inputs, each with a value that is left out: a class that a loss ignores."""


@dataclass
class IndexInputs:
    """Follow integer inputs through a model.

    :param arguments: what the inputs are called in the program.
    :param known: tensors of known content.
    :param held: the inputs that a tensor is made of.
    :param columns: the same of tensors that are joined of one index for each axis.
    :param equal: of conditions: the input that is compared with a number, and the number.
    """

    arguments: Mapping[str, str]
    known: Mapping[str, np.ndarray]
    held: dict[str, Held] = field(default_factory=dict)
    columns: dict[str, list[Held]] = field(default_factory=dict)
    equal: dict[str, tuple[str, int]] = field(default_factory=dict)
    limits: list[IndexLimit] = field(default_factory=list)

    def enters(self, name: str) -> None:
        """Note an integer input."""
        self.held[name] = frozenset({(name, None)})

    def node(self, node: onnx.NodeProto, shape_of: Callable[[str], Sequence[Dim] | None]) -> None:
        """Follow an operator.

        :param shape_of: gives the shape of a tensor that is there by now.
        """
        kind, given = node.op_type, [*node.input]
        if kind in MOVING or kind == "Not":
            self.held[node.output[0]] = self.held.get(given[0], frozenset())
            if given[0] in self.equal:
                self.equal[node.output[0]] = self.equal[given[0]]
        elif kind == "Equal":
            self._compared(node)
        elif kind == "Where":
            self._chosen(node)
        elif kind == "Concat":
            parts = [self.held.get(n, frozenset()) for n in given]
            self.held[node.output[0]] = frozenset().union(*parts)
            if all(tuple(shape_of(n) or ())[-1:] == (1,) for n in given):
                self.columns[node.output[0]] = parts
        elif kind in ALONG | DEEP and len(given) > 1 and (shape := shape_of(given[0])):
            for inputs, axis in self._indexed(kind, node, given[1], len(shape)):
                self._limit(inputs, shape[axis], axis)

    def _compared(self, node: onnx.NodeProto) -> None:
        """Note a condition that an input has some value."""
        for tensor, other in (node.input, [*node.input][::-1]):
            content, inputs = self.known.get(other), self.held.get(tensor, frozenset())
            if content is not None and content.size == 1 and content.dtype.kind in "iu" and len(inputs) == 1:
                self.equal[node.output[0]] = (next(iter(inputs))[0], int(content.flat[0]))

    def _chosen(self, node: onnx.NodeProto) -> None:
        """Note that something else stands for one value of an input."""
        condition, *arms = node.input
        inputs = frozenset().union(*(self.held.get(n, frozenset()) for n in arms))
        others = [self.known.get(n) for n in arms if not self.held.get(n)]
        if condition in self.equal and len(inputs) == 1 and all(v is not None and not v.any() for v in others):
            name, left_out = self.equal[condition]
            self.held[node.output[0]] = frozenset((n, left_out) for n, _ in inputs if n == name)

    def _indexed(self, kind: str, node: onnx.NodeProto, indices: str, rank: int) -> Iterator[tuple[Held, int]]:
        """Yield inputs that index an axis of the first operand."""
        numbers = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        if kind in ALONG:
            yield self.held.get(indices, frozenset()), numbers.get("axis", 0) % rank
            return
        first = numbers.get("batch_dims", 0)
        for k, inputs in enumerate(self.columns.get(indices, ())):
            yield inputs, first + k

    def _limit(self, inputs: Held, extent: Dim, axis: int) -> None:
        for name, left_out in inputs if isinstance(extent, int) else ():
            self.limits.append(IndexLimit(self.arguments[name], extent, axis, Source(), left_out=left_out))
