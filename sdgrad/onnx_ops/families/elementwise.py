"""Lower operators that act on each element for itself: tables of one line an operator."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import onnx

from sdgrad.onnx_ops.registry import lowering
from sdgrad.record.builder import Builder
from sdgrad.record.elements import Declined, Element, call, element, where
from sdgrad.record.tensors import Tensor


def sigmoid(x: Element) -> Element:
    return call("sdgrad_sigmoid", x)


def softplus(x: Element) -> Element:
    return where(x > 0, x + call("log1p", call("exp", -x)), call("log1p", call("exp", x)))


def named(function: str) -> Callable[[Element], Element]:
    """Return a function of generated code."""
    return lambda x: call(function, x)


UNARY: dict[str, Callable[[Element], Element]] = {
    **{n: named(n.lower()) for n in ("Exp", "Log", "Sqrt", "Ceil", "Floor", "Sin", "Cos", "Tan", "Asin", "Acos")},
    **{n: named(n.lower()) for n in ("Atan", "Sinh", "Cosh", "Tanh", "Asinh", "Acosh", "Atanh", "Erf", "Abs")},
    "Round": lambda x: call("rint", x),
    "Neg": lambda x: -x,
    "Reciprocal": lambda x: 1 / x,
    "Sign": named("sdgrad_sign"),
    "Sigmoid": sigmoid,
    "Softplus": softplus,
    "Softsign": lambda x: x / (1 + call("abs", x)),
    "Relu": lambda x: where(x <= 0, 0, x),
    "HardSwish": lambda x: x * clipped(x / 6 + 0.5, 0, 1),
    "Mish": lambda x: x * call("tanh", softplus(x)),
    "Not": lambda x: ~x,
    "BitwiseNot": lambda x: call("sdgrad_bit_not", x),
    "Identity": lambda x: x,
}


def clipped(x: Element, low: Any, high: Any) -> Element:
    return where(x < low, low, where(x > high, high, x))


def _unary(name: str, function: Callable[[Element], Element]) -> None:
    @lowering(name)
    def lower(b: Builder, x: Tensor) -> Tensor:
        return x if name == "Identity" else x.map(function)


for _name, _function in UNARY.items():
    _unary(_name, _function)


def divided(a: Element, b: Element) -> Element:
    """Divide; integers as in C++, towards zero."""
    return call("sdgrad_quotient", a, b) if a.dtype.kind in "iu" else a / b


BINARY: dict[str, Callable[[Element, Element], Element]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Div": divided,
    "Equal": lambda a, b: a.equals(b),
    "Less": lambda a, b: a < b,
    "Greater": lambda a, b: a > b,
    "LessOrEqual": lambda a, b: a <= b,
    "GreaterOrEqual": lambda a, b: a >= b,
    "And": lambda a, b: a & b,
    "Or": lambda a, b: a | b,
    "Xor": lambda a, b: (a & ~b) | (~a & b),
    "BitwiseAnd": lambda a, b: call("sdgrad_bit_and", a, b),
    "BitwiseOr": lambda a, b: call("sdgrad_bit_or", a, b),
    "BitwiseXor": lambda a, b: call("sdgrad_bit_xor", a, b),
    "PRelu": lambda a, b: where(a > 0, a, a * b),
}
LOGICAL = {"Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "And", "Or", "Xor"}


def _binary(name: str, function: Callable[[Element, Element], Element]) -> None:
    @lowering(name)
    def lower(b: Builder, left: Tensor, right: Tensor) -> Tensor:
        return left.map(function, right, dtype=bool if name in LOGICAL else None)


for _name, _operator in BINARY.items():
    _binary(_name, _operator)


@lowering("Pow")
def power(b: Builder, base: Tensor, exponent: Tensor) -> Tensor:
    """Raise to a power; integers to real ones in double precision, and what is no integer is rounded towards zero."""
    one = exponent.known is not None and exponent.known.size == 1 and exponent.rank <= base.rank
    if one and exponent.known is not None and base.dtype.kind == "f":
        value = exponent.known.item()
        if value == 2:
            return base.map(lambda x: x * x)
        if value == 0.5:
            return base.map(lambda x: call("sqrt", x))
    if base.dtype.kind == "f":
        return base.map(lambda x, y: x ** (y if y.dtype == x.dtype else y.astype(x.dtype)), exponent)
    if exponent.dtype.kind in "iu":
        return base.map(lambda x, y: call("sdgrad_integer_power", x, y.astype(base.dtype)), exponent)
    return base.map(lambda x, y: call("trunc", x.astype(np.float64) ** y).astype(base.dtype), exponent)


@lowering("Mod")
def modulo(b: Builder, left: Tensor, right: Tensor, *, fmod: int) -> Tensor:
    """Return the remainder: with ``fmod`` the sign of the first operand, else that of the second."""
    return left.map(
        lambda x, y: call(
            "c_mod" if fmod and left.dtype.kind != "f" else "fmod" if fmod else "sdgrad_mod", x, y
        ).astype(left.dtype),
        right,
    )


@lowering("BitShift")
def shift(b: Builder, left: Tensor, right: Tensor, *, direction: str) -> Tensor:
    return left.map(lambda x, y: call(f"sdgrad_shift_{direction.lower()}", x, y), right)


def _variadic(name: str, function: Callable[[Element, Element], Element]) -> None:
    @lowering(name)
    def lower(b: Builder, *inputs: Tensor) -> Tensor:
        count = len(inputs)

        def compute(*x: Element) -> Element:
            total = reduce(function, x)
            return total / count if name == "Mean" else total

        return inputs[0].map(compute, *inputs[1:])


def larger(a: Element, b: Element) -> Element:
    return call("sdgrad_maximum", a, b)


def smaller(a: Element, b: Element) -> Element:
    return call("sdgrad_minimum", a, b)


for _name, _operator in {
    "Max": larger,
    "Min": smaller,
    "Sum": lambda a, b: a + b,
    "Mean": lambda a, b: a + b,
}.items():
    _variadic(_name, _operator)


@lowering("Where")
def choice(b: Builder, condition: Tensor, then: Tensor, otherwise: Tensor) -> Tensor:
    return condition.map(where, then, otherwise, dtype=then.dtype)


@lowering("IsNaN")
def is_nan(b: Builder, x: Tensor) -> Tensor:
    return x.map(lambda v: call("isnan", v, dtype=bool), dtype=bool)


@lowering("IsInf")
def is_infinite(b: Builder, x: Tensor, *, detect_negative: int, detect_positive: int) -> Tensor:
    def test(v: Element) -> Element:
        low = v.equals(-np.inf) if detect_negative else element(False)
        return low | v.equals(np.inf) if detect_positive else low

    return x.map(test, dtype=bool)


@lowering("Clip")
def clip(b: Builder, x: Tensor, low: Tensor | None, high: Tensor | None) -> Tensor:
    """Return ``min(max(x, low), high)``; of bounds out of order, the higher one."""
    result = x
    if low is not None:
        result = result.map(lambda v, m: where(v < m, m, v), low)
    if high is not None:
        result = result.map(lambda v, m: where(v > m, m, v), high)
    return result


@lowering("LeakyRelu")
def leaky_relu(b: Builder, x: Tensor, *, alpha: float) -> Tensor:
    return x.map(lambda v: where(v >= 0, v, v * alpha))


@lowering("Elu")
def elu(b: Builder, x: Tensor, *, alpha: float) -> Tensor:
    return x.map(lambda v: where(v > 0, v, alpha * call("expm1", v)))


@lowering("Celu")
def celu(b: Builder, x: Tensor, *, alpha: float) -> Tensor:
    return x.map(lambda v: where(v > 0, v, alpha * call("expm1", v / alpha)))


@lowering("Selu")
def selu(b: Builder, x: Tensor, *, alpha: float, gamma: float) -> Tensor:
    return x.map(lambda v: where(v > 0, gamma * v, gamma * alpha * call("expm1", v)))


@lowering("HardSigmoid")
def hard_sigmoid(b: Builder, x: Tensor, *, alpha: float, beta: float) -> Tensor:
    return x.map(lambda v: clipped(v * alpha + beta, 0, 1))


@lowering("Swish")
def swish(b: Builder, x: Tensor, *, alpha: float) -> Tensor:
    return x.map(lambda v: v * sigmoid(v * alpha))


@lowering("ThresholdedRelu")
def thresholded_relu(b: Builder, x: Tensor, *, alpha: float) -> Tensor:
    return x.map(lambda v: where(v > alpha, v, 0))


@lowering("Gelu")
def gelu(b: Builder, x: Tensor, *, approximate: str) -> Tensor:
    """Return Gelu (Hendrycks and Gimpel 2016)."""
    if approximate == "tanh":
        return x.map(lambda v: 0.5 * v * (1 + call("tanh", np.sqrt(2 / np.pi) * (v + 0.044715 * v * v * v))))
    return x.map(lambda v: 0.5 * v * (1 + call("erf", v * np.sqrt(0.5))))


NUMBERS = {np.dtype(t) for t in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "bool")}


@lowering("Cast")
def cast(b: Builder, x: Tensor, *, to: int) -> Tensor:
    """Convert between the types that C++ has."""
    wanted = onnx.helper.tensor_dtype_to_np_dtype(to)
    if to not in PLAIN_TYPES or x.dtype not in NUMBERS:
        raise Declined(f"from {x.dtype} to {onnx.TensorProto.DataType.Name(to)}")
    return x.astype(wanted)


@lowering("CastLike")
def cast_like(b: Builder, x: Tensor, like: Tensor) -> Tensor:
    if like.dtype not in NUMBERS or x.dtype not in NUMBERS:
        raise Declined(f"from {x.dtype} to {like.dtype}")
    return x.astype(like.dtype)


PLAIN_TYPES = {onnx.helper.np_dtype_to_tensor_dtype(t) for t in NUMBERS}
