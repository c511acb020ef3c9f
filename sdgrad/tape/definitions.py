"""Find the leaf that defines what an access reads, in the same iterations of the enclosing loops.

This is the reaching definition of an array temporary, if it is unique. In ::

    for i:
        map j: t[j] = x[j] * y[i]
        map j: z[j] += t[j]

the first leaf defines all that the second one reads. The search declines for arguments, for views, for locals of maps,
and if the last write before the access is in a control node or does not cover the access.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sdgrad.analysis.paths import Path
from sdgrad.analysis.survival import Access, Memory
from sdgrad.program.tree import Leaf, Node, children, own_reads, reads


@dataclass
class Definitions:
    """Answer which leaf defines what an access reads."""

    memory: Memory

    def reaching(self, access: Access) -> Path | None:
        """Find the leaf that defines what an access reads, in the same iterations of the enclosing loops; or None."""
        container = self.memory.program.containers[access.container]
        if not container.transient or container.view_of is not None or access.container in self.viewed:
            return None
        if not access.place.loops or access.place.owner(access.container) is not None:
            return None
        path = access.path
        for depth in range(len(path), 0, -2):
            for k in range(path[depth - 1] - 1, -1, -1):
                where = (*path[: depth - 1], k)
                if access.container in self.memory.changed[where]:
                    return where if self.defines(where, access) else None
        return None

    @cached_property
    def viewed(self) -> set[str]:
        """Containers that others are views of."""
        return {c.view_of for c in self.memory.program.containers.values() if c.view_of is not None}

    def defines(self, path: Path, access: Access) -> bool:
        """True if the node is a leaf that covers the access with one unconditional store, and does not read it."""
        leaf = self.memory.nodes[path]
        if not isinstance(leaf, Leaf) or leaf.sequential:
            return False
        stores = [s for s in leaf.stores if s.container == access.container]
        if len(stores) != 1 or stores[0].guard is not None or not (stores[0].mode == "set" or stores[0].fresh):
            return False
        if access.container in {x.container for x in leaf.loads}:
            return False
        write = self.memory.element(stores[0], leaf, self.memory.places[path])
        return self.memory.covered(access, write)

    def is_per_iteration(self, container: str) -> bool:
        """True if one leaf in a loop defines every element of a container that the same iteration reads."""
        writes = self.memory.writes.get(container, ())
        if len(writes) != 1 or len(writes[0].path) == 1:
            return False
        nodes = self.memory.nodes
        if any(container in own_reads(n) for n in nodes.values()):
            return False
        readers = (
            (path, n)
            for path, n in nodes.items()
            if not children(n) and container in {self.memory.program.root(r) for r in reads(n)}
        )
        return all(self.reads_only(writes[0].path, container, path, n) for path, n in readers)

    def reads_only(self, define: Path, container: str, path: Path, node: Node) -> bool:
        """True if a node is a leaf whose loads of a container all read what the leaf at ``define`` stored."""
        if not isinstance(node, Leaf):
            return False
        loads = [x for x in node.loads if x.container == container]
        found = [self.reaching(self.memory.element(x, node, self.memory.places[path])) for x in loads]
        return bool(found) and all(d == define for d in found)
