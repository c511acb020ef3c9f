"""Trace an overwritten scalar to the array element it was copied from.

A symbol often gets its value through a scalar: ``s = idx[i]; k := s``. At the next iteration ``s`` is overwritten, but
``idx`` is not, so that the reverse sweep assigns ``k := idx[i]`` without a tape. The search goes backwards through the
block to the reaching definition of the scalar. It declines if this is not a plain copy, or if the copied element does
not survive.
"""

from __future__ import annotations

from dataclasses import dataclass

from sdgrad.analysis.paths import Path
from sdgrad.analysis.survival import Memory
from sdgrad.program.tree import Leaf, Load, SymbolAssign, children, writes


@dataclass(frozen=True)
class Definition:
    """A leaf that defines a scalar, and the symbols assigned between it and the scalar's use."""

    path: Path
    leaf: Leaf
    reassigned: frozenset[str]


def original_element(load: Load, path: Path, memory: Memory) -> Load | None:
    """Return the load whose value the scalar was set to, if its element survives; else None."""
    if memory.program.root(load.container) != load.container:
        return None
    definition = reaching_definition(load.container, path, memory)
    found = copied_load(definition.leaf, load.container) if definition is not None else None
    if definition is None or found is None:
        return None
    if found.index_names & (definition.reassigned | definition.leaf.defined):
        return None
    if memory.places[path].owner(found.container) is not None:
        return None
    return found if memory.survives(found, definition.leaf, definition.path) else None


def reaching_definition(container: str, path: Path, memory: Memory) -> Definition | None:
    """Find the leaf without parameters in the same block that last wrote a container; None if another node may have."""
    program = memory.program
    symbols: set[str] = set()
    for k in range(path[-1] - 1, -1, -1):
        before = (*path[:-1], k)
        node = memory.nodes[before]
        if isinstance(node, SymbolAssign):
            symbols.add(node.symbol)
        elif container in {program.root(w) for w in writes(node)}:
            single = isinstance(node, Leaf) and not node.params
            return Definition(before, node, frozenset(symbols)) if single else None  # type: ignore[arg-type]
        elif children(node):
            return None
    return None


def copied_load(leaf: Leaf, container: str) -> Load | None:
    """Return the load whose value the leaf's only store to a container assigns; None if it is no plain copy."""
    stores = [s for s in leaf.stores if s.container == container]
    if len(stores) != 1 or stores[0].mode != "set" or stores[0].guard is not None:
        return None
    found = {x.name: x for x in leaf.loads}.get(stores[0].value)
    return found if found is not None and found.guard is None else None
