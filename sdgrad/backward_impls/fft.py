"""Reverse discrete Fourier transforms: the adjoint is the opposite transform with the same factor."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from sdgrad.autodiff.contexts import CallContext, TangentContext
from sdgrad.autodiff.rule_builder import Builder, clear_cotangent, extents
from sdgrad.program.registry import Rule, register_rule
from sdgrad.program.tree import Node, NodeCall, Region
from sdgrad.runtime.libraries.fft_of_dace import FFT, IFFT


def _opposite_of_dace(node: Any) -> Any:
    """Return the node that is adjoint to one of DaCe's."""
    opposite = (IFFT if type(node).__name__ == "FFT" else FFT)("adjoint_transform")
    opposite.factor = node.factor
    return opposite


def _fresh(context: CallContext) -> Region | None:
    """Return the operand's adjoint if the transform may define all of it; None if it may only be added to."""
    region, adjoints = context.call.inputs["_inp"], context.adjoints
    container = context.container(region.container)
    whole = container.view_of is None and list(region.subset.size()) == list(container.shape)
    if not whole or not adjoints.is_zero(region.container) or not adjoints.may_forget(region.container):
        return None
    adjoints.writable(region.container, zero=False)
    return Region(adjoints.container(region.container).name, region.subset)


def _reverse(adjoint: Callable[[Any], Any]) -> Callable[[CallContext], list[Node]]:
    """Return the reversal of a call, by the node that is adjoint to its own."""

    def reverse(context: CallContext) -> list[Node]:
        """Add the transform of the result's cotangent to the operand's adjoint; the real part if this is real."""
        build = Builder(context)
        node, seed, fresh = adjoint(context.call.node), context.cotangent("_out"), _fresh(context)
        target = build.target("_inp") if fresh is None else fresh
        if fresh is None:
            found = build.temporary("transformed", extents(target), build.dtype(target))
            build.call(node, {"_inp": seed}, {"_out": found})
            build.elementwise(target, "a", "sum", a=found)
        else:
            build.call(node, {"_inp": seed}, {"_out": fresh})
        clear_cotangent(build, context, "_out")
        return build.nodes

    return reverse


def _forward(context: TangentContext) -> list[Node]:
    """Return the transform of the tangent: a transform is linear."""
    moved, result = context.tangent("_inp"), context.tangent("_out")
    own = copy.deepcopy(context.call.node)
    return [context.call, NodeCall(own, {"_inp": moved}, {"_out": result}, context.call.source)]


def _register(node: str, adjoint: Callable[[Any], Any]) -> None:
    register_rule(node, Rule("transform", lambda call, program, wanted: (), _reverse(adjoint), forward=_forward))


_register("FourierTransform", lambda node: node.adjoint())
_register("FFT", _opposite_of_dace)
_register("IFFT", _opposite_of_dace)
