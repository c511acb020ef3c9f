"""What nests over large matrices consist of: products with vectors, and updates of elements, one store each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from sdgrad.config import config
from sdgrad.optimize.contractions.recognition import recognise, terms
from sdgrad.optimize.locality.strides import known_trips, steps
from sdgrad.program.leaves import live
from sdgrad.program.tree import Leaf, Load, Param, Program, Store
from sdgrad.symbolic.expr import free_names, same, sym


@dataclass(frozen=True)
class Piece:
    """A leaf with one store over the rows and columns of a matrix, in this order."""

    leaf: Leaf
    product: bool  # of a matrix and a vector; else what changes elements of a matrix

    @property
    def row(self) -> Param:
        return self.leaf.params[0]

    @property
    def store(self) -> Store:
        (store,) = self.leaf.stores
        return store

    def matrices(self, program: Program) -> set[str]:
        """The containers of which each instance uses an element of its own."""
        names = {p.name for p in self.leaf.params}
        return {program.root(x.container) for x in accesses(self.leaf) if names <= free_names(*x.index)}

    def collects_rows(self) -> bool:
        """Whether what it adds up has an element for each row."""
        return any(i == sym(self.row.name) for i in self.store.index)


def accesses(leaf: Leaf) -> list[Load | Store]:
    return [*leaf.loads, *leaf.stores]


def separated(leaf: Leaf, program: Program) -> list[Leaf] | None:
    """A leaf for each store, in any order; None where stores have to do with each other, or with what is read."""
    roots = {program.root(s.container) for s in leaf.stores}
    if leaf.sequential or not leaf.params or roots & {program.root(x.container) for x in leaf.loads}:
        return None
    several = Counter(program.root(s.container) for s in leaf.stores)
    first = [s for s in leaf.stores if several[program.root(s.container)] > 1 and (s.mode != "sum" or s.fresh)]
    if first or any(s.guard is not None for s in leaf.stores):
        return None
    others = tuple(i for i in leaf.body if not isinstance(i, Store))
    return [replace(leaf, body=live((*others, s), set())) for s in leaf.stores]


def pieces(leaf: Leaf, program: Program) -> list[Piece] | None:
    """A leaf with one store as pieces; None where it is none, or something else than a product or an update."""
    (store,) = leaf.stores
    if not _is_rectangle(leaf) or any(free_names(*x.index) & leaf.defined for x in accesses(leaf)):
        return None
    names = {p.name for p in leaf.params}
    if names <= free_names(*store.index):
        own = [(leaf, False)] if store.mode in ("set", "sum") and not store.fresh and _places(store, leaf) else []
    else:
        parts = terms(leaf, store)
        own = [(x, True) for x in parts] if all(_is_product(x) for x in parts) else []
    found = [p for x, product in own if (p := _by_rows(x, product, program)) is not None]
    return found if found and len(found) == len(own) else None


def _is_rectangle(leaf: Leaf) -> bool:
    return len(leaf.params) == 2 and all(
        p.step == 1 and p.start.is_number and known_trips(p) >= config.machine.swept_row for p in leaf.params
    )


def _is_product(leaf: Leaf) -> bool:
    """Whether a leaf multiplies a matrix by a vector, or one of them by a number."""
    found = recognise(leaf)
    return found is not None and {_rank(found.a, leaf), _rank(found.b, leaf)} == {1, 2} and _places(found.store, leaf)


def _rank(access: Load | Store, leaf: Leaf) -> int:
    return sum(p.name in free_names(*access.index) for p in leaf.params)


def _places(access: Load | Store, leaf: Leaf) -> bool:
    """Whether the parameters that an access mentions stand alone in its index."""
    own = [i for i in access.index if free_names(i) & {p.name for p in leaf.params}]
    return len(own) == _rank(access, leaf) and all(any(i == sym(p.name) for p in leaf.params) for i in own)


def _by_rows(leaf: Leaf, product: bool, program: Program) -> Piece | None:
    """The piece with its rows first: what lies side by side in all its matrices are the elements of one row."""
    first, second = leaf.params
    names = {first.name, second.name}
    wide = [x for x in accesses(leaf) if names <= free_names(*x.index)]
    for row, column in ((first, second), (second, first)):
        if wide and all(_lies(x, row, column, program) for x in wide):
            return Piece(replace(leaf, params=(row, column)), product)
    return None


def _lies(access: Load | Store, row: Param, column: Param, program: Program) -> bool:
    across, down = (steps(access, p, program) for p in (column, row))
    return across == 1 and down is not None and bool(down.is_number) and down >= known_trips(column)


def same_range(first: Param, second: Param) -> bool:
    """Whether two parameters run over the same numbers."""
    return bool(same((first.start, first.stop), (second.start, second.stop)))
