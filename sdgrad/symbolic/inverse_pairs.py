"""Differentiate a function of its own inverse: their product has no pole where the inverse alone has one.

``sqrt(u) ** 2`` is ``u``, ``exp(log(u))`` too: their derivative is 1 at 0 as well, where ``sqrt`` and ``log`` have
infinite derivatives, and the chain rule ends in zero times infinity. So the outer instruction is differentiated by the
argument of the inner one. In the rows ``u`` is that argument. Constant factors in between make no difference.

``abs(u) ** 2`` is ``u ** 2``, and ``cosh(abs(u))`` is ``cosh(u)``: so are all their derivatives, though that of ``abs``
is a choice at 0.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace

from sdgrad.symbolic import code
from sdgrad.symbolic.derivatives import Partial

ROOTS = {"sqrt": 0.5, "cbrt": 1 / 3}
"""Functions that are powers."""
MAGNITUDES = ("abs", "fabs", "absolute", "hypot")
"""Functions that are their first argument if that is no less than zero, and the second (if there is one) is zero."""
PAIRS = {("exp", "log"): "1", ("exp2", "log2"): "1", ("expm1", "log1p"): "1"}
"""Inverse functions, outer and inner, and the derivative of the whole."""
EVEN = {"cos": "-sin(u)", "cosh": "sinh(u)"}
"""Functions that do not see the sign of their argument, and their derivatives."""
ABSOLUTE = ("abs", "fabs", "absolute")
SQUARED = {name: "-2 * sdgrad_acos_ratio(u)" for name in ("acos", "arccos")}
"""Functions with a pole of their derivative that their square has not."""


def whole_partial(expr: ast.expr, known: Mapping[str, ast.expr], kind: Mapping[str, str]) -> Partial | None:
    """Return the partial of an outer function by the argument of the inner one; None if they are no such pair.

    :param expr: the outer instruction.
    :param known: the instructions before it, by the names that they define.
    """
    operand = _operand(expr, known)
    if operand is None or kind.get(operand) != "float" or operand not in known:
        return None
    exponent, (inner, scale) = _exponent(expr, known), _scaled(operand, known)
    if inner not in known or kind.get(inner) != "float":
        return None
    if exponent is not None and (scale > 0 or float(exponent).is_integer()):
        scale = _scale_of_product(expr, known) if _is_product(expr) else scale**exponent
        found = _of_magnitude(exponent, inner, known, kind)
        if found is None and (root := _root(inner, known)) is not None:
            found = _of_power(exponent, *root, kind)
        if found is not None:
            return _times(scale, found)
    if inner != operand:
        return None
    call = known[inner]
    if not isinstance(call, ast.Call) or len(call.args) != 1 or not isinstance(call.args[0], ast.Name):
        return None
    text = SQUARED.get(code.callee(call)) if exponent == 2 else None
    if isinstance(expr, ast.Call):
        text = text or PAIRS.get((code.callee(expr), code.callee(call)))
        text = text or (EVEN.get(code.callee(expr)) if code.callee(call) in ABSOLUTE else None)
    u = call.args[0]
    if text is None or kind.get(u.id) != "float":
        return None
    factor = code.rename(code.parse(text), {"u": u})
    whole = Partial(u.id, _where_defined(factor, code.name(inner)))
    return whole if exponent is None else _times(scale, whole)


def _operand(expr: ast.expr, known: Mapping[str, ast.expr]) -> str | None:
    """Return the name that an instruction with one operand is a function of."""
    operand: ast.expr | None = None
    if isinstance(expr, ast.Call) and len(expr.args) == 1:
        operand = expr.args[0]
    elif isinstance(expr, ast.BinOp) and _exponent(expr, known) is not None:
        operand = expr.left
    return operand.id if isinstance(operand, ast.Name) else None


def _exponent(expr: ast.expr, known: Mapping[str, ast.expr]) -> int | float | None:
    """Return the constant exponent of a power; ``x * x`` and ``square(x)`` are one."""
    if isinstance(expr, ast.Call):
        return 2 if code.callee(expr) == "square" else None
    if not isinstance(expr, ast.BinOp):
        return None
    if _is_product(expr):
        one, other = (_scaled(x.id, known)[0] for x in (expr.left, expr.right) if isinstance(x, ast.Name))
        same = one == other or one in known and other in known and ast.unparse(known[one]) == ast.unparse(known[other])
        return 2 if same else None
    return code.number_of(expr.right) if isinstance(expr.op, ast.Pow) else None


def _is_product(expr: ast.expr) -> bool:
    """True of a product of two names."""
    is_one = isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Mult)
    return is_one and isinstance(expr.left, ast.Name) and isinstance(expr.right, ast.Name)  # type: ignore[attr-defined]


def _scaled(name: str, known: Mapping[str, ast.expr]) -> tuple[str, float]:
    """Return the name that another one is a constant multiple of, and the constant."""
    scale = 1.0
    while (found := _multiple(known.get(name))) is not None:
        name, scale = found[0], scale * found[1]
    return name, scale


def _multiple(expr: ast.expr | None) -> tuple[str, float] | None:
    """Return the name and the constant of a product or a quotient of these; None for anything else."""
    if isinstance(expr, ast.UnaryOp) and isinstance(expr.op, ast.USub) and isinstance(expr.operand, ast.Name):
        return expr.operand.id, -1.0
    if not isinstance(expr, ast.BinOp) or not isinstance(expr.op, (ast.Mult, ast.Div)):
        return None
    pairs = [(expr.left, expr.right)] + [(expr.right, expr.left)] * isinstance(expr.op, ast.Mult)
    for name, number in pairs:
        factor = code.number_of(number)
        if isinstance(name, ast.Name) and isinstance(factor, (int, float)) and factor != 0:
            return name.id, float(factor) if isinstance(expr.op, ast.Mult) else 1.0 / factor
    return None


def _scale_of_product(expr: ast.expr, known: Mapping[str, ast.expr]) -> float:
    """Return the product of the constants of two factors."""
    assert isinstance(expr, ast.BinOp)
    one, other = (_scaled(x.id, known)[1] for x in (expr.left, expr.right) if isinstance(x, ast.Name))
    return one * other


def _times(scale: float, partial: Partial | None) -> Partial | None:
    """Return a partial times a constant."""
    if partial is None or scale == 1 or partial.factor is None:
        return partial
    return replace(partial, factor=code.binary(ast.Mult, code.constant(scale), partial.factor))


def _of_magnitude(exponent: float, name: str, known: Mapping[str, ast.expr], kind: Mapping[str, str]) -> Partial | None:
    """Return the partial of an even power of a magnitude by its argument; None for anything else."""
    call = known[name]
    if not isinstance(call, ast.Call) or code.callee(call) not in ABSOLUTE or exponent < 2 or exponent % 2:
        return None
    u = call.args[0]
    if not isinstance(u, ast.Name) or kind.get(u.id) != "float":
        return None
    power = u if exponent == 2 else code.binary(ast.Pow, u, code.constant(int(exponent) - 1))
    return Partial(u.id, code.binary(ast.Mult, code.constant(int(exponent)), power))


def _root(name: str, known: Mapping[str, ast.expr]) -> tuple[str, str, float] | None:
    """Return the root that a name is, with its argument and exponent: ``r = u ** p`` for ``p`` below 1."""
    expr = known.get(name)
    if isinstance(expr, ast.Call) and isinstance(expr.args[0], ast.Name):
        function, rest = code.callee(expr), expr.args[1:]
        if function in ROOTS:
            return name, expr.args[0].id, ROOTS[function]
        if function in MAGNITUDES and all(code.number_of(a) == 0 for a in rest):
            found = _root(expr.args[0].id, known)
            return found if found is not None and found[2] != ROOTS["cbrt"] else None
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Pow) and isinstance(expr.left, ast.Name):
        exponent = code.number_of(expr.right)
        return (name, expr.left.id, float(exponent)) if exponent is not None and 0 < exponent < 1 else None
    return None


def _of_power(exponent: float, r: str, u: str, root: float, kind: Mapping[str, str]) -> Partial | None:
    """Return the partial of ``r ** exponent`` by ``u``, for ``r = u ** root``; None if it has a pole itself."""
    whole, left = exponent * root, exponent - 1 / root
    if kind.get(u) != "float" or round(left, 12) < 0:
        return None
    factor: ast.expr = code.constant(round(whole, 12))
    if round(left, 12):
        factor = code.binary(ast.Mult, factor, code.binary(ast.Pow, code.name(r), code.constant(round(left, 12))))
    return Partial(u, _where_defined(factor, code.name(r)))


def _where_defined(factor: ast.expr, r: ast.expr) -> ast.expr:
    """Return a factor that is NaN where the inner result is."""
    return code.choose(ast.Compare(left=r, ops=[ast.Eq()], comparators=[r]), factor, r)
