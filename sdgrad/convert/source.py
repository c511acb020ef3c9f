"""Find the text of a function: the tree of its definition, in the tree of its file."""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True)
class Text:
    """Hold a function's definition, and the class around it, whose name mangles private names."""

    definition: Definition
    file: str
    owner: str | None


def text_of(f: FunctionType) -> Text | None:
    """Return the definition of a function; None where no source is at hand, or it is another one by now."""
    code = f.__code__
    lines = tuple(linecache.getlines(code.co_filename, f.__globals__))
    if not lines:
        return None
    try:
        found = [(d, owner) for d, owner in _definitions(lines) if _may_be(d, code)]
    except (SyntaxError, ValueError):
        return None
    if len(found) > 1:  # the innermost of those that hold it
        found = [(d, owner) for d, owner in found if _holds(d, code)][-1:]
    return Text(found[0][0], code.co_filename, found[0][1]) if len(found) == 1 else None


@functools.lru_cache(maxsize=64)
def _definitions(lines: tuple[str, ...]) -> tuple[tuple[Definition, str | None], ...]:
    """Return every function of a file, with the class that it is written in."""
    return tuple(_within(ast.parse("".join(lines)), None))


def _within(node: ast.AST, owner: str | None) -> Iterator[tuple[Definition, str | None]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Definition):
            yield child, owner
        yield from _within(child, child.name if isinstance(child, ast.ClassDef) else owner)


def _may_be(definition: Definition, code: CodeType) -> bool:
    """True if a definition has the first line, the name and the arguments of a code object."""
    lines = {definition.lineno, *(d.lineno for d in getattr(definition, "decorator_list", ()))}
    name = getattr(definition, "name", "<lambda>")
    names = [a.arg for a in arguments(definition.args)]
    count = code.co_argcount + code.co_kwonlyargcount
    given = list(code.co_varnames[: count + bool(code.co_flags & 4) + bool(code.co_flags & 8)])
    mangled = [n if not n.startswith("__") or n.endswith("__") else None for n in names]
    same = len(names) == len(given) and all(a == b or a is None for a, b in zip(mangled, given, strict=True))
    return code.co_firstlineno in lines and name == code.co_name and same


def arguments(args: ast.arguments) -> list[ast.arg]:
    """Return the arguments of a definition, in the order of its local variables."""
    stars = [a for a in (args.vararg, args.kwarg) if a is not None]
    return [*args.posonlyargs, *args.args, *args.kwonlyargs, *stars]


def _holds(definition: Definition, code: CodeType) -> bool:
    """True if the code lies in the body of a definition, of which several begin in one line."""
    if not hasattr(code, "co_positions") or not isinstance(definition, ast.Lambda):
        return _compiled_alike(definition, code)
    known = [p for p in code.co_positions() if None not in p]
    (first, last), spans = _span(definition), [((p[0], p[2]), (p[1], p[3])) for p in known]
    return all(first <= start and end <= last for start, end in spans if start != end)  # the first one is empty


def _span(definition: ast.Lambda) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return where the body of a lambda begins and ends: lines and columns."""
    body = definition.body
    return (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset or 0)


def _compiled_alike(definition: Definition, code: CodeType) -> bool:
    """True if a lambda compiles to the code (Python 3.10 has no columns)."""
    if not isinstance(definition, ast.Lambda):
        return True
    module = compile(ast.Expression(definition), code.co_filename, "eval")
    own = next(c for c in module.co_consts if isinstance(c, CodeType))
    return own.co_code == code.co_code and own.co_names == code.co_names
