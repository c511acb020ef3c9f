"""Slices that keep a name after their index has changed: ``v = A[:, k]``, then ``k += 1``, then ``v`` again.

DaCe makes ``v`` a part of ``A`` that is looked up where ``v`` is used, with the index of that moment. Here the index
gets a name of its own, which nobody changes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from sdgrad.frontend.aliases import Event, events, place_of
from sdgrad.frontend.bindings import LOOPS, root
from sdgrad.frontend.syntax import change_blocks, statement
from sdgrad.symbolic.code import rename_names

USES = ("read", "write")


def keep_indices(function: ast.FunctionDef) -> None:
    """Rewrite a function so that no slice that has a name depends on an index that changes while it is used."""
    function.body = Keeping(list(events(function.body))).block(function.body, [])


@dataclass(frozen=True)
class Keeping:
    """One function, as what happens in it."""

    events: Sequence[Event]

    def block(self, body: list[ast.stmt], loops: list[ast.For | ast.While]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        kept: dict[str, str] = {}  # names of indices, until these change
        for node in body:
            change_blocks(node, partial(self.block, loops=[*loops, node] if isinstance(node, LOOPS) else loops))
            written = {e.name for e in events([node]) if e.kind in ("bind", "write")}
            if isinstance(node, ast.Assign) and root(node.value) is not None and isinstance(node.targets[0], ast.Name):
                for name in sorted(self.changing(node, node.targets[0].id, loops) - kept.keys()):
                    kept[name] = f"{name}_at_{node.lineno}_{node.col_offset}"
                    out.append(statement(f"{kept[name]} = +{name}", node))
            replaced = {n: k for n, k in kept.items() if n not in written}
            if replaced:
                Indices(replaced).visit(node)
            kept = replaced
            out.append(node)
        return out

    def changing(self, node: ast.Assign, part: str, loops: list[ast.For | ast.While]) -> set[str]:
        """Names in the index of a slice that change between its definition and a use of it."""
        indices = {n.id for s in subscripts(node.value) for n in ast.walk(s.slice) if isinstance(n, ast.Name)}
        found: set[str] = set()
        changed: set[str] = set()
        for event in self.events[place_of(node, self.events) + 1 :]:
            if event.kind in ("bind", "write"):
                changed |= indices & {event.name}
            elif event.kind == "left" and event.node in loops:
                changed |= indices & names_of_target(event.node)
            if event.kind in USES and event.name == part:
                found |= changed
        if loops:  # a use before the definition, one trip later
            around = list(events([loops[0]]))
            if any(e.kind in USES and e.name == part for e in around[: place_of(node, around)]):
                found |= indices & {e.name for e in around if e.kind in ("bind", "write")}
        return found


def subscripts(value: ast.expr) -> Iterator[ast.Subscript]:
    return (n for n in ast.walk(value) if isinstance(n, ast.Subscript))


def names_of_target(loop: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)} if isinstance(loop, ast.For) else set()


class Indices(ast.NodeTransformer):
    """Other names in subscripts."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Subscript(self, node: ast.Subscript) -> ast.Subscript:
        self.generic_visit(node)
        node.slice = rename_names(node.slice, self.names)
        return node
