"""Register how operators are lowered: each by a Python function of tensors, found by domain, name and version."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import onnx
from onnx import defs

from sdgrad.program.tree import Source
from sdgrad.record.builder import Builder
from sdgrad.record.elements import Declined, Dim, Unknown, dim
from sdgrad.record.tensors import Tensor

F = TypeVar("F", "Lowering", "Adjoint")
ONNX = ""
"""The standard's own domain, also spelled ``ai.onnx``."""
ML = "ai.onnx.ml"
"""The standard's domain of operators of classical machine learning."""


@dataclass(frozen=True)
class Operation:
    """Show one node of a model to lowerings.

    :param opsets: the version of each operator set that the model imports.
    :param functions: the model's own functions, by domain and name.
    :param outside: what its subgraphs see of the graph around it.
    :param record_graph: records one of its subgraphs: ``record_graph(builder, graph, operation, inputs)``.
    """

    node: onnx.NodeProto
    opsets: Mapping[str, int]
    functions: Mapping[tuple[str, str], onnx.FunctionProto] = field(default_factory=dict)
    outside: Mapping[str, Tensor] = field(default_factory=dict)
    record_graph: Callable[..., list[Tensor | None]] | None = None

    @property
    def kind(self) -> str:
        return self.node.op_type

    @property
    def domain(self) -> str:
        return plain_domain(self.node.domain)

    @property
    def version(self) -> int:
        return self.opsets[self.domain]

    @property
    def schema(self) -> defs.OpSchema:
        return defs.get_schema(self.kind, self.version, self.domain)

    @property
    def source(self) -> Source:
        """Return where the node comes from: its name, and the line in its ``doc_string``, if it is one."""
        file, _, line = self.node.doc_string.rpartition(":")
        label = self.node.name or self.kind
        return Source(file, int(line), label) if file and line.isdigit() else Source(label=label)

    @property
    def attributes(self) -> dict[str, Any]:
        return {a.name: attribute_value(a) for a in self.node.attribute}

    @property
    def outputs(self) -> tuple[bool, ...]:
        """Return the names of the results; blank if one is not asked for."""
        return tuple(bool(name) for name in self.node.output)


def plain_domain(domain: str) -> str:
    """Return the name of an operator set; the standard's own has two."""
    return ONNX if domain == "ai.onnx" else domain


@dataclass(frozen=True)
class Lowering:
    """A function ``(builder, *inputs, *, attributes...)``; its keyword-only parameters are the attributes it covers.

    ``operation`` as a keyword-only parameter receives the :class:`Operation`.
    """

    since: int
    function: Callable[..., Any]

    def __call__(self, b: Builder, op: Operation, inputs: Sequence[Tensor | None]) -> list[Tensor | None]:
        parameters = inspect.signature(self.function).parameters.values()
        positional = sum(p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD for p in parameters) - 1
        padded = [*inputs, *[None] * (positional - len(inputs))]
        results = _several(self.function(b, *padded, **covered(self.function, op)))
        if any(op.outputs[len(results) :]):
            raise Declined(f"its lowering has no output {len(results)}")
        return results


def covered(function: Callable[..., Any], op: Operation) -> dict[str, Any]:
    """Return the keyword arguments of a function about an operator: its attributes.

    :raises Declined: an attribute has a value, and the function does not ask for it.
    """
    parameters = inspect.signature(function).parameters.values()
    known = {p.name: p for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}
    given = {k.lower(): v for k, v in op.attributes.items()}
    defaults = {k.lower(): v for k, v in attribute_defaults(op.schema).items()}
    for name, value in given.items():
        if name not in known and value != defaults.get(name):
            raise Declined(f"attribute {name}={value!r}")
    values = {k: v for k, v in {**defaults, **given}.items() if k in known}
    if "operation" in known:
        values["operation"] = op
    missing = [n for n, p in known.items() if n not in values and p.default is inspect.Parameter.empty]
    if missing:
        raise Declined(f"no attribute {', '.join(missing)}")
    return values


def _several(found: Any) -> list[Tensor | None]:
    return list(found) if isinstance(found, (tuple, list)) else [found]


@dataclass(frozen=True)
class Reversed:
    """Show the adjoint of an operator its operands, results and cotangents.

    :param inputs: operands, None where one is left out.
    :param results: all that the lowering returned, also what the model does not ask for.
    :param cotangents: of the results; None of integers and of what is not asked for.
    """

    inputs: tuple[Tensor | None, ...]
    results: tuple[Tensor | None, ...]
    cotangents: tuple[Tensor | None, ...]

    @property
    def seed(self) -> Tensor:
        """Return the cotangent of the first result."""
        if self.cotangents[0] is None:
            raise Declined("no cotangent")
        return self.cotangents[0]

    def has(self, k: int) -> bool:
        """True if an operand that may be left out is given."""
        return k < len(self.inputs) and self.inputs[k] is not None

    def operand(self, k: int) -> Tensor:
        found = self.inputs[k]
        assert found is not None
        return found

    def result(self, k: int) -> Tensor:
        found = self.results[k]
        assert found is not None
        return found


@dataclass(frozen=True)
class Adjoint:
    """A function ``(builder, reversed, *, attributes...)`` that returns the gradients of the inputs, None of integers.

    It must be linear in the cotangents.

    :param copies: whether it is worth copies of operands that are parts or transposes of arrays.
    """

    since: int
    function: Callable[..., Any]
    copies: bool = True

    def __call__(self, b: Builder, op: Operation, reversal: Reversed) -> list[Tensor | None]:
        return _several(self.function(b, reversal, **covered(self.function, op)))


LOWERINGS: dict[tuple[str, str], list[Lowering]] = {}
ADJOINTS: dict[tuple[str, str], list[Adjoint]] = {}


def lowering(*names: str, since: int = 1, domain: str = ONNX) -> Callable[[Callable], Callable]:
    """Register a function as the lowering of operators from a version on."""

    def register(function: Callable) -> Callable:
        for name in names:
            LOWERINGS.setdefault((domain, name), []).append(Lowering(since, function))
        return function

    return register


def adjoint(*names: str, since: int = 1, domain: str = ONNX, copies: bool = True) -> Callable[[Callable], Callable]:
    """Register a function as the adjoint of operators from a version on, in place of that of their lowering.

    :param copies: see :class:`Adjoint`.
    """

    def register(function: Callable) -> Callable:
        for name in names:
            ADJOINTS.setdefault((domain, name), []).append(Adjoint(since, function, copies))
        return function

    return register


def find_lowering(op: Operation) -> Lowering | None:
    """Return the newest lowering that is not newer than the operator; None if there is none."""
    return _newest(LOWERINGS.get((op.domain, op.kind), ()), op)


def find_adjoint(op: Operation) -> Adjoint | None:
    """Return the newest adjoint that is not newer than the operator; None if there is none."""
    return _newest(ADJOINTS.get((op.domain, op.kind), ()), op)


def _newest(found: Iterable[F], op: Operation) -> F | None:
    version = op.schema.since_version
    return max((x for x in found if x.since <= version), key=lambda x: x.since, default=None)


def attribute_defaults(schema: defs.OpSchema) -> dict[str, Any]:
    """Return the attributes that have a value when they are left out."""
    return {n: attribute_value(a.default_value) for n, a in schema.attributes.items() if a.default_value.type}


def attribute_value(attribute: onnx.AttributeProto) -> Any:
    """Return an attribute as a Python value: text for strings, arrays for tensors."""
    value = onnx.helper.get_attribute_value(attribute)
    if attribute.type == onnx.AttributeProto.STRING:
        return value.decode()
    if attribute.type == onnx.AttributeProto.STRINGS:
        return [v.decode() for v in value]
    if attribute.type == onnx.AttributeProto.TENSOR:
        return onnx.numpy_helper.to_array(value)
    return list(value) if attribute.type in (onnx.AttributeProto.INTS, onnx.AttributeProto.FLOATS) else value


def constant_of(tensor: Tensor | None, what: str) -> np.ndarray:
    """Return the content of an operand that decides shapes, which must be known beforehand."""
    if tensor is None:
        raise Declined(f"no {what}")
    if tensor.known is None:
        raise Unknown(tensor.container, what)
    return tensor.known


def extents(tensor: Tensor | None, what: str) -> list[Dim]:
    """Return the content of a one-dimensional operand that decides shapes; open dimensions are expressions."""
    return [dim(v) for v in np.atleast_1d(constant_of(tensor, what)).tolist()]


def integers(tensor: Tensor | None, what: str) -> list[int]:
    """Return such a content as numbers.

    :raises Declined: it depends on open dimensions.
    """
    found = extents(tensor, what)
    numbers = [v for v in found if isinstance(v, int)]
    if len(numbers) < len(found):
        raise Declined(f"{what} {tuple(map(str, found))}, which depends on open dimensions")
    return numbers
