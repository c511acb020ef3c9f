"""What a nest adds to neighbours: terms, and which of their values are kept instead of computed for each of them."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sdgrad.program.leaves import slice_for
from sdgrad.program.tree import SCALAR, Expr, Instr, Let, Load, Store

MOST_LOADS = 4  # of a value that is computed again for every neighbour


@dataclass(frozen=True)
class Term:
    """What is added, by each instance, to the element that lies ``offset`` from the one it stands for."""

    value: str
    body: tuple[Instr, ...]
    offset: dict[str, int]


@dataclass(frozen=True)
class Group:
    """Sums into one container whose indices differ by constants only.

    :param index: of an instance's own element.
    :param position: by parameter, its dimension.
    """

    container: str
    index: tuple[Expr, ...]
    position: dict[str, int]
    stores: tuple[Store, ...]
    terms: tuple[Term, ...]

    def reach(self, param: str) -> tuple[int, int]:
        offsets = [t.offset[param] for t in self.terms]
        return min(offsets), max(offsets)


def is_light(body: Sequence[Instr]) -> bool:
    """Whether a value is as soon computed again as read back."""
    if sum(isinstance(i, Load) for i in body) > MOST_LOADS:
        return False
    parts = [n for i in body if isinstance(i, Let) for n in ast.walk(i.expr)]
    return not any(isinstance(n, (ast.Call, ast.Div, ast.Pow, ast.IfExp, ast.Mod, ast.FloorDiv)) for n in parts)


def shared_parts(group: Group) -> dict[str, str]:
    """By value of a term that is not computed for each neighbour: itself, or what is costly in several of them."""
    heavy = [t for t in group.terms if not is_light(t.body)]
    costly = {t.value: _last_costly(t) for t in heavy}
    common = Counter(costly.values())
    return {t.value: costly[t.value] if common[costly[t.value]] > 1 else t.value for t in heavy}


def with_part(term: Term, part: Load) -> tuple[Instr, ...]:
    """A term's instructions with one of its values read."""
    rest = slice_for((i for i in term.body if isinstance(i, Store) or i.name != part.name), {term.value})
    return (part, *rest)


def _last_costly(term: Term) -> str:
    """The last value that is not light, if what is done with it is: else all of the term."""
    for instr in reversed(term.body):
        if isinstance(instr, Let) and not is_light((instr,)):
            whole = is_light(with_part(term, Load(instr.name, "", SCALAR)))
            return instr.name if whole else term.value
    return term.value
