"""An array that is another one in another shape, element by element as they lie in memory, is a view of that one.

``y[:] = np.reshape(A @ B, y.shape)`` makes the product where ``y`` is, and backwards reads the cotangent there.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import dace
from dace import data as dt

from sdgrad.analysis.access_relations import covers
from sdgrad.analysis.loop_private import used
from sdgrad.program.tree import Block, Container, Leaf, Load, Node, Program, Store, walk, writes
from sdgrad.rewrite.fusion import drop_stores
from sdgrad.symbolic.expr import same


def view_reshaped(program: Program) -> Program:
    """The program without copies of whole arrays into others of another shape."""
    worker = Worker(program)
    k = 0
    while k < len(worker.body):
        if not worker.joined(k):
            k += 1
    return worker.program


@dataclass
class Worker:
    """A program, changed from copy to copy."""

    program: Program

    @property
    def body(self) -> Block:
        return self.program.body

    def joined(self, k: int) -> bool:
        """Whether a node was such a copy; its two arrays are one now, and the copy is gone."""
        leaf = self.body[k]
        if not isinstance(leaf, Leaf) or leaf.sequential:
            return False
        for store, load in _copies(leaf, self.program):
            target, original = self.program.root(store.container), self.program.root(load.container)
            if self.made_there(k, target, original):
                self.merge(k, store, original, target)
                return True
            if self.read_there(k, target, original):
                self.merge(k, store, target, original)
                return True
        return False

    def span(self, name: str) -> list[int]:
        """The nodes that use a temporary; empty where it may be used elsewhere, or keeps something from before."""
        container = self.program.containers[name]
        if name in self.program.arguments or not container.transient or any(self.cut(v) for v in self.views(name)):
            return []
        return [k for k, n in enumerate(self.body) if name in self.inside(n)]

    def inside(self, node: Node) -> set[str]:
        return {name for n in walk((node,)) for name in used(n, self.program)}

    def views(self, name: str) -> list[Container]:
        return [
            c for c in self.program.containers.values() if c.view_of is not None and self.program.root(c.name) == name
        ]

    def cut(self, view: Container) -> bool:
        """Whether a view is of a part."""
        assert view.view_of is not None
        return view.view_subset != dace.subsets.Range.from_array(self.program.containers[view.view_of].desc)

    def made_there(self, k: int, target: str, original: str) -> bool:
        """Whether the original is only made to be copied, and its target is not used while it is made."""
        at = self.span(original)
        if not at or at[-1] != k or at[0] == k or not self.once_each(k, target, original):
            return False
        return not any(target in self.inside(n) for n in self.body[at[0] : k])

    def read_there(self, k: int, target: str, original: str) -> bool:
        """Whether nothing but the copy writes to its target, and nobody changes the original until that was read."""
        at = self.span(target)
        if not at or at[0] != k or not self.once_each(k, target, original):
            return False
        later = self.body[k + 1 : at[-1] + 1]
        changed = {self.program.root(n) for x in walk(tuple(later)) for n in writes(x)}
        return not {target, original} & changed

    def once_each(self, k: int, *names: str) -> bool:
        """Whether a leaf touches each of some containers in one place."""
        leaf = self.body[k]
        assert isinstance(leaf, Leaf)
        touched: list[Load | Store] = [*leaf.loads, *leaf.stores]
        found = Counter(self.program.root(i.container) for i in touched)
        return all(found[n] == 1 for n in names)

    def merge(self, k: int, copy: Store, gone: str, kept: str) -> None:
        """Make one array a view of another, and leave out the copy."""
        leaf, containers = self.body[k], dict(self.program.containers)
        assert isinstance(leaf, Leaf)
        for c in (containers[gone], *self.views(gone)):
            containers[c.name] = as_view(c, containers[kept])
        rest = drop_stores(leaf, lambda s: s is copy)
        body = (*self.body[:k], *([rest] if rest.stores else []), *self.body[k + 1 :])
        self.program = replace(self.program, body=body, containers=containers)


def as_view(container: Container, whole: Container) -> Container:
    """A container, or a view of all of it, as a view of all of another one."""
    own = container.desc
    desc = dt.ArrayView(
        own.dtype, own.shape, strides=own.strides, total_size=own.total_size, storage=own.storage, transient=True
    )
    return replace(container, desc=desc, view_of=whole.name, view_subset=dace.subsets.Range.from_array(whole.desc))


def _copies(leaf: Leaf, program: Program) -> list[tuple[Store, Load]]:
    """Whole arrays that a leaf copies to others, of which one at least is seen in another shape than it has."""
    loads = {x.name: x for x in leaf.loads if x.guard is None}
    return [
        (s, loads[s.value])
        for s in leaf.stores
        if s.value in loads
        and s.mode == "set"
        and s.guard is None
        and program.root(s.container) != program.root(loads[s.value].container)
        and {s.container, loads[s.value].container} & {c.name for c in program.containers.values() if c.view_of}
        and _is_whole(s.container, program)
        and _is_whole(loads[s.value].container, program)
        and _alike(program.containers[s.container].desc, program.containers[loads[s.value].container].desc)
        and same(s.index, loads[s.value].index)
        and covers(s, leaf, program.containers[s.container].shape)
    ]


def _is_whole(name: str, program: Program) -> bool:
    """Whether a container is one that has memory of its own, all of it in its order."""
    own, root = (program.containers[n].desc for n in (name, program.root(name)))
    if not all(isinstance(d, dt.Array) and d.is_packed_c_strides() for d in (own, root)):
        return False
    return own.dtype == root.dtype and bool(own.total_size == root.total_size)


def _alike(one: dt.Data, other: dt.Data) -> bool:
    return one.dtype == other.dtype and same(one.shape, other.shape)
