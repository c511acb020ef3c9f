"""Functions that ONNX has no operators for, as operators of a domain of our own, ``sdgrad``."""

from __future__ import annotations

from collections.abc import Callable

from onnx import defs

from sdgrad.normalize.stopping import DETACHED
from sdgrad.onnx_ops.builder import Builder
from sdgrad.onnx_ops.elements import Element, call
from sdgrad.onnx_ops.families.elementwise import named
from sdgrad.onnx_ops.registry import lowering
from sdgrad.onnx_ops.tensors import Tensor

DOMAIN, VERSION = "sdgrad", 1
FLOATS = ["tensor(float16)", "tensor(float)", "tensor(double)"]

UNARY: dict[str, Callable[[Element], Element]] = {
    **{n: named(n.lower()) for n in ("Expm1", "Log1p", "Log2", "Log10", "Exp2", "Erfc", "Trunc", "Lgamma")},
    "Rsqrt": lambda x: 1 / call("sqrt", x),
    "StopGradient": named(DETACHED),
}
BINARY: dict[str, Callable[[Element, Element], Element]] = {
    "Atan2": lambda y, x: call("arctan2", y, x),
    "Hypot": lambda x, y: call("hypot", x, y),
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
