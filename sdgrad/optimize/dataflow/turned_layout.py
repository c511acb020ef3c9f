"""Store a temporary as it is computed, if it is stored turned: its readers turn it then.

The adjoint of ``t[i] = u[(i + 1) % n]`` (``np.roll``, periodic grids) stores to places on a ring, and nests around it
cannot join it. Only the program sees the temporary, so it may begin anywhere::

    map i=0:n: t'[(i + 1) % n] = g[i]                map i=0:n: t'[i] = g[i]
    map i=0:n: u'[i] += t'[i]                        map i=0:n: u'[i] += t'[(i + n - 1) % n]

Declined are arrays that anything but leaves accesses, and those of which stores are turned by different numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from sdgrad.analysis.uses import only_in_leaves
from sdgrad.program.leaves import slice_for
from sdgrad.program.tree import (
    Expr,
    Leaf,
    Let,
    Load,
    Node,
    Program,
    Store,
    rewritten,
    walk,
)
from sdgrad.program.turned import stays_within, turn, turned
from sdgrad.symbolic.expr import free_names


def turn_layouts(program: Program) -> Program:
    """Turn the temporaries of a program that are stored turned."""
    changes = dict(_changes(program))
    if not changes:
        return program

    def node(n: Node) -> tuple[Node, ...]:
        return (_with_turned(n, changes),) if isinstance(n, Leaf) else (n,)

    return replace(program, body=rewritten(program.body, node))


@dataclass(frozen=True)
class Turn:
    """By how much subscripts of one dimension go back, on a ring of ``size`` elements."""

    dimension: int
    by: int
    size: int


def _changes(program: Program) -> Iterator[tuple[str, list[Turn]]]:
    """Yield the temporaries that are turned, each with its turns."""
    stores: dict[str, list[tuple[Leaf, Store]]] = {}
    for leaf in (n for n in walk(program.body) if isinstance(n, Leaf)):
        for s in leaf.stores:
            stores.setdefault(s.container, []).append((leaf, s))
    asked = [n for n, found in stores.items() if any(turned(e) for _, s in found for e in s.index)]
    own = {n for n in asked if program.containers[n].transient and program.containers[n].view_of is None}
    free = only_in_leaves(program, own) if own else set()
    for name in asked:
        if name in free:
            shape = program.containers[name].shape
            turns = [_turn_of(stores[name], d, int(n)) for d, n in enumerate(shape) if n.is_Integer]
            if found := [t for t in turns if t is not None]:
                yield name, found


def _turn_of(stores: list[tuple[Leaf, Store]], d: int, size: int) -> Turn | None:
    """Return by how much one dimension turns; None if the stores do not agree, or do not turn it."""
    shifts: set[int] = set()
    for leaf, s in stores:
        found = turned(s.index[d])
        if found is not None and found.size == size and stays_within(found.inner, size, leaf.params):
            shifts.add(found.shift)
        elif not _fills(leaf, s, d, size):
            return None
    return Turn(d, shifts.pop(), size) if len(shifts) == 1 else None


def _fills(leaf: Leaf, store: Store, d: int, size: int) -> bool:
    """True if a store sets all elements along a dimension to the same value: it does so wherever the array begins."""
    param = next((p for p in leaf.params if p.name == str(store.index[d])), None)
    if param is None or param.start != 0 or param.stop != size - 1 or param.step != 1 or store.guard is not None:
        return False
    others = [e for k, e in enumerate(store.index) if k != d]
    if param.name in free_names(*others) or store.mode != "set":
        return False
    return param.name not in {n for i in slice_for(leaf.body, {store.value}) for n in i.names}


def _with_turned(leaf: Leaf, changes: Mapping[str, list[Turn]]) -> Leaf:
    """Return a leaf with the subscripts of turned arrays."""
    if not any(i.container in changes for i in leaf.accesses):
        return leaf
    body = tuple(
        i
        if isinstance(i, Let) or i.container not in changes
        else replace(i, index=_index(leaf, i, changes[i.container]))
        for i in leaf.body
    )
    return replace(leaf, body=body)


def _index(leaf: Leaf, access: Load | Store, turns: list[Turn]) -> tuple[Expr, ...]:
    """Return the subscripts of an access to a turned array; those that fill a dimension stay."""
    index = list(access.index)
    for t in turns:
        if not (isinstance(access, Store) and _fills(leaf, access, t.dimension, t.size)):
            index[t.dimension] = turn(index[t.dimension], -t.by, t.size, leaf.params)
    return tuple(index)
