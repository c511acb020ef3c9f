"""Which symbols parts of a program mention."""

from __future__ import annotations

from sdgrad.program.leaves import mentioned
from sdgrad.program.tree import (
    Block,
    Leaf,
    Loop,
    Node,
    NodeCall,
    Program,
    Scope,
    SymbolAssign,
    children,
    reads,
    values,
    walk,
    writes,
)
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import free_names


def used_symbols(node: Node, program: Program) -> set[str]:
    """Symbols (and local names) in a node: in its bounds, conditions and indices, and in the views it looks through."""
    found: set[str] = set()
    for n in walk((node,)):
        if isinstance(n, (Leaf, Scope)):
            found |= {s for p in n.params for s in free_names(p.start, p.stop, p.step)}
        if isinstance(n, Leaf):
            found |= {s for i in n.body for s in mentioned(i)}
        if isinstance(n, NodeCall):
            found |= {str(s) for r in (*n.inputs.values(), *n.outputs.values()) for s in r.subset.free_symbols}
            found |= n.free_symbols
        for v in values(n):
            found |= {s for load in v.loads for s in free_names(*load.index)} | code.names_in(v.expr)
    return found | {s for name in reads(node) | writes(node) for s in view_symbols(name, program)}


def view_symbols(name: str, program: Program) -> set[str]:
    """Symbols that say what part of memory a container is."""
    found: set[str] = set()
    while (view := program.containers.get(name)) is not None and view.view_of is not None:
        assert view.view_subset is not None
        found |= {str(s) for s in (*view.desc.free_symbols, *view.view_subset.free_symbols)}
        name = view.view_of
    return found


def unbound_symbols(block: Block, program: Program, bound: frozenset[str] = frozenset()) -> set[str]:
    """Symbols that are read where neither a loop around nor an assignment before gives them a value.

    What a loop leaves behind in its variable, and in symbols that its body assigns, is unbound after it.
    """
    found: set[str] = set()
    for node in block:
        if children(node):
            own = {
                s
                for v in values(node)
                for s in (*code.names_in(v.expr), *(n for x in v.loads for n in free_names(*x.index)))
            }
            own -= {x.name for v in values(node) for x in v.loads}
            names = {p.name for p in node.params} if isinstance(node, Scope) else set()
            if isinstance(node, Loop):
                names = {node.symbol}
                also = code.names_in(node.also.expr) if node.also is not None else set()
                own -= also & names
            else:
                own |= {s for p in getattr(node, "params", ()) for s in free_names(p.start, p.stop, p.step)}
            found |= own - bound
            for inner in children(node):
                found |= unbound_symbols(inner, program, bound | names)
        else:
            found |= used_symbols(node, program) - bound
        if isinstance(node, SymbolAssign):
            bound |= {node.symbol}
    return found
