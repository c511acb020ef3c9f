"""Names that are integers first and real numbers later: ``s = 0`` before ``s = s + x[i]``.

A graph's variable has one type, that of its first value, and what is assigned to it afterwards is cut off. Where the
text of a function says that a name gets real numbers, its integers become real numbers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from sdgrad.frontend.syntax import bound_values, is_numpy

ORDER = ("bool", "int", "float", "complex")
FLOATS = {
    "sin", "cos", "tan", "tanh", "sinh", "cosh", "exp", "log", "sqrt", "log1p", "expm1", "log2", "log10", "arctan",
    "arcsin", "arccos", "arctan2", "hypot", "mean", "std", "var", "linspace", "float64", "float32", "float16", "random",
}  # fmt: skip
KEEPING = {
    "sum", "prod", "max", "min", "amax", "amin", "abs", "absolute", "copy", "dot", "maximum", "minimum", "add",
    "subtract", "multiply", "where", "square", "negative", "outer", "cumsum", "reshape", "transpose", "ravel",
    "zeros_like", "ones_like", "clip", "sort", "flip", "roll", "sign", "tensordot", "matmul", "power", "remainder",
}  # fmt: skip

MAKERS = {"zeros", "ones", "empty", "full", "reshape"}


def real_from_the_start(function: ast.FunctionDef, known: Mapping[str, str]) -> None:
    """Rewrite a function so that names which become real numbers are such from their first binding on.

    :param known: kinds of arguments.
    """
    values = bound_values(function)
    found = kinds(values, known)
    counted = _counting(function, values)
    for name, bound in values.items():
        own = {kind(value, found) if value is not None else None for value in bound}
        if own & {"float", "complex"}:
            widen = complex if "complex" in own else float
        elif None in own and name not in counted:
            widen = None  # what is not known may be real: a number that is written out is as good as such
        else:
            continue
        for node in _assignments(function, name):
            node.value = _real(node.value, found, widen)


def _real(value: ast.expr, found: Mapping[str, str], widen: type | None) -> ast.expr:
    """An integer as a real number: one that is written out, or (``widen``) any."""
    if isinstance(value, ast.Constant) and type(value.value) in ((int, float) if widen is complex else (int,)):
        return ast.copy_location(ast.Constant((widen or float)(value.value)), value)
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
        value.operand = _real(value.operand, found, widen)
    elif isinstance(value, ast.IfExp):
        value.body, value.orelse = (_real(v, found, widen) for v in (value.body, value.orelse))
    elif widen is not None and kind(value, found) == "int":
        return ast.copy_location(ast.BinOp(ast.Constant(1.0), ast.Mult(), value), value)
    return value


def changing(function: ast.FunctionDef, known: Mapping[str, str]) -> set[str]:
    """Names that are bound to numbers of different kinds."""
    values = bound_values(function)
    found = kinds(values, known)
    own = {n: {kind(v, found) for v in bound if v is not None} | {known.get(n)} for n, bound in values.items()}
    return {n for n, told in own.items() if len(told - {None}) > 1}


def _assignments(function: ast.FunctionDef, name: str) -> Iterator[ast.Assign]:
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            yield node


def _counting(function: ast.FunctionDef, values: Mapping[str, list[ast.expr | None]]) -> set[str]:
    """Names that indices, bounds and sizes are made of, or that are given to functions that may do so."""
    found: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript):
            found |= {n.id for n in ast.walk(node.slice) if isinstance(n, ast.Name)}
        elif isinstance(node, ast.Call) and _may_count(node.func):
            found |= {n.id for a in node.args for n in ast.walk(a) if isinstance(n, ast.Name)}
    while True:
        of = {n.id for name in found for v in values.get(name, ()) if v for n in ast.walk(v) if isinstance(n, ast.Name)}
        if of <= found:
            return found
        found |= of


def _may_count(function: ast.expr) -> bool:
    known = ("abs", "min", "max", "float")
    return isinstance(function, ast.Name) and function.id not in known or getattr(function, "attr", "") in MAKERS


def kinds(values: Mapping[str, list[ast.expr | None]], known: Mapping[str, str]) -> dict[str, str]:
    """The widest kind that is known of what each name is bound to."""
    found = dict(known)
    while True:
        before = dict(found)
        for name, bound in values.items():
            told = [k for v in bound if v is not None and (k := kind(v, found)) is not None]
            told += [known[name]] if name in known else []
            if told:
                found[name] = max(told, key=ORDER.index)
        if found == before:
            return found


def kind(value: ast.expr, known: Mapping[str, str]) -> str | None:
    """``bool``, ``int``, ``float`` or ``complex``; None where the text does not tell."""

    def widest(*parts: ast.expr) -> str | None:
        told = [kind(p, known) for p in parts]
        return None if None in told or not told else max((k for k in told if k is not None), key=ORDER.index)

    if isinstance(value, ast.Constant):
        return type(value.value).__name__ if type(value.value).__name__ in ORDER else None
    if isinstance(value, ast.Name):
        return known.get(value.id)
    if isinstance(value, ast.BinOp):
        both = widest(value.left, value.right)
        if isinstance(value.op, ast.Div) or both == "float" or kind(value.left, known) == "float":
            return "complex" if both == "complex" else "float"
        return "int" if both == "bool" else both
    if isinstance(value, ast.UnaryOp):
        return "bool" if isinstance(value.op, ast.Not) else kind(value.operand, known)
    if isinstance(value, ast.Compare):
        return "bool"
    if isinstance(value, (ast.IfExp, ast.BoolOp)):
        return widest(*([value.body, value.orelse] if isinstance(value, ast.IfExp) else value.values))
    if isinstance(value, ast.Attribute):
        return "int" if value.attr in ("size", "ndim") else kind(value.value, known) if value.attr == "T" else None
    if isinstance(value, ast.Subscript):
        of_shape = isinstance(value.value, ast.Attribute) and value.value.attr == "shape"
        return "int" if of_shape else kind(value.value, known)
    return _of_call(value, known, widest) if isinstance(value, ast.Call) else None


def _of_call(call: ast.Call, known: Mapping[str, str], widest) -> str | None:
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if isinstance(call.func, ast.Name):
        if name in ("float", "int", "bool", "complex"):
            return name
        return "int" if name == "len" else widest(*call.args) if name in ("abs", "min", "max") else None
    of_numpy = isinstance(call.func, ast.Attribute) and is_numpy(call.func.value)
    if any(k.arg == "dtype" for k in call.keywords):
        return None
    if of_numpy and name in FLOATS:
        return "complex" if any(kind(a, known) == "complex" for a in call.args) else "float"
    if of_numpy and name in ("zeros", "ones", "empty") and len(call.args) == 1:
        return "float"
    if name in ("argmax", "argmin", "int64", "int32"):
        return "int"
    if name in KEEPING:
        several = ("dot", "maximum", "minimum", "add", "subtract", "multiply")
        first = call.args if name in several else call.args[1:] if name == "where" else call.args[:1]
        told = widest(*first) if of_numpy else kind(call.func.value, known)  # type: ignore[attr-defined]
        return "int" if told == "bool" and name in ("sum", "prod", "dot", "cumsum") else told
    return None
