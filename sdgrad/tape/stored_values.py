"""Find the primal values that a leaf left in containers of the program, so that the tape need not hold them.

The adjoint of ``y = exp(x)`` needs the value of the exponential. If no later write overwrites ``y``, the adjoint loads
the value from ``y``::

    v = x[i]                  v = x[i]
    w = exp(v)       -->      w = y[i]
    y[i] = w

A store qualifies if each instance of its leaf writes an element of its own, without a guard. A container of another
precision does not qualify: the store would round the value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import dace
import sympy

from sdgrad.analysis.access_relations import injective
from sdgrad.analysis.activity import Activity
from sdgrad.analysis.needs import reduces
from sdgrad.analysis.paths import Path
from sdgrad.program.tree import Leaf, Load, Store
from sdgrad.tape.plan import Kept
from sdgrad.tape.recomputation import Available
from sdgrad.tape.storage import Keeper

Location = tuple[str, tuple[sympy.Expr, ...]]  # a container and an index


@dataclass(frozen=True)
class StoredValues:
    """Answer where the values that leaves stored are when the adjoint runs."""

    activity: Activity
    available: Available
    keeper: Keeper

    def loads(self, leaf: Leaf, path: Path) -> dict[str, Load]:
        """Map names of the leaf to loads from the containers that still hold their values."""
        found: dict[str, Load] = {}
        for store in leaf.stores:
            if self.is_exact_copy(store, leaf, path) and self.survives(store, leaf, path):
                found.setdefault(store.value, Load(store.value, store.container, store.index))
        return found

    def is_exact_copy(self, store: Store, leaf: Leaf, path: Path) -> bool:
        """True if the store writes its value unrounded, in each instance to an element of its own."""
        if store.mode != "set" or store.guard or store.index_names & leaf.defined:
            return False
        if self.available.program.containers[store.container].dtype not in (dace.float64, dace.complex128):
            return False
        if self.available.memory.places[path].owner(store.container) is not None:
            return False
        return injective(store, leaf, len(store.index))

    def survives(self, store: Store, leaf: Leaf, path: Path) -> bool:
        """True if no other store of the leaf and no later node overwrites the stored value."""
        program, memory = self.available.program, self.available.memory
        root = program.root(store.container)
        if any(s is not store and program.root(s.container) == root for s in leaf.stores):
            return False
        return self.available.has_result(memory.element(store, leaf, memory.places[path]))

    def extremes(self, leaf: Leaf, path: Path) -> tuple[Mapping[str, Location], tuple[Kept, ...]]:
        """Locate the final values of active max and min reductions, and tape those that are overwritten later."""
        found: dict[str, Location] = {}
        after: list[Kept] = []
        for store in leaf.stores:
            if store.mode == "prod" or not reduces(store, path, self.activity):
                continue
            found[store.container] = (store.container, store.index)
            if not self.survives(store, leaf, path):
                load = Load(self.keeper.names.fresh("y"), store.container, store.index)
                after.append(self.keeper.keep(load, leaf, path))
                found[store.container] = (after[-1].tape.name, after[-1].index)
        return found, tuple(after)
