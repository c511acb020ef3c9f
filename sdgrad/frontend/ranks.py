"""How many dimensions the values of names have, where the text of a function says so: numbers have none.

``u = t`` makes two names of one array, but ``t += 1`` afterwards changes ``u`` only where that is an array.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from sdgrad.frontend.syntax import bound_values, is_numpy

ELEMENTWISE = {
    "abs", "absolute", "add", "arctan", "arctan2", "ceil", "conj", "cos", "cosh", "divide", "exp", "expm1", "fabs",
    "float32", "float64", "floor", "hypot", "int32", "int64", "log", "log1p", "logical_and", "logical_or", "maximum",
    "minimum", "multiply", "negative", "power", "reciprocal", "sign", "sin", "sinh", "sqrt", "square", "subtract",
    "tan", "tanh", "where",
}  # fmt: skip
LIKE = {"zeros_like", "ones_like", "empty_like", "full_like", "copy", "array", "asarray", "sort", "flip"}
SHAPED = {"zeros", "ones", "empty", "full"}
REDUCTIONS = {"sum", "prod", "mean", "max", "min", "amax", "amin", "std", "var", "argmax", "argmin", "all", "any"}
PRODUCTS = {(1, 1): 0, (2, 1): 1, (1, 2): 1, (2, 2): 2}
NUMBERS = {"float", "int", "bool", "complex", "len", "round"}


def ranks(function: ast.FunctionDef, known: Mapping[str, int]) -> dict[str, int]:
    """Names whose value has one number of dimensions everywhere in a function.

    :param known: of arguments.
    """
    found, arguments = dict(known), {a.arg for a in function.args.args}
    bound = bound_values(function)
    for name in bound.keys() & arguments - known.keys():
        del bound[name]
    for _ in range(len(bound) + 1):  # each round tells one more name at least, or nothing
        before = dict(found)
        for name, values in bound.items():
            given = {known[name]} if name in known else set()
            # what is not known yet may be so for being made of the name itself: ``t = t + x[i]``
            told = given | {r for v in values if v is not None and (r := rank(v, found)) is not None}
            if len(told) == 1 and None not in values:
                found[name] = told.pop()
            else:
                found.pop(name, None)
        if found == before:
            break
    sure = {n: r for n, r in found.items() if n in known or n in bound}
    while True:  # and now nothing that is not known may be left
        wrong = {n for n in sure for v in bound.get(n, ()) if v is None or rank(v, sure) != sure[n]}
        if not wrong:
            return sure
        sure = {n: r for n, r in sure.items() if n not in wrong}


def rank(value: ast.expr, known: Mapping[str, int]) -> int | None:
    """The number of dimensions of an expression's value; None where the text does not tell."""

    def widest(*parts: ast.expr) -> int | None:
        found = [rank(p, known) for p in parts]
        return None if None in found else max(r for r in found if r is not None)

    if isinstance(value, ast.Constant):
        return 0
    if isinstance(value, ast.Name):
        return known.get(value.id)
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.MatMult):
        return _of_product(rank(value.left, known), rank(value.right, known))
    if isinstance(value, ast.BinOp):
        return widest(value.left, value.right)
    if isinstance(value, ast.UnaryOp):
        return rank(value.operand, known)
    if isinstance(value, ast.BoolOp):
        return widest(*value.values)
    if isinstance(value, ast.Compare):
        return widest(value.left, *value.comparators)
    if isinstance(value, ast.IfExp):
        return widest(value.body, value.orelse) if rank(value.body, known) == rank(value.orelse, known) else None
    if isinstance(value, ast.Attribute):
        return rank(value.value, known) if value.attr in ("T", "real", "imag") else 0 if value.attr == "size" else None
    if isinstance(value, ast.Subscript):
        return _of_subscript(value, known)
    return _of_call(value, known) if isinstance(value, ast.Call) else None


def _of_product(left: int | None, right: int | None) -> int | None:
    return PRODUCTS.get((left, right)) if left is not None and right is not None else None


def _of_subscript(value: ast.Subscript, known: Mapping[str, int]) -> int | None:
    if isinstance(value.value, ast.Attribute) and value.value.attr == "shape":
        return 0
    left = rank(value.value, known)
    for entry in value.slice.elts if isinstance(value.slice, ast.Tuple) else [value.slice]:
        if left is None or isinstance(entry, ast.Constant) and not isinstance(entry.value, int):
            return None
        if not isinstance(entry, ast.Slice):
            if rank(entry, known) != 0:
                return None
            left -= 1
    return left


def _of_call(call: ast.Call, known: Mapping[str, int]) -> int | None:
    function = call.func
    if isinstance(function, ast.Name):
        if function.id in ("abs", "min", "max"):
            found = [rank(a, known) for a in call.args]
            return 0 if found and set(found) == {0} else None
        return 0 if function.id in NUMBERS else None
    if not isinstance(function, ast.Attribute) or call.keywords:
        return None
    of_numpy = is_numpy(function.value)
    arguments = call.args if of_numpy else [function.value, *call.args]
    found = [rank(a, known) for a in arguments]
    if function.attr in ELEMENTWISE and of_numpy:
        return None if None in found or not found else max(r for r in found if r is not None)
    if function.attr in REDUCTIONS and len(arguments) == 1:
        return 0
    if function.attr in LIKE and arguments and not isinstance(arguments[0], (ast.List, ast.Tuple)):
        return found[0]
    if function.attr in SHAPED and of_numpy and arguments:
        shape = arguments[0]
        if isinstance(shape, ast.Attribute) and shape.attr == "shape":
            return rank(shape.value, known)
        return len(shape.elts) if isinstance(shape, (ast.Tuple, ast.List)) else 1 if found[0] == 0 else None
    if function.attr == "dot" and len(found) == 2:
        return _of_product(found[0], found[1])
    if function.attr == "outer":
        return 2
    return None
