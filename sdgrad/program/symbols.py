"""Find the symbols that parts of a program mention."""

from __future__ import annotations

from collections import Counter

from sdgrad.program.kept import kept
from sdgrad.program.tree import (
    Block,
    Leaf,
    Loop,
    Node,
    NodeCall,
    Program,
    Scope,
    SymbolAssign,
    Value,
    children,
    reads,
    values,
    walk,
    writes,
)
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import free_names


def used_symbols(node: Node, program: Program) -> set[str]:
    """Return the symbols and local names in a node: in its bounds, conditions, subscripts and views."""
    found: set[str] = set().union(*map(_own_symbols, walk((node,))))
    return found | {s for name in reads(node) | writes(node) for s in view_symbols(name, program)}


@kept
def _own_symbols(node: Node) -> set[str]:
    """Return the symbols and local names in a node itself, without those in the blocks it holds."""
    found = {s for v in values(node) for s in _value_symbols(v)} | _bound_symbols(node)
    if isinstance(node, Leaf):
        found = found.union(*(i.names for i in node.body))
    elif isinstance(node, NodeCall):
        found |= {str(s) for r in (*node.inputs.values(), *node.outputs.values()) for s in r.subset.free_symbols}
        found |= node.free_symbols
    return found


def _value_symbols(value: Value) -> set[str]:
    """Return the symbols and the loaded names in a value."""
    return {s for load in value.loads for s in load.index_names} | code.names_in(value.expr)


def _bound_symbols(node: Node) -> set[str]:
    """Return the symbols in the ranges of a node's parameters."""
    params = node.params if isinstance(node, (Leaf, Scope)) else ()
    return {s for p in params for s in free_names(p.start, p.stop, p.step)}


def view_symbols(name: str, program: Program) -> set[str]:
    """Return the symbols that say which part of memory a container is."""
    found: set[str] = set()
    while (view := program.containers.get(name)) is not None and view.view_of is not None:
        assert view.view_subset is not None
        found |= view.symbols | {str(s) for s in view.view_subset.free_symbols}
        name = view.view_of
    return found


def mentions(block: Block) -> Counter[str]:
    """Count the nodes of a block that mention a symbol, or assign it."""
    found: Counter[str] = Counter()
    for node in walk(block):
        found.update(_own_symbols(node))
        found.update([node.symbol] if isinstance(node, SymbolAssign) else ())
    return found


def assigned_symbols(block: Block) -> set[str]:
    """Return the symbols that a block assigns somewhere."""
    return {n.symbol for n in walk(block) if isinstance(n, SymbolAssign)}


def defined_symbols(block: Block) -> frozenset[str]:
    """Return the variables of loops and maps in a block, and the symbols that it assigns."""
    params = (p.name for n in walk(block) if isinstance(n, (Leaf, Scope)) for p in n.params)
    return frozenset(assigned_symbols(block).union(params, (n.symbol for n in walk(block) if isinstance(n, Loop))))


def assigned_once(block: Block) -> frozenset[str]:
    """Return the symbols with a single assignment in the text of a program."""
    count = Counter(n.symbol for n in walk(block) if isinstance(n, SymbolAssign))
    return frozenset(s for s, k in count.items() if k == 1)


def carried_symbols(loop: Loop, program: Program) -> set[str]:
    """Return the symbols that an iteration may use as an earlier one assigned them."""
    return assigned_symbols(loop.body) & unbound_symbols(loop.body, program)


def unbound_symbols(block: Block, program: Program, bound: frozenset[str] = frozenset()) -> set[str]:
    """Return the symbols that a block reads and neither a loop around nor an assignment before defines.

    What a loop leaves behind in its variable, and in symbols that its body assigns, is unbound after it.
    """
    found: set[str] = set()
    for node in block:
        if children(node):
            found |= _control_symbols(node) - bound
            for inner in children(node):
                found |= unbound_symbols(inner, program, bound | _defined_symbols(node))
        else:
            found |= used_symbols(node, program) - bound - _local(node)
        if isinstance(node, SymbolAssign):
            bound |= {node.symbol}
    return found


def _local(node: Node) -> set[str]:
    """Return the parameters and values of a leaf."""
    return {p.name for p in node.params} | node.defined if isinstance(node, Leaf) else set()


def _control_symbols(node: Node) -> set[str]:
    """Return the symbols that a node with blocks reads by itself: in conditions, bounds and ranges."""
    own = {s for v in values(node) for s in _value_symbols(v)} - {x.name for v in values(node) for x in v.loads}
    if not isinstance(node, Loop):
        return own | _bound_symbols(node)
    return own - (code.names_in(node.also.expr) & {node.symbol} if node.also is not None else set())


def _defined_symbols(node: Node) -> set[str]:
    """Return the symbols that a node gives values to inside its blocks."""
    if isinstance(node, Loop):
        return {node.symbol}
    return {p.name for p in node.params} if isinstance(node, Scope) else set()
