"""Find the factors of a stored term that are invariant along some of its subscripts.

``C[i, j] += A[i, k] * u[k]`` does not vary with ``j``. It is a product of a matrix and a vector, and its result is
broadcast along ``j``::

    map i, j, k:                      map i, k:
      C[i, j] += A[i, k] * u[k]         once[i] += A[i, k] * u[k]
                                      map i, j:
                                        C[i, j] += once[i]

A triangle has invariant factors, too. In ``y[i] += x[k]`` with ``k <= i`` the range of ``k`` grows by one from row to
row, so that the sums are prefix sums (:mod:`sdgrad.optimize.dataflow.prefix_sums`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from sdgrad.optimize.dataflow.broadcast_copies import shifted
from sdgrad.optimize.dataflow.prefix_sums import Running, running
from sdgrad.optimize.dataflow.sum_and_product_terms import factors, range_without
from sdgrad.program.leaves import slice_for
from sdgrad.program.tree import Leaf, Load, Param, Store
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import free_names


@dataclass(frozen=True)
class Broadcast:
    """A term as a product of ``once`` and ``others``, of which ``once`` is invariant along ``repeated``.

    :param repeated: parameters of the element.
    :param once: the invariant factors. They include all factors that depend on a parameter of the sum.
    :param others: the factors that vary along ``repeated``.
    """

    repeated: set[str]
    once: Sequence[ast.expr]
    others: Sequence[ast.expr]
    nests: Nests


@dataclass(frozen=True)
class Nests:
    """The parameters of the two nests that a term is split into.

    :param kept: the parameters of the nest that computes the invariant factors. They include those of the sum.
    :param element: the parameters of the nest that broadcasts the result to the elements.
    :param running: the prefix sums, if each row sums one term more than the row before it.
    """

    kept: tuple[Param, ...]
    element: tuple[Param, ...]
    running: Running | None


@dataclass(frozen=True)
class Dependence:
    """The parameters that the values of a leaf depend on."""

    leaf: Leaf
    params: set[str]

    def of(self, expr: ast.expr) -> set[str]:
        """Return the parameters that an expression depends on, directly or through loads and lets."""
        found = code.names_in(expr)
        return {n for i in slice_for(self.leaf.body, found) for n in i.names} & self.params | found & self.params

    def loads(self, name: str) -> bool:
        """True if a value depends on a load."""
        return any(isinstance(i, Load) for i in slice_for(self.leaf.body, {name}))


def broadcast_factors(
    store: Store, leaf: Leaf, value: ast.expr, whole: AbstractSet[str], summed: AbstractSet[str]
) -> Broadcast | None:
    """Split a term of a store into factors invariant along some subscripts and the rest; None if it does not pay.

    :param whole: containers with memory of their own and without views.
    :param summed: containers that leaves with sums read.
    """
    index = set(shifted(store.index))
    if not _is_separable(store, leaf, index, whole):
        return None
    depends = Dependence(leaf, {p.name for p in leaf.params})
    inner = depends.params - index
    product = _worthwhile_factors(store, leaf, value, inner, summed, depends)
    repeated = _invariant_parameters(product, leaf.params, inner, depends)
    nests = _nests(leaf.params, inner, repeated) if repeated else None
    if nests is None:
        return None
    once = [f for f in product if not depends.of(f) & repeated]
    others = [f for f in product if depends.of(f) & repeated]
    return Broadcast(repeated, once, others, nests)


def _is_separable(store: Store, leaf: Leaf, index: set[str], whole: AbstractSet[str]) -> bool:
    """True if a store can move to another leaf: its subscripts are parameters, and the leaf reads no own result."""
    if store.container not in whole or store.guard is not None:
        return False
    if not index or not index <= {p.name for p in leaf.params}:
        return False
    written = [s.container for s in leaf.stores]
    return written.count(store.container) <= 1 and not set(written) & {x.container for x in leaf.loads}


def _worthwhile_factors(
    store: Store, leaf: Leaf, value: ast.expr, inner: set[str], summed: AbstractSet[str], depends: Dependence
) -> list[ast.expr]:
    """Return the factors of a term; none if it would cost as much to compute them once.

    A sum pays if it has parameters of its own. An assignment pays if it computes with loaded values and a sum reads
    its target.
    """
    if store.mode == "sum":
        return factors(leaf, value) if inner else []
    if store.mode != "set" or inner or store.container not in summed:
        return []
    copied = any(isinstance(i, Load) and i.name == store.value for i in leaf.body)
    return [value] if not copied and depends.loads(store.value) else []


def _invariant_parameters(
    product: Sequence[ast.expr], params: Sequence[Param], inner: set[str], depends: Dependence
) -> set[str]:
    """Return the parameters of the element that the summed factors do not depend on, unless they have one value."""
    core = [f for f in product if not inner or depends.of(f) & inner]
    used = inner.union(*(depends.of(f) for f in core))
    return {p.name for p in params if p.name not in used and p.count != 1} if core else set()


def _nests(params: tuple[Param, ...], inner: set[str], repeated: set[str]) -> Nests | None:
    """Give each of the two nests its parameters; None if a range is neither rectangular nor that of a prefix sum."""
    sums = None
    if _ranges_coupled(params, inner, repeated):
        sums = running(params, repeated)
        if sums is None:
            return None
        params = sums.params
    kept = _all(p if p.name in inner else range_without(p, repeated, params) for p in params if p.name not in repeated)
    element = _all(range_without(p, inner, params) for p in params if p.name not in inner)
    return Nests(kept, element, sums) if kept is not None and element is not None else None


def _ranges_coupled(params: Sequence[Param], inner: set[str], repeated: set[str]) -> bool:
    """True if the range of the sum depends on a repeated parameter, or the other way round."""

    def bounds(names: set[str]) -> set[str]:
        return free_names(*(e for p in params if p.name in names for e in (p.start, p.stop, p.step)))

    return bool(bounds(inner) & repeated or bounds(repeated) & inner)


def _all(params: Iterable[Param | None]) -> tuple[Param, ...] | None:
    """Return the parameters; None if one of them is unknown."""
    found = tuple(params)
    known = tuple(p for p in found if p is not None)
    return known if len(known) == len(found) else None
