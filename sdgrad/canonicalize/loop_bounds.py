"""Evaluate loop bounds once, on entry, if the loop writes what they are read from.

A graph reads ``stop`` again before each iteration. In ``for i in range(n[0]): n[0] = ..``, ``n[0]`` becomes a symbol.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import dace

from sdgrad.program.names import Names
from sdgrad.program.naming import all_names
from sdgrad.program.tree import Block, Loop, Node, Program, SymbolAssign, Value, rewritten, writes
from sdgrad.symbolic import code


def read_bounds_once(program: Program) -> Program:
    """Give the stop and step of loops that overwrite their source a symbol, assigned before the loop."""
    names, symbols = all_names(program), dict(program.symbols)

    def once(node: Node) -> Block:
        """Hold the bounds of a loop that changes them; any other node unchanged."""
        if not isinstance(node, Loop):
            return (node,)
        written = {program.root(w) for inner in node.body for w in writes(inner)}
        before: list[Node] = []
        found: dict[str, Any] = {}
        for part in ("stop", "step"):
            value = getattr(node, part)
            if value is not None and written & {program.root(x.container) for x in value.loads}:
                found[part] = _held(f"{node.symbol}_{part}", value, names, before)
        symbols.update({n.symbol: n.dtype for n in before if isinstance(n, SymbolAssign)})
        return (*before, replace(node, **found)) if found else (node,)

    return replace(program, body=rewritten(program.body, once), symbols=symbols)


def _held(stem: str, value: Value, names: Names, before: list[Node]) -> Value:
    """Return the symbol that holds a value, assigned in ``before``."""
    symbol = names.fresh(stem)
    before.append(SymbolAssign(symbol, value, dace.int64))
    return Value((), code.name(symbol))
