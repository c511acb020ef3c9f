"""Give the operators of converted code Python's own meaning; a recorder overrides what it has to see."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

Names = Sequence[str]
LEFT_OUT = object()
State = Mapping[str, Any]  # what ``locals()`` returns
COMPARED: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
}
UPDATED: Mapping[str, Callable[[Any, Any], Any]] = {
    "Add": operator.iadd,
    "Sub": operator.isub,
    "Mult": operator.imul,
    "MatMult": operator.imatmul,
    "Div": operator.itruediv,
    "FloorDiv": operator.ifloordiv,
    "Mod": operator.imod,
    "Pow": operator.ipow,
    "LShift": operator.ilshift,
    "RShift": operator.irshift,
    "BitAnd": operator.iand,
    "BitOr": operator.ior,
    "BitXor": operator.ixor,
}
"""What ``x += y`` and its kin bind ``x`` to, by the name of the operator in :mod:`ast`."""
BINARY = {word: getattr(operator, f"__{of.__name__[1:]}__") for word, of in UPDATED.items()}
UNARY: Mapping[str, Callable[[Any], Any]] = {"UAdd": operator.pos, "USub": operator.neg, "Invert": operator.invert}


def remaining(parts: Iterable) -> Iterable:
    """Return what is not left out: a list of a list."""
    kept = (p for p in parts if p is not LEFT_OUT)
    return list(kept) if isinstance(parts, list) else kept


class Handler:
    """Run the body of a branch or of a loop: iterated over, entered around the body, and told the names' values."""

    recorded = False
    """True if the names are bound by :meth:`after`, because the body was recorded."""

    sets = False
    """True if the names are bound by :meth:`enter` before the body runs."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError

    def __enter__(self) -> Handler:
        return self

    def __exit__(self, *error: object) -> bool | None:
        """Return True for an error that only the handler has to know of."""
        return None

    def enter(self, state: State) -> tuple:
        """Return the values of the names at the beginning of the body."""
        return ()

    def leave(self, state: State) -> None:
        """Take the values of the names at the end of the body."""

    def after(self, state: State) -> tuple:
        """Return the values of the names after the statement."""
        return ()


class PythonBranch(Handler):
    """Run one arm of an ``if``."""

    def __init__(self, condition: Any) -> None:
        self.condition = condition

    def __iter__(self) -> Iterator[bool]:
        yield bool(self.condition)


class PythonFor(Handler):
    """Run the body for each item, until one of some flags is set."""

    def __init__(self, iterable: Iterable, flags: Sequence[str]) -> None:
        self.iterable, self.flags, self.stopped = iterable, flags, False
        self.current: Any = None

    def __iter__(self) -> Iterator[None]:
        for item in self.iterable:
            self.current = item
            yield
            if self.stopped:
                return

    def item(self) -> Any:
        """Return what the target of the loop is bound to in this trip."""
        return self.current

    def leave(self, state: State) -> None:
        self.stopped = any(state.get(flag) for flag in self.flags)


class PythonWhile(Handler):
    """Run the body while the condition holds, until one of some flags is set."""

    def __init__(self, flags: Sequence[str]) -> None:
        self.flags, self.going = flags, True

    def __iter__(self) -> Iterator[None]:
        while self.going:
            yield

    def test(self, condition: Any) -> bool:
        """Take the condition of a trip, and return whether its body runs."""
        self.going = bool(condition)
        return self.going

    def leave(self, state: State) -> None:
        self.going = self.going and not any(state.get(flag) for flag in self.flags)


class Operators:
    """Do what the statements and expressions of converted code mean in Python.

    :cvar leaving: exceptions that no handler of the function catches.
    """

    leaving: type[BaseException] | tuple[()] = ()

    # -- control flow
    def branch(self, condition: Any, names: Names, later: Names) -> Handler:
        """Return what runs the arms of an ``if``.

        :param names: what the arms bind, and either they or what follows reads.
        :param later: those of the names that are read afterwards.
        """
        return PythonBranch(condition)

    def for_(self, iterable: Iterable, bound: Names, flags: Names, head: Names, names: Names, later: Names) -> Handler:
        """Return what runs the body of a loop.

        :param bound: the names that it binds.
        :param flags: names that stop the loop once they are true.
        :param head: names that are read at the beginning of a trip.
        """
        return PythonFor(iterable, flags)

    def while_(self, flags: Names, head: Names, names: Names, later: Names) -> Handler:
        """Return what runs the body of a ``while``."""
        return PythonWhile(flags)

    def result(self, state: State, name: str) -> Any:
        """Return what an early ``return`` left; None if none was reached."""
        return state.get(name)

    def raised(self, error: Any, *cause: Any) -> Any:
        """Return the exception to raise."""
        if not cause:
            return error
        made = error() if isinstance(error, type) else error
        made.__cause__ = cause[0]() if isinstance(cause[0], type) else cause[0]
        return made

    def check(self, condition: Any, message: Callable[[], Any] | None) -> None:
        """Raise an ``AssertionError`` unless the condition holds."""
        if not condition:
            raise AssertionError(*(() if message is None else (message(),)))

    def guarded(self, caught: Callable[[], Any]) -> AbstractContextManager[Any]:
        """Return what the body of a ``try`` runs in.

        :param caught: returns the exceptions that its handlers catch.
        """
        return nullcontext()

    def truth(self, value: Any) -> bool:
        """Return the truth of a condition that decides what Python does."""
        return bool(value)

    def condition(self, value: Any) -> Any:
        """Return what has the truth of the condition of a ``while``."""
        return value

    def iterate(self, iterable: Iterable) -> Iterable:
        """Return what a comprehension or a generator runs over."""
        return iterable

    def iterable(self, value: Any) -> Any:
        """Return what is unpacked."""
        return value

    def managed(self, value: Any) -> Any:
        """Return what a ``with`` enters."""
        return value

    # -- expressions
    def free(self, name: str, value: Any) -> Any:
        """Return the value of a global name, or of one of an enclosing function."""
        return value

    def attribute(self, owner: Any, name: str) -> Any:
        return getattr(owner, name)

    def item(self, owner: Any, index: Any) -> Any:
        return owner[index]

    def slice(self, start: Any, stop: Any, step: Any) -> Any:
        return slice(start, stop, step)

    def call(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    def already(self, value: Any) -> Callable[[], Any]:
        """Return a function for a value that had to be computed where it stands."""
        return lambda: value

    def and_(self, *parts: Callable[[], Any]) -> Any:
        value = parts[0]()
        for part in parts[1:]:
            value = part() if value else value
        return value

    def or_(self, *parts: Callable[[], Any]) -> Any:
        value = parts[0]()
        for part in parts[1:]:
            value = value if value else part()
        return value

    def not_(self, value: Any) -> Any:
        return not value

    def compare(self, word: str, left: Any, right: Any) -> Any:
        return COMPARED[word](left, right)

    def binary(self, word: str, left: Any, right: Any) -> Any:
        return BINARY[word](left, right)

    def unary(self, word: str, value: Any) -> Any:
        return UNARY[word](value)

    def formatted(self, value: Any) -> Any:
        """Return what becomes a part of a text."""
        return value

    def text(self, made: str) -> str:
        """Return a text that has been made of parts."""
        return made

    def told(self, value: Any) -> Any:
        """Return what is shown of a value."""
        return value

    def chain(self, first: Any, *rest: tuple[str, Callable[[], Any]]) -> Any:
        """Return ``a < b < c``: each operand is computed once, and only if all comparisons before it held."""
        left, value = first, True
        for word, operand in rest:
            right = operand()
            value = self.compare(word, left, right)
            if not value:
                return value
            left = right
        return value

    def choose(self, condition: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
        return then() if condition else otherwise()

    def let_through(self, function: Callable, condition: Any, part: Callable[[], Any]) -> Any:
        """Return a part of what a function adds; :data:`LEFT_OUT` if a condition does not hold."""
        return part() if condition else LEFT_OUT

    def summed(self, function: Callable, parts: Iterable) -> Any:
        """Return a function of the parts that are not left out."""
        return function(remaining(parts))

    # -- stores
    def bound(self, names: Names, value: Any) -> Any:
        """Return a value that a variable is bound to, or a tuple of values for several."""
        return value

    def store(self, owner: Any, index: Any, value: Any) -> None:
        owner[index] = value

    def set_attribute(self, owner: Any, name: str, value: Any) -> None:
        setattr(owner, name, value)

    def declares(self, names: Names) -> None:
        """Take note of names that a function declares as global: it may bind them."""

    def binds(self, names: Names) -> None:
        """Take note of global names that a statement has bound."""

    def update(self, word: str, value: Any, by: Any) -> Any:
        return UPDATED[word](value, by)

    def update_item(self, word: str, owner: Any, index: Any, by: Callable[[], Any]) -> None:
        self.store(owner, index, self.update(word, self.item(owner, index), by()))

    def update_attribute(self, word: str, owner: Any, name: str, by: Callable[[], Any]) -> None:
        self.set_attribute(owner, name, self.update(word, self.attribute(owner, name), by()))
