"""Translate functions of numbers, element by element, with PyTorch's promotion of types."""

from __future__ import annotations

from typing import Any

import torch

from sdgrad.onnx_ops.families.extra import DOMAIN as OWN
from sdgrad.torch.aten.registry import RULES, aten
from sdgrad.torch.graph import Graph, Type, Unsupported, Value

# Functions whose operand and result have one type, and the ONNX operator that is the same.
UNARY = {
    "abs": "Abs", "acos": "Acos", "acosh": "Acosh", "asin": "Asin", "asinh": "Asinh", "atan": "Atan", "atanh": "Atanh",
    "ceil": "Ceil", "cos": "Cos", "cosh": "Cosh", "erf": "Erf", "exp": "Exp", "floor": "Floor", "log": "Log",
    "neg": "Neg", "reciprocal": "Reciprocal", "relu": "Relu", "round": "Round", "sigmoid": "Sigmoid",
    "sin": "Sin", "sinh": "Sinh", "sqrt": "Sqrt", "tan": "Tan", "tanh": "Tanh",
    "bitwise_not": "BitwiseNot", "mish": "Mish", "softsign": "Softsign",
}  # fmt: skip
# The same, of our own domain.
OWN_UNARY = {
    "detach": "StopGradient", "erfc": "Erfc", "exp2": "Exp2", "expm1": "Expm1", "lgamma": "Lgamma", "log10": "Log10",
    "log1p": "Log1p", "log2": "Log2", "rsqrt": "Rsqrt", "trunc": "Trunc",
}  # fmt: skip
OWN_BINARY = {"hypot": "Hypot"}
LINEAR = {"xlogy": "XLogY", "special_xlog1py": "XLog1py"}
"""Functions that are linear in their first operand, at 0 as well."""
BINARY = {"bitwise_and": "BitwiseAnd", "bitwise_or": "BitwiseOr", "bitwise_xor": "BitwiseXor"}
LOGICAL = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}
COMPARISONS = {"eq": "Equal", "lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual"}
SAME = ("alias", "clone", "lift_fresh_copy", "lift", "contiguous", "detach_copy")


def _is_whole(dtype: torch.dtype) -> bool:
    return not dtype.is_floating_point


def promoted(x: Any, y: Any) -> torch.dtype:
    """Return the type in which PyTorch computes with two operands."""

    def example(v: Any) -> Any:
        return torch.empty((1,) * v.rank, dtype=v.dtype) if isinstance(v, Value) else v

    return torch.result_type(example(x), example(y))


def _unary(kind: str, domain: str = ""):
    def rule(g: Graph, out: Type, self: Value, **rest: Any) -> Value:
        x = g.cast(self, out.dtype)
        if out.dtype == torch.bool and kind == "BitwiseNot":
            return g.op("Not", x)
        if _is_whole(out.dtype) and kind in ("Ceil", "Floor", "Round", "Trunc", "StopGradient"):
            return x
        return g.op(kind, x, domain=domain)

    return rule


def _binary(kind: str, domain: str = ""):
    def rule(g: Graph, out: Type, self: Any, other: Any) -> Value:
        x, y = g.operand(self, out.dtype), g.operand(other, out.dtype)
        if out.dtype == torch.bool and kind.startswith("Bitwise"):
            return g.op(kind.removeprefix("Bitwise"), x, y)
        return g.op(kind, x, y, domain=domain)

    return rule


def _logical(kind: str):
    def rule(g: Graph, out: Type, self: Value, other: Value) -> Value:
        return g.op(kind, g.cast(self, torch.bool), g.cast(other, torch.bool))

    return rule


def _comparison(kind: str):
    def rule(g: Graph, out: Type, self: Any, other: Any) -> Value:
        dtype = promoted(self, other)
        return g.op(kind, g.operand(self, dtype), g.operand(other, dtype))

    return rule


for _name, _kind in UNARY.items():
    RULES[f"{_name}.default"] = _unary(_kind)
for _name, _kind in OWN_UNARY.items():
    RULES[f"{_name}.default"] = _unary(_kind, OWN)
for _name, _kind in OWN_BINARY.items():
    RULES[f"{_name}.default"] = _binary(_kind, OWN)
for _name, _kind in LINEAR.items():
    for _overload in ("Tensor", "Scalar_Self", "Scalar_Other", "default", "self_scalar", "other_scalar"):
        RULES[f"{_name}.{_overload}"] = _binary(_kind, OWN)
for _name, _kind in BINARY.items():
    for _overload in ("default", "Tensor", "Scalar"):
        RULES[f"{_name}.{_overload}"] = _binary(_kind)
for _name, _kind in LOGICAL.items():
    RULES[f"{_name}.default"] = _logical(_kind)
for _name, _kind in COMPARISONS.items():
    for _overload in ("Tensor", "Scalar"):
        RULES[f"{_name}.{_overload}"] = _comparison(_kind)
RULES["sdgrad::stop_gradient.default"] = lambda g, out, x: RULES["detach.default"](g, out, x)
for _name in SAME:
    RULES[f"{_name}.default"] = lambda g, out, self, **rest: self


def _extreme(kind: str):
    """Return the rule of an extreme: that of what is not a number has the derivative of a sum."""

    def rule(g: Graph, out: Type, self: Value, other: Value) -> Value:
        a, b = g.operand(self, out.dtype), g.operand(other, out.dtype)
        found = g.op(kind, a, b)
        if _is_whole(out.dtype):
            return found
        return g.op("Where", g.op("Or", g.op("IsNaN", a), g.op("IsNaN", b)), g.op("Add", a, b), found)

    return rule


for _name, _kind in (("maximum", "Max"), ("minimum", "Min")):
    RULES[f"{_name}.default"] = _extreme(_kind)


@aten("sign.default", "sgn.default")
def _sign(g: Graph, out: Type, self: Value) -> Value:
    """That of what is not a number is zero."""
    found = g.op("Sign", self, like=self)
    return found if _is_whole(out.dtype) else g.op("Where", g.op("IsNaN", self), g.constant(0, out.dtype), found)


def _of_numbers(comparison: str):
    """Return the rule of an extreme that leaves out what is not a number; of two equal ones it is the first."""

    def rule(g: Graph, out: Type, self: Value, other: Value) -> Value:
        a, b = g.operand(self, out.dtype), g.operand(other, out.dtype)
        first = g.op(comparison, a, b)
        return g.op("Where", first if _is_whole(out.dtype) else g.op("Or", first, g.op("IsNaN", b)), a, b)

    return rule


RULES["fmax.default"], RULES["fmin.default"] = _of_numbers("GreaterOrEqual"), _of_numbers("LessOrEqual")


@aten("ne.Tensor", "ne.Scalar")
def _not_equal(g: Graph, out: Type, self: Any, other: Any) -> Value:
    return g.op("Not", _comparison("Equal")(g, out, self, other))


@aten("logical_not.default")
def _logical_not(g: Graph, out: Type, self: Value) -> Value:
    return g.op("Not", g.cast(self, torch.bool))


def _scaled(g: Graph, x: Any, alpha: Any, dtype: torch.dtype) -> Value:
    x = g.operand(x, dtype)
    return x if alpha == 1 else g.op("Mul", x, g.constant(alpha, dtype))


@aten("add.Tensor", "add.Scalar")
def _add(g: Graph, out: Type, self: Any, other: Any, alpha: Any = 1) -> Value:
    if out.dtype == torch.bool:
        return g.op("Or", g.operand(self, out.dtype), g.operand(other, out.dtype))
    return g.op("Add", g.operand(self, out.dtype), _scaled(g, other, alpha, out.dtype))


@aten("sub.Tensor", "sub.Scalar")
def _sub(g: Graph, out: Type, self: Any, other: Any, alpha: Any = 1) -> Value:
    return g.op("Sub", g.operand(self, out.dtype), _scaled(g, other, alpha, out.dtype))


@aten("rsub.Scalar", "rsub.Tensor")
def _rsub(g: Graph, out: Type, self: Any, other: Any, alpha: Any = 1) -> Value:
    return g.op("Sub", g.operand(other, out.dtype), _scaled(g, self, alpha, out.dtype))


@aten("mul.Tensor", "mul.Scalar")
def _mul(g: Graph, out: Type, self: Any, other: Any) -> Value:
    kind = "And" if out.dtype == torch.bool else "Mul"
    return g.op(kind, g.operand(self, out.dtype), g.operand(other, out.dtype))


@aten("div.Tensor", "div.Scalar", "div.Tensor_mode", "div.Scalar_mode")
def _div(g: Graph, out: Type, self: Any, other: Any, rounding_mode: str | None = None) -> Value:
    x, y = g.operand(self, out.dtype), g.operand(other, out.dtype)
    quotient = Value(g.op("Div", x, y).name, out.shape, out.dtype)
    if rounding_mode is None:
        return quotient
    if rounding_mode == "trunc":
        return quotient if _is_whole(out.dtype) else g.op("Trunc", quotient, domain=OWN)
    if not _is_whole(out.dtype):
        return g.op("FloorDivide", x, y, domain=OWN)
    zero = g.constant(0, out.dtype)
    rest = g.op("Sub", x, g.op("Mul", quotient, y))
    apart = g.op(
        "And", g.op("Not", g.op("Equal", rest, zero)), g.op("Xor", g.op("Less", x, zero), g.op("Less", y, zero))
    )
    return g.op("Sub", quotient, g.cast(Value(apart.name, out.shape, torch.bool), out.dtype))


@aten("round.decimals")
def _round(g: Graph, out: Type, self: Value, decimals: int) -> Value:
    if _is_whole(out.dtype):
        raise Unsupported("integers, rounded to tens; write x.double().round(decimals=-1)")
    scale = g.constant(10.0 ** abs(decimals), out.dtype)
    there, back = ("Mul", "Div") if decimals > 0 else ("Div", "Mul")
    return g.op(back, g.op("Round", g.op(there, self, scale)), scale)


@aten("fmod.Tensor", "fmod.Scalar")
def _fmod(g: Graph, out: Type, self: Any, other: Any) -> Value:
    return g.op("Mod", g.operand(self, out.dtype), g.operand(other, out.dtype), fmod=1)


@aten("remainder.Tensor", "remainder.Scalar")
def _remainder(g: Graph, out: Type, self: Any, other: Any) -> Value:
    x, y = g.operand(self, out.dtype), g.operand(other, out.dtype)
    if _is_whole(out.dtype):
        return g.op("Mod", x, y)
    return g.op("Remainder", x, y, domain=OWN)


@aten("pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar")
def _pow(g: Graph, out: Type, self: Any, exponent: Any) -> Value:
    x = g.operand(self, out.dtype)
    if exponent == 2:
        return g.op("Mul", x, x)
    if exponent == 0.5:
        return g.op("Sqrt", x)
    return g.op("Pow", x, g.operand(exponent, out.dtype))


def _shift(direction: str):
    def rule(g: Graph, out: Type, self: Any, other: Any) -> Value:
        return g.op("BitShift", g.operand(self, out.dtype), g.operand(other, out.dtype), direction=direction)

    return rule


for _direction, _short in (("left", "__lshift__"), ("right", "__rshift__")):
    for _name in ("Tensor", "Scalar", "Tensor_Scalar", "Scalar_Tensor"):
        RULES[f"bitwise_{_direction}_shift.{_name}"] = RULES[f"{_short}.{_name}"] = _shift(_direction.upper())


def _special(kind: str):
    def rule(g: Graph, out: Type, self: Value) -> Value:
        if _is_whole(self.dtype):
            return g.op("Expand", g.constant(False), g.integers(out.shape))
        return g.op(kind, self)

    return rule


RULES["isnan.default"], RULES["isinf.default"] = _special("IsNaN"), _special("IsInf")


@aten("atan2.default")
def _atan2(g: Graph, out: Type, self: Value, other: Value) -> Value:
    """Return the angle of a point; that of the origin has no derivative, which is zero in PyTorch."""
    nothing = g.constant(0, out.dtype)
    given = [g.cast(x, out.dtype) for x in (self, other)]
    origin = g.op("And", *(g.op("Equal", x, nothing) for x in given))
    safe = (g.op("Where", origin, g.op("StopGradient", x, domain=OWN), x) for x in given)
    return g.op("Atan2", *safe, domain=OWN)


@aten("where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar")
def _where(g: Graph, out: Type, condition: Value, self: Any, other: Any) -> Value:
    return g.op("Where", g.cast(condition, torch.bool), g.operand(self, out.dtype), g.operand(other, out.dtype))


@aten("masked_fill.Scalar", "masked_fill.Tensor")
def _masked_fill(g: Graph, out: Type, self: Value, mask: Value, value: Any) -> Value:
    return g.op("Where", mask, g.operand(value, out.dtype), self)


WITHIN = {
    "Less": "GreaterOrEqual", "Greater": "LessOrEqual", "LessOrEqual": "Greater", "GreaterOrEqual": "Less"
}  # fmt: skip


def _limited(g: Graph, out: Type, x: Value, low: Any, high: Any, below: str, above: str) -> Value:
    """Return a value within bounds; what is not a number, or has a bound that is none, has no derivative."""
    x = g.cast(x, out.dtype)
    for bound, outside in ((low, below), (high, above)):
        if bound is None:
            continue
        limit = g.operand(bound, out.dtype)
        inside = x
        if not _is_whole(out.dtype):
            inside = g.op("Where", g.op(WITHIN[outside], x, limit), x, g.constant(float("nan"), out.dtype))
        x = g.op("Where", g.op(outside, x, limit), limit, inside)
    return x


@aten("clamp.default", "clamp.Tensor")
def _clamp(g: Graph, out: Type, self: Value, min: Any = None, max: Any = None) -> Value:
    """Where a bound is met, the derivative passes."""
    return _limited(g, out, self, min, max, "Less", "Greater")


@aten("hardtanh.default")
def _hardtanh(g: Graph, out: Type, self: Value, min_val: float = -1.0, max_val: float = 1.0) -> Value:
    """Where a bound is met, no derivative passes."""
    return _limited(g, out, self, min_val, max_val, "LessOrEqual", "GreaterOrEqual")


@aten("logit.default")
def _logit(g: Graph, out: Type, self: Value, eps: float | None = None) -> Value:
    """Outside of the interval that ``eps`` leaves, no derivative passes."""
    x = g.cast(self, out.dtype)
    x = x if eps is None else _limited(g, out, x, eps, 1 - eps, "Less", "Greater")
    return g.op("Sub", g.op("Log", x), g.op("Log1p", g.op("Neg", x), domain=OWN))


@aten("leaky_relu.default")
def _leaky_relu(g: Graph, out: Type, self: Value, negative_slope: float = 0.01) -> Value:
    slower = g.op("Mul", self, g.constant(negative_slope, out.dtype), like=self)
    return g.op("Where", g.op("Greater", self, g.constant(0, out.dtype)), self, slower)


@aten("rrelu_with_noise_functional.default")
def _rrelu(
    g: Graph, out: Any, self: Value, noise: Any, lower: float, upper: float, training: bool, generator: Any = None
) -> Any:
    if training:
        raise Unsupported("slopes that are drawn for negative elements only: eval() has their mean")
    found = _leaky_relu(g, out[0], self, (lower + upper) / 2)
    return found, noise


@aten("hardsigmoid.default")
def _hardsigmoid(g: Graph, out: Type, self: Value) -> Value:
    """Where a bound is met, no derivative passes."""
    inside = g.op("Div", _limited(g, out, self, -3, 3, "LessOrEqual", "GreaterOrEqual"), g.constant(6, out.dtype))
    return g.op("Add", inside, g.constant(0.5, out.dtype), like=self)


@aten("hardswish.default")
def _hardswish(g: Graph, out: Type, self: Value) -> Value:
    """Where a bound is met, the derivative is that of outside."""
    zero, three, six = (g.constant(n, out.dtype) for n in (0, 3, 6))
    inside = g.op("Div", g.op("Mul", self, g.op("Add", self, three, like=self), like=self), six, like=self)
    above = g.op("Where", g.op("GreaterOrEqual", self, three), self, inside)
    return g.op("Where", g.op("LessOrEqual", self, g.constant(-3, out.dtype)), zero, above)


@aten("elu.default")
def _elu(g: Graph, out: Type, self: Value, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Value:
    inner = self if input_scale == 1 else g.op("Mul", self, g.constant(input_scale, out.dtype))
    below = g.op("Mul", g.op("Expm1", inner, domain=OWN), g.constant(alpha, out.dtype))  # attributes are single
    x = g.op("Where", g.op("Greater", self, g.constant(0, out.dtype)), self, below)
    return x if scale == 1 else g.op("Mul", x, g.constant(scale, out.dtype))


@aten("gelu.default")
def _gelu(g: Graph, out: Type, self: Value, approximate: str = "none") -> Value:
    return g.op("Gelu", self, approximate=approximate)


@aten("silu.default")
def _silu(g: Graph, out: Type, self: Value) -> Value:
    return g.op("Mul", self, g.op("Sigmoid", self))


@aten("softplus.default")
def _softplus(g: Graph, out: Type, self: Value, beta: float = 1, threshold: float = 20) -> Value:
    scaled = g.op("Mul", self, g.constant(beta, out.dtype))
    soft = g.op("Div", g.op("Softplus", scaled), g.constant(beta, out.dtype))
    return g.op("Where", g.op("Greater", scaled, g.constant(threshold, out.dtype)), self, soft)


@aten("copy.default")
def _copy(g: Graph, out: Type, self: Value, src: Value, non_blocking: bool = False) -> Value:
    x = g.cast(src, out.dtype)
    return x if src.shape == out.shape else g.op("Expand", x, g.integers(out.shape))


@aten("_to_copy.default", "to.dtype")
def _to_copy(g: Graph, out: Type, self: Value, **rest: Any) -> Value:
    return g.cast(self, out.dtype)
