"""Reverse discrete Fourier transforms: the adjoint is the opposite transform with the same factor."""

from __future__ import annotations

import copy

import dace
from dace.libraries.fft import FFT, IFFT

from sdgrad.autodiff.contexts import CallContext, TangentContext
from sdgrad.autodiff.rule_builder import Builder, clear_cotangent, extents
from sdgrad.program.registry import Rule, register_rule
from sdgrad.program.tree import Node, NodeCall
from sdgrad.symbolic.expr import sym


def _transform(context: CallContext) -> list[Node]:
    """Add the opposite transform of the result's cotangent to the operand's adjoint."""
    build = Builder(context)
    seed = context.cotangent("_out")
    opposite = IFFT if type(context.call.node).__name__ == "FFT" else FFT
    node = opposite("adjoint_transform")
    node.factor = context.call.node.factor
    result = build.temporary("transformed", extents(seed), build.dtype(seed))
    build.call(node, {"_inp": seed}, {"_out": result})
    target = build.target("_inp")
    real = build.dtype(target) not in (dace.complex64, dace.complex128)
    params = build.params(extents(target))
    index = [sym(p.name) for p in params]
    build.leaf(params, {"a": (result, index)}, "real(a)" if real else "a", target, index, "sum")
    clear_cotangent(build, context, "_out")
    return build.nodes


def _transform_forward(context: TangentContext) -> list[Node]:
    """Return the transform of the tangent: a transform is linear."""
    moved, result = context.tangent("_inp"), context.tangent("_out")
    own = copy.deepcopy(context.call.node)
    return [context.call, NodeCall(own, {"_inp": moved}, {"_out": result}, context.call.source)]


for _name in ("FFT", "IFFT"):
    register_rule(_name, Rule("transform", lambda call, program, wanted: (), _transform, forward=_transform_forward))
