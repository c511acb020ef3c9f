"""Recognize the stencils of a leaf: sums into one container at constant offsets from each iteration's own element.

In ``a[i - 1] += t; a[i] += u; a[i + 1] += v`` the subscripts differ by constants, and each parameter is the only one
in its dimension. The three stores are a group with offsets 0, 1 and 2 from its first store. In ``a[i] += t;
a[(i + 1) % n] += u`` with all ``i`` from 0 to ``n - 1`` the offsets 0 and 1 are steps on a ring. Groups are declined if
the container is read, has other than plain sums, or has a halo that is large compared with the interior.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeAlias

from sdgrad.config import config
from sdgrad.optimize.reductions.stencil_terms import Group, Term, is_light
from sdgrad.program.leaves import slice_for
from sdgrad.program.tree import Expr, Instr, Leaf, Let, Param, Program, Store
from sdgrad.program.turned import straight, turned
from sdgrad.rewrite.dead_code import drop_stores
from sdgrad.symbolic.expr import free_names, sym

Shape: TypeAlias = "tuple[str | Expr, ...]"
"""A subscript up to constant offsets: for each dimension its parameter, or an index without parameters."""


def stencils(leaf: Leaf, program: Program) -> tuple[list[Group], Leaf]:
    """Return the stencils of a leaf, and the leaf without their stores."""
    groups: list[Group] = []
    rest = leaf
    while (group := _first_stencil(rest, program)) is not None:
        groups.append(group)
        rest = drop_stores(rest, lambda s, gone=group.stores: s in gone)
    return groups, rest


def is_box(params: Sequence[Param]) -> bool:
    """True if parameters have step one and bounds that do not depend on each other."""
    bounds = free_names(*(b for p in params for b in (p.start, p.stop)))
    return not bounds & {p.name for p in params} and all(p.step == 1 for p in params)


def param_of(expr: Expr, params: Collection[str]) -> str | None:
    """Return the parameter that an index equals up to an offset without parameters; None if there is none."""
    found = free_names(expr) & set(params)
    if len(found) != 1:
        return None
    (name,) = found
    return name if not free_names(expr - sym(name)) & set(params) else None


def _first_stencil(leaf: Leaf, program: Program) -> Group | None:
    """Return the first stencil of a leaf; None if it has none for which gathering pays."""
    if leaf.sequential or not leaf.params or not is_box(leaf.params):
        return None
    for (container, shape), stores in _candidates(leaf, program).items():
        is_one = len(stores) == 1 and not any(turned(e) for e in stores[0].index)
        group = None if is_one else _group(leaf, container, shape, stores)
        if group is not None and _pays(leaf, group):
            return group
    return None


def _candidates(leaf: Leaf, program: Program) -> dict[tuple[str, Shape], list[Store]]:
    """Collect the sums of a leaf by container and subscript up to offsets."""
    params = {p.name for p in leaf.params}
    read = {program.root(x.container) for x in leaf.loads}
    others = {program.root(s.container) for s in leaf.stores if s.mode != "sum" or s.fresh}
    found: dict[tuple[str, Shape], list[Store]] = {}
    for s in leaf.stores:
        if s.guard is not None or s.index_names & leaf.defined:
            continue
        if program.root(s.container) not in read | others:
            shape = tuple(param_of(straight(e), params) or e for e in s.index)
            found.setdefault((s.container, shape), []).append(s)
    return found


def _group(leaf: Leaf, container: str, shape: Shape, stores: list[Store]) -> Group | None:
    """Describe some sums as a stencil; None if a parameter has not one dimension, or an offset is not constant."""
    position = _positions(shape, {p.name for p in leaf.params})
    if position is None:
        return None
    rings = _rings(leaf, position, stores)
    if rings is None:
        return None
    index = tuple(sym(e) if e in rings else stores[0].index[d] for d, e in enumerate(map(str, shape)))
    terms = []
    for s in stores:
        offset = {p: _offset(s.index[d], index[d], rings.get(p)) for p, d in position.items()}
        body = slice_for(leaf.body, {s.value})
        if not all(o.is_Integer for o in offset.values()) or any(
            o and p in _values(body) & rings.keys() for p, o in offset.items()
        ):
            return None
        terms.append(Term(s.value, body, {p: int(o) for p, o in offset.items()}))
    return Group(container, index, position, tuple(stores), tuple(terms), rings)


def _rings(leaf: Leaf, position: dict[str, int], stores: Sequence[Store]) -> dict[str, int] | None:
    """Return the sizes of dimensions on a ring, by parameter; None unless that has a value for each element."""
    rings: dict[str, int] = {}
    for p in leaf.params:
        sizes = {t.size for s in stores if (t := turned(s.index[position[p.name]])) is not None}
        if sizes and (len(sizes) > 1 or p.start != 0 or p.stop != min(sizes) - 1):
            return None
        if sizes:
            rings[p.name] = sizes.pop()
    return rings


def _offset(expr: Expr, own: Expr, ring: int | None) -> Expr:
    """Return by how much a subscript differs from an iteration's own one."""
    return (expr if ring is None else straight(expr)) - own


def _values(body: Sequence[Instr]) -> set[str]:
    """Return the names that values are computed from."""
    return {n for i in body if isinstance(i, Let) for n in i.names}


def _positions(shape: Shape, params: Collection[str]) -> dict[str, int] | None:
    """Return each parameter's dimension; None if a parameter has none, several, or one together with others."""
    alone = [e for e in shape if isinstance(e, str)]
    if len(alone) != len(params) or set(alone) != set(params):
        return None
    if any(free_names(e) & set(params) for e in shape if not isinstance(e, str)):
        return None
    return {e: d for d, e in enumerate(shape) if isinstance(e, str)}


def _pays(leaf: Leaf, group: Group) -> bool:
    """True if most elements receive all terms, and recomputing the terms is cheap or their values can be stored."""
    if len(group.terms) > config.machine.stencil_terms:
        return False
    for p in leaf.params:
        least, most = group.reach(p.name)
        width = most - least
        interior = p.stop - p.start + 1 - width
        if width > config.machine.stencil_width or (interior - 2 * width).is_negative:
            return False
    return all(is_light(t.body) or _has_known_size(leaf) for t in group.terms)


def _has_known_size(leaf: Leaf) -> bool:
    """True if all parameters have a known number of values."""
    return all(p.count.is_number for p in leaf.params)
