"""What tapes cost, with a guess for every size that is not known."""

from __future__ import annotations

import sympy

from sdgrad.analysis.cost_model import trips
from sdgrad.analysis.paths import Path
from sdgrad.config import config
from sdgrad.program.tree import Container, Leaf, Program
from sdgrad.symbolic.expr import free_names
from sdgrad.tape.plan import TapePlan


def worth_rerunning(leaf: Leaf) -> bool:
    """Whether what a leaf defines is computed again sooner than kept: not if each element is a long sum."""
    (store,) = leaf.stores
    own = free_names(*store.index)
    return (
        store.mode == "set"
        or trips(tuple(p for p in leaf.params if p.name not in own)) < config.machine.recomputed_terms
    )


def worth_undoing(container: str, program: Program) -> bool:
    """Whether keeping what writes destroy can be less than keeping what is read: not for single numbers."""
    return any(n != 1 for n in program.containers[container].shape)


def bytes_of(plan: TapePlan, program: Program) -> int:
    """The size of a plan's tapes, and of copies of arguments that are put back, with a guess for every symbol."""
    arguments = [program.containers[n] for n in plan.undone if not program.containers[n].transient]
    return sum(guess(c) for c in (*plan.tape_containers, *arguments))


def bytes_in(path: Path, plan: TapePlan) -> int:
    """The size of the tapes of what is inside a node."""
    kept = {k.tape.name: k.tape for where, k in plan.kept_at() if where[: len(path)] == path}
    return sum(map(guess, kept.values()))


def guess(container: Container) -> int:
    size = sympy.Mul(*container.shape) * container.dtype.bytes
    return int(size.subs({s: config.machine.unknown_size for s in size.free_symbols}))
