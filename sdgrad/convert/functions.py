"""Convert a function: the same function, whose code calls operators where a recorder has to see something."""

from __future__ import annotations

import ast
import linecache
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import CellType, CodeType, FunctionType
from typing import Any

from sdgrad.convert.lowering import PREFIX
from sdgrad.convert.outer_names import OuterNames
from sdgrad.convert.rewrite import rewrite
from sdgrad.convert.source import Text, arguments, text_of
from sdgrad.convert.sums import Sums
from sdgrad.convert.trees import OPERATORS
from sdgrad.errors import ParseError

OWN = "_sdgrad_function"
_codes: weakref.WeakKeyDictionary[CodeType, CodeType | None] = weakref.WeakKeyDictionary()


_inner: weakref.WeakSet[CodeType] = weakref.WeakSet()  # of functions that converted code defines


def is_converted(f: FunctionType) -> bool:
    """True if a function is, or is defined inside of, a converted one."""
    code = f.__code__
    return OPERATORS in code.co_freevars or OPERATORS in code.co_cellvars or code in _inner


def converted(f: FunctionType, operators: Any) -> FunctionType | None:
    """Return a function with converted code, over the same globals, cells and defaults; None if there is no source.

    :param operators: the object whose methods the code calls.
    """
    code = f.__code__
    if code not in _codes:
        text = text_of(f)
        _codes[code] = _code(text, code) if text is not None else None
        _inner.update(_defined_in(_codes[code]))
    new = _codes[code]
    if new is None:
        return None
    cells = dict(zip(code.co_freevars, f.__closure__ or (), strict=True))
    cells[OPERATORS] = CellType(operators)
    found = FunctionType(new, f.__globals__, f.__name__, f.__defaults__, tuple(cells[n] for n in new.co_freevars))
    found.__kwdefaults__, found.__qualname__ = f.__kwdefaults__, f.__qualname__
    return found


def _end_where_they_begin(tree: ast.AST) -> None:
    """Let operators end on the line where they begin: Python says that a method is called where its object ends.

    That of a loop, which has the place of the whole statement, would be called on the loop's last line.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id.startswith(PREFIX):
            node.end_lineno, node.end_col_offset = node.lineno, node.col_offset


def _code(text: Text, original: CodeType) -> CodeType:
    """Return the converted code of a definition, with the free variables of the original and :data:`OPERATORS`."""
    definition = copied(text.definition)
    strip(definition)
    definition = OuterNames(definition).visit(Sums().visit(definition))
    new = rewrite(definition, text.owner)
    free = [ast.arg(n) for n in (*original.co_freevars, OPERATORS)]
    name = "factory"
    if isinstance(new, ast.FunctionDef | ast.AsyncFunctionDef):
        new.name = OWN  # or calls of itself would find this definition
    last: ast.stmt = new if isinstance(new, ast.FunctionDef | ast.AsyncFunctionDef) else ast.Expr(new)
    factory = ast.FunctionDef(name, ast.arguments([], free, None, [], [], None, []), [last], [], None, None)
    factory.type_params = []  # type: ignore[attr-defined]
    module = ast.Module([ast.fix_missing_locations(ast.copy_location(factory, last))], [])
    _end_where_they_begin(module)
    try:
        compiled = compile(module, text.file, "exec", dont_inherit=True)
    except SyntaxError as error:  # Python nests twenty blocks, and a loop or a condition takes two of them here
        line = linecache.getline(text.file, error.lineno or 0).strip()
        raise ParseError(
            f"{Path(text.file).name}:{error.lineno}\n    {line}\n"
            "loops and conditions are nested too deeply here: move the inner ones into a function of their own"
        ) from error
    outer = next(c for c in compiled.co_consts if isinstance(c, CodeType))
    found = next(c for c in outer.co_consts if isinstance(c, CodeType) and c.co_name in (OWN, "<lambda>"))
    return found.replace(co_name=original.co_name)


def _defined_in(code: CodeType | None) -> Iterator[CodeType]:
    """Yield the code of the functions that some code defines."""
    for inner in code.co_consts if code is not None else ():
        if isinstance(inner, CodeType):
            yield inner
            yield from _defined_in(inner)


def copied(tree: Any) -> Any:
    """Return a copy of a tree, in a tenth of the time of ``copy.deepcopy``."""
    if isinstance(tree, list):
        return [copied(t) for t in tree]
    if not isinstance(tree, ast.AST):
        return tree
    new = type(tree).__new__(type(tree))
    new.__dict__.update({k: copied(v) for k, v in vars(tree).items()})
    return new


def strip(definition: Any) -> None:
    """Remove what belongs to the definition and not to the code: decorators, defaults, annotations."""
    args = definition.args
    args.defaults = [ast.Constant(None) for _ in args.defaults]
    args.kw_defaults = [None if d is None else ast.Constant(None) for d in args.kw_defaults]
    for arg in arguments(args):
        arg.annotation = None
    if not isinstance(definition, ast.Lambda):
        definition.decorator_list, definition.returns = [], None
