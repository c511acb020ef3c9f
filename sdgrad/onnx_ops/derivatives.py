"""Record operators with a handwritten adjoint: as nodes that count as one, with the adjoint as a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import sympy
from dace import nodes as nd

from sdgrad.onnx_ops.registry import Adjoint, Operation, Reversed
from sdgrad.program.custom_call import CustomCall, Operand
from sdgrad.program.custom_rule import COTANGENT, AdjointProgram, CustomRule
from sdgrad.program.descriptors import lasting
from sdgrad.program.tree import Program, reads, writes
from sdgrad.program.window import whole_window
from sdgrad.record.builder import Builder
from sdgrad.record.elements import Declined
from sdgrad.record.tensors import Tensor

Results: TypeAlias = "list[Tensor | None]"


def with_adjoint(
    b: Builder, op: Operation, inputs: Sequence[Tensor | None], lower: Callable[..., Results], adjoint: Adjoint
) -> Results:
    """Record an operator as one node with the adjoint; if the adjoint declines, as its lowering alone."""
    if not adjoint.copies and not all(x is None or b.is_whole(x) for x in inputs):
        return lower(b, op, inputs)
    given = [b.whole(x) if x is not None else None for x in inputs]
    with b.arm() as block:
        results = [b.whole(r, own=True) if r is not None else None for r in lower(b, op, given)]
    try:
        program = recorded_adjoint(b, op, adjoint, given, results)
    except Declined:
        b.blocks[-1] += block
        return results
    parameters, made = _operands("in", given), _operands("out", results)
    rule = CustomRule(op.kind, tuple(parameters), results=tuple(made), adjoint=program)
    b.blocks[-1].append(
        CustomCall(nd.Tasklet(op.kind), {}, {}, b.source, block=tuple(block), rule=rule, variables=parameters | made)
    )
    return results


def _operands(prefix: str, tensors: Sequence[Tensor | None]) -> dict[str, Operand]:
    """Return the tensors with memory as variables of a rule, numbered behind the prefix."""
    return {f"{prefix}{k}": _operand(x) for k, x in enumerate(tensors) if x is not None and x.container}


def _operand(x: Tensor) -> Operand:
    desc = x.builder.containers[x.container].desc
    shape = tuple(sympy.sympify(n) for n in desc.shape)
    return Operand(whole_window(x.container, desc), shape, False)


def recorded_adjoint(
    b: Builder, op: Operation, adjoint: Adjoint, inputs: Sequence[Tensor | None], results: Sequence[Tensor | None]
) -> AdjointProgram:
    """Record the adjoint as a program of its own.

    :raises Declined: it does not cover this case.
    """
    own = Builder(f"adjoint_of_{op.kind}".lower(), b.source)

    def declared(name: str, x: Tensor | None) -> Tensor | None:
        if x is None:
            return None
        if not x.container and x.known is not None:
            return own.constant(x.known)
        return replace(own.declare(name, x.shape, x.dtype, True), known=x.known)

    asked = [k < len(op.outputs) and op.outputs[k] and r is not None and _is_float(r) for k, r in enumerate(results)]
    reversal = Reversed(
        tuple(declared(f"in{k}", x) for k, x in enumerate(inputs)),
        tuple(declared(f"out{k}", r) for k, r in enumerate(results)),
        tuple(
            declared(f"{COTANGENT}out{k}", r) if a else None
            for k, (a, r) in enumerate(zip(asked, results, strict=True))
        ),
    )
    gradients: dict[str, str] = {}
    for k, (x, found) in enumerate(zip(inputs, adjoint(own, op, reversal), strict=False)):
        if found is None or x is None or not x.container or not _is_float(x):
            continue
        if tuple(found.shape) != tuple(x.shape):
            raise AssertionError(f"adjoint of {op.kind}: gradient {k} has shape {found.shape}, not {x.shape}")
        gradients[f"in{k}"] = own.copy(found.astype(x.dtype)).container
    return AdjointProgram(_closed(own.program([*own.containers]), set(gradients.values())), gradients)


def _is_float(x: Tensor) -> bool:
    return x.dtype.kind == "f"


def _closed(program: Program, results: set[str]) -> Program:
    """Return the program with only what it uses; what it does not make, and its results, are its arguments."""
    used = {c for node in program.body for c in reads(node) | writes(node)}
    used |= {program.root(c) for c in used}
    containers = {
        n: replace(c, desc=lasting(c.desc, False)) if n in results else c
        for n, c in program.containers.items()
        if n in used
    }
    return replace(program, containers=containers, arguments=tuple(n for n, c in containers.items() if not c.transient))
