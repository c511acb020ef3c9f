"""Lower ``Gradient`` of the standard's training domain: a model that asks for its own derivative."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import onnx

from sdgrad.autodiff.differentiate import differentiate_program
from sdgrad.autodiff.request import Request
from sdgrad.autodiff.seeds import gradient_name, seed_name
from sdgrad.canonicalize.normal_form import normal_form
from sdgrad.onnx_ops.families.control import graph_of
from sdgrad.onnx_ops.registry import lowering
from sdgrad.record.builder import Builder
from sdgrad.record.elements import Declined
from sdgrad.record.tensors import Tensor

DOMAIN = "ai.onnx.preview.training"
BODY = "sdgrad_body"
"""The attribute that says what is differentiated: the part of the graph between ``xs``, ``zs`` and ``y``."""


@lowering("Gradient", domain=DOMAIN)
def gradient(
    b: Builder,
    *values: Tensor,
    xs: Sequence[str],
    y: str,
    zs: Sequence[str] = (),
    sdgrad_body: onnx.GraphProto | None = None,
    operation: Any = None,
) -> list[Tensor]:
    """Return the gradients of the sum of ``y`` by ``xs``, at the values of the operands."""
    if sdgrad_body is None:
        raise Declined("outside of a model there is no graph to differentiate")
    _check_real(xs, values)
    inner = Builder("differentiated", b.source)
    bound: dict[str, str] = {}

    def entered(x: Tensor) -> Tensor:
        if not x.container:
            return inner.constant(x.known)
        own = inner.declare(f"operand_{len(bound)}", x.shape, x.dtype, True)
        bound[own.container] = b.whole(x).container
        return replace(own, known=x.known)

    given = [entered(b.placed(x) if k < len(xs) else x) for k, x in enumerate(values)]
    outside = {n: entered(t) for n, t in operation.outside.items()}
    (result,) = graph_of(inner, sdgrad_body, replace(operation, outside=outside), *given)
    if result.dtype.kind != "f":
        raise Declined(f"'{y}' is integer")
    target = inner.declare("y", result.shape, result.dtype, True).container
    inner.copy(result, replace(result, container=target, place=None, known=None))
    program = normal_form(inner.program([*bound, target]))
    active = tuple(x.container for x in given[: len(xs)])
    request = Request(active, (target,), accumulate=False)
    seed = b.full(result.shape, 1, result.dtype)
    found = [b.declare("gradient", x.shape, x.dtype) for x in given[: len(xs)]]
    bound[target] = b.declare("y", result.shape, result.dtype).container
    bound[seed_name(target, program, request)] = seed.container
    bound |= {gradient_name(n, program): t.container for n, t in zip(active, found, strict=True)}
    b.splice(differentiate_program(program, request).program, bound)
    return found


def _check_real(xs: Sequence[str], values: Sequence[Tensor]) -> None:
    """Decline derivatives by integers.

    :raises Declined: an operand among ``xs`` is not of a floating-point type.
    """
    if wrong := [n for n, x in zip(xs, values, strict=False) if x.dtype.kind != "f"]:
        raise Declined(f"no derivative by {', '.join(wrong)}, which {'is' if len(wrong) == 1 else 'are'} integer")
