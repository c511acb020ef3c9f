"""Lower functions of NumPy and SciPy that ONNX has no operators for: they are recorded as in programs of Python."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from onnx import defs

from sdgrad.errors import ParseError
from sdgrad.onnx_ops.families.extra import DOMAIN, VERSION
from sdgrad.onnx_ops.functions import FUNCTIONS
from sdgrad.onnx_ops.index_checks import CheckingBuilder
from sdgrad.onnx_ops.registry import lowering
from sdgrad.program.naming import returned
from sdgrad.record.builder import Builder
from sdgrad.record.calls import works_inside
from sdgrad.record.elements import Declined
from sdgrad.record.function import record
from sdgrad.record.special_methods import RecordingOperators
from sdgrad.record.tensors import Tensor
from sdgrad.runtime.call.checks import Checks

RECORDED = "Recorded"


def _declare() -> None:
    formal, several = defs.OpSchema.FormalParameter, defs.OpSchema.FormalParameterOption.Variadic
    kind = defs.OpSchema.AttrType.STRING
    numbers = [f"tensor({t})" for t in ("float16", "float", "double", "int32", "int64", "bool")]
    made: dict[str, Any] = {"param_option": several, "is_homogeneous": False}
    defs.register_schema(
        defs.OpSchema(
            RECORDED,
            DOMAIN,
            VERSION,
            "What a function of NumPy and SciPy makes of arrays.",
            inputs=[formal("X", "T", **made)],
            outputs=[formal("Y", "U", **made)],
            type_constraints=[("T", numbers, "numbers"), ("U", numbers, "numbers")],
            attributes=[
                defs.OpSchema.Attribute("function", kind, "The name of the function"),
                defs.OpSchema.Attribute("options", kind, "What it takes by keyword, in JSON"),
            ],
        )
    )


_declare()


@lowering(RECORDED, domain=DOMAIN)
def of_function(b: Builder, *operands: Tensor, function: str, options: str) -> list[Tensor]:
    """Record a function apart, and do here what its program does."""
    shapes = [tuple(x.shape) for x in operands]
    if any(not isinstance(n, int) for shape in shapes for n in shape):
        raise Declined("open dimensions: leave them out of dynamic_shapes")
    given = {f"x{k}": np.zeros(x.shape, x.dtype) for k, x in enumerate(operands)}
    try:
        own = taking(FUNCTIONS[function], json.loads(options), list(given))
        made = record(own, given, of_rule=not isinstance(b, CheckingBuilder))
    except ParseError as error:
        raise Declined(str(error)) from error
    if unknown := made.fixed:
        raise Declined(f"the content of operands {sorted(unknown)}, which only a run knows")
    bound = {n: b.whole(b.placed(x)).container for n, x in zip(given, operands, strict=True)}
    bound |= {n: _read_outside(b, value).container for n, value in made.closure.items()}
    results = []
    for name in returned(made.program):
        container = made.program.containers[name]
        shape: Sequence[Any] = () if name in made.numbers else [int(n) for n in container.shape]
        results.append(b.declare("t", shape, np.dtype(container.desc.dtype.type)))
        bound[name] = results[-1].container
    b.splice(made.program, bound)
    for name, value in made.closure.items():
        if isinstance(value, Checks) and isinstance(b, CheckingBuilder):
            b.take_over(Tensor(b, bound[name], (), np.dtype(np.int64)), value.errors)
    return results


def _read_outside(b: Builder, value: Any) -> Tensor:
    """Return a constant of a function, or memory for the number of a check that fails."""
    return b.copy(b.constant(0, np.int64)) if isinstance(value, Checks) else b.whole(b.placed(b.constant(value)))


def taking(function: Callable, options: dict[str, Any], names: Sequence[str]) -> Callable:
    """Return a function of arrays alone, with arguments of these names."""

    def of_arrays(*args: Any) -> Any:
        return RecordingOperators().call(function, *args, **options)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    of_arrays.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in names])  # type: ignore[attr-defined]
    return works_inside(of_arrays)
