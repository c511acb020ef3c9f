"""Choose among objects of Python's by what only a run knows: texts, None, members of enumerations, functions, a number.

Where the arms of a branch bind a name to different objects, or the trips of a loop do, the program computes which of
them it is, as an integer. Comparisons with it are recorded.
"""

from __future__ import annotations

import enum
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sdgrad.convert.lowering import RESULT
from sdgrad.record.carried import Cell, is_array, is_value, shape_of
from sdgrad.record.elementwise import apply
from sdgrad.record.functions.table import FUNCTIONS
from sdgrad.record.outside import MISSING
from sdgrad.record.recorder import ONLY_DATA, Recorder
from sdgrad.record.restart import Hints, Restart
from sdgrad.record.unusable import Absent, Unusable
from sdgrad.record.values import RULES, Number, is_recorded

UNBOUND = MISSING
"""The option that a name has no value."""
EXPRESSION = "arm value"
"""The name of a conditional expression, which no name of a user is."""
KINDS = (str, bytes, type(None), enum.Enum, types.FunctionType, types.BuiltinFunctionType, np.ufunc, type)
"""What an option may be, beside a number."""


class _Value:
    """Stand for the number among the options."""

    def __repr__(self) -> str:
        return "a number"


VALUE = _Value()
Options = tuple[Any, ...]


class Choice(Unusable):
    """Stand for one of some objects.

    :param options: the objects; :data:`VALUE` is the number, or the array.
    :param index: which of them it is.
    :param number: the number, or the array, if one of the options is one.
    """

    def __init__(
        self,
        recorder: Recorder,
        name: str,
        options: Options,
        index: Number,
        number: Any,
        settle: Callable[[], None] | None = None,
    ) -> None:
        told = " or ".join(map(_told, options))
        super().__init__(
            f"{name} is {told}, which only a run knows: compare it with these, and use it in the arms", settle
        )
        self.recorder, self.options, self.index, self.number = recorder, options, index, number
        self.called = name
        self.numeric = VALUE in options

    def option(self, k: int) -> Any:
        """Return the object at a position among the options: for the number, what it is."""
        return self.number if self.options[k] is VALUE else self.options[k]

    def bound(self, wrong: Callable[[Any], Exception | None] = lambda _: None) -> list[int]:
        """Return the positions of the options that are values; the call raises where the name has none.

        :param wrong: gives the error of a call for an option that cannot be used so.
        """
        errors = [self._without_value() if o is UNBOUND else None if o is VALUE else wrong(o) for o in self.options]
        if all(errors):
            raise errors[-1]  # type: ignore[misc]
        for k, error in enumerate(errors):
            if error is not None:
                RULES.require(self.recorder, apply(np.logical_not, [self.is_option(k)]), error)
        return [k for k, error in enumerate(errors) if error is None]

    def holds(self, test: Callable[[Any], Any]) -> Any:
        """Return whether a test of the object holds, which may be recorded where the object is the number."""
        found: Any = False
        if len(places := self.bound()) == 1:
            return test(self.option(places[0]))
        for k in places:
            here = test(self.option(k))
            if not isinstance(here, (bool, np.bool_)) or here:
                found = _either(found, _both(self.is_option(k), here))
        return found

    def is_option(self, k: int) -> Any:
        """Return whether it is the option at a position."""
        return apply(np.equal, [self.index, k])

    def as_number(self) -> Any:
        """Return the number; the call raises if it is something else then."""
        if VALUE not in self.options:
            return self.refuse()
        others = [o for o in self.options if o is not VALUE]
        if others:
            RULES.require(self.recorder, self.is_option(self.options.index(VALUE)), self._no_number(others))
        return self.number

    def _no_number(self, others: Sequence[Any]) -> Exception:
        """Return the error of a call in which it is no number."""
        if others == [UNBOUND]:
            return self._without_value()
        return TypeError(f"{' or '.join(map(_told, others))} is used as a number")

    def _without_value(self) -> Exception:
        return UnboundLocalError(f"{self.called} has no value")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or VALUE not in self.options:
            return super().__getattr__(name)
        return getattr(self.as_number(), name)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(*(plain(x) for x in inputs), **kwargs)

    def __array_function__(self, function: Callable, types: Any, args: tuple, kwargs: dict) -> Any:
        return function(*(plain(x) for x in args), **{k: plain(v) for k, v in kwargs.items()})

    def __str__(self) -> str:
        return f"<{' or '.join(map(_told, self.options))}>"

    def __format__(self, spec: str) -> str:
        return str(self)


def _arithmetic(name: str) -> Callable:
    return lambda self, *others: getattr(self.as_number(), name)(*(plain(x) for x in others))


for _name in ("add", "sub", "mul", "truediv", "pow", "floordiv", "mod", "matmul"):
    for _side in ("", "r"):
        setattr(Choice, f"__{_side}{_name}__", _arithmetic(f"__{_side}{_name}__"))
for _name in ("neg", "pos", "abs", "lt", "le", "gt", "ge", "getitem", "len", "iter"):
    setattr(Choice, f"__{_name}__", _arithmetic(f"__{_name}__"))


def plain(value: Any) -> Any:
    """Return the number that a choice is; other values as they are."""
    return value.as_number() if isinstance(value, Choice) else value


def read(value: Any) -> Any:
    """Return what a name is that is read: the call raises if it has no value."""
    if isinstance(value, Choice) and len(value.options) == 2 and UNBOUND in value.options:
        return value.option(value.bound()[0])
    return value


def options_of(*values: Any, known: Options = ()) -> Options | None:
    """Return known objects, and those that some values may be; None if one may be something else."""
    found: list[Any] = [*known]
    for value in values:
        own = value.options if isinstance(value, Choice) else (VALUE,) if is_value(value) else (value,)
        if any(o is not VALUE and o is not UNBOUND and not isinstance(o, KINDS) for o in own):
            return None
        found += [o for o in own if not any(_is(o, f) for f in found)]
    return tuple(found)


def compared(compare: Callable[[Any, Any], Any], word: str, left: Any, right: Any) -> Any:
    """Return a comparison of which one side, or both, are choices."""
    if word in ("<", "<=", ">", ">="):
        return compare(plain(left), plain(right))
    if isinstance(left, Choice):
        return left.holds(lambda own: compared(compare, word, own, right))
    if isinstance(right, Choice):
        return right.holds(lambda own: compared(compare, word, left, own))
    is_mixed = isinstance(left, Number) != isinstance(right, Number)
    if is_mixed and word in ("is", "is not"):
        return word == "is not"
    known = right if isinstance(left, Number) else left
    if is_mixed and word in ("==", "!=") and not isinstance(known, (bool, int, float, complex, np.generic)):
        return word == "!="
    return compare(left, right)


def each(
    choose: Callable,
    choice: Choice,
    use: Callable[[Any], Any],
    wrong: Callable[[Any], Exception | None] = lambda _: None,
) -> Any:
    """Return what is done with the object that a choice is.

    :param choose: records a conditional expression.
    :param wrong: gives the error of a call for an option that cannot be used so.
    """

    def at(first: int, *rest: int) -> Any:
        own = partial(use, choice.option(first))
        return choose(choice.is_option(first), own, partial(at, *rest)) if rest else own()

    return at(*choice.bound(wrong))


def no_attribute(name: str) -> Callable[[Any], Exception | None]:
    """Return what gives the error for an object without an attribute."""
    told = "'{}' object has no attribute '{}'"
    return lambda own: None if hasattr(own, name) else AttributeError(told.format(type(own).__name__, name))


def not_callable(own: Any) -> Exception | None:
    """Return the error for an object that is no function."""
    return None if callable(own) else TypeError(f"'{type(own).__name__}' object is not callable")


def truth(choice: Choice) -> Any:
    """Return whether Python takes the object as true."""
    return choice.holds(lambda own: apply(np.not_equal, [own, 0]) if isinstance(own, Number) else bool(own))


@dataclass
class ChoiceCell:
    """Hold memory for a choice that arms or trips write.

    :param name: how an error calls what it is bound to.
    :param index: memory for which option it is.
    :param number: memory for the number, if one of the options is one.
    """

    recorder: Recorder
    name: str
    options: Options
    index: Cell
    number: Cell | None
    settle: Callable[[], None] | None = None

    @staticmethod
    def of(
        recorder: Recorder,
        options: Options,
        values: Sequence[Any],
        name: str,
        like: Any = 0.0,
        dtype: Any = None,
        settle: Callable[[], None] | None = None,
    ) -> ChoiceCell:
        """Declare memory for a choice.

        :param values: examples of what it is.
        :param settle: starts the recording again so that it is known.
        :param like: a number, or an array, like what it may be; for where no example is one.
        :param dtype: the type of the number; None for that of the examples.
        :raises ValueError: arrays have different shapes.
        """
        index = Cell.of(recorder, [np.int64(0)], ONLY_DATA, f"{name}_which")
        if VALUE not in options:
            return ChoiceCell(recorder, called(name), options, index, None, settle)
        examples = [payload(v) for v in values if is_value(payload(v))] or [like]
        memory = Cell.of(recorder, examples, ONLY_DATA, name, dtype)
        return ChoiceCell(recorder, called(name), options, index, memory, settle)

    @property
    def value(self) -> Choice:
        """Return what a reader of the memory gets."""
        number = self.index.value
        assert isinstance(number, Number)
        return Choice(self.recorder, self.name, self.options, number, self.number and self.number.value, self.settle)

    def parts(self, value: Any) -> list[tuple[Cell, Any]]:
        """Return what belongs in the memory for an object, or another choice."""
        found: list[tuple[Cell, Any]] = [(self.index, self._which(value))]
        if self.number is not None:
            number = payload(value)
            found.append((self.number, number if is_value(number) else np.zeros((), self.number.value.dtype)[()]))
        return found

    def put(self, value: Any) -> None:
        """Write an object, or another choice, to the memory."""
        for cell, part in self.parts(value):
            cell.put(part)

    def _which(self, value: Any) -> Any:
        """Return the position of an object among the options."""
        if not isinstance(value, Choice):
            return np.int64(self._place(VALUE if is_value(value) else value))
        places = [self._place(o) for o in value.options]
        if places == [*range(len(places))]:
            return value.index
        found: Any = np.int64(places[0])
        for k, place in enumerate(places[1:], 1):
            found = FUNCTIONS[np.where](value.is_option(k), np.int64(place), found)
        return found

    def _place(self, option: Any) -> int:
        return next(k for k, o in enumerate(self.options) if _is(option, o))


def begun(recorder: Recorder, place: Any, value: Any, name: str) -> ChoiceCell | None:
    """Return memory for a name that is a choice in the trips of a loop; None if it is none, as far as is known."""
    if place not in recorder.hints.options:
        return None
    options, like = recorder.hints.options[place]
    value = UNBOUND if isinstance(value, Absent) else value
    cell = ChoiceCell.of(recorder, options, [value], name, like, recorder.hints.widened.get(place))
    cell.put(value)
    return cell


def handed_on(hints: Hints, place: Any, cell: Any, old: Any, value: Any) -> list[tuple[Cell, Any]] | None:
    """Return what a trip leaves in the memory of a choice; None if it leaves something else.

    :param old: what it is before the loop.
    :raises Restart: it may be another object than what was known.
    """
    known = cell.options if isinstance(cell, ChoiceCell) else options_of(old)
    options = None if known is None else options_of(value, known=known)
    if options is None:
        return None
    if not isinstance(cell, ChoiceCell) or options != known:
        like = _example(payload(value) if is_value(payload(value)) else old)
        if like is None:
            return None
        hints.options[place] = options, like
        raise Restart(hints)
    return [] if isinstance(value, Choice) and value.index is cell.index.value else cell.parts(value)


def if_bound(recorder: Recorder, name: str, bound: Any, value: Any) -> Any:
    """Return a number, or an array, that a name is if something holds; else the name has no value."""
    if not is_recorded(bound):
        return value if bound else Absent(f"'{name}' has no value")
    which = FUNCTIONS[np.where](bound, np.int64(0), np.int64(1))
    return Choice(recorder, called(name), (VALUE, UNBOUND), which, value)


def payload(value: Any) -> Any:
    """Return the number, or the array, that a choice may be; other values as they are."""
    return value.number if isinstance(value, Choice) else value


def _example(value: Any) -> Any:
    """Return zeros like a number or an array, a zero for other values; None if only a run knows the size."""
    shape = shape_of(value) if is_array(value) else ()
    if not all(isinstance(n, int) for n in shape):
        return None
    example = value if is_value(value) else 0.0
    return np.zeros(shape, getattr(example, "dtype", np.result_type(type(example))))[()]


def called(name: str) -> str:
    """Return how an error calls a name."""
    return {RESULT: "what is returned", EXPRESSION: "the conditional expression"}.get(name, f"'{name}'")


def _is(one: Any, other: Any) -> bool:
    """True if two options are the same."""
    return one is other or type(one) is type(other) and isinstance(one, (str, bytes)) and one == other


def _either(a: Any, b: Any) -> Any:
    return b if a is False else a if b is False else apply(np.logical_or, [a, b])


def _both(a: Any, b: Any) -> Any:
    return a if isinstance(b, (bool, np.bool_)) and b else apply(np.logical_and, [a, b])


def _told(option: Any) -> str:
    return "nothing" if option is UNBOUND else getattr(option, "__name__", None) or repr(option)
