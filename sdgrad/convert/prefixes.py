"""Make functions of the first statements of another one: what its names are bound to after them."""

from __future__ import annotations

import ast
import itertools
import linecache
from collections.abc import Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType

from sdgrad.convert.functions import copied, strip
from sdgrad.convert.source import arguments, text_of

_counter = itertools.count()


@dataclass(frozen=True)
class Statement:
    """One statement of a function's body: its line, and the names that are bound for certain after it."""

    line: int
    names: tuple[str, ...]
    returns: bool


def statements(f: FunctionType) -> list[Statement]:
    """Return the statements of a function's body; none where there is no source, or nothing but one expression."""
    text = text_of(f)
    if text is None or isinstance(text.definition, ast.Lambda):
        return []
    known = dict.fromkeys(a.arg for a in arguments(text.definition.args))
    found = []
    for node in text.definition.body:
        known |= dict.fromkeys(_bound(node))
        found.append(Statement(node.lineno, tuple(known), isinstance(node, ast.Return)))
        if found[-1].returns:
            break
    return found


def _bound(node: ast.stmt) -> list[str]:
    """Return the names that an assignment binds."""
    targets: Sequence[ast.expr] = ()
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign | ast.AugAssign) and node.value is not None:
        targets = [node.target]
    return [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


def prefix(f: FunctionType, count: int, names: Sequence[str]) -> FunctionType:
    """Return the function that runs the first statements, and returns a dict of what names are bound to."""
    text = text_of(f)
    assert text is not None and not isinstance(text.definition, ast.Lambda)
    definition = copied(text.definition)
    result = ast.Dict([ast.Constant(n) for n in names], [ast.Name(n, ast.Load()) for n in names])
    definition.body = [*definition.body[:count], ast.Return(result)]
    strip(definition)
    definition.name = "prefix"
    free = ast.arguments([], [ast.arg(n) for n in f.__code__.co_freevars], None, [], [], None, [])
    factory = ast.FunctionDef("factory", free, [definition], [], None, None)
    factory.type_params = []  # type: ignore[attr-defined]
    source = ast.unparse(ast.fix_missing_locations(ast.Module([factory], [])))
    file = f"<the first statements of {f.__name__}, {next(_counter)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    outer = next(c for c in compile(source, file, "exec").co_consts if isinstance(c, CodeType))
    code = next(c for c in outer.co_consts if isinstance(c, CodeType) and c.co_name == "prefix")
    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    found = FunctionType(code, f.__globals__, "prefix", f.__defaults__, tuple(cells[n] for n in code.co_freevars))
    found.__kwdefaults__ = f.__kwdefaults__
    return found
