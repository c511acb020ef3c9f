"""Detect output dependences between the instances of a map: two that may assign to the same element.

``B[idx[i]] = A[i]`` keeps the value of the last ``i`` for each element. Such a map must run in order. A loop with an
injective subscript has no such dependence (Allen & Kennedy 2001).
"""

from __future__ import annotations

from sdgrad.analysis.access_relations import distinct_over, injective
from sdgrad.program.naming import is_status
from sdgrad.program.reductions import EXTREMES
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
    """True if two instances of a leaf may assign to the same element."""
    return any(s.mode == "set" and not injective(s, leaf, len(s.index)) for s in leaf.stores)


def runs_in_order(leaf: Leaf) -> bool:
    """True if the instances of a leaf run one after another, as those of a loop."""
    return leaf.sequential or overwrites_itself(leaf)


IN_ORDER = ("set", "prod", *EXTREMES)
"""Modes of stores of which two to one element are no sum: their adjoints read what was there."""


def scope_overwrites_itself(scope: Scope) -> bool:
    """True if two instances of a map with a structured body may assign to the same element."""
    names = frozenset(n.symbol for n in walk(scope.body) if isinstance(n, (SymbolAssign, Loop)))
    local = {c for n in walk((scope,)) for c in local_names(n)}

    def meets(block: Block, inner: tuple[Param, ...]) -> bool:
        """True if a leaf of the block, with some inner parameters around, has such a conflict."""
        for node in block:
            deeper = inner + (node.params if isinstance(node, (Leaf, Scope)) else ())
            if isinstance(node, Leaf):
                values = names | node.defined
                stores = [s for s in node.stores if s.mode in IN_ORDER and s.container not in local]
                stores = [s for s in stores if not is_status(s.container)]
                if not all(distinct_over(s, scope.params, deeper, values) for s in stores):
                    return True
            elif any(meets(b, deeper) for b in children(node)):
                return True
        return False

    return meets(scope.body, ())
