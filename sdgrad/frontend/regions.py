"""Functions and regions with a rule of the user: their statements become a region of the graph that names the rule."""

from __future__ import annotations

import ast
import copy
import inspect
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from sdgrad.errors import ParseError
from sdgrad.frontend.syntax import statement
from sdgrad.program.custom_rule import ATTRIBUTE, CustomRule, Marker, custom_region

# By function and line: a function is read more than once, and one text may be several functions with rules of their own
_regions: weakref.WeakKeyDictionary[Callable, dict[int, CustomRule]] = weakref.WeakKeyDictionary()


def mark_regions(tree: ast.FunctionDef, function: Callable) -> None:
    """``with custom_region(rule): ...`` as DaCe's frontend takes it."""
    values = known_values(function)
    for node in ast.walk(tree):
        if isinstance(node, ast.With) and (rule := _rule(node, function, values)) is not None:
            if any(isinstance(n, ast.Return) for n in ast.walk(node)):
                hint = "assign the result in it, and return after it"
                raise ParseError(f"line {node.lineno}: a return in the region of '{rule.name}'; {hint}")
            node.items = [ast.withitem(context_expr=ast.Constant(Marker(rule.label)))]


def known_values(function: Callable) -> Mapping[str, Any]:
    """What the global and enclosing names of a function are bound to."""
    return {**getattr(function, "__globals__", {}), **inspect.getclosurevars(function).nonlocals}


def _rule(node: ast.With, function: Callable, values: Mapping[str, Any]) -> CustomRule | None:
    """The rule of a ``with`` statement; None where it is of another kind."""
    manager = node.items[0].context_expr
    if not isinstance(manager, ast.Call) or value_of(manager.func, values) is not custom_region:
        return None
    known = _regions.setdefault(function, {})
    if node.lineno not in known:
        try:
            made = eval(compile(ast.Expression(manager), "<region>", "eval"), dict(values))  # noqa: S307
        except NameError as error:
            raise ParseError(f"line {node.lineno}: the rule of a region is a function known by name: {error}") from None
        known[node.lineno] = made.rule
    return known[node.lineno]


def value_of(name: ast.expr, values: Mapping[str, Any]) -> Any:
    """What a dotted name is bound to."""
    if isinstance(name, ast.Attribute):
        return getattr(value_of(name.value, values), name.attr, None)
    return values.get(name.id) if isinstance(name, ast.Name) else None


def mark_function(tree: ast.FunctionDef, function: Callable) -> None:
    """The body of a function with a rule as one region, but for the return of its results, which get names."""
    rule: CustomRule | None = getattr(function, ATTRIBUTE, None)
    if rule is None:
        return
    if not isinstance(tree.body[-1], ast.Return) or tree.body[-1].value is None:
        raise ParseError(f"'{rule.name}' has a derivative of its own and returns nothing: use custom_region")
    value = tree.body[-1].value
    several = isinstance(value, ast.Tuple)
    values = value.elts if isinstance(value, ast.Tuple) else [value]
    body, names = tree.body[:-1], []
    for k, result in enumerate(values):
        name = result.id if isinstance(result, ast.Name) else f"out_{k}" if several else "out"
        if name in names or name in (rule.parameters or ()) or not isinstance(result, ast.Name):
            name = f"result_{k}" if isinstance(result, ast.Name) else name
            made = statement(f"{name} = 0", tree.body[-1])
            assert isinstance(made, ast.Assign)
            made.value = ast.UnaryOp(ast.UAdd(), result) if isinstance(result, ast.Name) else result
            body.append(made)
        names.append(name)
    rule.results = tuple(names)
    region = ast.With(items=[ast.withitem(context_expr=ast.Constant(Marker(rule.label)))], body=body)
    # copies: DaCe gives what is returned itself another name
    text = f"return ({', '.join(f'+{n}' for n in names)},)" if several else f"return +{names[0]}"
    last = statement(text, tree.body[-1])
    tree.decorator_list = []
    tree.body = [ast.copy_location(region, copy.copy(tree.body[0])), last]
