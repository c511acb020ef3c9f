"""Record branches: both arms, and one memory for what they bind differently."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sdgrad.convert.lowering import RESULT
from sdgrad.convert.operators import Handler, Names, State
from sdgrad.errors import ParseError
from sdgrad.program.tree import Branch, Node
from sdgrad.record.carried import Cell, is_number, is_value, leaves, rebuilt, same, structure
from sdgrad.record.choices import UNBOUND, VALUE, Choice, ChoiceCell, called, options_of
from sdgrad.record.chosen import are_two, note_chosen
from sdgrad.record.outside import MISSING, check_met, held_outside
from sdgrad.record.python_state import Content, Held, PythonState, put
from sdgrad.record.recorder import ONLY_DATA, Recorder
from sdgrad.record.restart import ArmEnds
from sdgrad.record.settling import settle
from sdgrad.record.unusable import Absent, Unusable
from sdgrad.record.values import Number, can_be_fixed


class RecordedBranch(Handler):
    """Record both arms of an ``if``."""

    recorded = sets = True

    def __init__(self, recorder: Recorder, condition: Any, names: Names, later: Names) -> None:
        self.recorder, self.names, self.later = recorder, names, later
        self.origin = condition.origin
        self.condition, self.where = recorder.value(condition), recorder.where()
        self.before: dict[str, Any] | None = None
        self.ends: list[dict[str, Any] | None] = []
        self.blocks: list[list[Node]] = []
        self.values: dict[str, Any] = {}
        self.python = PythonState(())
        self.changes: list[dict[int, Content]] = []  # of Python's objects, by the arms that do not raise

    def __iter__(self) -> Iterator[bool]:
        for arm in (True, False):
            block: list[Node] = []
            self.recorder.arms += 1
            with self.recorder.inside(block):
                yield arm
            self.recorder.arms -= 1
            self.blocks.append(block)
        self._merge()

    def __exit__(self, *error: object) -> bool | None:
        self.recorder.outside_places.close(self)
        if error[0] is not None and issubclass(error[0], ArmEnds):  # type: ignore[arg-type]
            self.python.put_back(self.python.changes())
            self.ends.append(None)
            return True
        return None

    def enter(self, state: State) -> tuple:
        if self.before is None:
            self.before = {n: state.get(n, MISSING) for n in self.names}
            self.python = PythonState.of(state, held_outside(self.recorder))
        self.recorder.outside_places.open.append(self)
        return tuple(unbound(n, self.before[n]) for n in self.names)

    def cannot_draw(self) -> None:
        """Refuse what an arm draws: only a run knows whether it does."""
        self._settle()
        raise ParseError(
            "random numbers, or what an iterator gives, are drawn in an arm of the condition in line "
            f"{self.where.line}, which only a run knows: draw them before"
        )

    def leave(self, state: State) -> None:
        check_met(self.recorder, self.python)
        changes = self.python.changes()
        self.python.put_back(changes)
        self.changes.append(changes)
        self.ends.append({n: state.get(n, MISSING) for n in self.names})

    def after(self, state: State) -> tuple:
        return tuple(self.values[n] for n in self.names)

    def _merge(self) -> None:
        """Bind each name to what both arms leave, or to memory that each of them writes."""
        alive = [e for e in self.ends if e is not None]
        if not alive:
            self.recorder.append(self._node())
            raise ArmEnds
        for name in self.names:
            ends = [e[name] for e in alive]
            one = len(ends) == 1 or same(ends[0], ends[1]) and not are_two(*ends)
            if one or name not in self.later:
                self.values[name] = unbound(name, ends[0]) if one else unbound(name, MISSING)
            else:
                self.values[name] = self._both(name, ends)
        for k in sorted({k for changes in self.changes for k in changes}):
            held = self.python.held[k]
            put(held.owner, self._contents(held, [c.get(k, held.content) for c in self.changes]))
        self.recorder.append(self._node())

    def _contents(self, held: Held, ends: list[Content]) -> Content:
        """Return what an object holds after the branch if its arms leave it with different contents."""
        if len(ends) == 1:
            return ends[0]
        if held.grows and ends[0].keys() != ends[1].keys():
            self._settle()
            raise ParseError(
                f"{held.path} has other entries, or another number of them, in each arm of the condition in line "
                f"{self.where.line}, which only a run knows: let both arms add as many, or fill an array"
            )
        found: Content = {}
        for key in {**ends[0], **ends[1]}:
            pair = [held.entry(e, key, MISSING) for e in ends]
            found[key] = pair[0] if same(*pair) else self._both(held.told(key), pair)
        return found

    def _settle(self) -> None:
        """Start again so that the condition is known, if that can be."""
        settle(self.recorder, self.origin)

    def _unusable(self, name: str, told: str) -> Unusable:
        """Return what stands for a name that cannot be used after the branch."""
        instead = "compute in its arms what is used after it"
        return Unusable(f"{called(name)} {told} the condition in line {self.where.line}: {instead}", self._settle)

    def _node(self) -> Branch:
        otherwise = ((None, tuple(self.blocks[1])),) if self.blocks[1] else ()
        return Branch(((self.condition, tuple(self.blocks[0])), *otherwise), self.where)

    def _both(self, name: str, ends: list[Any]) -> Any:
        """Return what a name is after the branch if its arms leave different values."""
        refused = next((e for e in ends if isinstance(e, Unusable) and not isinstance(e, (Absent, Choice))), None)
        if refused is not None:
            return refused
        given = [e for e in ends if not is_unbound(e)]
        if len(given) < 2:
            if name != RESULT or not given:
                return self._in_one_arm(name, ends)
            ends = [given[0] if is_unbound(e) else e for e in ends]
            return self._cells(name, ends, [e is given[0] and k == ends.index(given[0]) for k, e in enumerate(ends)])
        return self._cells(name, ends, [True, True])

    def _in_one_arm(self, name: str, ends: list[Any]) -> Any:
        """Return what a name is that one arm only binds: a call raises if it reads it after the other one."""
        ends = [UNBOUND if is_unbound(e) else e for e in ends]
        if not any(isinstance(e, (list, tuple, dict)) for e in ends) and options_of(*ends) is not None:
            return self._choice(name, tuple(ends))
        return self._unusable(name, "is bound in one arm only of")

    def _cells(self, name: str, ends: list[Any], written: list[bool]) -> Any:
        if structure(ends[0]) != structure(ends[1]):
            return self._unusable(name, "has another form in each arm of")
        parts = [self._cell(name, pair, written) for pair in zip(*map(leaves, ends), strict=True)]
        found = rebuilt(ends[0], iter(parts))
        note_chosen(self.recorder.reads, self.python, ends, found)
        return found

    def _cell(self, name: str, pair: tuple, written: list[bool]) -> Any:
        """Return memory for a number or an array, written at the end of each arm."""
        if same(*pair):
            return pair[0]
        if not all(map(is_value, pair)):
            return self._choice(name, pair)
        try:
            origin = self.origin.union(*(p.origin for p in pair if isinstance(p, Number)))
            cell = Cell.of(self.recorder, pair, origin or ONLY_DATA, name)
        except ValueError as error:
            return self._unusable(name, f"has the {error}, depending on")
        zero = np.zeros((), cell.value.dtype)[()]
        return self._put(cell, [v if own else zero for v, own in zip(pair, written, strict=True)])

    def _choice(self, name: str, pair: tuple) -> Any:
        """Return one of two objects of Python's, or what stands for something that cannot be used."""
        options = options_of(*pair)
        if can_be_fixed(self.origin) and not (options and {VALUE, UNBOUND}.issuperset(options)):
            raise self.recorder.hints.fix(self.origin)
        with contextlib.suppress(ValueError):  # of arrays that have different shapes
            if options is not None:
                return self._put(ChoiceCell.of(self.recorder, options, pair, name, settle=self._settle), pair)
        if can_be_fixed(self.origin):
            raise self.recorder.hints.fix(self.origin)
        first, second = map(_told, pair)
        return self._unusable(name, f"is {first} or {second if second != first else 'another one'}, depending on")

    def _put(self, cell: Cell | ChoiceCell, ends: Sequence[Any]) -> Any:
        """Write what each arm leaves to memory, and return that."""
        alive = [k for k, e in enumerate(self.ends) if e is not None]
        for k, value in zip(alive, ends, strict=True):
            with self.recorder.inside(self.blocks[k]):
                cell.put(value)
        if isinstance(cell.value, Number):
            cell.value.grows = any(isinstance(e, Number) and e.grows for e in ends)
        return cell.value


def is_unbound(value: Any) -> bool:
    """True of a name that is not bound."""
    return value is MISSING or isinstance(value, Absent)


def unbound(name: str, value: Any) -> Any:
    """Return a value, or what stands for a name without one."""
    return Absent(f"'{name}' has no value here") if value is MISSING else value


def _told(value: Any) -> str:
    if isinstance(value, Choice):
        return "one of several objects"
    if is_value(value):
        return "a number" if is_number(value) else "an array"
    return repr(value) if isinstance(value, (str, type(None))) else f"a {type(value).__name__}"
