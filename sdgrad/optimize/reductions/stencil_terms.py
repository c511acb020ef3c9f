"""Describe a stencil by its terms, and choose the values that are stored instead of recomputed for each neighbour.

In ``t = exp(x[i]); u = 2.0 * t; a[i] += t; a[i + 1] += u`` a gather nest would compute ``exp`` for both neighbours of
an element. Both terms share ``t``, which is costly, so that ``t`` is stored once and both terms load it. Light terms,
such as ``u = 2.0 * x[i]``, are recomputed.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from sdgrad.config import config
from sdgrad.program.leaves import slice_for
from sdgrad.program.tree import SCALAR, Expr, Instr, Let, Load, Param, Store
from sdgrad.program.turned import turn
from sdgrad.symbolic.expr import sym


@dataclass(frozen=True)
class Term:
    """A value that each iteration adds to the element at ``offset`` from its own; on a ring, one of 0 to size - 1."""

    value: str
    body: tuple[Instr, ...]
    offset: dict[str, int]


@dataclass(frozen=True)
class Group:
    """A stencil: sums into one container whose subscripts differ by constants.

    :param index: the subscript of an iteration's own element.
    :param position: the dimension of each parameter.
    :param rings: the sizes of dimensions on which the last element is next to the first one, by their parameters.
    """

    container: str
    index: tuple[Expr, ...]
    position: dict[str, int]
    stores: tuple[Store, ...]
    terms: tuple[Term, ...]
    rings: dict[str, int] = field(default_factory=dict)

    def reach(self, param: str) -> tuple[int, int]:
        """Return the least and the largest offset along a parameter; on a ring every element has all neighbours."""
        offsets = [0 if param in self.rings else t.offset[param] for t in self.terms]
        return min(offsets), max(offsets)

    def receivers(self, term: Term, params: Sequence[Param]) -> list[tuple[Expr, Expr]]:
        """Return the box of the elements that receive a term, in iterations whose own elements they are."""
        steps = {p.name: 0 if p.name in self.rings else term.offset[p.name] for p in params}
        return [(p.start + steps[p.name], p.stop + steps[p.name]) for p in params]

    def sources(self, term: Term, params: Sequence[Param]) -> dict[str, Expr]:
        """Return, for an element, the iteration whose term it receives: the parameters that differ from its own."""
        moved = {p: o for p, o in term.offset.items() if o}
        given = tuple(params)
        return {p: turn(sym(p), -o, self.rings[p], given) if p in self.rings else sym(p) - o for p, o in moved.items()}


def is_light(body: Sequence[Instr]) -> bool:
    """True if recomputing a value costs no more than loading it: few loads, and no calls, divisions or choices."""
    if sum(isinstance(i, Load) for i in body) > config.machine.stencil_loads:
        return False
    parts = [n for i in body if isinstance(i, Let) for n in i.parts]
    return not any(isinstance(n, (ast.Call, ast.Div, ast.Pow, ast.IfExp, ast.Mod, ast.FloorDiv)) for n in parts)


def shared_parts(group: Group) -> dict[str, str]:
    """Map the value of each costly term to the value to store: its last costly value if terms share it, else itself.

    On rings, where one nest has all terms, those that share nothing are computed there.
    """
    heavy = [t for t in group.terms if not is_light(t.body)]
    costly = {t.value: _last_costly(t) for t in heavy}
    common = Counter(costly.values())
    shared = {t.value: costly[t.value] for t in heavy if common[costly[t.value]] > 1}
    return shared if group.rings else {t.value: shared.get(t.value, t.value) for t in heavy}


def with_part(term: Term, part: Load) -> tuple[Instr, ...]:
    """Return the instructions of a term that loads one of its values."""
    rest = slice_for((i for i in term.body if isinstance(i, Store) or i.name != part.name), {term.value})
    return (part, *rest)


def _last_costly(term: Term) -> str:
    """Return the last costly value of a term if the term is light once it is loaded; else the term's value."""
    for instr in reversed(term.body):
        if isinstance(instr, Let) and not is_light((instr,)):
            whole = is_light(with_part(term, Load(instr.name, "", SCALAR)))
            return instr.name if whole else term.value
    return term.value
