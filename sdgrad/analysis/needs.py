"""Needs: which primal values the adjoint of a node mentions, after its partials have been taken."""

from __future__ import annotations

from sdgrad.analysis.activity import Activity, carried
from sdgrad.analysis.paths import Path
from sdgrad.program.tree import Leaf, Load, Store
from sdgrad.symbolic.expr import free_names

VALUE_MODES = ("prod", "max", "min")  # reductions whose adjoint compares or divides by the reduced values


def reduces(store: Store, path: Path, activity: Activity) -> bool:
    """Whether a derivative passes a product, max or min: from its operands, or from what it started with."""
    started = not store.fresh and activity.active(path, carried(store))
    return store.mode in VALUE_MODES and (started or activity.active(path, store.value))


def active_stores(leaf: Leaf, path: Path, activity: Activity) -> tuple[Store, ...]:
    return tuple(s for s in leaf.stores if activity.active(path, s.value))


def active_loads(leaf: Leaf, path: Path, activity: Activity) -> tuple[Load, ...]:
    return tuple(x for x in leaf.loads if activity.active(path, x.name))


def leaf_needs(leaf: Leaf, path: Path, activity: Activity) -> frozenset[str]:
    """Local names whose values the leaf's adjoint uses: partials, guards, run-time indices."""
    facts = activity.facts[path]
    needed: set[str] = set()
    for let in leaf.lets:
        if activity.active(path, let.name):
            for partial in facts.partials.get(let.name, ()):
                if activity.active(path, partial.operand):
                    needed |= partial.needs
    local = leaf.defined
    accesses: list[Load | Store] = [*active_stores(leaf, path, activity), *active_loads(leaf, path, activity)]
    for access in accesses:
        needed |= free_names(*access.index) | ({access.guard} if access.guard else set())
    for store in leaf.stores:
        # the cotangent of what is overwritten is cleared even where the stored value itself is not active
        if not activity.active(path, store.value) and path in activity.overwritten:
            needed |= free_names(*store.index) | ({store.guard} if store.guard else set())
        if reduces(store, path, activity):
            needed.add(store.value)
    return frozenset(needed & local)
