"""Replace a copy between shapes by a view.

``y[:] = np.reshape(A @ B, y.shape)`` computes the product in ``y`` itself, and backwards reads the cotangent there::

    local p: float64[2, 3]               local p: float64[2, 3] view of y
    local q: float64[6] view of p
    p = A @ B                            p = A @ B
    map i: y[i] = q[i]

Both arrays are packed in C order, so that equal positions in memory are equal elements. The pass declines if either
array changes while both are used, if the temporary is used elsewhere, and views of parts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import dace
from dace import data as dt

from sdgrad.analysis.access_relations import covers
from sdgrad.analysis.uses import used
from sdgrad.program.tree import Block, Container, Leaf, Load, Program, Store, walk, writes
from sdgrad.rewrite.dead_code import drop_stores
from sdgrad.symbolic.expr import same


def view_reshaped(program: Program) -> Program:
    """Merge arrays that are copied as a whole into an array of another shape."""
    merging = Merging.of(program)
    k = 0
    while k < len(merging.body):
        if not merging.merge_copy(k):
            k += 1
    return merging.program


@dataclass
class Merging:
    """A program whose copies become views, one after the other.

    :param memory: the containers with memory of their own that each node of the body uses, itself or inside.
    :param views: the views of each container's memory.
    """

    program: Program
    memory: list[set[str]]
    views: dict[str, list[Container]]

    @staticmethod
    def of(program: Program) -> Merging:
        """Look at all nodes and views once."""
        memory = [{name for n in walk((node,)) for name in used(n, program)} for node in program.body]
        views: dict[str, list[Container]] = {}
        for container in program.containers.values():
            if container.view_of is not None:
                views.setdefault(program.root(container.name), []).append(container)
        return Merging(program, memory, views)

    @property
    def body(self) -> Block:
        return self.program.body

    def merge_copy(self, k: int) -> bool:
        """Merge the two arrays of a copy in the k-th node; False if it has none that can be merged."""
        leaf = self.body[k]
        if not isinstance(leaf, Leaf) or leaf.sequential:
            return False
        for store, load in _copies(leaf, self.program):
            target, original = self.program.root(store.container), self.program.root(load.container)
            if self.can_compute_in_target(k, target, original):
                self.merge(k, store, original, target)
                return True
            if self.can_read_original(k, target, original):
                self.merge(k, store, target, original)
                return True
        return False

    def span(self, name: str) -> list[int]:
        """Return the nodes of the body that use a temporary; none for an argument, and if a view shows a part of it."""
        container = self.program.containers[name]
        if (
            name in self.program.arguments
            or not container.transient
            or any(self.is_partial(v) for v in self.views.get(name, ()))
        ):
            return []
        return [k for k, memory in enumerate(self.memory) if name in memory]

    def is_partial(self, view: Container) -> bool:
        """True if a view shows a part of a container only."""
        assert view.view_of is not None
        return view.view_subset != dace.subsets.Range.from_array(self.program.containers[view.view_of].desc)

    def can_compute_in_target(self, k: int, target: str, original: str) -> bool:
        """True if the copy is the last use of the original, and the target is not used since the first."""
        at = self.span(original)
        if not at or at[-1] != k or at[0] == k or not self.accesses_once(k, target, original):
            return False
        return not any(target in memory for memory in self.memory[at[0] : k])

    def can_read_original(self, k: int, target: str, original: str) -> bool:
        """True if the copy is the first use of the target, and both stay unchanged until the last."""
        at = self.span(target)
        if not at or at[0] != k or not self.accesses_once(k, target, original):
            return False
        later = self.body[k + 1 : at[-1] + 1]
        changed = {self.program.root(n) for x in walk(tuple(later)) for n in writes(x)}
        return not {target, original} & changed

    def accesses_once(self, k: int, *names: str) -> bool:
        """True if a leaf has one access to the memory of each of some containers."""
        leaf = self.body[k]
        assert isinstance(leaf, Leaf)
        touched: list[Load | Store] = [*leaf.loads, *leaf.stores]
        found = Counter(self.program.root(i.container) for i in touched)
        return all(found[n] == 1 for n in names)

    def merge(self, k: int, copy: Store, gone: str, kept: str) -> None:
        """Make one array a view of another, and drop the copy."""
        leaf, containers = self.body[k], dict(self.program.containers)
        assert isinstance(leaf, Leaf)
        made = [as_view(c, containers[kept]) for c in (containers[gone], *self.views.pop(gone, ()))]
        containers |= {c.name: c for c in made}
        self.views.setdefault(kept, []).extend(made)
        rest = drop_stores(leaf, lambda s: s is copy)
        body = (*self.body[:k], *([rest] if rest.stores else []), *self.body[k + 1 :])
        self.program = replace(self.program, body=body, containers=containers)
        for memory in self.memory:
            if gone in memory:
                memory.remove(gone)
                memory.add(kept)
        self.memory[k : k + 1] = [used(rest, self.program)] if rest.stores else []


def as_view(container: Container, whole: Container) -> Container:
    """Return a container, or a view of all of it, as a view of all of another container."""
    own = container.desc
    desc = dt.ArrayView(
        own.dtype, own.shape, strides=own.strides, total_size=own.total_size, storage=own.storage, transient=True
    )
    return replace(container, desc=desc, view_of=whole.name, view_subset=dace.subsets.Range.from_array(whole.desc))


def _copies(leaf: Leaf, program: Program) -> list[tuple[Store, Load]]:
    """Return the copies of whole arrays in a leaf of which at least one side is a view."""
    loads = {x.name: x for x in leaf.loads if x.guard is None}
    pairs = [(s, loads[s.value]) for s in leaf.stores if s.value in loads]
    return [
        (s, x)
        for s, x in pairs
        if _assigns_same_subscripts(s, x)
        and _is_reshaped(s.container, x.container, program)
        and covers(s, leaf, program.containers[s.container].shape)
    ]


def _assigns_same_subscripts(store: Store, load: Load) -> bool:
    return store.mode == "set" and store.guard is None and same(store.index, load.index)


def _is_reshaped(target: str, original: str, program: Program) -> bool:
    """True if two containers are alike and whole, with memory apart, and one of them is a view."""
    if program.root(target) == program.root(original):
        return False
    own, other = program.containers[target], program.containers[original]
    if own.view_of is None and other.view_of is None:
        return False
    return _is_whole(target, program) and _is_whole(original, program) and _is_alike(own.desc, other.desc)


def _is_whole(name: str, program: Program) -> bool:
    """True if a container shows all of its memory, in C order."""
    own, root = (program.containers[n].desc for n in (name, program.root(name)))
    if not all(isinstance(d, dt.Array) and d.is_packed_c_strides() for d in (own, root)):
        return False
    return own.dtype == root.dtype and bool(own.total_size == root.total_size)


def _is_alike(one: dt.Data, other: dt.Data) -> bool:
    """True if two descriptors have equal dtypes and shapes."""
    return one.dtype == other.dtype and same(one.shape, other.shape)
