"""Differentiate one instruction: polynomials by SymPy, functions by their row of the table, choices by their guard."""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import sympy

from sdgrad.symbolic import code, kinds
from sdgrad.symbolic.code import names_in
from sdgrad.symbolic.rows import UNKNOWN, ScalarRule
from sdgrad.symbolic.scalar_rules import RULES

FINITE = "sdgrad_is_finite"
STRONG = "sdgrad_strong"  # (value, g): the value; zero where g is zero and the value is no finite number


class NoDerivative(Exception):
    """Say that a function has no row in the table; ``args[0]`` is its name."""


GIVEN = {"g": "__cotangent", "dx": "__tangent"}
"""What the table calls a cotangent and a tangent, and what partials call them: variables have such short names too."""


@dataclass(frozen=True)
class Partial:
    """The derivative of an instruction's result by one operand.

    ``factor`` is the partial as an expression (None: one); ``guard`` the condition under which the result is the
    operand's at all; ``depends``, ``steep`` and ``overflows`` are those of the table; ``vjp`` and ``jvp`` replace the
    product with the factor, in ``GIVEN``. ``unknown`` says what has no formula: the partial must not be asked for.
    """

    operand: str
    factor: ast.expr | None = None
    guard: ast.expr | None = None
    singular: bool = False
    vjp: ast.expr | None = None
    jvp: ast.expr | None = None
    depends: ast.expr | None = None
    steep: bool = False
    overflows: bool = False
    unknown: str = ""

    @property
    def is_constant(self) -> bool:
        """True if the derivative is a number, which keeps zeros zero."""
        return self.vjp is None and (self.factor is None or not names_in(self.factor))

    @property
    def needs(self) -> set[str]:
        """Return the names whose values the adjoint must know."""
        exprs = [e for e in (self.vjp or self.factor, self.guard, self.depends) if e is not None]
        return {n for e in exprs for n in names_in(e)} - set(GIVEN.values())


def partials(name: str, expr: ast.expr, kind: Mapping[str, str]) -> list[Partial]:
    """Return the partials of ``name = expr`` by every real or complex name in it that can be nonzero."""
    active = {n for n in names_in(expr) if kind.get(n) in ("float", "complex")}
    if not active or kind.get(name) in ("bool", "int"):
        return []
    found = _partials(name, expr, kind)
    return [p for p in found if p.operand in active]


def _partials(name: str, expr: ast.expr, kind: Mapping[str, str]) -> list[Partial]:
    """Return the partials of an expression, by the form of its root."""
    if isinstance(expr, ast.Name):
        return [Partial(expr.id)]
    if isinstance(expr, ast.IfExp):
        return _choice(expr, kind)
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Div):
        return _row(RULES["div"], [expr.left, expr.right], name, kind)
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Pow):
        return _power(expr, name, kind)
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, (ast.Mod, ast.FloorDiv)):
        row = "py_mod" if isinstance(expr.op, ast.Mod) else "py_floor"
        return _row(RULES[row], [expr.left, expr.right], name, kind)
    if isinstance(expr, ast.Call):
        return _call(expr, name, kind)
    if isinstance(expr, (ast.BinOp, ast.UnaryOp)):
        return [Partial(n, factor) for n, factor in polynomial(ast.unparse(expr)).items()]
    return []


def _refuse_nested(arg: ast.expr, kind: Mapping[str, str]) -> None:
    """Refuse an operand that is a formula of its own: the chain rule goes from name to name.

    :raises NoDerivative: it has real or complex names in it.
    """
    if not isinstance(arg, ast.Name) and any(kind.get(n) in ("float", "complex") for n in names_in(arg)):
        raise NoDerivative(f"{ast.unparse(arg)}, inside of another formula,")


def _choice(expr: ast.IfExp, kind: Mapping[str, str]) -> list[Partial]:
    """Return the partials of ``a if guard else b``: each holds under its condition."""
    found = []
    for arm in (expr.body, expr.orelse):
        _refuse_nested(arm, kind)
    if isinstance(expr.body, ast.Name):
        found.append(Partial(expr.body.id, guard=expr.test))
    if isinstance(expr.orelse, ast.Name):
        found.append(Partial(expr.orelse.id, guard=ast.UnaryOp(op=ast.Not(), operand=expr.test)))
    return found


def _call(expr: ast.Call, name: str, kind: Mapping[str, str]) -> list[Partial]:
    """Return the partials of a function call, by the function's row."""
    function = code.callee(expr)
    if function in kinds.CASTS:
        if kinds.CASTS[function] in ("bool", "int"):
            return []
        return _cast(expr)
    if function not in RULES:
        raise NoDerivative(function)
    rule = RULES[function]
    args = list(expr.args)
    if len(args) != rule.arity:
        raise NoDerivative(f"{function} with {len(args)} arguments")
    return _row(rule, args, name, kind)


def _cast(expr: ast.Call) -> list[Partial]:
    """Return the partials of ``float64(x)``, or of ``complex128(re, im)``."""
    found = [Partial(expr.args[0].id)] if isinstance(expr.args[0], ast.Name) else []
    if len(expr.args) == 2 and isinstance(expr.args[1], ast.Name):
        found.append(Partial(expr.args[1].id, code.parse("1j")))
    return found


def _power(expr: ast.BinOp, name: str, kind: Mapping[str, str]) -> list[Partial]:
    """Return the partials of ``x ** n``; a constant exponent is folded."""
    exponent = code.number_of(expr.right)
    if exponent is None or not isinstance(expr.left, ast.Name):
        return _row(RULES["pow"], [expr.left, expr.right], name, kind)
    x = expr.left
    if exponent == 0:
        return []
    if exponent in (1, 2):
        return [Partial(x.id, None if exponent == 1 else code.binary(ast.Mult, code.constant(2), x))]
    if exponent == 0.5:
        factor = code.binary(ast.Div, code.constant(0.5), code.name(name))
        return [Partial(x.id, factor, singular=True, steep=True)]
    lower = code.binary(ast.Pow, x, code.constant(exponent - 1))
    depends = code.call(FINITE, x) if exponent < 0 and kind.get(x.id) == "float" else None
    factor = code.binary(ast.Mult, code.constant(exponent), lower)
    return [Partial(x.id, factor, singular=exponent < 1, steep=0 < exponent < 1, depends=depends)]


def _row(rule: ScalarRule, args: list[ast.expr], name: str, kind: Mapping[str, str]) -> list[Partial]:
    """Return the partials that a row of the table gives, for the arguments of a call."""
    env: dict[str, ast.expr] = {**dict(zip(rule.arguments, args, strict=False)), "y": code.name(name)}
    env |= {short: code.name(own) for short, own in GIVEN.items()}
    found = []

    def condition(texts: tuple[str | None, ...], k: int) -> ast.expr | None:
        text = texts[k] if texts else None
        return code.rename(code.parse(text), env) if text is not None and kind.get(name) != "complex" else None

    for k, (arg, partial) in enumerate(zip(args, rule.partials, strict=False)):
        if partial is not None or rule.complex_vjp is not None:
            _refuse_nested(arg, kind)
        if not isinstance(arg, ast.Name):
            continue
        if partial == UNKNOWN:
            found.append(Partial(arg.id, unknown=rule.written(k)))
        elif rule.complex_vjp is not None and kind.get(arg.id) == "complex":
            found.append(
                Partial(
                    arg.id,
                    vjp=code.rename(code.parse(rule.complex_vjp), env),
                    jvp=code.rename(code.parse(rule.complex_jvp or ""), env),
                )
            )
        elif partial is not None:
            factor = code.bottom_up(code.rename(code.parse(partial), env), _real_argument)
            constant = factor if not isinstance(factor, ast.Constant) or factor.value != 1 else None
            guard, depends = condition(rule.selects, k), condition(rule.depends, k)
            own = Partial(arg.id, constant, guard, rule.singular, depends=depends)
            found.append(replace(own, steep=rule.steep, overflows=rule.overflows))
    return found


def _real_argument(expr: ast.expr) -> ast.expr:
    """Return ``f(2)`` as ``f(2.0)``, any other expression unchanged: kernels have no functions of integers."""
    match expr:
        case ast.Call(args=[argument]) if type(number := code.number_of(argument)) is int:
            return ast.Call(func=expr.func, args=[code.constant(float(number))], keywords=[])
    return expr


# --- polynomials -------------------------------------------------------------------------------------------------
@lru_cache(maxsize=4096)
def polynomial(text: str) -> dict[str, ast.expr | None]:
    """Return the partials of a sum of products, by SymPy; literals are symbols to it, so that none is rounded."""
    literals: list[ast.expr] = []
    names: dict[str, sympy.Symbol] = {}
    expr = _to_sympy(code.parse(text), names, literals)
    result: dict[str, ast.expr | None] = {}
    for name, symbol in names.items():
        if not name.startswith("__literal"):
            partial = sympy.diff(expr, symbol)
            if partial != 0:
                result[name] = None if partial == 1 else _from_sympy(partial, literals)
    return result


def _to_sympy(expr: ast.expr, names: dict[str, sympy.Symbol], literals: list[ast.expr]) -> sympy.Expr:
    """Return an expression for SymPy, with a symbol for each literal."""
    if isinstance(expr, ast.Name):
        return names.setdefault(expr.id, sympy.Symbol(expr.id))
    if isinstance(expr, ast.Constant) and type(expr.value) is int:
        return sympy.Integer(expr.value)
    if isinstance(expr, ast.UnaryOp):
        inner = _to_sympy(expr.operand, names, literals)
        return -inner if isinstance(expr.op, ast.USub) else inner
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, (ast.Add, ast.Sub, ast.Mult)):
        left, right = _to_sympy(expr.left, names, literals), _to_sympy(expr.right, names, literals)
        return (
            left + right
            if isinstance(expr.op, ast.Add)
            else left - right
            if isinstance(expr.op, ast.Sub)
            else left * right
        )
    if names_in(expr):
        raise ValueError(f"'{ast.unparse(expr)}' stands inside a polynomial: it needs a name of its own")
    literals.append(expr)
    return names.setdefault(f"__literal{len(literals) - 1}", sympy.Symbol(f"__literal{len(literals) - 1}"))


def _from_sympy(expr: sympy.Expr, literals: list[ast.expr]) -> ast.expr:
    """Return SymPy's expression as code."""
    if isinstance(expr, sympy.Symbol):
        return literals[int(expr.name[9:])] if expr.name.startswith("__literal") else code.name(expr.name)
    if isinstance(expr, sympy.Integer):
        value = int(expr)
        return code.constant(value) if value >= 0 else ast.UnaryOp(op=ast.USub(), operand=code.constant(-value))
    if isinstance(expr, sympy.Pow):
        base = _from_sympy(expr.base, literals)
        result = base
        for _ in range(int(expr.exp) - 1):
            result = code.binary(ast.Mult, result, base)
        return result
    op = ast.Add if isinstance(expr, sympy.Add) else ast.Mult
    terms = (
        [_from_sympy(a, literals) for a in expr.as_ordered_terms() if op is ast.Add]
        if op is ast.Add
        else [_from_sympy(a, literals) for a in expr.as_ordered_factors()]
    )
    result = terms[0]
    for term in terms[1:]:
        result = code.binary(op, result, term)
    return result


# --- products with cotangents and tangents -----------------------------------------------------------------------
def pull(
    p: Partial,
    g: ast.expr,
    kind: Mapping[str, str],
    result: str,
    strong: bool = False,
    complex_type: str = "dace.complex128",
) -> ast.expr:
    """Return what the result's cotangent ``g`` contributes to the operand's where the guard holds.

    :param strong: True if a cotangent of zero passes nothing on, whatever the derivative is.
    """
    complex_result, real_operand = kind.get(result) == "complex", kind.get(p.operand) != "complex"
    involved = complex_result or not real_operand
    if p.vjp is not None:
        value = code.rename(p.vjp, {GIVEN["g"]: g})
    elif p.factor is None:
        value = g
    else:
        value = quotient(code.call("conj", p.factor) if involved else p.factor, g)
    if strong:
        value = code.call(STRONG, value, g)
    if involved:
        value = complex_literals(value, complex_type)
    return code.call("real", value) if complex_result and real_operand else value


def push(
    p: Partial, dx: ast.expr, kind: Mapping[str, str], result: str, complex_type: str = "dace.complex128"
) -> ast.expr:
    """Return the contribution of the operand's tangent ``dx`` to the result's: ``partial * dx``, guarded."""
    complex_result, complex_operand = kind.get(result) == "complex", kind.get(p.operand) == "complex"
    nothing: ast.expr = code.constant(0)
    if p.jvp is not None:
        value = code.rename(p.jvp, {GIVEN["dx"]: dx})
    elif p.factor is None:
        value = code.call(complex_type, dx, nothing) if complex_result and not complex_operand else dx
    else:
        value = quotient(p.factor, dx)
    if p.singular:
        value = code.call(STRONG, value, dx)
    if complex_result:
        value, nothing = complex_literals(value, complex_type), complex_literals(nothing, complex_type)
    return value if p.guard is None else code.choose(p.guard, value, nothing)


def complex_literals(expr: ast.expr, complex_type: str) -> ast.expr:
    """Return an expression with its numbers as complex numbers of a precision, exponents excepted.

    C++ computes with a complex and another number only if both have the same type.
    """

    class Literals(ast.NodeTransformer):
        def visit_Constant(self, node: ast.Constant) -> ast.expr:
            if isinstance(node.value, bool) or not isinstance(node.value, (int, float, complex)):
                return node
            parts = complex(node.value)
            return code.call(complex_type, code.constant(parts.real), code.constant(parts.imag))

        def visit_Call(self, node: ast.Call) -> ast.expr:
            if code.callee(node) not in kinds.CASTS:
                node.args = [self.visit(a) for a in node.args]
            return node

        def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
            node.left = self.visit(node.left)
            if not isinstance(node.op, ast.Pow) or code.number_of(node.right) is None:
                node.right = self.visit(node.right)
            return node

    return Literals().visit(copy.deepcopy(expr))


def quotient(factor: ast.expr, g: ast.expr) -> ast.expr:
    """Return ``factor * g``, as one division if the factor is one."""
    if isinstance(factor, ast.BinOp) and isinstance(factor.op, ast.Div):
        one = isinstance(factor.left, ast.Constant) and factor.left.value == 1
        top = g if one else code.binary(ast.Mult, factor.left, g)
        return code.binary(ast.Div, top, factor.right)
    return code.binary(ast.Mult, factor, g)
