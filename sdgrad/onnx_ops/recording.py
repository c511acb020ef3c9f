"""Record a node of a model as a program whose arguments are its connectors."""

from __future__ import annotations

import functools
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx
from google.protobuf import text_format
from onnx import defs

from sdgrad.onnx_ops.index_checks import CheckingBuilder
from sdgrad.onnx_ops.lower import lower
from sdgrad.onnx_ops.registry import Operation
from sdgrad.program.descriptors import lasting
from sdgrad.program.rename import renamed_program
from sdgrad.program.tree import Program
from sdgrad.record.builder import Builder
from sdgrad.record.elements import Declined, dim
from sdgrad.record.tensors import Tensor
from sdgrad.symbolic.expr import free_names as symbols_of
from sdgrad.symbolic.expr import to_expr

OUTSIDE = "outside__"
"""The connector of the number of a failed check of indices, as :class:`Checks` has it."""
Variadic = defs.OpSchema.FormalParameterOption.Variadic


Operands = Mapping[str, tuple[tuple[Any, ...], np.dtype]]


@dataclass(frozen=True)
class Recorded:
    """Hold the program of a node, and what its results are.

    :param told: what its checks of indices say, the last of which failed by :data:`OUTSIDE`.
    """

    program: Program
    results: Operands
    told: tuple[BaseException, ...] = ()


@functools.lru_cache(maxsize=4096)
def record_once(proto: str, opsets: str, known: str, operands: tuple, checked: bool) -> Recorded | Declined:
    """Return :func:`record`'s result, or why there is none; arguments are as a node holds them."""
    node = text_format.Parse(proto, onnx.NodeProto())
    given = {c: (s, np.dtype(t)) for c, s, t in operands}
    try:
        return record(node, json.loads(opsets), given, contents(known), CheckingBuilder if checked else Builder)
    except Declined as reason:
        return reason


def record(
    node: onnx.NodeProto,
    opsets: Mapping[str, int],
    operands: Operands,
    known: Mapping[str, np.ndarray],
    builder: type[Builder] = Builder,
) -> Recorded:
    """Record a node of a model as a program whose arguments are its connectors.

    :raises Declined: it has no lowering for operands like these.
    """
    op = Operation(node, opsets)
    b = builder(f"onnx_{node.op_type}".lower(), op.source)
    takes, gives = connectors(node, op.schema)
    b.names.add([c for c in (*takes, *gives) if c])
    b.names.add(symbols_of(*(n for shape, _ in operands.values() for n in shape)))
    tensors = _declared(b, takes, operands, known)
    outside = {name: tensors[c] for name, c in captures(node).items() if c in tensors}
    found = lower(b, replace(op, outside=outside), [tensors.get(c) if c else None for c in takes[: len(node.input)]])
    results: dict[str, tuple[tuple[Any, ...], np.dtype]] = {}
    renaming: dict[str, str] = {}
    for connector, tensor in zip(gives, found, strict=False):
        if connector:
            own = _own_array(b, tensor, connector, renaming)
            renaming[own.container] = connector
            results[connector] = own.shape, own.dtype
    told = tuple(b.told) if isinstance(b, CheckingBuilder) else ()
    if isinstance(b, CheckingBuilder) and b.outside is not None:
        renaming[b.outside.container] = OUTSIDE
    taken = [c for c in tensors if c in operands]
    program = renamed_program(b.program([*taken, *renaming]), renaming)
    return Recorded(_with_arguments(program, renaming), results, told)


def _declared(
    b: Builder, takes: Sequence[str], operands: Operands, known: Mapping[str, np.ndarray]
) -> dict[str, Tensor]:
    """Declare the operands of a node by connector: arguments of its program, or constants."""
    tensors: dict[str, Tensor] = {}
    for connector in dict.fromkeys(c for c in takes if c):
        content = known.get(connector)
        if connector in operands:
            shape, dtype = operands[connector]
            tensors[connector] = replace(b.declare(connector, [dim(n) for n in shape], dtype, True), known=content)
        elif content is not None:
            tensors[connector] = b.constant(content)
    return tensors


def _own_array(b: Builder, tensor: Tensor | None, connector: str, taken: Collection[str]) -> Tensor:
    """Return a result in an array of its own: a copy, unless the array may become the result itself."""
    if tensor is None:
        raise Declined(f"no output {connector}")
    if _may_become_result(b, tensor) and tensor.container not in taken:
        return tensor
    fresh = b.declare("result", tensor.shape, tensor.dtype)
    b.copy(tensor, fresh)
    return fresh


def _may_become_result(b: Builder, tensor: Tensor) -> bool:
    """True if a tensor is all of a local array that no view and no constant shares."""
    own = b.containers.get(tensor.container)
    mine = own is not None and own.transient and own.view_of is None and tensor.place is None
    viewed = any(c.view_of == tensor.container for c in b.containers.values())
    return mine and not viewed and tensor.container not in b.constants.values()


def _with_arguments(program: Program, renaming: Mapping[str, str]) -> Program:
    """Return the program with its results as arguments, in memory of the caller."""
    given = set(renaming.values())
    containers = {
        n: replace(c, desc=lasting(c.desc, False)) if n in given else c for n, c in program.containers.items()
    }
    return replace(program, containers=containers)


def written(array: np.ndarray) -> list[Any]:
    """Return the content of an operand for JSON; expressions over open dimensions as text."""
    values = array.ravel().tolist()
    return [str(array.dtype), list(array.shape), list(map(str, values)) if array.dtype == object else values]


def contents(known: str) -> dict[str, np.ndarray]:
    """Return operands of fixed content, by connector, from JSON."""
    found = {}
    for connector, (dtype, shape, values) in json.loads(known).items():
        content = [dim(to_expr(v)) for v in values] if dtype == "object" else values
        found[connector] = np.array(content, dtype=dtype).reshape(shape)
    return found


def connectors(node: onnx.NodeProto, schema: defs.OpSchema) -> tuple[list[str], list[str]]:
    """Return the connectors of a node's inputs and outputs, in order; blank if one is left out.

    Behind the inputs come those of what its subgraphs see of the graph around.
    """
    takes = [_named(schema.inputs, k) if name else "" for k, name in enumerate(node.input)]
    inner = list(captures(node).values())
    gives = [_named(schema.outputs, k) if name else "" for k, name in enumerate(node.output)]
    taken = {*takes, *inner}
    return [*takes, *inner], [f"{c}_out" if c in taken and c else c for c in gives]


def _named(formal: Sequence[defs.OpSchema.FormalParameter], k: int) -> str:
    last = formal[-1]
    if k >= len(formal) - 1 and last.option == Variadic:
        return f"{last.name}__{k - len(formal) + 1}"
    return formal[k].name


def captures(node: onnx.NodeProto) -> dict[str, str]:
    """Return the names that subgraphs take from the graph around, and the connectors they come in by."""
    found: dict[str, str] = {}
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            for name in free_names(attribute.g):
                found.setdefault(name, f"outer__{len(found)}")
    return found


def free_names(graph: onnx.GraphProto) -> list[str]:
    """Return the names that a subgraph uses and does not define, in order."""
    defined = {i.name for i in graph.input} | {t.name for t in graph.initializer}
    found: dict[str, None] = {}
    for node in graph.node:
        used = [n for n in node.input if n]
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                used += free_names(attribute.g)
        found.update(dict.fromkeys(n for n in used if n not in defined))
        defined |= set(node.output)
    found.update(dict.fromkeys(o.name for o in graph.output if o.name not in defined))
    return list(found)
