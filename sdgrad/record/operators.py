"""Record what converted code does: the operators that look at their operands and record, or let Python go on."""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import numpy as np
from dace.frontend.python.parser import DaceProgram

from sdgrad.convert.callables import bind_arguments
from sdgrad.convert.functions import converted, is_converted
from sdgrad.convert.operators import LEFT_OUT, UPDATED, Handler, Names, Operators, remaining
from sdgrad.errors import ParseError
from sdgrad.lift.dace_functions import needs_dace, sizes_of
from sdgrad.program.custom_rule import ATTRIBUTE
from sdgrad.record.branches import RecordedBranch
from sdgrad.record.carried import leaves
from sdgrad.record.checks import fail, require
from sdgrad.record.choices import EXPRESSION, Choice, compared, each, no_attribute, not_callable, plain, read
from sdgrad.record.chosen import CHANGING, refuse_change
from sdgrad.record.compound import Compound
from sdgrad.record.custom import call_with_rule
from sdgrad.record.elementwise import apply
from sdgrad.record.functions.joining import BY_SUBSCRIPT, by_subscript
from sdgrad.record.functions.python import BUILTINS
from sdgrad.record.functions.table import (
    FUNCTIONS,
    active,
    all_known,
    array,
    content,
    holds_recorded,
    own,
    wrapped,
)
from sdgrad.record.graphs import call_graph, is_graph, of_dace, sized
from sdgrad.record.growth import ADDING, handed, shown
from sdgrad.record.guards import guarded
from sdgrad.record.labels import label
from sdgrad.record.left_outside import Left, found_outside
from sdgrad.record.libraries import (
    called_as_it_is,
    is_hashable,
    is_known,
    is_library_function,
    is_of_library,
    is_plain_library_function,
    is_users,
    refused,
    special,
    with_owner,
)
from sdgrad.record.listed import part_of, replace_part
from sdgrad.record.loops import RecordedFor
from sdgrad.record.made_objects import converted_here, made
from sdgrad.record.met import met_object
from sdgrad.record.methods import BoundRule, part_of_value
from sdgrad.record.nests import OfLeaves, made_again, positional
from sdgrad.record.outside import shown_line
from sdgrad.record.peeled import PeeledFor
from sdgrad.record.python_state import KINDS
from sdgrad.record.random_numbers import check_random
from sdgrad.record.reads import is_numeric
from sdgrad.record.recorder import Recorder
from sdgrad.record.restart import ArmEnds
from sdgrad.record.sparse.matrix import is_sparse
from sdgrad.record.sparse.writing import store_attribute
from sdgrad.record.stores import check_in_place, store
from sdgrad.record.surroundings import note_held
from sdgrad.record.taken_next import next_of, taken
from sdgrad.record.texts import as_told
from sdgrad.record.trips import trips_of
from sdgrad.record.truth import chained, joined, scalar
from sdgrad.record.unusable import Unusable
from sdgrad.record.values import RULES, Array, Number, is_recorded
from sdgrad.record.vectorized import vectorized
from sdgrad.record.while_loops import RecordedWhile
from sdgrad.record.written_out import WrittenOutFor, WrittenOutWhile

MEMOIZED = type(functools.cache(len))


class ValueOperators(Operators):
    """Record with the recorder of the innermost function that this thread records.

    Functions inside of a converted one have its operators, and may be recorded on their own: they are differentiated.
    """

    @property
    def recorder(self) -> Recorder:
        return active()

    # -- control flow
    def branch(self, condition: Any, names: Names, later: Names) -> Handler:
        if not is_recorded(condition := scalar(condition)):
            return super().branch(condition, names, later)
        return RecordedBranch(self.recorder, condition, names, later)

    def for_(self, iterable: Iterable, bound: Names, flags: Names, head: Names, names: Names, later: Names) -> Handler:
        shown(iterable)
        taken(self.recorder, iterable)
        site = self.recorder.site()
        trips = trips_of(self.recorder, iterable) if site not in self.recorder.hints.written_out else None
        if trips is None:
            return WrittenOutFor(map(self.inner, iterable), bound, flags, names, later)
        kind = PeeledFor if site in self.recorder.hints.peeled else RecordedFor
        return kind(self.recorder, bound[0] if len(bound) == 1 else "", trips, flags, head, names, later)

    def while_(self, flags: Names, head: Names, names: Names, later: Names) -> Handler:
        if self.recorder.site() in self.recorder.hints.written_out:
            return WrittenOutWhile(flags, self.recorder.site())
        return RecordedWhile(self.recorder, "", flags, head, names, later)

    def guarded(self, caught: Callable[[], Any]) -> AbstractContextManager[Any]:
        return guarded(self.recorder, caught)

    def truth(self, value: Any) -> bool:
        return bool(value)

    def iterate(self, iterable: Iterable) -> Iterable:
        shown(iterable)
        taken(self.recorder, iterable)
        return map(self.inner, iterable)

    def check(self, condition: Any, message: Callable[[], Any] | None) -> None:
        condition = scalar(condition)
        if is_recorded(condition):
            require(self.recorder, condition, AssertionError(*(() if message is None else (message(),))))
        else:
            super().check(condition, message)

    def raised(self, error: Any, *cause: Any) -> Any:
        made = super().raised(error, *cause)
        made = made() if isinstance(made, type) else made
        if not self.recorder.arms or not isinstance(made, BaseException):
            return made
        fail(self.recorder, made)
        return ArmEnds()

    # -- expressions
    def item(self, owner: Any, index: Any) -> Any:
        owner = self.inner(owner)
        shown(owner)
        if isinstance(index, Choice) and not is_recorded(owner):
            return each(self.choose, index, lambda option: self.item(owner, option))
        owner = plain(owner)
        if isinstance(owner, BY_SUBSCRIPT):
            return by_subscript(owner, index)
        return part_of_value(owner, own(index)) if is_recorded(owner) else self.inner(part_of(owner, own(index)))

    def free(self, name: str, value: Any) -> Any:
        found = of_dace(value, self.recorder.sizes)
        if found is not value:
            return found
        self.recorder.reads.globals_of(name, value, sys._getframe(1).f_globals)
        return self.met(value)

    def attribute(self, owner: Any, name: str) -> Any:
        if isinstance(owner, Choice):
            return each(self.choose, owner, lambda option: self.attribute(option, name), no_attribute(name))
        owner = self.inner(owner)
        if type(owner) is list and name not in ADDING:
            shown(owner)
        if name in CHANGING:
            refuse_change(self.recorder.reads, owner)
        value = getattr(owner, name)
        note_held(self.recorder.reads, owner, name, value)
        if is_recorded(owner) or isinstance(owner, Compound) or is_of_library(owner):
            return value
        if id(owner) in self.recorder.reads.own or isinstance(owner, tuple):
            return self.inner(value)
        self.recorder.reads.add(owner, name, "attribute", value)
        return self.met(value)

    def inner(self, value: Any) -> Any:
        """Return what the recording has in place of an array, or of a value of the recording around this one."""
        if is_recorded(value):
            return self.recorder.adopt(value)
        if isinstance(value, Left):
            return found_outside(self.recorder, value, f"{shown_line(self.recorder.where())}{value!r}")
        return self.recorder.outside(value) if is_numeric(value) else met_object(self.recorder, value)

    def met(self, value: Any) -> Any:
        """Return what the recording has in place of a value that may come from outside."""
        if type(value) in (list, dict) or isinstance(value, tuple) and type(value).__module__ != "sys":
            return self.recorder.reads.copy(value, self.met)
        return self.inner(value)

    def call(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = tuple(map(read, args)), {k: read(v) for k, v in kwargs.items()}
        if isinstance(function, Choice):
            return each(self.choose, function, lambda option: self.call(option, *args, **kwargs), not_callable)
        if is_hashable(function) and (own := BUILTINS.get(function)) is not None:
            shown(*args)
            taken(self.recorder, *args, by=function)
            return own(*args, **kwargs)
        if isinstance(function, BoundRule):
            return function(*args, **kwargs)
        if not is_users(type(function)) and hasattr(function, "record_call"):  # a derivative, or another program
            return function.record_call(self.recorder, args, kwargs)
        if isinstance(function, DaceProgram) and not needs_dace(function):
            with sized(self.recorder, sizes_of(function, bind_arguments(function, args, kwargs))):
                return self.call(function.f, *args, **kwargs)
        if is_graph(function):
            return call_graph(self.recorder, function, args, kwargs)
        if isinstance(function, MEMOIZED) and (holds_recorded(args) or holds_recorded(kwargs)):
            return self.call(function.__wrapped__, *args, **kwargs)
        if isinstance(function, functools.partial):
            for name in ("args", "keywords"):
                self.recorder.reads.add(function, name, "attribute", getattr(function, name))
            return self.call(function.func, *function.args, *args, **{**function.keywords, **kwargs})
        if isinstance(function, MethodType) and not isinstance(function.__self__, KINDS):
            return self.call(function.__func__, function.__self__, *args, **kwargs)
        if isinstance(function, FunctionType) and not is_known(function):
            rule = getattr(function, ATTRIBUTE, None)
            if rule is not None:
                return call_with_rule(self.converted(function), function, rule, args, kwargs)
            return self.converted(function)(*args, **kwargs)
        if isinstance(function, np.vectorize):
            return vectorized(function, args, kwargs, self.call, lambda f: converted(f, self))
        own_kind = function if isinstance(function, type) else type(function)
        if is_users(own_kind):
            if function is own_kind:
                return self.made(function, args, kwargs)
            if (called := special(function, "__call__")) is not None:
                return self.call(called, function, *args, **kwargs)
        return self.foreign(*with_owner(function, args), kwargs)

    def call_of(self, f: Any, given: Mapping[str, Any]) -> Any:
        """Call the function that is recorded, with arguments by name."""
        if isinstance(f, OfLeaves):
            args, kwargs = f.whole(given)
            made_again((args, kwargs), self.recorder.reads.made)
            return self.call(f.function, *args, **kwargs)
        args, kwargs = positional(f, given)
        if is_plain_library_function(f):
            return self.converted(f)(*args, **kwargs)  # of a library, and asked for
        return self.call(f, *args, **kwargs)

    def converted(self, function: FunctionType) -> FunctionType:
        """Return the converted form of a function of the user's; without a source, the function itself."""
        return function if is_converted(function) else converted_here(self, self.recorder, function)

    def made(self, kind: Any, args: tuple, kwargs: dict) -> Any:
        return made(self.call, self.recorder.reads, kind, args, kwargs)

    def foreign(self, function: Any, args: tuple, kwargs: dict) -> Any:
        """Call a function of a library: by its rule, or with content that is known."""
        handed(function, args, kwargs)
        args = tuple(map(self._argument, own(args)))
        kwargs = {k: self._argument(own(v)) for k, v in kwargs.items()}
        rule = FUNCTIONS.get(function) if is_hashable(function) else None
        if rule is not None:
            return RULES.function(function, args, kwargs)
        known = all_known([args, kwargs]) and getattr(function, "__name__", "") != "at"  # which writes
        ufunc = getattr(function, "__self__", None)
        if isinstance(ufunc, np.ufunc) and not known:
            return RULES.ufunc(ufunc, function.__name__, args, kwargs)
        if isinstance(function, np.ufunc) and holds_recorded(args):
            return RULES.ufunc(function, "__call__", args, kwargs)
        if is_library_function(function) and (holds_recorded(args) or holds_recorded(kwargs)):
            if all_known([args, kwargs]):
                return wrapped(function(*content(args), **content(kwargs)))
            given = [x for x in leaves([args, kwargs]) if is_recorded(x) and not all_known(x)]
            raise refused(self.recorder, function, given)
        owner = getattr(function, "__self__", None)
        if isinstance(owner, list) and function == owner.sort and holds_recorded(owner):
            refuse_change(self.recorder.reads, owner)
            owner[:] = self.call(sorted, owner, **kwargs)
            return None
        if isinstance(owner, dict) and args and isinstance(args[0], Choice):
            return each(self.choose, args[0], lambda option: self.call(function, option, *args[1:]))
        if function is next:
            return as_told(next_of(self.recorder, *args))
        taken(self.recorder, *args, by=function, owner=owner)
        check_random(function, args, kwargs, self.recorder.reads)
        found = called_as_it_is(self.recorder, function, args, kwargs)
        if isinstance(found, KINDS) or isinstance(function, type):
            return self.recorder.reads.made(found)
        return wrapped(found) if is_library_function(function) else as_told(found)

    def _argument(self, value: Any) -> Any:
        """Return an argument of a function that is not converted: functions of the user's are, when it calls them."""
        if isinstance(value, FunctionType) and not is_known(value):
            return self.converted(value)
        if isinstance(value, (list, tuple)) and any(is_numeric(v) for v in value):
            return type(value)(map(self._argument, value)) if not hasattr(value, "_fields") else value
        return self.recorder.outside(value) if is_numeric(value) else value

    def and_(self, *parts: Callable[[], Any]) -> Any:
        return joined(parts, np.logical_and, False, self.choose)

    def or_(self, *parts: Callable[[], Any]) -> Any:
        return joined(parts, np.logical_or, True, self.choose)

    def not_(self, value: Any) -> Any:
        value = scalar(value)
        return apply(np.logical_not, [value]) if is_recorded(value) else not value

    def compare(self, word: str, left: Any, right: Any) -> Any:
        shown(left, right)
        if isinstance(left, Choice) or isinstance(right, Choice):
            return compared(partial(self.compare, word), word, left, right)
        for value in (left, right):
            if isinstance(value, Unusable):
                value.refuse()  # also where Python compares identities
        return super().compare(word, left, right)

    def told(self, value: Any) -> Any:
        return RULES.shown(value) if is_recorded(value) else value

    def chain(self, first: Any, *rest: tuple[str, Callable[[], Any]]) -> Any:
        return chained(self, first, rest)

    def choose(self, condition: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
        condition = scalar(condition)
        if not is_recorded(condition):
            return then() if condition else otherwise()
        branch = RecordedBranch(self.recorder, condition, (EXPRESSION,), (EXPRESSION,))
        for arm in branch:
            with branch:
                branch.enter({"then": then, "otherwise": otherwise})  # and what these reach
                branch.leave({EXPRESSION: then() if arm else otherwise()})
        return branch.after({})[0]

    def let_through(self, function: Callable, condition: Any, part: Callable[[], Any]) -> Any:
        condition = scalar(condition)
        if is_recorded(condition) and function is sum:
            return self.choose(condition, part, lambda: 0)
        return part() if self.truth(condition) else LEFT_OUT

    def summed(self, function: Callable, parts: Iterable) -> Any:
        return self.call(function, remaining(parts))

    # -- stores
    def bound(self, names: Names, value: Any) -> Any:
        parts = value if type(value) in (tuple, list) and len(value) == len(names) > 1 else (value,)
        for name, part in zip(names, parts, strict=False):
            if is_recorded(part):
                label(part.recorder, name, part)
        return value

    def store(self, owner: Any, index: Any, value: Any) -> None:
        if isinstance(owner, Choice) and isinstance(owner.number, Array):
            owner = owner.as_number()
        if isinstance(owner, np.ndarray):
            raise ParseError("an array that the function did not make is written: pass it as an argument")
        if isinstance(owner, Array):
            RULES.store(owner, own(index), plain(value))
        elif isinstance(owner, Number):
            raise ParseError("a number is written, or an array without axes: give it an axis, of shape (1,)")
        else:
            shown(owner)
            refuse_change(self.recorder.reads, owner)
            replace_part(owner, index, value)

    def set_attribute(self, owner: Any, name: str, value: Any) -> None:
        if is_recorded(owner) or isinstance(owner, Compound):
            return store_attribute(owner, name, value)
        if id(owner) not in self.recorder.reads.own:
            self.recorder.outside_places.attribute(self.recorder, owner, name)
        if type(value) in (list, dict, set):  # made here, or a copy of one from outside
            self.recorder.reads.made(value)
        setattr(owner, name, value)

    def declares(self, names: Names) -> None:
        self.recorder.outside_places.names(self.recorder, names, sys._getframe(1).f_globals)

    def binds(self, names: Names) -> None:
        space = sys._getframe(1).f_globals
        self.recorder.outside_places.bound.update((id(space), n, "item") for n in names)

    def update(self, word: str, value: Any, by: Any) -> Any:
        if not (is_recorded(value) or is_sparse(value)) and isinstance(by, (Array, Number)):
            return getattr(operator, f"__{UPDATED[word].__name__[1:]}__")(value, by)  # of iadd: __add__
        check_in_place(value)
        refuse_change(self.recorder.reads, value)
        return super().update(word, value, by)

    def update_attribute(self, word: str, owner: Any, name: str, by: Callable[[], Any]) -> None:
        if not (isinstance(owner, Array) and name in ("real", "imag")):
            return super().update_attribute(word, owner, name, by)
        return self.set_attribute(owner, name, self.update(word, self.attribute(owner, name).copy(), by()))

    def update_item(self, word: str, owner: Any, index: Any, by: Callable[[], Any]) -> None:
        part = self.item(owner, index)
        new = self.update(word, part, by())
        if not (new is part and isinstance(part, Array) and part.storage is getattr(owner, "storage", None)):
            self.store(owner, index, new)


RULES.store = lambda a, i, v: store(a, i, v if is_recorded(v) or not holds_recorded(v) else array(v))
