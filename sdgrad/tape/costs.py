"""What tapes cost, with a guess for every size that is not known."""

from __future__ import annotations

import ast
from functools import cache

import sympy

from sdgrad.analysis.paths import Path
from sdgrad.analysis.places import dims_of, extent
from sdgrad.analysis.ranges import Unbounded
from sdgrad.program.tree import Block, Container, Instr, Leaf, Let, Loop, Param, Program, children
from sdgrad.symbolic.expr import free_names
from sdgrad.tape.plan import TapePlan

SYMBOL_GUESS = 64  # what a size that is not known is taken to be when tapes are compared
FUNCTION = 20  # instructions of a sine, a root, ..
LONG_SUM = 32  # terms; a number is written and read back sooner than so many are added up


def worth_rerunning(leaf: Leaf) -> bool:
    """Whether what a leaf defines is computed again sooner than kept: not if each element is a long sum."""
    (store,) = leaf.stores
    own = free_names(*store.index)
    return store.mode == "set" or trips(tuple(p for p in leaf.params if p.name not in own)) < LONG_SUM


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


def instructions(block: Block, outer: tuple[Param, ...]) -> int:
    """About how many instructions the leaves of a block run in all trips of some loops around it, at most."""
    total = 0
    for node in block:
        params = outer
        for p in getattr(node, "params", ()) if not isinstance(node, Loop) else [d.param for d in dims_of(node)]:
            params = (*params, p or Param("?", sympy.Integer(1), sympy.Integer(SYMBOL_GUESS), sympy.Integer(1)))
        total += sum(map(_cost, node.body)) * _instances(params) if isinstance(node, Leaf) else 0
        total += sum(instructions(inner, params) for inner in children(node))
    return total


def _cost(instr: Instr) -> int:
    functions = isinstance(instr, Let) and any(isinstance(n, ast.Call) for n in ast.walk(instr.expr))
    return FUNCTION if functions else 1


def _instances(params: tuple[Param, ...]) -> int:
    """The product of the greatest extents, each over all values of the parameters before it."""
    size = sympy.Integer(1)
    for k, p in enumerate(params):
        try:
            low, high = extent(params, k)
        except Unbounded:
            low, high = sympy.Integer(1), sympy.Integer(SYMBOL_GUESS)
        size *= sympy.Max(1, (high - low) / abs(p.step) + 1)
    return int(size.subs({s: SYMBOL_GUESS for s in size.free_symbols}))


def guess(container: Container) -> int:
    size = sympy.Mul(*container.shape) * container.dtype.bytes
    return int(size.subs({s: SYMBOL_GUESS for s in size.free_symbols}))


@cache
def trips(params: tuple[Param, ...]) -> int:
    """About how many instances a nest has."""
    size = sympy.Mul(*(p.count for p in params))
    return max(1, int(size.subs({s: SYMBOL_GUESS for s in size.free_symbols})))
