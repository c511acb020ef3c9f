"""Write program trees as text, as they are printed: the inverse of ``str(program)``, for tests of passes.

``program('''...''')`` takes declarations, one a line, then ``body`` and indented statements::

    argument A: float64[8, 5]
    local b: float64[8]
    body
      map i=0:8:
        v = A[i, 2]
        w = 2.0 * v
        b[i] = w
      loop k = 0 .. 7 step 1:
        do:
          u = b[k]
          A[k, 0] += u
      if n > 2:
        do:
          x = 1.0
          b[0] = x

``text(program)`` prints a body in the same form. A name that is no container is a symbol. A right side
``C[...]`` of a container is a load, every other one an expression. ``(fresh)`` and ``if guard`` follow a statement.
"""

import ast
import re
import textwrap

import dace
import sympy
from dace import data as dt

from sdgrad.program.tree import (
    Branch,
    Container,
    Leaf,
    Let,
    Load,
    Loop,
    Param,
    Program,
    Scope,
    Store,
    SymbolAssign,
    Value,
    lines,
)
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import sym

MODES = {"=": "set", "+=": "sum", "*=": "prod"}
_DECLARATION = re.compile(r"(argument|local) (\w+): (\w+)\[([^\]]*)\](?: view of (\w+)\[(.*)\])?$")
_STORE = re.compile(r"(\w+)\[(.*?)\] (\w*=|\+=|\*=) (\w+)(?: if (\w+))?( \(fresh\)| \(streamed\))?$")
_LOAD = re.compile(r"(\w+) = (\w+)\[(.*)\](?: if (\w+))?$")
_LET = re.compile(r"(\w+) = (.*)$")


def program(source: str, name: str = "program", symbols: str = "") -> Program:
    """The program of a text; ``symbols`` are names of integer symbols, separated by spaces."""
    rows = [r for r in textwrap.dedent(source).splitlines() if r.strip()]
    start = next((k for k, r in enumerate(rows) if r.strip() == "body"), len(rows))
    found = {}
    for row in rows[:start]:
        container = _container(row.strip())
        found[container.name] = container
    body = _block(textwrap.dedent("\n".join(rows[start + 1 :])).splitlines(), found)
    arguments = tuple(n for n, c in found.items() if not c.transient)
    known = {s: dace.int64 for s in symbols.split()}
    known |= {str(s): dace.int64 for c in found.values() for s in c.desc.free_symbols}
    return Program(name, found, known, {}, body, arguments)


def text(of: Program) -> str:
    """The body of a program as text."""
    return "\n".join(line for node in of.body for line in lines(node))


def block(source: str) -> str:
    """A text that is expected, without the indentation of the test."""
    return textwrap.dedent(source).strip()


def expression(source: str) -> sympy.Expr:
    """An index or bound, over integer symbols."""
    names = {n.id: sym(n.id) for n in ast.walk(ast.parse(source.strip(), mode="eval")) if isinstance(n, ast.Name)}
    return sympy.sympify(source.strip(), locals=names)


def _container(row: str) -> Container:
    found = _DECLARATION.match(row)
    assert found, f"no declaration: {row}"
    kind, name, dtype, shape, base, subset = found.groups()
    extents = [expression(n) for n in _split(shape)]
    desc = dt.Array(getattr(dace, dtype), extents, transient=kind == "local")
    return Container(name, desc, base, dace.subsets.Range.from_string(subset) if base else None)


def _split(items: str) -> list[str]:
    """Parts between commas that are in no brackets."""
    parts, depth, begin = [], 0, 0
    for k, c in enumerate(items):
        depth += (c in "([") - (c in ")]")
        if c == "," and not depth:
            parts.append(items[begin:k])
            begin = k + 1
    return [p.strip() for p in (*parts, items[begin:]) if p.strip()]


def _index(source: str) -> tuple:
    return tuple(map(expression, _split(source)))


def _param(source: str) -> Param:
    name, ranges = source.split("=", 1)
    start, stop, *step = ranges.split(":")
    pace = expression(step[0]) if step else sympy.Integer(1)
    return Param(name.strip(), expression(start), expression(stop) - 1, pace)


def _value(source: str, containers: dict) -> Value:
    """An expression; ``expr with v = C[i]; w = D[0]`` has loads."""
    expr, _, loads = source.partition(" with ")
    return Value(tuple(_instr(x, containers) for x in loads.split(";") if x.strip()), code.parse(expr.strip()))


def _instr(row: str, containers: dict) -> Load | Let | Store:
    row = row.strip()
    if (found := _STORE.match(row)) and found[1] in containers:
        container, index, op, value, guard, flag = found.groups()
        mode = MODES.get(op, op[:-1])
        flags = {"fresh": flag == " (fresh)", "streamed": flag == " (streamed)"}
        return Store(container, _index(index), value, mode, guard, **flags)
    if (found := _LOAD.match(row)) and found[2] in containers:
        return Load(found[1], found[2], _index(found[3]), found[4])
    found = _LET.match(row)
    assert found, f"no statement: {row}"
    return Let(found[1], code.parse(found[2]))


def _block(rows: list[str], containers: dict) -> tuple:
    nodes, k = [], 0
    while k < len(rows):
        end = k + 1
        while end < len(rows) and rows[end].startswith(" "):
            end += 1
        inner = textwrap.dedent("\n".join(rows[k + 1 : end])).splitlines()
        nodes.append(_node(rows[k].rstrip(), inner, containers, nodes))
        k = end
    return tuple(n for n in nodes if n is not None)


def _node(head: str, inner: list[str], containers: dict, before: list):
    word, _, rest = head.rstrip(":").partition(" ")
    if ":=" in head:
        symbol, value = head.split(":=")
        return SymbolAssign(symbol.strip(), _value(value, containers), dace.int64)
    if word in ("map", "for", "do", "scope"):
        params = tuple(map(_param, _split(rest)))
        locals_ = [_container(r) for r in inner if _DECLARATION.match(r)]
        containers.update({c.name: c for c in locals_})
        inner = [r for r in inner if not _DECLARATION.match(r)]
        if word == "scope" or any(_is_head(r) for r in inner):
            return Scope(params, _block(inner, containers), tuple(locals_), sequential=word == "for")
        return Leaf(params, tuple(_instr(r, containers) for r in inner), sequential=word == "for")
    if word == "loop":
        return _loop(rest, inner, containers)
    arms = ((_value(rest, containers) if rest else None, _block(inner, containers)),)
    if word == "if":
        return Branch(arms)
    assert word in ("elif", "else"), f"no node: {head}"
    first = before.pop()
    return Branch(first.arms + arms)


def _is_head(row: str) -> bool:
    return row.endswith(":") or " := " in row


def _loop(rest: str, inner: list[str], containers: dict) -> Loop:
    """``k = 0 .. 7 step 1`` or ``k = 0 ... step 1 while c``."""
    symbol, bounds = rest.split(" = ", 1)
    bounds, _, also = bounds.partition(" while ")
    ends, _, step = bounds.partition(" step ")
    start, _, stop = ends.partition(" .. ")
    values = [_value(v, containers) if v else None for v in (start.removesuffix(" ..."), stop, step, also)]
    return Loop(symbol.strip(), values[0], values[1], values[2], _block(inner, containers), also=values[3])
