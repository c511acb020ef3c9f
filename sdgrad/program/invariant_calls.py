"""Find calls in a leaf that are the same for all iterations of its last parameter: they are made before that loop.

Compilers move arithmetic out of loops, but not the functions of vectors of numbers that they have chosen for a loop.
"""

from __future__ import annotations

from sdgrad.program.leaves import slice_for
from sdgrad.program.tree import Instr, Leaf, Let, Load, Program, Store
from sdgrad.symbolic.expr import free_names
from sdgrad.symbolic.slow_functions import slow_calls_in


def invariant_calls(leaf: Leaf, program: Program) -> tuple[Instr, ...]:
    """Return the loads and lets behind calls that do not depend on the last parameter of a nest."""
    if len(leaf.params) < 2 or not _runs(leaf) or not any(map(_calls, leaf.lets)):
        return ()
    stored = {program.root(s.container) for s in leaf.stores}
    early: dict[str, Instr] = {}
    late = {leaf.params[-1].name}
    for instr in leaf.body:
        if isinstance(instr, Store):
            continue
        read = isinstance(instr, Load) and program.root(instr.container) in stored
        if read or instr.names & late:
            late.add(instr.name)
        else:
            early[instr.name] = instr
    return slice_for(early.values(), {n for n, i in early.items() if _calls(i)})


def without(leaf: Leaf, early: tuple[Instr, ...]) -> tuple[Instr, ...]:
    """Return the instructions of a leaf but for those that are made early."""
    done = set(map(id, early))
    return tuple(i for i in leaf.body if id(i) not in done)


def _runs(leaf: Leaf) -> bool:
    """True if the last loop has an iteration, whatever the others are at."""
    last = leaf.params[-1]
    return not free_names(last.start, last.stop, last.step) and bool(last.count > 1)


def _calls(instr: Instr) -> bool:
    """True if an instruction calls a function that takes longer than memory."""
    return isinstance(instr, Let) and slow_calls_in(instr.expr) > 0
