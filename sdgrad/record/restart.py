"""Start a recording again, knowing more: what could not be recorded is fixed, written out, or of a wider type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy

from sdgrad.symbolic.evaluate import evaluated
from sdgrad.symbolic.expr import free_names, to_ast


@dataclass(frozen=True)
class Fits:
    """Something that has to hold of integer arguments: the bound of a slice lies in its array.

    :param symbols: the arguments, by what they are called in the expressions.
    """

    bound: sympy.Expr
    extent: Any
    symbols: tuple[tuple[str, str], ...]

    def holds(self, arguments: Mapping[str, Any]) -> bool:
        """True if it does for these arguments; not of others than integers."""
        try:
            return 0 <= self.value(arguments) <= self._of(self.extent, arguments)
        except TypeError:
            return False

    def value(self, arguments: Mapping[str, Any]) -> int:
        """Return the bound for these arguments."""
        return self._of(self.bound, arguments)

    def _of(self, expr: Any, arguments: Mapping[str, Any]) -> int:
        return int(evaluated(to_ast(sympy.sympify(expr)), {s: int(arguments[n]) for s, n in self.symbols}))


class Control(BaseException):
    """Base of what leaves a recorded function early; no ``except Exception`` of the user's catches it."""


class Restart(Control):
    """Record again from the start: a hint was added to these."""

    def __init__(self, hints: Hints) -> None:
        super().__init__()
        self.hints = hints


class ArmEnds(Control):
    """Leave an arm of a recorded branch: an exception was raised in it."""


@dataclass
class Hints:
    """Collect what earlier recordings of a function found out.

    :param fixed: arguments whose values have to be known.
    :param written_out: loops that Python runs trip by trip, by their sites.
    :param materialized: arrays of known content that loops read and write, by their sites.
    :param widened: types of carried numbers, by site and position.
    :param grown: carried numbers that are of floating point since they grow, by site and position.
    :param whole: loops in which something needs integers of Python's as such.
    :param frozen: arrays from outside whose content has to be known, by identity.
    :param constant: names that a loop may bind and does not, by site and name.
    :param shared: memory of a loop that is one array in Python once a trip has ended, by site, in pairs.
    :param choices: ``and`` and ``or`` whose later operands do more than compute a value, by their sites.
    :param slots: attributes and entries that loops hand from trip to trip, by site: how to reach owner and key.
    :param met: collections from outside that a body changes, by identity: they are known before it.
    :param watched: objects from outside that are changed, by identity.
    :param counts: integer arguments and the values that they have in this call, by their symbols.
    :param fits: what was taken to hold of them.
    :param lists: lists that loops append to, by site: how they are reached.
    :param unlisted: loops that read them.
    :param places: attributes and global names that are bound.
    :param of_rule: the function is a rule, which the program of another one calls: it raises nothing of its own.
    :param peeled: loops whose first trip Python runs: it begins with something else than the others.
    :param options: objects that a name is in a trip of a loop, by site and position: which one, only a run knows. With
        a number or an array like the one that it may be.
    :param countable: arguments that are arrays of integers.
    :param settled: how often arrays were asked for at a site because Python needs content there.
    :param caller: what to tell if this goes on without an end: a function of a library needs content.
    :param rewritten: inputs that index arrays, and are written.
    :param rough: how far, relative, the result of a search of SciPy's may be from ours.
    :param disordered: what SciPy computes depends on the order of elements where some are NaN.
    :param filled: places of sparse matrices that are filled element by element, by where these are made.
    :param counted: counters from outside, by identity: what they were before, and what they have given.
    :param lacking: a matrix of this recording has no room for some of them.
    :param stale: memory whose content is an old one once a trip has ended, by site.
    """

    fixed: set[str] = field(default_factory=set)
    written_out: set[Any] = field(default_factory=set)
    materialized: set[Any] = field(default_factory=set)
    widened: dict[Any, np.dtype] = field(default_factory=dict)
    grown: set[Any] = field(default_factory=set)
    whole: set[Any] = field(default_factory=set)
    constant: set[Any] = field(default_factory=set)
    frozen: set[int] = field(default_factory=set)
    shared: set[Any] = field(default_factory=set)
    stale: set[Any] = field(default_factory=set)
    rewritten: set[str] = field(default_factory=set)
    countable: set[str] = field(default_factory=set)
    options: dict[Any, tuple[tuple[Any, ...], Any]] = field(default_factory=dict)
    slots: dict[Any, dict[str, tuple[str, Any]]] = field(default_factory=dict)
    places: dict[Any, Any] = field(default_factory=dict)
    of_rule: bool = False
    peeled: set[Any] = field(default_factory=set)
    watched: dict[Any, Any] = field(default_factory=dict)
    met: dict[int, Any] = field(default_factory=dict)
    lists: dict[Any, set[str]] = field(default_factory=dict)
    unlisted: set[Any] = field(default_factory=set)
    counts: dict[str, tuple[str, int]] = field(default_factory=dict)
    fits: dict[str, Fits] = field(default_factory=dict)
    choices: set[Any] = field(default_factory=set)
    settled: dict[Any, int] = field(default_factory=dict)
    caller: BaseException | None = None
    rough: float = 0.0
    disordered: bool = False
    filled: dict[Any, set[tuple[int, int]]] = field(default_factory=dict)
    lacking: bool = False
    counted: dict[int, tuple[Any, list[int]]] = field(default_factory=dict)

    def needs_integers(self, origin: Iterable[Any]) -> None:
        """Note that something needs an integer as such that was made in these loops.

        :raises Restart: it is a number of floating point there.
        """
        sites = {o[1] for o in origin if o[0] == "loop"}
        self.whole |= sites
        if found := [place for place in self.grown if place[0] in sites]:
            self.grown.difference_update(found)
            for place in found:
                self.widened.pop(place, None)
            raise Restart(self)

    def integers(self) -> dict[str, int]:
        """Return the integer arguments of this call, by name."""
        return dict(self.counts.values())

    def fits_of(self, bound: sympy.Expr, extent: Any) -> Fits | None:
        """Return the condition that a bound lies in an extent; None if more than integer arguments decide."""
        names = free_names(bound, extent)
        if not names <= self.counts.keys():
            return None
        return Fits(bound, extent, tuple((s, self.counts[s][0]) for s in sorted(names)))

    def takes(self, fits: Fits) -> bool:
        """Return whether a condition holds in this call; if so, the program is for calls in which it does."""
        if not fits.holds(self.integers()):
            return False
        self.fits[str(fits)] = fits
        return True

    def fix_sizes(self, error: Exception) -> bool:
        """Let the integer arguments that decide sizes be constants after an error; False if that cannot help.

        They stay constants where it does not: inside of a program, the error may be that of an example's size.
        """
        new = {name for fits in self.fits.values() for _, name in fits.symbols} - self.fixed
        if isinstance(error, IndexError) or not new:
            return False
        self.fixed |= new
        self.fits.clear()
        return True

    def need_sizes(self, shape: Iterable[Any]) -> None:
        """Start again where integer arguments decide one of these sizes, so that it is known."""
        if names := free_names(*shape) & self.counts.keys():
            raise self.fix(("argument", self.counts[n][0]) for n in names)

    def peel(self, site: Any) -> Restart:
        """Return the restart after which a loop is recorded without its first trip; what was found of it is void."""
        self.peeled.add(site)
        for held in (self.constant, self.shared, self.stale):
            held.difference_update([k for k in held if k[0] == site])
        for place in [k for k in self.widened if k[0] == site]:
            del self.widened[place]
        self.slots.pop(site, None)
        self.lists.pop(site, None)
        self.unlisted.discard(site)
        return Restart(self)

    def fix(self, origins: Iterable[Any]) -> Restart:
        """Return the restart after which what a number came from is known: arguments, and trips of loops."""
        for kind, which in origins:
            if isinstance(which, Around):
                return which.hints.fix([(kind, which.which)])
            {"argument": self.fixed, "loop": self.written_out, "outside": self.frozen}[kind].add(which)
        return Restart(self)


@dataclass(frozen=True)
class Around:
    """Where a number comes from in the recording around this one: that one starts again."""

    which: Any
    hints: Hints = field(compare=False)


def of_around(hints: Hints, origin: Iterable[Any]) -> frozenset[Any]:
    """Return where a number comes from, for a recording inside of the one that has these hints."""
    return frozenset(o if isinstance(o, str) else (o[0], Around(o[1], hints)) for o in origin)
