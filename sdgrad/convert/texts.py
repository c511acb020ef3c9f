"""Tell texts that are only shown, by ``print`` and in exceptions, from those that Python decides by.

A number of which only a run knows the value is shown as what it is. Any other text of one needs the value.
"""

from __future__ import annotations

import ast

from sdgrad.convert.trees import operator_call

LOGGING = ("write", "warn", "warning", "info", "debug", "error", "critical")
"""Methods that show the text that they are given."""


class ShownText(ast.JoinedStr):
    """A text that is only shown."""


def is_print(function: ast.expr) -> bool:
    """True of ``print``, as it is written."""
    return isinstance(function, ast.Name) and function.id == "print"


def shows(function: ast.expr) -> bool:
    """True of functions that show a text."""
    return is_print(function) or isinstance(function, ast.Attribute) and function.attr in LOGGING


def shown(text: ast.expr) -> ast.expr:
    """Return a text that is shown, before it is converted; other expressions as they are."""
    if isinstance(text, ast.JoinedStr):
        for part in text.values:
            if isinstance(part, ast.FormattedValue):
                part.value = told(part.value)
        return ast.copy_location(ShownText(text.values), text)
    if isinstance(text, ast.BinOp) and isinstance(text.op, ast.Mod):
        if isinstance(getattr(text.left, "value", None), str):
            text.right = _parts_told(text.right)
    elif isinstance(text, ast.BinOp):
        text.left, text.right = shown(text.left), shown(text.right)
    elif isinstance(text, ast.Call) and _makes_text(text.func) and not text.keywords:
        text.args = [told(a) for a in text.args]
    return text


def _parts_told(given: ast.expr) -> ast.expr:
    """Return what is on the right of ``%``, for a text that is shown."""
    if isinstance(given, ast.Dict):
        return given
    if not isinstance(given, ast.Tuple):
        return told(given)
    given.elts = [told(p) for p in given.elts]
    return given


def told(value: ast.expr) -> ast.expr:
    """Return an expression for what is shown of a value."""
    if isinstance(value, ast.Starred):
        return value
    return ast.copy_location(operator_call("told", value), value)


def _makes_text(function: ast.expr) -> bool:
    of_a_text = isinstance(function, ast.Attribute) and function.attr == "format"
    return of_a_text or isinstance(function, ast.Name) and function.id in ("str", "repr")
