"""Represent the tape plan: the source of every primal value that the adjoint mentions.

:mod:`sdgrad.tape.planner` makes a plan, :mod:`sdgrad.tape.recorder` adds its stores to the primal program, and the
reverse sweep loads from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import dace
import sympy
from dace import symbolic

from sdgrad.analysis.paths import Path
from sdgrad.program.tree import Container, Instr, Leaf, Let, Load, Param, Region, Source, Store
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import free_names, sym
from sdgrad.tape.room import Room


@dataclass(frozen=True)
class Kept:
    """Tape a value at its node: ``tape[index] = value``.

    The value is ``load``. Without a load it is a name that the leaf computes, and the leaf itself stores it
    (``inline``). A ``shared`` entry is stored at an earlier node. ``copy`` stores all elements at once, instead of one
    for each instance.
    """

    name: str
    load: Load | None
    tape: Container
    index: tuple[sympy.Expr, ...]
    owner: Path | None  # the map, or the loop with checkpoints, whose replay fills the tape; None: the primal program
    params: tuple[Param, ...] = ()
    inline: bool = False
    shared: bool = False
    copy: Leaf | None = None

    @property
    def of(self) -> str | None:
        """The container that the value is loaded from; None for a value that a leaf computes."""
        return self.load.container if self.load is not None else None

    @property
    def leaf(self) -> Leaf:
        """The leaf that copies the value to the tape."""
        assert self.load is not None
        return self.copy or Leaf(self.params, (self.load, self.store), Source(label=self.tape.name))

    @property
    def store(self) -> Store:
        """The store to the tape."""
        return Store(self.tape.name, self.index, self.name)

    def back(self, name: str | None = None) -> Load:
        """Load the value from the tape."""
        return Load(name or self.name, self.tape.name, self.index)

    def __str__(self) -> str:
        return f"{self.tape.name}[{', '.join(map(str, self.index))}] keeps {self.load or self.name}"


@dataclass(frozen=True)
class LeafPlan:
    """Give a leaf's adjoint its values: instructions that replay them, and the values that the primal must tape."""

    replay: tuple[Instr, ...] = ()
    kept: tuple[Kept, ...] = ()
    results: Mapping[str, tuple[str, tuple[sympy.Expr, ...]]] = field(
        default_factory=dict
    )  # final values of reductions
    after: tuple[Kept, ...] = ()  # results, taped after the leaf
    initial: Mapping[str, Kept] = field(default_factory=dict)  # initial values of reductions that are not fresh
    instances: tuple[tuple[sympy.Expr, sympy.Expr], ...] = ()  # dimensions of an array with an element per instance


@dataclass(frozen=True)
class Replay:
    """Recompute these locals of a map before its adjoint runs, with these loads from the tape."""

    locals: frozenset[str]
    loads: Mapping[Path, Mapping[str, Kept]]


@dataclass(frozen=True)
class KeptSymbol:
    """Tape an integer: the value of a symbol, or the number of the arm that a branch took."""

    tape: Container
    index: tuple[sympy.Expr, ...]

    def keep(self, value: str) -> Leaf:
        """Return the leaf that stores the value of a symbol or a number."""
        v = f"v_{self.tape.name}"
        body = (Let(v, code.parse(value)), Store(self.tape.name, self.index, v))
        return Leaf((), body, Source(label=self.tape.name))

    def __str__(self) -> str:
        return f"{self.tape.name}[{', '.join(map(str, self.index))}] keeps an integer"


@dataclass(frozen=True)
class KeptRegion:
    """Tape an operand of a call, and restore it in a scratch container for the adjoint."""

    kept: Kept
    scratch: Container
    region: Region


@dataclass(frozen=True)
class Counter:
    """Count the iterations of a loop over all its runs: the first index of the tapes inside of it.

    ``count`` is the symbol that counts. ``total`` is the symbol of its final value, counted ahead
    (:mod:`sdgrad.tape.trip_counting`).
    """

    count: str
    total: str


@dataclass(frozen=True)
class Checkpoint:
    """Describe a loop that keeps some of its states, and tapes of some of its trips, as a schedule says while it runs.

    States, and tapes of a trip, have places in arrays of their own, or later share one
    (:mod:`sdgrad.optimize.dataflow.checkpoint_memory`).
    """

    trips: Param  # the loop's variable; of an open loop up to as many trips as there may be
    room: Room
    saved: tuple[tuple[Container, Container], ...]  # containers of the state, and where each is saved
    fixed: tuple[tuple[Container, Container], ...]  # operands of all trips that nodes after the loop overwrite
    numbers: Container  # of the schedule
    symbols: Mapping[str, str]  # names of the numbers that say what runs next
    base: str  # what is added to the number of a trip for the place of its tape
    unit: str  # units of the room between that place and the tape
    is_open: bool = False  # nobody knows how many trips there are before the last one has run
    one_tape: bool = False  # of one trip at a time: loops inside of it have checkpoints, which the next one overwrites
    disk: tuple[tuple[Container, Container], ...] = ()  # containers of the state, and where each is saved on the disk

    @property
    def kept(self) -> tuple[tuple[Container, Container], ...]:
        """Containers that checkpoints save, and where."""
        return (*self.saved, *self.disk, *self.fixed)

    def at(self, trip: sympy.Expr) -> sympy.Expr:
        """Return the loop's variable in a trip, counted from 0."""
        return sympy.expand(self.trips.start + self.trips.step * trip)

    @property
    def place(self) -> sympy.Expr:
        """Place of the tape of a trip."""
        gone, step = (sym(self.trips.name) - self.trips.start) * sympy.sign(self.trips.step), abs(self.trips.step)
        return sympy.expand(sym(self.base) + (gone if step == 1 else symbolic.int_floor(gone, step)))

    def __str__(self) -> str:
        state = ", ".join(dict.fromkeys(c.name for c, _ in self.kept))
        trips = "any number of" if self.is_open else self.trips.count
        room = f"room for {self.room.states} states and {self.room.tapes} tapes of {trips} trips"
        return f"checkpoints of {state} along {self.trips.name}: {room}"


@dataclass(frozen=True)
class TapePlan:
    """Hold all decisions, by node path."""

    leaves: Mapping[Path, LeafPlan] = field(default_factory=dict)
    values: Mapping[Path, tuple[Kept, ...]] = field(default_factory=dict)
    regions: Mapping[tuple[Path, str], KeptRegion] = field(default_factory=dict)
    replays: Mapping[Path, Replay] = field(default_factory=dict)
    lasts: Mapping[Path, Kept] = field(default_factory=dict)  # last iterations of loops, taped after the loop
    decisions: Mapping[Path, KeptSymbol] = field(default_factory=dict)  # arms that branches took
    symbols: Mapping[Path, KeptSymbol] = field(default_factory=dict)  # values of symbols
    undo: Mapping[Path, tuple[Kept, ...]] = field(default_factory=dict)  # old values that a node's writes destroy
    inverses: Mapping[Path, Leaf] = field(default_factory=dict)  # leaves that restore them without a tape
    reruns: Mapping[Path, tuple[Leaf, ...]] = field(default_factory=dict)  # leaves to run before a node's adjoint
    undone: frozenset[str] = frozenset()  # containers that are restored on the way back, by undo or redo
    originals: Mapping[Path, Mapping[Load, Load]] = field(default_factory=dict)  # surviving sources of symbols' values
    counters: Mapping[Path, Counter] = field(default_factory=dict)  # of loops with a count not known on entry
    redo: Mapping[Path, tuple[Kept, ...]] = field(default_factory=dict)  # values that a node defines in each iteration
    checkpoints: Mapping[Path, Checkpoint] = field(default_factory=dict)  # of loops that run again in parts

    def replayed(self, leaf: Leaf, path: Path, loads: Mapping[str, Kept]) -> Leaf:
        """Return a leaf of a map that is replayed, with loads from the tape.

        The adjoint compares values of the tape with extremes: these have to be extremes of the same values, to the bit.

        :param loads: its loads of elements that are overwritten, by name.
        """
        computed = {k.name: k for k in self.leaves.get(path, LeafPlan()).kept if k.load is None and k.owner is None}

        def taped(instr: Instr) -> Instr:
            if isinstance(instr, Store):
                return instr
            kept = (loads if isinstance(instr, Load) else computed).get(instr.name)
            return kept.back() if kept is not None else instr

        return replace(leaf, body=tuple(map(taped, leaf.body)))

    def all_kept(self) -> Iterator[Kept]:
        """Yield every entry of the tape."""
        return (kept for _, kept in self.kept_at())

    def kept_at(self) -> Iterator[tuple[Path, Kept]]:
        """Yield every entry of the tape, with the node that needs it."""
        for path, plan in self.leaves.items():
            yield from ((path, k) for k in (*plan.kept, *plan.after))
        for path, values in (*self.values.items(), *self.undo.items(), *self.redo.items()):
            yield from ((path, k) for k in values)
        for replay in self.replays.values():
            yield from ((path, k) for path, loads in replay.loads.items() for k in loads.values())
        yield from self.lasts.items()
        yield from ((path, r.kept) for (path, _), r in self.regions.items())

    @cached_property
    def containers(self) -> tuple[Container, ...]:
        """All containers of the plan: the tapes, and the scratch containers of operands of calls."""
        return (*self.tape_containers, *(r.scratch for r in self.regions.values()))

    @cached_property
    def tape_containers(self) -> tuple[Container, ...]:
        """All containers that live from the primal to its adjoint."""
        found = [k.tape for k in self.all_kept()]
        found += [k.tape for k in (*self.decisions.values(), *self.symbols.values())]
        found += [kept for c in self.checkpoints.values() for _, kept in c.kept]
        found += [c.numbers for c in self.checkpoints.values()]
        return tuple({c.name: c for c in found}.values())

    def placed(self, loop: Path) -> list[Container]:
        """Return the tapes that have a place for each trip of a loop with checkpoints."""
        base = self.checkpoints[loop].base
        entries: list[Kept | KeptSymbol] = [*self.all_kept(), *self.decisions.values(), *self.symbols.values()]
        return [*{k.tape.name: k.tape for k in entries if base in free_names(*k.index)}.values()]

    @property
    def is_open(self) -> bool:
        """True if what is kept depends on a number of trips that only a run knows, or is made for any number."""
        return bool(self.counters) or any(c.is_open for c in self.checkpoints.values())

    def numbers(self) -> sympy.Expr:
        """Count the floating-point numbers on the tape."""
        shapes = {k.tape.name: k.tape for k in self.all_kept() if k.tape.dtype not in dace.dtypes.INTEGER_TYPES}
        return sympy.Add(*(sympy.Mul(*c.shape) for c in shapes.values()))

    def __str__(self) -> str:
        found = dict.fromkeys(map(str, [*self.all_kept(), *self.decisions.values(), *self.symbols.values()]))
        found |= {f"{leaf.source.label} by its inverse": None for leaf in self.inverses.values()}
        found |= dict.fromkeys(map(str, self.checkpoints.values()))
        return "\n".join(found) or "no tape"
