"""Instances of a map that may write the same element."""

from __future__ import annotations

from sdgrad.analysis.access_relations import distinct_over, injective
from sdgrad.program.tree import (
    Block,
    Leaf,
    Loop,
    Param,
    Scope,
    SymbolAssign,
    children,
    local_names,
    walk,
)


def overwrites_itself(leaf: Leaf) -> bool:
    """Whether instances may assign to the same element, so that the last one in order counts (``B[idx] = A``)."""
    return any(s.mode == "set" and not injective(s, leaf, len(s.index)) for s in leaf.stores)


def scope_overwrites_itself(scope: Scope) -> bool:
    """The same for a map with a structured body: instances of the map may assign to the same element."""
    names = frozenset(n.symbol for n in walk(scope.body) if isinstance(n, (SymbolAssign, Loop)))
    local = {c for n in walk((scope,)) for c in local_names(n)}

    def meets(block: Block, inner: tuple[Param, ...]) -> bool:
        for node in block:
            deeper = inner + (node.params if isinstance(node, (Leaf, Scope)) else ())
            if isinstance(node, Leaf):
                values = names | node.defined
                stores = [s for s in node.stores if s.mode == "set" and s.container not in local]
                if not all(distinct_over(s, scope.params, deeper, values) for s in stores):
                    return True
            elif any(meets(b, deeper) for b in children(node)):
                return True
        return False

    return meets(scope.body, ())
