"""Convert the methods that Python calls by itself, for operators, iteration, attributes and ``with``, as others are.

Where nobody converts them, they see recorded values in loops and branches that Python runs, and what they read outside
of the function is not noticed when it changes.
"""

from __future__ import annotations

import argparse
import collections
import copy
import dataclasses
import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import FunctionType, MemberDescriptorType, MethodType, ModuleType, SimpleNamespace
from typing import Any, cast

from sdgrad.convert.operators import BINARY, UPDATED, Handler, Names
from sdgrad.record.choices import Choice
from sdgrad.record.functions.python import type_
from sdgrad.record.libraries import is_hashable, is_known, is_users, is_users_module, method_of, note_class, special
from sdgrad.record.managed import Managed
from sdgrad.record.operators import ValueOperators
from sdgrad.record.reads import NOTHING
from sdgrad.record.restart import Control
from sdgrad.record.texts import Told, as_told, formatted
from sdgrad.record.values import Array, Number, is_recorded

UNARY = {"USub": "__neg__", "UAdd": "__pos__", "Invert": "__invert__"}
COMPARED = {
    "<": ("__lt__", "__gt__"), "<=": ("__le__", "__ge__"), ">": ("__gt__", "__lt__"), ">=": ("__ge__", "__le__"),
    "==": ("__eq__", "__eq__"), "!=": ("__ne__", "__ne__"),
}  # fmt: skip
BY_FUNCTION: dict[Any, str] = {
    len: "__len__", abs: "__abs__", round: "__round__", float: "__float__", int: "__int__", complex: "__complex__",
    next: "__next__", reversed: "__reversed__",
}  # fmt: skip
ITERATING = {list, tuple, set, frozenset, sum, sorted, max, min, any, all, iter, enumerate, zip}
APPLYING = {map, filter, functools.reduce, itertools.starmap, itertools.takewhile, itertools.dropwhile}
NAMESPACES = (SimpleNamespace, argparse.Namespace)
LOOKING = {
    repr, str, ascii, format, hash, sorted, min, max, copy.copy, copy.deepcopy,
    dataclasses.replace, dataclasses.asdict, dataclasses.astuple,
}  # fmt: skip
"""Functions that look at an object by methods which Python calls by itself."""
PARSING = {int, float, complex, eval}
CALLED = (FunctionType, MethodType, functools.partial, operator.attrgetter)
BY_OPERATOR: dict[Any, str] = {of: word for word, of in BINARY.items()}


def names_of(word: str) -> tuple[str, str]:
    """Return the methods of both operands: ``__add__`` and ``__radd__``."""
    name = BINARY[word].__name__.strip("_")
    return f"__{name}__", f"__r{name}__"


def _leaves_to(owner: Any, operand: Any) -> bool:
    """True of recorded values that leave an operator to the other operand, as those of NumPy do."""
    if isinstance(owner, Number) or isinstance(owner, Array) and not owner.ndim:
        return True
    kind = type(operand)
    return isinstance(owner, Array) and (
        getattr(kind, "__array_ufunc__", operand) is None or hasattr(kind, "__array_priority__")
    )


class RecordingOperators(ValueOperators):
    """Call the methods of users' classes, where they have some for what is done to a value."""

    leaving = Control

    # -- operators
    def binary(self, word: str, left: Any, right: Any) -> Any:
        if word == "Mod" and isinstance(left, str):
            for part in right if isinstance(right, tuple) else (right,):
                self.seen(part)
            return formatted(left, right)
        names, plain = names_of(word), super().binary
        both = type(left) is not type(right)
        return as_told(self._of_two(names, left, right, both, lambda: plain(word, left, right)))

    def unary(self, word: str, value: Any) -> Any:
        method = special(value, UNARY[word])
        return super().unary(word, value) if method is None else self.call(method, value)

    def compare(self, word: str, left: Any, right: Any) -> Any:
        if word in ("in", "not in"):
            return self._contained(word, left, right)
        plain = super().compare
        if word == "!=" and special(left, "__ne__") is None and special(left, "__eq__") is not None:
            return self.not_(self.compare("==", left, right))
        if word not in COMPARED:
            return plain(word, left, right)
        return self._of_two(COMPARED[word], left, right, True, lambda: plain(word, left, right))

    def _contained(self, word: str, left: Any, right: Any) -> Any:
        method = special(right, "__contains__")
        if method is None:
            self._notes_classes(left, right)
            return super().compare(word, left, self.iterable(right))
        found = self.condition(self.call(method, right, left))
        return found if word == "in" else self.not_(found)

    def _of_two(self, names: tuple[str, str], left: Any, right: Any, both: bool, plain: Callable[[], Any]) -> Any:
        """Return what an operator gives, by a method of the left operand or by one of the right operand.

        :param both: the right operand may answer.
        """
        own, other = names
        methods = [m for m in (special(left, own), special(right, other)) if m is not None]
        if any(m.__code__.co_filename == "<string>" for m in methods):  # of a dataclass
            self.seen(left, right)
        elif methods:
            return self._of_methods(names, left, right, both, plain)
        else:
            self.seen(left, right)
        return plain()

    def _of_methods(self, names: tuple[str, str], left: Any, right: Any, both: bool, plain: Callable[[], Any]) -> Any:
        own, other = names
        asked = [(left, own, right)]
        if both:
            kinds = type(left), type(right)
            special_case = kinds[0] is not kinds[1] and issubclass(kinds[1], kinds[0])
            asked.insert(0 if special_case else 1, (right, other, left))
        for owner, name, operand in asked:
            found = self._answer(owner, name, operand)
            if found is not NotImplemented:
                return found
        return plain()  # which raises an error, or compares identities

    def _answer(self, owner: Any, name: str, operand: Any) -> Any:
        """Return what a method of an operand gives; NotImplemented if it leaves the operator to the other one."""
        if (method := special(owner, name)) is not None:
            return self.call(method, owner, operand)
        native = getattr(type(owner), name, None)
        return NotImplemented if native is None or _leaves_to(owner, operand) else native(owner, operand)

    def update(self, word: str, value: Any, by: Any) -> Any:
        method = special(value, f"__{UPDATED[word].__name__}__")
        if method is not None and (found := self.call(method, value, by)) is not NotImplemented:
            return found
        own, other = names_of(word)
        if special(value, own) is not None or special(by, other) is not None:
            return self.binary(word, value, by)
        return super().update(word, value, by)

    # -- what is looked at as it stands
    def _notes_classes(self, *objects: Any) -> None:
        """Note what special methods that Python itself calls read outside: of objects, and of those in lists."""
        kinds = {type(part) for x in objects for part in ((x, *x) if isinstance(x, (list, tuple)) else (x,))}
        for kind in filter(is_users, kinds):
            self.recorder.reads.of_class(kind, is_users_module)

    def seen(self, *objects: Any) -> None:
        """Note all that users' objects hold: something is found out about them by code that is not converted."""
        left, known = [x for x in objects if is_users(type(x)) or isinstance(x, NAMESPACES)], set()
        while left:
            owner = left.pop()
            if id(owner) in known or isinstance(owner, (type, FunctionType)):
                continue
            known.add(id(owner))
            self._notes_classes(owner)
            parts = {n: v for kind in type(owner).__mro__ for n, v in vars(kind).items()}
            slots = [n for n, v in parts.items() if type(v) is MemberDescriptorType and hasattr(owner, n)]
            for name in [*getattr(owner, "__dict__", ()), *slots]:
                value = getattr(owner, name)
                self.recorder.reads.add(owner, name, "attribute", value)
                left += [value] if is_users(type(value)) else []

    def _looked_at(self, value: Any, methods: tuple[str, ...]) -> Any:
        """Return a value that Python is going to look at by one of some methods, if its class has one."""
        if any(special(value, name) for name in methods):
            self.seen(value)
        return value

    def formatted(self, value: Any) -> Any:
        return self._looked_at(value, ("__format__", "__str__", "__repr__"))

    def text(self, made: str) -> str:
        return as_told(made)

    def and_(self, *parts: Callable[[], Any]) -> Any:
        return super().and_(*(functools.partial(self._decided_by, part) for part in parts))

    def or_(self, *parts: Callable[[], Any]) -> Any:
        return super().or_(*(functools.partial(self._decided_by, part) for part in parts))

    def _decided_by(self, part: Callable[[], Any]) -> Any:
        return self._looked_at(part(), ("__bool__", "__len__"))

    # -- truth
    def condition(self, value: Any) -> Any:
        if (method := special(value, "__bool__")) is not None:
            return self.call(method, value)
        method = special(value, "__len__")
        return value if method is None else self.compare("!=", self.call(method, value), 0)

    def branch(self, condition: Any, names: Names, later: Names) -> Handler:
        return super().branch(self.condition(condition), names, later)

    def choose(self, condition: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
        return super().choose(self.condition(condition), then, otherwise)

    def check(self, condition: Any, message: Callable[[], Any] | None) -> None:
        super().check(self.condition(condition), message)

    def truth(self, value: Any) -> bool:
        return super().truth(self.condition(value))

    def not_(self, value: Any) -> Any:
        return super().not_(self.condition(value))

    # -- iteration
    def for_(self, iterable: Iterable, bound: Names, flags: Names, head: Names, names: Names, later: Names) -> Handler:
        return super().for_(self.iterable(iterable), bound, flags, head, names, later)

    def iterate(self, iterable: Iterable) -> Iterable:
        return super().iterate(self.iterable(iterable))

    def iterable(self, value: Any) -> Any:
        """Return what an object iterates over; all else as it is."""
        method = special(value, "__iter__")
        found = value if method is None else self.call(method, value)
        return found if special(found, "__next__") is None else self._steps(found)

    def _steps(self, iterator: Any) -> Iterator[Any]:
        while True:
            try:
                item = self.call(method_of(type(iterator), "__next__"), iterator)
            except StopIteration:
                return
            yield item

    # -- parts
    def item(self, owner: Any, index: Any) -> Any:
        method = special(owner, "__getitem__")
        if is_users(type(index)) and method is None:
            own = None if isinstance(owner, Mapping) else special(index, "__index__")
            self.seen(index)
            index = index if own is None else self.call(own, index)
        if type(owner) is dict and "__builtins__" in owner and index in owner:
            self.recorder.reads.globals_of(index, owner[index], owner)
            return self.met(owner[index])
        if method is None or isinstance(index, Choice):
            self._notes_classes(owner)
            found = super().item(owner, index)
            if not is_users(type(owner)):
                self.recorder.reads.of_state(owner)
            return found
        return self.call(method, owner, index)

    def store(self, owner: Any, index: Any, value: Any) -> None:
        method = special(owner, "__setitem__")
        if method is None:
            return super().store(owner, index, value)
        return self.call(method, owner, index, value)

    def attribute(self, owner: Any, name: str) -> Any:
        if name == "__class__" and is_recorded(owner):
            return type_(owner)
        if not is_users(type(owner)):
            return super().attribute(owner, name)
        found, held = method_of(type(owner), name), getattr(owner, "__dict__", {})
        if isinstance(found, property) and isinstance(found.fget, FunctionType):
            note_class(type(owner), name, found)
            return self.call(found.fget, owner)
        if isinstance(found, functools.cached_property) and name not in held and id(owner) in self.recorder.reads.own:
            held[name] = self.call(found.func, owner)
        getter, setter = special(found, "__get__"), special(found, "__set__")
        if getter is not None and (setter is not None or name not in held):
            return self.call(getter, found, owner, type(owner))
        missing = special(owner, "__getattr__")
        if found is None and missing is not None and name not in held:
            return self.call(missing, owner, name)
        is_made = isinstance(owner, tuple) or id(owner) in self.recorder.reads.own
        if found is not None and name not in held and is_made:
            self.recorder.reads.add(type(owner), name, "attribute", getattr(type(owner), name))
        return super().attribute(owner, name)

    def set_attribute(self, owner: Any, name: str, value: Any) -> None:
        found = method_of(type(owner), name) if is_users(type(owner)) else None
        if isinstance(found, property) and isinstance(found.fset, FunctionType):
            return self.call(found.fset, owner, value)
        if (setter := special(found, "__set__")) is not None:
            return self.call(setter, found, owner, value)
        return super().set_attribute(owner, name, value)

    # -- calls
    def managed(self, value: Any) -> Any:
        of_ours = type(value).__module__.partition(".")[0] == "sdgrad"  # regions look at the frame that enters them
        if of_ours:
            return value

        def called(name: str, *args: Any) -> Any:
            own = special(value, name)
            return getattr(value, name)(*args) if own is None else self.call(own, value, *args)

        return Managed(self.recorder, value, called)

    def call(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        self._notes_classes(*args)  # at whose objects code of Python's may look
        if not args or isinstance(function, Choice) or not is_hashable(function):
            return super().call(function, *args, **kwargs)
        if isinstance(function, operator.attrgetter):
            found = [functools.reduce(self.attribute, n.split("."), args[0]) for n in function.__reduce__()[1]]
            return found[0] if len(found) == 1 else tuple(found)
        if function in PARSING and isinstance(args[0], Told):
            args[0].refuse()
        if function in LOOKING or isinstance(getattr(function, "__self__", None), str):
            self.seen(*args, *(part for a in args if isinstance(a, (list, tuple)) for part in a))
        if isinstance(function, operator.methodcaller):
            return self._method_called(function, args[0])
        if function in APPLYING:
            args = (functools.partial(self.call, bool if args[0] is None else args[0]), *map(self.iterable, args[1:]))
        elif function is collections.defaultdict:
            args = (self._factory(args[0]), *args[1:])
        elif isinstance(kwargs.get("key"), CALLED):
            kwargs["key"] = functools.partial(self.call, kwargs["key"])
        elif function is vars:
            return self.attribute(args[0], "__dict__")
        elif function is getattr and isinstance(args[1], str):
            return self._attribute_or(*args)
        elif function is sum and isinstance(args[0], (list, tuple)) and any(is_users(type(a)) for a in args[0]):
            start = args[1] if len(args) > 1 else kwargs.get("start", 0)
            return functools.reduce(functools.partial(self.binary, "Add"), args[0], start)
        elif function is hasattr or any(is_users(type(a)) for a in args):
            return self._of_object(function, args, kwargs)
        return super().call(function, *args, **kwargs)

    def _factory(self, kind: Any) -> Any:
        """Return what makes the entries of a ``defaultdict``: converted, where it may be Python of the user's."""
        is_own = isinstance(kind, functools.partial) or isinstance(kind, type) and is_users(kind)
        return functools.partial(self.call, kind) if is_own else kind

    def _method_called(self, caller: operator.methodcaller, owner: Any) -> Any:
        made, rest = cast(tuple[Any, tuple], caller.__reduce__())
        given, keywords = (made.args, made.keywords) if isinstance(made, functools.partial) else ((), {})
        given = (*given, *rest)
        return self.call(self.attribute(owner, given[0]), *given[1:], **keywords)

    def _of_object(self, function: Any, args: tuple, kwargs: dict) -> Any:
        """Return a function of an object of a user's, which may have a method for it."""
        method = special(args[0], BY_FUNCTION.get(function, ""))
        if method is not None:
            return self.call(method, *args, **kwargs)
        if function is type and len(args) == 1:
            return type(args[0])
        if function is hasattr:
            return self._attribute_or(*args, NOTHING) is not NOTHING
        if function in BY_OPERATOR and len(args) == 2:
            return self.binary(BY_OPERATOR[function], *args)
        if function in ITERATING and (len(args) == 1 or function not in (max, min)):
            args = tuple(map(self.iterable, args))
        elif function is bool:
            args = tuple(map(self.condition, args))
        return super().call(function, *args, **kwargs)

    def _attribute_or(self, owner: Any, name: str, *default: Any) -> Any:
        try:
            return self.attribute(owner, name)
        except AttributeError:
            if not default:
                raise
            if is_users(type(owner)) or isinstance(owner, (type, ModuleType, SimpleNamespace)):
                self.recorder.reads.add(owner, name, "attribute", NOTHING)
            return default[0]

    def _argument(self, value: Any) -> Any:
        if isinstance(value, MethodType) and isinstance(value.__func__, FunctionType) and not is_known(value.__func__):
            return MethodType(self.converted(value.__func__), value.__self__)
        if isinstance(value, functools.partial):
            return functools.partial(self._argument(value.func), *value.args, **value.keywords)
        return super()._argument(value)
