"""Reverse convolutions by oneDNN: three products of one trilinear form, each with the others as its adjoints.

For ``f(x, w, y) = sum of y (x * w)``: the result is ``df/dy``, and ``df/dx``, ``df/dw`` take cotangents back.
"""

from __future__ import annotations

from sdgrad.autodiff.contexts import CallContext, TangentContext
from sdgrad.autodiff.rule_builder import Builder, clear_cotangent
from sdgrad.program.registry import Rule, register_rule
from sdgrad.program.tree import Node, NodeCall, Program, Region
from sdgrad.runtime.libraries.onednn import Convolution


def _other(node: Convolution, operand: str) -> str:
    return next(c for c in node.in_connectors if c != operand)


def _needs(call: NodeCall, program: Program, wanted: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(_other(call.node, operand) for operand in wanted)


def _product(build: Builder, node: Convolution, computed: str, operands: dict[str, Region]) -> Region:
    sizes = [n for n in node.shape(computed) if n != 1]
    found = build.temporary(f"to{computed}", sizes or [1], build.dtype(next(iter(operands.values()))))
    build.call(node.computing(computed), operands, {computed: found})
    return found


def _convolution(context: CallContext) -> list[Node]:
    """Add the adjoint of one product: to each operand, the product of the cotangent with the other operand."""
    build, node = Builder(context), context.call.node
    seed = context.cotangent(node.computed)
    for operand in context.wanted:
        other = _other(node, operand)
        found = _product(build, node, operand, {other: context.primal(other), node.computed: seed})
        build.elementwise(build.target(operand), "a", "sum", a=found)
    clear_cotangent(build, context, node.computed)
    return build.nodes


def _forward(context: TangentContext) -> list[Node]:
    """Return the tangent of one product, by the product rule."""
    build, node = Builder(context), context.call.node
    result = context.tangent(node.computed)
    for k, operand in enumerate(context.given):
        other = _other(node, operand)
        operands = {operand: context.tangent(operand), other: context.primal(other)}
        found = _product(build, node, node.computed, operands)
        build.elementwise(result, "a", "sum" if k else "set", a=found)
    return [context.call, *build.nodes]


register_rule("Convolution", Rule("convolution", _needs, _convolution, forward=_forward))
