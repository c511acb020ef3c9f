"""Estimate the size of tapes, with a guess for every unknown size, and the cost of alternatives."""

from __future__ import annotations

import sympy

from sdgrad.analysis.cost_model import trips
from sdgrad.analysis.paths import Path
from sdgrad.config import config
from sdgrad.program.tree import Container, Leaf, Program
from sdgrad.tape.plan import TapePlan


def worth_rerunning(leaf: Leaf) -> bool:
    """True if it costs less to run a leaf with one store again than to tape it: unless each element is a long sum."""
    (store,) = leaf.stores
    own = store.index_names
    return (
        store.mode == "set"
        or trips(tuple(p for p in leaf.params if p.name not in own)) < config.machine.recomputed_terms
    )


def worth_undoing(container: str, program: Program) -> bool:
    """True if restoring a container can take less tape than its needed values: unless it is a single number."""
    return any(n != 1 for n in program.containers[container].shape)


def bytes_of(plan: TapePlan, program: Program) -> int:
    """Estimate the bytes of a plan's tapes, and of the copies of restored arguments."""
    arguments = [program.containers[n] for n in plan.undone if not program.containers[n].transient]
    return sum(guess(c) for c in (*plan.tape_containers, *arguments))


def bytes_in(path: Path, plan: TapePlan) -> int:
    """Estimate the bytes of the tapes of all nodes inside of a node."""
    kept = {k.tape.name: k.tape for where, k in plan.kept_at() if where[: len(path)] == path}
    return sum(map(guess, kept.values()))


def guess(container: Container) -> int:
    """Estimate the bytes of a container, with a guess for each symbol in its shape."""
    size = sympy.Mul(*container.shape) * container.dtype.bytes
    return int(size.subs({s: config.machine.unknown_size for s in size.free_symbols}))
