"""Split nests over large matrices into pieces: matrix-vector products and updates of elements, one store each.

:mod:`sdgrad.optimize.contractions.sweep_fusion` fuses pieces that use the same matrix.
"""

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
    """Hold a leaf with one store over the rows and columns of a matrix, in this order.

    :param product: True for a product of a matrix and a vector, False for an update of a matrix's elements.
    """

    leaf: Leaf
    product: bool

    @property
    def row(self) -> Param:
        """Parameter of the matrix's rows."""
        return self.leaf.params[0]

    @property
    def store(self) -> Store:
        """The only store."""
        (store,) = self.leaf.stores
        return store

    def matrices(self, program: Program) -> set[str]:
        """Return the containers of which each instance accesses a different element."""
        names = {p.name for p in self.leaf.params}
        return {program.root(x.container) for x in self.leaf.accesses if names <= x.index_names}

    def collects_rows(self) -> bool:
        """True if the result has an element for each row."""
        return any(i == sym(self.row.name) for i in self.store.index)


def separated(leaf: Leaf, program: Program) -> list[Leaf] | None:
    """Distribute a leaf over its stores; None unless these are independent of each other and of all loads."""
    roots = [program.root(s.container) for s in leaf.stores]
    if leaf.sequential or not leaf.params or set(roots) & {program.root(x.container) for x in leaf.loads}:
        return None
    several = Counter(roots)
    ordered = (several[root] > 1 and not _accumulates(s) for s, root in zip(leaf.stores, roots, strict=True))
    if any(ordered) or any(s.guard is not None for s in leaf.stores):
        return None
    others = tuple(i for i in leaf.body if not isinstance(i, Store))
    return [replace(leaf, body=live((*others, s), set())) for s in leaf.stores]


def _accumulates(store: Store) -> bool:
    """True if a store adds to a value that is there."""
    return store.mode == "sum" and not store.fresh


def pieces(leaf: Leaf, program: Program) -> list[Piece] | None:
    """Return a leaf of one store as pieces; None if it, or a term of its sum, is neither a product nor an update."""
    (store,) = leaf.stores
    if not _is_rectangle(leaf) or any(x.index_names & leaf.defined for x in leaf.accesses):
        return None
    product = not {p.name for p in leaf.params} <= store.index_names
    parts = terms(leaf, store) if product else [leaf]
    if not all(_is_product(x) if product else _is_update(store, x) for x in parts):
        return None
    found = [_by_rows(x, product, program) for x in parts]
    known = [p for p in found if p is not None]
    return known if len(known) == len(found) else None


def _is_rectangle(leaf: Leaf) -> bool:
    """True if a leaf runs over two ranges of enough numbers."""
    return len(leaf.params) == 2 and all(
        p.step == 1 and p.start.is_number and known_trips(p) >= config.machine.swept_row for p in leaf.params
    )


def _is_product(leaf: Leaf) -> bool:
    """True if a leaf multiplies a matrix by a vector, or by a number."""
    found = recognise(leaf)
    return found is not None and {_rank(found.a, leaf), _rank(found.b, leaf)} == {1, 2} and _is_plain(found.store, leaf)


def _is_update(store: Store, leaf: Leaf) -> bool:
    """True if a store sets elements of a matrix or adds to them."""
    return store.mode in ("set", "sum") and not store.fresh and _is_plain(store, leaf)


def _rank(access: Load | Store, leaf: Leaf) -> int:
    """Return the number of parameters in the subscripts of an access."""
    return sum(p.name in access.index_names for p in leaf.params)


def _is_plain(access: Load | Store, leaf: Leaf) -> bool:
    """True if each parameter in the subscripts of an access is a subscript of its own."""
    own = [i for i in access.index if free_names(i) & {p.name for p in leaf.params}]
    return len(own) == _rank(access, leaf) and all(any(i == sym(p.name) for p in leaf.params) for i in own)


def _by_rows(leaf: Leaf, product: bool, program: Program) -> Piece | None:
    """Return a piece with its row parameter first; None unless rows are contiguous in all its matrices."""
    first, second = leaf.params
    names = {first.name, second.name}
    wide = [x for x in leaf.accesses if names <= x.index_names]
    for row, column in ((first, second), (second, first)):
        if wide and all(_is_row_major(x, row, column, program) for x in wide):
            return Piece(replace(leaf, params=(row, column)), product)
    return None


def _is_row_major(access: Load | Store, row: Param, column: Param, program: Program) -> bool:
    """True if an access has unit stride along a row, and rows do not overlap."""
    across, down = (steps(access, p, program) for p in (column, row))
    return across == 1 and down is not None and bool(down.is_number) and down >= known_trips(column)


def same_range(first: Param, second: Param) -> bool:
    """True if two parameters have the same bounds."""
    return bool(same((first.start, first.stop), (second.start, second.stop)))
