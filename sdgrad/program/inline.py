"""One program inside another: containers renamed, arguments bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sdgrad.names import Names
from sdgrad.program.leaves import rename_instr
from sdgrad.program.tree import (
    Block,
    Branch,
    Container,
    Leaf,
    Load,
    Loop,
    Node,
    NodeCall,
    Program,
    Region,
    Scope,
    Store,
    SymbolAssign,
    Value,
    children,
    walk,
    with_children,
)
from sdgrad.symbolic.expr import sym


def inline(program: Program, bound: Mapping[str, str], names: Names) -> tuple[Block, dict[str, Container]]:
    """The body of ``program`` over other names, and the containers it brings.

    ``bound`` maps its arguments to containers of the host; everything else gets a fresh name.
    """
    mapping = dict(bound)
    for name in program.containers:
        if name not in mapping:
            mapping[name] = names.fresh(name.replace("__return", "returned"))  # DaCe reserves the prefix
    symbols = {
        s: sym(names.fresh(s)) for n in walk(program.body) if isinstance(n, (SymbolAssign, Loop)) for s in [n.symbol]
    }
    brought = {}
    for name, container in program.containers.items():
        if name not in bound:
            base = mapping[container.view_of] if container.view_of else None
            new = replace(container, name=mapping[name], view_of=base)
            new.desc.transient = True
            brought[new.name] = new
    body = tuple(rename_containers(n, mapping, symbols) for n in program.body)
    return body, brought


def rename_containers(node: Node, mapping: Mapping[str, str], symbols: Mapping) -> Node:
    """A node with containers, and symbols it assigns, renamed."""
    node = with_children(node, tuple(tuple(rename_containers(n, mapping, symbols) for n in b) for b in children(node)))
    if isinstance(node, Leaf):
        moved = tuple(rename_instr(i, {}, symbols) for i in node.body) if symbols else node.body
        return replace(
            node,
            body=tuple(
                replace(i, container=mapping[i.container]) if isinstance(i, (Load, Store)) else i for i in moved
            ),
        )
    if isinstance(node, NodeCall):
        return replace(node, inputs=_regions(node.inputs, mapping), outputs=_regions(node.outputs, mapping))
    if isinstance(node, Scope):
        return replace(node, locals=tuple(replace(c, name=mapping[c.name]) for c in node.locals))
    if isinstance(node, SymbolAssign):
        return replace(node, symbol=_new(node.symbol, symbols), value=_value(node.value, mapping))
    if isinstance(node, Branch):
        return replace(node, arms=tuple((_value(c, mapping) if c else None, b) for c, b in node.arms))
    assert isinstance(node, Loop)
    start, stop, step, also = (_value(v, mapping) if v else None for v in (node.start, node.stop, node.step, node.also))
    assert start is not None and step is not None
    last = mapping[node.last] if node.last else None
    return Loop(_new(node.symbol, symbols), start, stop, step, node.body, node.source, also, last)


def _new(symbol: str, symbols: Mapping) -> str:
    return symbols[symbol].name if symbol in symbols else symbol


def _regions(regions: Mapping[str, Region], mapping: Mapping[str, str]) -> dict[str, Region]:
    return {c: replace(r, container=mapping[r.container]) for c, r in regions.items()}


def _value(value: Value, mapping: Mapping[str, str]) -> Value:
    return replace(value, loads=tuple(replace(x, container=mapping[x.container]) for x in value.loads))
