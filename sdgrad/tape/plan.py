"""The tape plan as data: for every value an adjoint mentions, where it comes from when the adjoint runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import dace
import sympy

from sdgrad.analysis.paths import Path
from sdgrad.program.tree import Container, Instr, Leaf, Let, Load, Param, Region, Source, Store
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import sym


@dataclass(frozen=True)
class Kept:
    """A value kept on the tape: ``tape[index] = value`` at its node.

    The value is ``load``; without one it is a name of the leaf itself, which then keeps it while it runs (``inline``).
    What is ``shared`` has been kept at another node already; ``copy`` puts it there, if not instance by instance.
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
        """The container the value is read from; None for a value that a leaf computes."""
        return self.load.container if self.load is not None else None

    @property
    def leaf(self) -> Leaf:
        """The copy onto the tape, as a leaf of its own."""
        assert self.load is not None
        return self.copy or Leaf(self.params, (self.load, self.store), Source(label=self.tape.name))

    @property
    def store(self) -> Store:
        return Store(self.tape.name, self.index, self.name)

    def back(self, name: str | None = None) -> Load:
        """The value, loaded from the tape."""
        return Load(name or self.name, self.tape.name, self.index)

    def __str__(self) -> str:
        return f"{self.tape.name}[{', '.join(map(str, self.index))}] keeps {self.load or self.name}"


@dataclass(frozen=True)
class LeafPlan:
    """How a leaf's adjoint gets its values: instructions that replay them, and what the primal must keep for it."""

    replay: tuple[Instr, ...] = ()
    kept: tuple[Kept, ...] = ()
    results: Mapping[str, tuple[str, tuple[sympy.Expr, ...]]] = field(
        default_factory=dict
    )  # final values of reductions
    after: tuple[Kept, ...] = ()  # results to keep, read when the leaf is done
    initial: Mapping[str, Kept] = field(default_factory=dict)  # what a reduction that is not fresh started from
    instances: tuple[tuple[sympy.Expr, sympy.Expr], ...] = ()  # extent and index of an array with one element for each


@dataclass(frozen=True)
class Replay:
    """What a map's adjoint computes again before it runs backwards: these locals, with these loads from the tape."""

    locals: frozenset[str]
    loads: Mapping[Path, Mapping[str, Kept]]


@dataclass(frozen=True)
class KeptSymbol:
    """An integer on the tape: the value of a symbol, or the number of the arm a branch took."""

    tape: Container
    index: tuple[sympy.Expr, ...]

    def keep(self, value: str) -> Leaf:
        """The leaf that stores the value of a symbol or a number."""
        v = f"v_{self.tape.name}"
        body = (Let(v, code.parse(value)), Store(self.tape.name, self.index, v))
        return Leaf((), body, Source(label=self.tape.name))

    def __str__(self) -> str:
        return f"{self.tape.name}[{', '.join(map(str, self.index))}] keeps an integer"


@dataclass(frozen=True)
class KeptRegion:
    """An operand of a call on the tape, and the container it is put into again for the adjoint."""

    kept: Kept
    scratch: Container
    region: Region


@dataclass(frozen=True)
class Counter:
    """How many trips of a loop came before, over all its runs: the first index of the tapes inside of it.

    ``count`` is a symbol; ``total`` is the symbol of its final value, found by running the control flow once before.
    """

    count: str
    total: str


@dataclass(frozen=True)
class Level:
    """Segments of one length: of the whole loop, or of a segment of the level before."""

    symbol: str  # counts segments
    length: int  # trips of a segment
    count: int  # segments
    saved: tuple[tuple[Container, Container], ...]  # what a segment starts from, and where it is kept for each


@dataclass(frozen=True)
class Checkpoint:
    """A loop that keeps its state where segments of its trips begin, and runs each segment again on the way back.

    Segments may be cut into shorter ones in turn, which keep their state as their segment runs again. The tapes inside
    of the loop have room for one of the shortest. (Griewank and Walther, *Evaluating Derivatives*, chapter 12: uniform
    checkpoints, of several levels.)
    """

    trips: Param  # the loop's variable
    levels: tuple[Level, ...]  # the longest segments first; each is a multiple of the next
    fixed: tuple[tuple[Container, Container], ...]  # what all segments find as it is, and later nodes overwrite

    @property
    def length(self) -> int:
        """Trips of the shortest segments."""
        return self.levels[-1].length

    @property
    def kept(self) -> tuple[tuple[Container, Container], ...]:
        """What is kept outside of tapes, and where."""
        return (*(pair for level in self.levels for pair in level.saved), *self.fixed)

    def first(self, depth: int) -> sympy.Expr:
        """The loop's variable in the first trip of a segment of so many levels."""
        before = sum(level.length * sym(level.symbol) for level in self.levels[:depth])
        return sympy.expand(self.trips.start + self.trips.step * before)

    def last(self, depth: int) -> sympy.Expr:
        """The loop's variable in the last trip of a segment of so many levels; before the first where it has none."""
        end = sympy.expand(self.first(depth) + self.trips.step * (self.levels[depth - 1].length - 1))
        if self.trips.count == self.levels[0].length * self.levels[0].count:
            return end
        return sympy.Min(end, self.trips.stop) if self.trips.step > 0 else sympy.Max(end, self.trips.stop)

    @property
    def place(self) -> sympy.Expr:
        """Where the loop's variable stands in its shortest segment, from 0."""
        return sympy.expand((sym(self.trips.name) - self.first(len(self.levels))) * self.trips.step)

    def __str__(self) -> str:
        state = ", ".join(dict.fromkeys(c.name for c, _ in self.kept))
        levels = ", in each ".join(f"{level.count} segments of {level.length} trips" for level in self.levels)
        return f"checkpoints of {state} along {self.trips.name}: {levels}"


@dataclass(frozen=True)
class TapePlan:
    """All decisions, by node path."""

    leaves: Mapping[Path, LeafPlan] = field(default_factory=dict)
    values: Mapping[Path, tuple[Kept, ...]] = field(default_factory=dict)
    regions: Mapping[tuple[Path, str], KeptRegion] = field(default_factory=dict)
    replays: Mapping[Path, Replay] = field(default_factory=dict)
    lasts: Mapping[Path, Kept] = field(default_factory=dict)  # last trips of loops, read when the loop is done
    decisions: Mapping[Path, KeptSymbol] = field(default_factory=dict)  # arms that branches took
    symbols: Mapping[Path, KeptSymbol] = field(default_factory=dict)  # values that symbols were given
    undo: Mapping[Path, tuple[Kept, ...]] = field(default_factory=dict)  # what a node's writes destroy
    inverses: Mapping[Path, Leaf] = field(default_factory=dict)  # what puts that back without a tape
    reruns: Mapping[Path, tuple[Leaf, ...]] = field(default_factory=dict)  # before a node's adjoint
    undone: frozenset[str] = frozenset()  # containers that are put back on the way, also as each trip left them
    originals: Mapping[Path, Mapping[Load, Load]] = field(default_factory=dict)  # of symbols' values
    counters: Mapping[Path, Counter] = field(default_factory=dict)  # of loops whose trips are not known on entry
    redo: Mapping[Path, tuple[Kept, ...]] = field(default_factory=dict)  # what a node defines in each trip
    checkpoints: Mapping[Path, Checkpoint] = field(default_factory=dict)  # of loops that run again in segments

    def all_kept(self) -> Iterator[Kept]:
        return (kept for _, kept in self.kept_at())

    def kept_at(self) -> Iterator[tuple[Path, Kept]]:
        """Everything that is kept, with the node that needs it."""
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
        """Every container the plan needs: the tapes, and those that operands of calls are put into again."""
        return (*self.tape_containers, *(r.scratch for r in self.regions.values()))

    @cached_property
    def tape_containers(self) -> tuple[Container, ...]:
        """Every container that lives from the primal to its adjoint."""
        found = [k.tape for k in self.all_kept()]
        found += [k.tape for k in (*self.decisions.values(), *self.symbols.values())]
        found += [kept for c in self.checkpoints.values() for _, kept in c.kept]
        return tuple({c.name: c for c in found}.values())

    def numbers(self) -> sympy.Expr:
        """How many floating-point numbers are kept."""
        shapes = {k.tape.name: k.tape for k in self.all_kept() if k.tape.dtype not in dace.dtypes.INTEGER_TYPES}
        return sympy.Add(*(sympy.Mul(*c.shape) for c in shapes.values()))

    def __str__(self) -> str:
        found = dict.fromkeys(map(str, [*self.all_kept(), *self.decisions.values(), *self.symbols.values()]))
        found |= {f"{leaf.source.label} by its inverse": None for leaf in self.inverses.values()}
        found |= dict.fromkeys(map(str, self.checkpoints.values()))
        return "\n".join(found) or "no tape"
