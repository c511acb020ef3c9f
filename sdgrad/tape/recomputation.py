"""Decide which primal values the reverse sweep can have without a tape of their own.

A value is available if nothing overwrites it. Three more ways save tapes:

- *Undo*: tape the old value that a write destroys, and restore it before the adjoint of the writing node. The container
  then has its earlier content again (push and pop in Tapenade, Hascoet & Pascual 2013).
- *Rerun*: run the leaf that defines a temporary once more, before the adjoint of the node that reads it. All operands
  of the leaf must be available there.
- *Redo*: tape what one leaf defines in each iteration of a loop, and restore it at the start of the reverse iteration.
  The tape is as long as that of *undo*, but the reverse iterations stay independent.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

from sdgrad.analysis.access_relations import injective
from sdgrad.analysis.paths import Path
from sdgrad.analysis.survival import Access, Memory
from sdgrad.program.tree import Leaf, Load, Program, Store, children
from sdgrad.rewrite.dead_code import drop_stores
from sdgrad.symbolic.expr import free_names
from sdgrad.tape.cost_model import worth_rerunning
from sdgrad.tape.definitions import Definitions


@dataclass(frozen=True)
class Rerun:
    """Describe a leaf that defines a container once more, before the adjoint of a later node."""

    define: Path
    container: str
    before: Path
    leaf: Leaf


@dataclass
class Available:
    """Answer whether values are available without a tape, and collect the writes and leaves that this takes."""

    program: Program
    memory: Memory
    undone: frozenset[str] = frozenset()  # containers restored to what they were before each write
    redone: frozenset[str] = frozenset()  # containers restored to what each iteration left
    rerun: bool = True  # True: leaves may run again
    clobbering: dict[tuple, Access] = field(default_factory=dict)  # writes to be undone
    reruns: dict[tuple[Path, str], Rerun] = field(default_factory=dict)
    _reached: dict[tuple, tuple[list[Access], list[Rerun]] | None] = field(default_factory=dict)

    def has(self, access: Access) -> bool:
        """True if the value that an access reads is available when the adjoint of its node runs."""
        return self.reach(access, access.path, ()) is not None

    def use(self, access: Access) -> None:
        """Note the writes to undo and the leaves to rerun for an available access."""
        needed = self.reach(access, access.path, ())
        assert needed is not None
        self.clobbering |= {w.key: w for w in needed[0]}
        for run in needed[1]:
            what = (run.define, run.container)
            self.reruns[what] = max(run, self.reruns.get(what, run), key=lambda r: r.before)

    def has_result(self, result: Access) -> bool:
        """True if a node's result is neither overwritten nor undone before the adjoint of the node runs."""
        return not self.memory.clobbers(result, after=True) and result.container not in self.undone

    def scheduled_reruns(self) -> dict[Path, tuple[Leaf, ...]]:
        """Group the leaves that run again by the node before whose adjoint they run, in program order."""
        found: dict[Path, list[Leaf]] = {}
        for _, run in sorted(self.reruns.items()):
            found.setdefault(run.before, []).append(run.leaf)
        return {before: tuple(leaves) for before, leaves in found.items()}

    def reach(self, access: Access, user: Path, active: tuple[Path, ...]) -> tuple[list[Access], list[Rerun]] | None:
        """Return the writes to undo and the leaves to rerun for an access; None if its value is not available.

        :param user: the node at whose adjoint the value is needed.
        :param active: leaves that are to run again for it already; a leaf must not depend on its own rerun.
        """
        found = (access.key, access.own, user)
        if active:  # an answer within a chain of reruns depends on the chain: do not memoize it
            return self._reach(access, user, active)
        if found not in self._reached:
            self._reached[found] = self._reach(access, user, active)
        return self._reached[found]

    def _reach(self, access: Access, user: Path, active: tuple[Path, ...]) -> tuple[list[Access], list[Rerun]] | None:
        """Compute the answer of :meth:`reach`: in place, redone, undone, or defined by a leaf that runs again."""
        lost = self.memory.clobbers(access)
        if not lost:
            return [], []
        if access.container in self.redone:
            return list(self.memory.writes[access.container]), []
        if access.container in self.undone:
            return (lost, []) if not self.between(access.path, user, access.container) else None
        return self.again(access, user, active)

    def between(self, first: Path, user: Path, container: str) -> bool:
        """True if a node between two others of a block writes a container; ``user`` may be inside of the later one."""
        if first == user:
            return False
        depth = len(first) - 1
        upto = user[depth] + (len(user) > len(first))
        root = self.program.root(container)
        return any(root in self.memory.changed[(*first[:-1], k)] for k in range(first[depth] + 1, upto))

    @cached_property
    def definitions(self) -> Definitions:
        """The leaves that define temporaries."""
        return Definitions(self.memory)

    def leaf(self, path: Path) -> Leaf:
        """Return the leaf at a path."""
        node = self.memory.nodes[path]
        assert isinstance(node, Leaf)
        return node

    # -- reruns
    def again(self, access: Access, user: Path, active: tuple[Path, ...]) -> tuple[list[Access], list[Rerun]] | None:
        """Plan to run the leaf that defines an access's value again; None if an operand of it is not available."""
        define = self.definitions.reaching(access) if self.rerun else None
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
            if before != define and self.program.root(load.container) in self.memory.changed[define]:
                return None  # the leaf itself writes what it has read, which is restored only before its own adjoint
            needed = self.reach(self.memory.element(load, leaf, self.memory.places[define]), before, (*active, define))
            if needed is None:
                return None
            undo += needed[0]
            runs += needed[1]
        return undo, [*runs, Rerun(define, access.container, before, leaf)]

    def reload(self, define: Path, container: str) -> Leaf | None:
        """Return a leaf that copies a container's values from a second store of them; None if none survives."""
        leaf = self.leaf(define)
        store = next(s for s in leaf.stores if s.container == container)
        for other in leaf.stores:
            if other is not store and self.is_same_value(store, other, leaf) and self.keeps(other, leaf, define):
                return replace(leaf, body=(Load(store.value, other.container, other.index), store))
        return None

    def is_same_value(self, store: Store, other: Store, leaf: Leaf) -> bool:
        """True if two stores of a leaf assign the same value in the same precision, at affine indices."""
        if other.value != store.value or not other.mode == store.mode == "set" or other.guard is not None:
            return False
        dtypes = {self.program.containers[s.container].dtype for s in (store, other)}
        return len(dtypes) == 1 and not free_names(*other.index, *store.index) & leaf.defined

    def keeps(self, store: Store, leaf: Leaf, path: Path) -> bool:
        """True if each instance of a leaf stores to an element of its own, which still holds the value at the end."""
        root = self.program.root(store.container)
        if [s for s in leaf.stores if self.program.root(s.container) == root] != [store] or root in self.undone:
            return False
        access = self.memory.element(store, leaf, self.memory.places[path])
        return not self.memory.clobbers(access, after=True) and injective(store, leaf, len(store.index))

    def inside_writes(self, path: Path, container: str) -> bool:
        """True if a node inside of a control node writes a container: its restoring happens too late for a rerun."""
        return bool(children(self.memory.nodes[path])) and self.program.root(container) in self.memory.changed[path]
