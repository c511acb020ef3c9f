"""What is at hand when an adjoint runs: values never overwritten, put back where they were, or computed again.

Three means save tapes. *Undo*: what a write destroys is kept, and put back before the adjoint of the writing node, so
that the container is again what it was (Tapenade's push and pop). *Rerun*: a temporary's defining node runs once more
before the adjoint of the node that reads it, when all it reads is still as it was. *Redo*: what one node defines in
each trip of a loop is kept, and put back at the start of the trip that runs backwards; that is as much as to undo it,
but trips have nothing to do with each other.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

from sdgrad.analysis.access_relations import injective
from sdgrad.analysis.paths import Path
from sdgrad.analysis.survival import Access, Memory
from sdgrad.program.tree import Leaf, Load, Program, children, own_reads, reads
from sdgrad.rewrite.fusion import drop_stores
from sdgrad.symbolic.expr import free_names
from sdgrad.tape.cost_model import worth_rerunning


@dataclass(frozen=True)
class Rerun:
    """What a node defines, defined once more: by a leaf that runs before the adjoint of a later node."""

    define: Path
    container: str
    before: Path
    leaf: Leaf


@dataclass
class Available:
    """Answers whether values can be had without keeping them, and collects what has to run for it."""

    program: Program
    memory: Memory
    undone: frozenset[str] = frozenset()  # containers that are put back on the way
    redone: frozenset[str] = frozenset()  # containers that are put back as each trip left them
    rerun: bool = True  # whether nodes may run again
    clobbering: dict[tuple, Access] = field(default_factory=dict)  # writes to be undone
    reruns: dict[tuple[Path, str], Rerun] = field(default_factory=dict)
    _reached: dict[tuple, tuple[list[Access], list[Rerun]] | None] = field(default_factory=dict)

    def has(self, access: Access) -> bool:
        """Whether what an access reads can be had when the adjoint of its node runs."""
        return self.reach(access, access.path, ()) is not None

    def use(self, access: Access) -> None:
        """Note what has to run for an access that can be had."""
        needed = self.reach(access, access.path, ())
        assert needed is not None
        self.clobbering |= {w.key: w for w in needed[0]}
        for run in needed[1]:
            what = (run.define, run.container)
            self.reruns[what] = max(run, self.reruns.get(what, run), key=lambda r: r.before)

    def reach(self, access: Access, user: Path, active: tuple[Path, ...]) -> tuple[list[Access], list[Rerun]] | None:
        """The writes to undo and the nodes to rerun to have an access's value at the adjoint of ``user``; or None."""
        found = (access.key, access.own, user)
        if active:  # what is found on the way to something else may be refused for that way's sake
            return self._reach(access, user, active)
        if found not in self._reached:
            self._reached[found] = self._reach(access, user, active)
        return self._reached[found]

    def _reach(self, access: Access, user: Path, active: tuple[Path, ...]) -> tuple[list[Access], list[Rerun]] | None:
        lost = self.memory.clobbers(access)
        if not lost:
            return [], []
        if access.container in self.redone:
            return list(self.memory.writes[access.container]), []
        if access.container in self.undone:
            return (lost, []) if not self.between(access.path, user, access.container) else None
        return self.again(access, user, active)

    def between(self, first: Path, user: Path, container: str) -> bool:
        """Whether a node after ``first`` and before ``user`` (a later one in its block, or inside one) writes."""
        if first == user:
            return False
        depth = len(first) - 1
        upto = user[depth] + (len(user) > len(first))
        root = self.program.root(container)
        return any(root in self.memory.changed[(*first[:-1], k)] for k in range(first[depth] + 1, upto))

    def leaf(self, path: Path) -> Leaf:
        node = self.memory.nodes[path]
        assert isinstance(node, Leaf)
        return node

    # -- reruns
    def again(self, access: Access, user: Path, active: tuple[Path, ...]) -> tuple[list[Access], list[Rerun]] | None:
        define = self.definition(access) if self.rerun else None
        if define is None or define in active:
            return None
        before = user[: len(define)]  # the node of the defining node's block that holds the user
        if before[:-1] != define[:-1] or self.between(define, user, access.container):
            return None
        leaf = self.reload(define, access.container)
        if leaf is not None:
            return [], [Rerun(define, access.container, before, leaf)]
        leaf = drop_stores(self.leaf(define), lambda s: s.container != access.container)
        if not worth_rerunning(leaf):
            return None
        undo: list[Access] = []
        runs: list[Rerun] = []
        for load in leaf.loads:
            if self.between(define, before, load.container) or self.inside_writes(before, load.container):
                return None
            needed = self.reach(self.memory.element(load, leaf, self.memory.places[define]), before, (*active, define))
            if needed is None:
                return None
            undo += needed[0]
            runs += needed[1]
        return undo, [*runs, Rerun(define, access.container, before, leaf)]

    def reload(self, define: Path, container: str) -> Leaf | None:
        """A leaf that copies what was stored, from where the same value was stored and stays."""
        leaf = self.leaf(define)
        store = next(s for s in leaf.stores if s.container == container)
        local = leaf.defined
        for other in leaf.stores:
            same = other.value == store.value and other.mode == store.mode == "set" and other.guard is None
            dtypes = {self.program.containers[s.container].dtype for s in (store, other)}
            if other is store or not same or len(dtypes) > 1 or free_names(*other.index, *store.index) & local:
                continue
            root = self.program.root(other.container)
            alone = [s for s in leaf.stores if self.program.root(s.container) == root] == [other]
            access = self.memory.element(other, leaf, self.memory.places[define])
            stays = root not in self.undone and not self.memory.clobbers(access, after=True)
            if alone and stays and injective(other, leaf, len(other.index)):
                return replace(leaf, body=(Load(store.value, other.container, other.index), store))
        return None

    def is_of_trips(self, container: str) -> bool:
        """Whether one leaf defines all that is read of a container, in the same trip of a loop."""
        writes = self.memory.writes.get(container, ())
        if len(writes) != 1 or len(writes[0].path) == 1:
            return False
        for path, node in self.memory.nodes.items():
            if children(node) or container not in {self.program.root(r) for r in reads(node)} | own_reads(node):
                continue
            loads = [x for x in node.loads if x.container == container] if isinstance(node, Leaf) else []
            found = [self.definition(self.memory.element(x, node, self.memory.places[path])) for x in loads]  # type: ignore[arg-type]
            if not found or any(d != writes[0].path for d in found):
                return False
        return not any(container in own_reads(n) for n in self.memory.nodes.values())

    def inside_writes(self, path: Path, container: str) -> bool:
        """Whether a region writes a container: it is put back while the region runs backwards, not before."""
        return bool(children(self.memory.nodes[path])) and self.program.root(container) in self.memory.changed[path]

    def definition(self, access: Access) -> Path | None:
        """The leaf that computed what an access reads, in the same trips of the loops around it."""
        container = self.program.containers[access.container]
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
        return {c.view_of for c in self.program.containers.values() if c.view_of is not None}

    def defines(self, path: Path, access: Access) -> bool:
        """Whether a leaf writes every element that an access reads, and nothing a second time."""
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
