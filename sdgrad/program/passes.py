"""Passes as rows of a table: what runs, in which order, where, and why.

A pass takes a program and a :class:`Target` and returns a program. Two tables hold all of them: the normal form
(:mod:`sdgrad.canonicalize.normal_form`) and the optimiser (:mod:`sdgrad.optimize.passes`). :func:`run_passes` reads a
table top down; switching a pass off, the list of names in the settings and the list in the documentation follow from
the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import IntEnum

from sdgrad.program.names import Names
from sdgrad.program.naming import all_names
from sdgrad.program.tree import Program


class Phase(IntEnum):
    """What holds of the program that a pass leaves; phases only go up in a table."""

    UNORDERED = 0
    """Reductions may start fresh, and parallel instances may add to one element."""

    SCHEDULED = 1
    """Every reduction has an order, and no two parallel instances meet: the program has no race."""

    PLACED = 2
    """Storage, strides and threads are fixed; the containers of a program are its memory."""


@dataclass(frozen=True)
class Target:
    """What a program is made for.

    :param device: where it runs, ``"cpu"`` or ``"gpu"``.
    :param blas: true if products may become calls of a BLAS library that the device can call.
    :param host_blas: true if the host has a BLAS library, whether the device can call it or not.
    :param resident: true if the arguments are in the memory of the GPU already.
    :param python: true if it is that of a Python function: negative subscripts count from the end.
    :param stop: containers that are read as constants.
    """

    device: str = "cpu"
    blas: bool = True
    host_blas: bool = True
    resident: bool = False
    python: bool = False
    stop: tuple[str, ...] = ()


Run = Callable[[Program, Target], Program]
BOTH, CPU, GPU = frozenset({"cpu", "gpu"}), frozenset({"cpu"}), frozenset({"gpu"})


@dataclass(frozen=True)
class Pass:
    """One row of a table.

    :param name: the transformation in the field's term. A name may stand in several rows.
    :param run: the transformation; it returns the program itself where it finds nothing to do.
    :param phase: what holds afterwards.
    :param why: what it is good for, as a sentence of the documentation.
    :param on: devices that the pass is for.
    :param after: names of passes that have to come before, wherever both run.
    :param when: true of targets that the pass is for, beside ``on``.
    :param optional: true if ``config.without`` may name it.
    """

    name: str
    run: Run
    phase: Phase
    why: str
    on: frozenset[str] = BOTH
    after: tuple[str, ...] = ()
    when: Callable[[Target], bool] | None = None
    optional: bool = True

    def applies(self, target: Target, without: Collection[str]) -> bool:
        """True if the pass runs for a target, unless it is switched off."""
        chosen = target.device in self.on and (self.when is None or self.when(target))
        return chosen and not (self.optional and self.name in without)


@dataclass(frozen=True)
class Plain:
    """A transformation that asks nothing of the target, as a pass."""

    change: Callable[[Program], Program]

    def __call__(self, program: Program, target: Target) -> Program:
        return self.change(program)


@dataclass(frozen=True)
class Named:
    """A transformation that needs fresh names, as a pass."""

    change: Callable[[Program, Names], Program]

    def __call__(self, program: Program, target: Target) -> Program:
        return self.change(program, all_names(program))


observers: list[Callable[[Pass, Program], None]] = []
"""Called with each pass that has run and what it left; tests put their checks of phases here."""


def run_passes(
    program: Program,
    table: Sequence[Pass],
    target: Target,
    without: Collection[str] = (),
    changed: set[str] | None = None,
) -> Program:
    """Run a table top down.

    :param changed: takes the names of the passes that find something to do.
    """
    for step in table:
        if not step.applies(target, without):
            continue
        found = step.run(program, target)
        if found is not program:
            if changed is not None:
                changed.add(step.name)
            for observe in observers:
                observe(step, found)
        program = found
    return program


def switches(table: Sequence[Pass]) -> tuple[str, ...]:
    """Names that ``config.without`` may hold, in the order of a table."""
    return tuple(dict.fromkeys(step.name for step in table if step.optional))


def described(table: Sequence[Pass]) -> str:
    """A table as a list of Markdown, one line a pass."""
    rows = {step.name: f"- **{step.name}** (`{_place(step.run)}`): {step.why}" for step in reversed(table)}
    return "\n".join(rows[name] for name in dict.fromkeys(step.name for step in table))


def _place(run: Run) -> str:
    """The file of a transformation, below the package."""
    function = run.change if isinstance(run, (Plain, Named)) else run
    return "/".join(function.__module__.split(".")[1:]) + ".py"
