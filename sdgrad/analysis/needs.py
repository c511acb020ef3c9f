"""Find the primal values that the adjoint of a leaf mentions: to-be-recorded analysis without the memory.

The adjoint of ``w = u * v`` needs ``v`` if ``u`` is active, and ``u`` if ``v`` is. The adjoint of a sum needs no
value. An index from data and the guard of an active access are needed, too. :mod:`sdgrad.analysis.survival` tells
whether a needed value is still in memory. (TBR analysis: Hascoet, Naumann & Pascual 2005.)
"""

from __future__ import annotations

from sdgrad.analysis.activity import Activity, carried
from sdgrad.analysis.paths import Path
from sdgrad.program.tree import Leaf, Load, Store

VALUE_MODES = ("prod", "max", "min")
"""Reductions with an adjoint that mentions the reduced values."""


def reduces(store: Store, path: Path, activity: Activity) -> bool:
    """True if a derivative passes through a product, max or min: from an operand, or from its initial value."""
    started = not store.fresh and activity.active(path, carried(store))
    return store.mode in VALUE_MODES and (started or activity.active(path, store.value))


def active_stores(leaf: Leaf, path: Path, activity: Activity) -> tuple[Store, ...]:
    """Return the stores of active values."""
    return tuple(s for s in leaf.stores if activity.active(path, s.value))


def active_loads(leaf: Leaf, path: Path, activity: Activity) -> tuple[Load, ...]:
    """Return the loads of active values."""
    return tuple(x for x in leaf.loads if activity.active(path, x.name))


def leaf_needs(leaf: Leaf, path: Path, activity: Activity) -> frozenset[str]:
    """Find the names of a leaf with values that its adjoint mentions: in partials, guards, and subscripts."""
    needed = _in_partials(leaf, path, activity)
    accesses: list[Load | Store] = [*active_stores(leaf, path, activity), *active_loads(leaf, path, activity)]
    if path in activity.overwritten:
        # the adjoint clears the cotangents of overwritten elements even if the stored value is not active
        accesses += [s for s in leaf.stores if not activity.active(path, s.value)]
    for access in accesses:
        needed |= access.index_names | ({access.guard} if access.guard else set())
    needed |= {s.value for s in leaf.stores if reduces(s, path, activity)}
    return frozenset(needed & leaf.defined)


def _in_partials(leaf: Leaf, path: Path, activity: Activity) -> set[str]:
    """Collect the names that partials of active values by active operands mention."""
    facts = activity.facts[path]
    found: set[str] = set()
    for let in leaf.lets:
        for partial in facts.partials.get(let.name, ()) if activity.active(path, let.name) else ():
            if activity.active(path, partial.operand):
                found |= partial.needs
    return found
