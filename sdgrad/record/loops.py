"""Record loops: the body once, with memory for the names that one trip hands to the next."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import dace
import numpy as np
import sympy
from dace.symbolic import int_floor

from sdgrad.convert.lowering import RESULT
from sdgrad.convert.operators import Handler, Names, State
from sdgrad.program.naming import safe_symbol
from sdgrad.program.tree import Load, Loop, Node, Value
from sdgrad.record.branches import MISSING, is_unbound, unbound
from sdgrad.record.carried import Cell, is_array, is_value, leaves, rebuilt, same, sample_of, shape_of, structure
from sdgrad.record.choices import UNBOUND, Choice, ChoiceCell, begun, handed_on, if_bound
from sdgrad.record.elementwise import apply, common
from sdgrad.record.growth import Growth
from sdgrad.record.indexing import readable
from sdgrad.record.long_integers import outgrows
from sdgrad.record.outside import check_met, held_outside
from sdgrad.record.python_state import PythonState
from sdgrad.record.recorder import Recorder
from sdgrad.record.restart import Restart
from sdgrad.record.sharing import Sharing, part_at_end
from sdgrad.record.slots import Slots
from sdgrad.record.trip_ranges import Trips
from sdgrad.record.unusable import Absent
from sdgrad.record.values import DATA, Array, Number
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import sym

LEAST_TRIPS = 4  # from which on a loop may be recorded without its first trip


class Unbound(Absent):
    """Stand for a name that has no value before a loop: a body that reads it binds it in an earlier trip."""

    def __init__(self, loop: RecordedLoop) -> None:
        super().__init__("a name that has no value before the loop")
        self._loop = loop

    def refuse(self) -> Any:
        raise self._loop.written_out()


class RecordedLoop(Handler):
    """Record the body of a loop once."""

    recorded = sets = is_loop = True
    runs = False  # at least once, for certain
    last_trip: Mapping[str, Any] = {}  # what the symbol is in the last one, if that is known
    growth: Growth | None = None  # of lists, where the number of trips is known

    def __init__(
        self, recorder: Recorder, target: str, flags: Names, head: Names, names: Names, later: Names, site: Any = None
    ) -> None:
        self.recorder, self.flags, self.head, self.names, self.later = recorder, flags, head, names, later
        self.site, self.where = site or recorder.site(), recorder.where()
        self.before: dict[str, Any] = {}
        self.begin: dict[str, Any] = {}
        self.cells: dict[str, list[Cell | ChoiceCell | None]] = {}
        self.values: dict[str, Any] = {}
        self.body: list[Node] = []
        self.symbol = recorder.names.fresh(safe_symbol(target or "k"))
        recorder.symbols[self.symbol] = dace.int64
        recorder.loops.add(self.symbol)
        self.origin = frozenset({("loop", self.site)})
        self.stops: list[Cell] = []
        self.views: dict[tuple[str, int], Array] = {}  # of memory from before the loop, that names are after it
        self.lasting: set[str] = set()  # names without a value before the loop: each keeps that of the last trip
        self.ran: Any = True  # whether there was a trip, which only a run may know

    def written_out(self) -> Restart:
        """Return the restart after which Python runs the loop."""
        self.recorder.hints.written_out.add(self.site)
        return Restart(self.recorder.hints)

    def known_trips(self) -> Restart:
        """Return the restart after which lists may grow, or Python runs the loop."""
        return self.written_out()

    def cannot_draw(self) -> None:
        """Have the loop written out: each trip draws other numbers."""
        raise self.written_out()

    # -- the beginning of the body
    def enter(self, state: State) -> tuple:
        names = self.names
        self.python = PythonState.of(state, held_outside(self.recorder))
        self.slots = Slots.of(self.site, self.recorder.hints, self.python, self.growth)
        self.recorder.outside_places.open.append(self)
        state = {**state, **self.slots.found(self.recorder)}
        self.names, self.head, self.later = ((*n, *self.slots.known) for n in (names, self.head, self.later))
        self.before = {n: state.get(n, MISSING) for n in self.names}
        if is_unbound(self.before.get(RESULT)):  # a loop or an arm around this one ends where it is bound
            self.before[RESULT] = MISSING
        for name in self.names:
            self.begin[name] = self._begin(name, self.before[name])
        self.slots.begin(self.begin)
        self.sharing = Sharing.of(self.site, self.recorder.hints, self.cells, state)
        self.recorder.flush()
        self.recorder.blocks.append(self.body)
        self.own_names = names
        arrays = [x for v in state.values() for x in leaves(v) if isinstance(x, Array)]
        self.versions = {id(x.storage): x.storage.version for x in arrays}
        return tuple(Unbound(self) if self.begin[n] is MISSING else self.begin[n] for n in names)

    def _begin(self, name: str, value: Any) -> Any:
        """Return what a name is at the beginning of a trip: its memory, if trips hand it on."""
        if name in self.flags:
            return False  # or this trip would not be
        hints, place = self.recorder.hints, (self.site, (name, 0))
        if value is MISSING and place not in hints.options or (self.site, name) in hints.constant:
            return value
        cells = [self._cell((name, k), leaf) for k, leaf in enumerate(leaves(value))]
        self.cells[name] = cells
        if name not in self.head:
            return value
        return rebuilt(value, iter([c.value if c else x for c, x in zip(cells, leaves(value), strict=True)]))

    def _cell(self, place: Any, value: Any) -> Cell | ChoiceCell | None:
        if (chosen := begun(self.recorder, (self.site, place), value, place[0])) is not None:
            return chosen
        if not is_value(value):
            return None
        origin = self.origin | (value.origin if isinstance(value, Number) else frozenset())
        cell = Cell.of(self.recorder, [value], origin, place[0], self.recorder.hints.widened.get((self.site, place)))
        cell.put(value)
        return cell

    # -- the end of the body
    def leave(self, state: State) -> None:
        check_met(self.recorder, self.python)
        self.recorder.outside_places.close(self)
        if self.growth is not None and not self.growth.end(self.ordinal(), self._handed_on(state), self.versions):
            self.recorder.hints.unlisted.add(self.site)
            raise self.written_out()
        if self.slots.is_more_changed():
            raise self.known_trips()
        state = {**state, **self.slots.values()}
        ends = {n: state.get(n, MISSING) for n in self.names}
        self._check_constants(ends)
        updates = [u for n in self.names if n not in self.flags for u in self._updates(n, ends[n])]
        self.sharing.at_end(self.cells, ends)
        self._write(updates)
        self.sharing.after(self.cells)
        for flag in self.flags:
            if not same(state.get(flag, False), False):
                self._stop(flag, state[flag])
        self.end()
        if self.runs:
            self.sharing.runs(self.cells, ends)
        for name in self.names:
            self.values[name] = self._value(name, ends[name])
        self.slots.bind(self.values)
        if self.growth is not None:
            self.growth.after()

    def _handed_on(self, state: State) -> list[tuple[Cell, Any]]:
        """Return the memory of names, with what a trip leaves."""
        ends = {**state, **self.slots.values()}
        rows = ((row, list(leaves(ends.get(n, MISSING)))) for n, row in self.cells.items())
        return [(c, v) for row, found in rows for c, v in zip(row, found, strict=False) if isinstance(c, Cell)]

    def ordinal(self) -> Number:
        """Return which trip it is, from zero."""
        raise NotImplementedError

    def end(self) -> None:
        """Close the body, and record the loop."""
        raise NotImplementedError

    def _check_constants(self, ends: dict[str, Any]) -> None:
        """Start again without memory for names that the body did not bind after all."""
        idle = [n for n in self.cells if ends[n] is self.begin[n] and n in self.head]
        if idle:
            self.recorder.hints.constant |= {(self.site, n) for n in idle}
            raise Restart(self.recorder.hints)

    def _updates(self, name: str, value: Any) -> list[tuple[Cell, Any]]:
        """Return what a trip leaves in the memory of a name."""
        if value is MISSING or name not in self.later and name not in self.head:
            return []
        cells = self.cells.get(name)
        if cells is None or self._is_first(name, cells, value):
            return [] if same(value, self.before[name]) else self._last(name, value)
        if structure(value) != structure(self.before[name]):
            raise self.written_out()
        return [
            u for k, (c, v) in enumerate(zip(cells, leaves(value), strict=True)) for u in self._update(name, k, c, v)
        ]

    def _is_first(self, name: str, cells: Sequence[Any], value: Any) -> bool:
        """True if the loops around bind no such name either, of a number or of arrays that the body makes."""
        if any(cells) or not is_unbound(self.before[name]):
            return False
        return not any(isinstance(x, Array) and self._is_view(x) for x in leaves(value))

    def _is_view(self, array: Array) -> bool:
        """True of what may be memory that the body does not make, or has a size that changes."""
        shared = array.storage.partners or any(array.storage.block is b for b in self.recorder.blocks[:-1])
        return bool(shared) or not all(isinstance(n, int) for n in array.tensor.shape)

    def _last(self, name: str, value: Any) -> list[tuple[Cell, Any]]:
        """Return memory for a name that has no value before the loop: it keeps that of the last trip."""
        if (self.site, name) in self.recorder.hints.constant:
            self.recorder.hints.constant.discard((self.site, name))
            raise self.written_out()
        parts = list(leaves(value))
        if len(parts) == 1 and isinstance(parts[0], Choice):
            handed_on(self.recorder.hints, (self.site, (name, 0)), None, UNBOUND, parts[0])
        if name not in self.later:
            return []
        if not all(map(is_value, parts)):
            self.cells[name] = [None] * len(parts)
            return []
        made: list[Cell | ChoiceCell | None] = []
        updates = []
        for k, part in enumerate(parts):
            found = part_at_end(part, self.cells, self.recorder.blocks[:-1], self.last_trip) if self.runs else None
            if found is not None:
                self.views[name, k] = found
                made.append(None)
                continue
            origin = self.origin | (part.origin if isinstance(part, Number) else frozenset())
            made.append(cell := Cell.of(self.recorder, [part], origin, name))
            updates.append((cell, part))
        self.cells[name] = made
        self.lasting.add(name)
        return updates

    def _update(self, name: str, k: int, cell: Cell | ChoiceCell | None, value: Any) -> list[tuple[Cell, Any]]:
        old = next(v for j, v in enumerate(leaves(self.before[name])) if j == k)
        if isinstance(value, Choice) or isinstance(old, Choice) or isinstance(cell, ChoiceCell):
            updates = handed_on(self.recorder.hints, (self.site, (name, k)), cell, old, value)
            if updates is None:
                raise self.written_out()
            for own, part in updates:
                if is_array(own.value) and is_array(part) and shape_of(own.value) != shape_of(part):
                    raise self.written_out()
                self._widen((name, k), own, part)
            return updates
        if cell is None:
            if not same(value, old):
                raise self.written_out()
            return []
        if not is_value(value):
            raise self.written_out()
        if is_array(value) and not is_array(cell.value):
            raise self.written_out()
        if isinstance(cell.value, Array) and (shape_of(value) if is_array(value) else ()) != cell.value.tensor.shape:
            raise self.written_out()
        self._widen((name, k), cell, value)
        return [] if value is cell.value else [(cell, value)]

    def _widen(self, place: Any, cell: Cell, value: Any) -> None:
        """Start again with a type that holds what a trip leaves as well."""
        grown = outgrows(self, value)
        if grown:
            self.recorder.hints.grown.add((self.site, place))
        wide = np.dtype(np.float64) if grown else common([sample_of(cell.value), value])
        if wide != cell.value.dtype:
            self.recorder.hints.widened[(self.site, place)] = wide
            raise Restart(self.recorder.hints)

    def _write(self, updates: Sequence[tuple[Cell, Any]]) -> None:
        """Write what a trip leaves, all at once: no value is read after it was overwritten."""
        mine = {id(c.value.storage) for cells in self.cells.values() for c in cells if c and is_array(c.value)}
        apart = []
        for cell, value in updates:
            if isinstance(value, Array) and id(value.storage) in mine:
                readable(value)
                value = self.recorder.array(self.recorder.copy(value.tensor))
            elif is_array(cell.value) and isinstance(value, Number):  # of a cell, say, that is written below
                value = self._read(value, value.dtype)
            apart.append((cell, value))
        numbers = [(c, v) for c, v in apart if isinstance(c.value, Number)]
        read = [self._read(v, c.value.dtype) for c, v in numbers]
        for (cell, _), value in zip(numbers, read, strict=True):
            cell.put(value)
        for cell, value in apart:
            if is_array(cell.value):
                cell.fill(value)

    def _read(self, value: Any, dtype: Any) -> Number:
        """Return a number as it is now."""
        return self.recorder.number(self.recorder.element(value, dtype).astype(dtype), True, self.origin)

    def _stop(self, flag: str, value: Any) -> None:
        """Give a flag memory that stops the loop."""
        cell = Cell.of(self.recorder, [np.False_], self.origin, "stopped")
        self.stops.append(cell)
        self.cells[flag] = [cell]
        cell.put(value)

    def first(self) -> None:
        """Clear the flags before the loop."""
        for cell in self.stops:
            cell.put(False)

    def going(self) -> Value | None:
        """Return the condition that no flag is set; None if none can be."""
        if not self.stops:
            return None
        loads: list[Load] = []
        tests: list[ast.expr] = []
        for cell in self.stops:
            loads += self.recorder.value(cell.value).loads
            tests.append(ast.UnaryOp(ast.Not(), code.name(loads[-1].name)))
        return Value(tuple(loads), tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests))

    def _value(self, name: str, end: Any) -> Any:
        """Return what a name is after the loop."""
        if name in self.flags:
            return self.cells[name][0].value if name in self.cells else False  # type: ignore[union-attr]
        if name not in self.later:
            return unbound(name, MISSING)
        cells = self.cells.get(name)
        if cells is None or end is MISSING:
            return unbound(name, self.before[name])
        like = end if is_unbound(self.before[name]) else self.before[name]
        known = enumerate(zip(cells, leaves(like), strict=True))
        parts = [c.value if c else self.views.get((name, k), v) for k, (c, v) in known]
        if name in self.lasting and name != RESULT and self.ran is not True:
            parts = [if_bound(self.recorder, name, self.ran, p) for p in parts]
        return rebuilt(like, iter(parts))

    def after(self, state: State) -> tuple:
        return tuple(self.values[n] for n in self.own_names)


class RecordedFor(RecordedLoop):
    """Record ``for``."""

    def __init__(
        self, recorder: Recorder, target: str, trips: Trips, flags: Names, *names: Names, site: Any = None
    ) -> None:
        head, bound, later = names
        super().__init__(recorder, target, flags, head, bound, later, site)
        self.trips = trips
        if type(trips.start) is int and type(trips.stop) is int:
            count = len(range(trips.start, trips.stop, trips.step))
            self.runs = count > 0
            if not flags:
                self.growth = Growth(recorder, self.site, count)
                self.last_trip = {self.symbol: sympy.Integer(trips.start + (count - 1) * trips.step)}
        stop = trips.stop - 1 if trips.step > 0 else trips.stop + 1
        recorder.ranges.add(self.symbol, *((trips.start, stop) if trips.step > 0 else (stop, trips.start)))
        if trips.step > 0:
            recorder.trip_ends[self.symbol] = (trips.start, trips.stop)
        self.bounds = [recorder.value(n) for n in (trips.start, stop, trips.step)]

    def __iter__(self) -> Iterator[None]:
        yield

    def item(self) -> Any:
        return self.trips.item(Number(self.recorder, np.int64, True, self.origin, expr=sym(self.symbol)))

    def written_out(self) -> Restart:
        """Return the restart after which the first trip is run apart, or, if that was no use, all of them."""
        hints, trips = self.recorder.hints, self.trips
        known = type(trips.start) is int and type(trips.stop) is int and not self.flags
        if known and self.site not in hints.peeled and len(range(trips.start, trips.stop, trips.step)) >= LEAST_TRIPS:
            return hints.peel(self.site)
        return super().written_out()

    def known_trips(self) -> Restart:
        origins = self.trips.origin
        if origins and all(o != DATA and o[0] == "argument" for o in origins):
            return self.recorder.hints.fix(origins)
        return self.written_out()

    def ordinal(self) -> Number:
        moved = (sym(self.symbol) - self.trips.start) * (1 if self.trips.step > 0 else -1)
        expr = moved if abs(self.trips.step) == 1 else int_floor(moved, abs(self.trips.step))
        return Number(self.recorder, np.int64, True, self.origin, expr=expr)

    def end(self) -> None:
        self.recorder.flush()
        self.recorder.blocks.pop()
        self.first()
        going = self.going()
        start, stop, step = self.bounds
        self.recorder.append(Loop(self.symbol, start, stop, step, tuple(self.body), self.where, going))
        if self.lasting and not self.runs:
            ends = (self.trips.start, self.trips.stop)
            self.ran = apply(np.less, ends if self.trips.step > 0 else ends[::-1])
