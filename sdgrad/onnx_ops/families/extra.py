"""Define operators that ONNX lacks, in a domain of our own, ``sdgrad``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import sympy
from onnx import defs

from sdgrad.canonicalize.stop_gradient import DETACHED
from sdgrad.onnx_ops.families import reduction, resize
from sdgrad.onnx_ops.families.elementwise import named
from sdgrad.onnx_ops.fold import EXTENTS, OWN
from sdgrad.onnx_ops.registry import constant_of, lowering
from sdgrad.record.builder import Builder
from sdgrad.record.elements import Element, call, dim, element, where
from sdgrad.record.tensors import Tensor
from sdgrad.symbolic.expr import to_expr

DOMAIN, VERSION = OWN, 1
IN_RANGE = "InRange"
FLOATS = ["tensor(float16)", "tensor(float)", "tensor(double)"]

UNARY: dict[str, Callable[[Element], Element]] = {
    **{n: named(n.lower()) for n in ("Expm1", "Log1p", "Log2", "Log10", "Exp2", "Erfc", "Trunc", "Lgamma")},
    "Rsqrt": lambda x: 1 / call("sqrt", x),
    "StopGradient": named(DETACHED),
}
BINARY: dict[str, Callable[[Element, Element], Element]] = {
    "Atan2": lambda y, x: call("arctan2", y, x),
    "Hypot": lambda x, y: call("hypot", x, y),
    "Remainder": lambda x, y: call("sdgrad_mod", x, y),
    "FloorDivide": lambda x, y: call("sdgrad_floor_divide", x, y),
    "XLogY": lambda x, y: where(x.equals(0) & ((y <= 0) | (y >= np.inf)), 0, x * call("log", y)),
    "XLog1py": lambda x, y: where(x.equals(0) & ((y <= -1) | (y >= np.inf)), 0, x * call("log1p", y)),
}


def _declare(name: str, operands: tuple[str, ...]) -> None:
    formal = defs.OpSchema.FormalParameter
    defs.register_schema(
        defs.OpSchema(
            name,
            DOMAIN,
            VERSION,
            f"``{name.lower()}`` of each element.",
            inputs=[formal(n, "T") for n in operands],
            outputs=[formal("Z", "T")],
            type_constraints=[("T", FLOATS, "real numbers")],
        )
    )


def _unary(name: str, function: Callable[[Element], Element]) -> None:
    @lowering(name, domain=DOMAIN)
    def lower(b: Builder, x: Tensor) -> Tensor:
        return x.map(function)


def _binary(name: str, function: Callable[[Element, Element], Element]) -> None:
    @lowering(name, domain=DOMAIN)
    def lower(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        return x.map(function, y)


for _name, _function in UNARY.items():
    _declare(_name, ("X",))
    _unary(_name, _function)
for _name, _both in BINARY.items():
    _declare(_name, ("X", "Y"))
    _binary(_name, _both)


def _declare_in_range() -> None:
    formal, whole = defs.OpSchema.FormalParameter, ["tensor(int32)", "tensor(int64)"]
    text = "Indices as they are, of which none is negative, and none as large as the extent."
    given = [defs.OpSchema.Attribute("extent", defs.OpSchema.AttrType.INT, "The size of the axis that they index")]
    made, types = [formal("Z", "T")], [("T", whole, "integers")]
    taken = [formal("X", "T")]
    defs.register_schema(
        defs.OpSchema(
            IN_RANGE, DOMAIN, VERSION, text, inputs=taken, outputs=made, attributes=given, type_constraints=types
        )
    )


_declare_in_range()


@lowering(IN_RANGE, domain=DOMAIN)
def in_range(b: Builder, x: Tensor, *, extent: int) -> Tensor:
    return x


def _declare_running(name: str) -> None:
    formal = defs.OpSchema.FormalParameter
    text = "A running product; an operator of ONNX since version 26."
    given = [formal("X", "T"), formal("axis", "tensor(int64)")]
    types = [("T", [*FLOATS, "tensor(int32)", "tensor(int64)"], "numbers")]
    made = [formal("Y", "T")]
    defs.register_schema(defs.OpSchema(name, DOMAIN, VERSION, text, inputs=given, outputs=made, type_constraints=types))


_declare_running("CumProd")


@lowering("CumProd", domain=DOMAIN)
def cumulative_product(b: Builder, x: Tensor, axis: Tensor) -> Tensor:
    return reduction.cumulative_product(b, x, axis, exclusive=0, reverse=0)


def _declare_resampled() -> None:
    formal = defs.OpSchema.FormalParameter
    text = (
        "Along an axis, sums of elements at known places with known factors: both are matrices, a row for each result."
    )
    taken = [formal("X", "T"), formal("places", "tensor(int64)"), formal("factors", "tensor(double)")]
    given = [defs.OpSchema.Attribute("axis", defs.OpSchema.AttrType.INT, "The axis")]
    made, types = [formal("Y", "T")], [("T", FLOATS, "real numbers")]
    defs.register_schema(
        defs.OpSchema(
            "Resampled", DOMAIN, VERSION, text, inputs=taken, outputs=made, attributes=given, type_constraints=types
        )
    )


_declare_resampled()


@lowering("Resampled", domain=DOMAIN)
def resampled(b: Builder, x: Tensor, places: Tensor, factors: Tensor, *, axis: int) -> Tensor:
    return resize.applied(b, x, axis, constant_of(places, "places"), constant_of(factors, "factors"))


def _declare_shape(name: str, text: str, attribute: str, kind: defs.OpSchema.AttrType) -> None:
    formal = defs.OpSchema.FormalParameter
    given = defs.OpSchema.Attribute(attribute, kind, "Numbers, or expressions over the symbols of open dimensions")
    made = [formal("Z", "tensor(int64)")]
    defs.register_schema(defs.OpSchema(name, DOMAIN, VERSION, text, outputs=made, attributes=[given]))


_declare_shape(EXTENTS, "Sizes as a tensor of known content.", "extents", defs.OpSchema.AttrType.STRINGS)
_declare_shape("Positions", "``0, 1, ..`` below a size.", "extent", defs.OpSchema.AttrType.STRING)


@lowering(EXTENTS, domain=DOMAIN)
def sizes(b: Builder, *, extents: Sequence[str]) -> Tensor:
    return b.constant(np.array([dim(to_expr(text)) for text in extents], object))


@lowering("Positions", domain=DOMAIN)
def positions(b: Builder, *, extent: str) -> Tensor:
    return b.compute([dim(to_expr(extent))], np.int64, lambda i: element(sympy.sympify(i), np.int64))
