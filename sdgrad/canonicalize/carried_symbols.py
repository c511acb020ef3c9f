"""Give symbols that loops carry memory: what differentiates reads no symbol that an earlier iteration assigned.

A gradient counts the iterations of loops in such symbols. Its own derivative has to know each value they had, which is
the tape's concern, as for any other container::

    loop ..:                                loop ..:
      tape[count] = x            -->          count_0 := count_value[0]
      count := count + 1                      tape[count_0] = x
                                              count_value[0] = count_0 + 1
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import dace
from dace import data as dt

from sdgrad.errors import DifferentiationError, Problem
from sdgrad.program.leaves import set_scalar, value_of_scalar
from sdgrad.program.names import Names
from sdgrad.program.naming import all_names
from sdgrad.program.rename import renamed
from sdgrad.program.symbols import assigned_symbols, carried_symbols, view_symbols
from sdgrad.program.tree import (
    SCALAR,
    Block,
    Container,
    Load,
    Loop,
    Node,
    Program,
    Scope,
    SymbolAssign,
    Value,
    children,
    walk,
    with_children,
)
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import Expr, sym, to_ast


def carry_in_containers(program: Program) -> Program:
    """Give a container to each symbol that an iteration may have from an earlier one.

    :raises DifferentiationError: such a symbol decides which part of an array a view is.
    """
    carried = {s for loop in walk(program.body) if isinstance(loop, Loop) for s in carried_symbols(loop, program)}
    if not carried:
        return program
    if moved := sorted(n for n in program.containers if view_symbols(n, program) & carried):
        what = "is a view that moves with a count that its loop carries"
        raise DifferentiationError([Problem(f"array {n}", what, hint="index the array itself") for n in moved])
    names = all_names(program)
    memory = {
        s: Container(names.fresh(f"{s}_value"), dt.Scalar(program.symbols.get(s, dace.int64), transient=True))
        for s in sorted(carried)
    }
    body = _Carrying(memory, names).block(program.body, {})
    return replace(program, body=body, containers={**program.containers, **{c.name: c for c in memory.values()}})


@dataclass
class _Carrying:
    """Rewrite blocks; ``now`` are the names that symbols go by at a place."""

    memory: Mapping[str, Container]
    names: Names

    def block(self, block: Block, now: dict[str, Expr]) -> Block:
        """Rewrite a block, and bring ``now`` to its end."""
        out: list[Node] = []
        for node in block:
            out += self.node(node, now)
        return tuple(out)

    def node(self, node: Node, now: dict[str, Expr]) -> list[Node]:
        """Rewrite a node, and bring ``now`` behind it."""
        if isinstance(node, SymbolAssign) and node.symbol in self.memory:
            (changed,) = renamed((replace(node, symbol=self.names.fresh(node.symbol)),), {}, now)
            assert isinstance(changed, SymbolAssign)
            put = set_scalar(self.memory[node.symbol].name, changed.value, self.names.fresh("v"), node.source)
            return [put, *self.reload({node.symbol}, now)]
        if not children(node):
            return list(renamed((node,), {}, now))
        changes = assigned_symbols((node,)) & self.memory.keys()
        if isinstance(node, Scope):
            return [self.scope(node, changes, now)]
        if isinstance(node, Loop):
            first = self.reload(changes, inside := dict(now))
            arms: tuple[Block, ...] = ((*first, *self.block(node.body, inside)),)
            # conditions are evaluated in each iteration
            node = replace(node, also=self.loaded(node.also, changes), stop=self.loaded(node.stop, changes))
        else:
            arms = tuple(self.block(b, dict(now)) for b in children(node))
        return [self.around(node, arms, now), *self.reload(changes, now)]

    def scope(self, node: Scope, changes: set[str], now: Mapping[str, Expr]) -> Node:
        """Rewrite a map: each of its instances has a memory of its own."""
        known = {s: now[s] for s in sorted(changes & now.keys())}
        source = node.source
        first = [
            set_scalar(self.memory[s].name, Value((), to_ast(e)), self.names.fresh("v"), source)
            for s, e in known.items()
        ]
        own = tuple(self.memory[s] for s in sorted(changes))
        body = (*first, *self.block(node.body, dict(now)))
        return self.around(replace(node, locals=(*node.locals, *own)), (body,), now)

    def around(self, node: Node, blocks: tuple[Block, ...], now: Mapping[str, Expr]) -> Node:
        """Return a node with what it evaluates by itself rewritten, around blocks that are."""
        (head,) = renamed((with_children(node, ((),) * len(blocks)),), {}, now)
        return with_children(head, blocks)

    def reload(self, symbols: set[str], now: dict[str, Expr]) -> list[Node]:
        """Read symbols from memory under fresh names."""
        out: list[Node] = []
        for symbol in sorted(symbols):
            fresh, v = self.names.fresh(symbol), self.names.fresh("v")
            now[symbol] = sym(fresh)
            memory = self.memory[symbol]
            out.append(SymbolAssign(fresh, value_of_scalar(memory.name, v), memory.dtype))
        return out

    def loaded(self, value: Value | None, symbols: set[str]) -> Value | None:
        """Let a value read symbols from memory."""
        if value is None or not (used := code.names_in(value.expr) & symbols):
            return value
        fresh = {s: self.names.fresh("v") for s in sorted(used)}
        loads = tuple(Load(v, self.memory[s].name, SCALAR) for s, v in fresh.items())
        return Value((*value.loads, *loads), code.rename_names(value.expr, fresh))
