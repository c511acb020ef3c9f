"""Remember what a recorded function read outside of itself, so that a call sees what is there at the call.

A :class:`Read` is one step: an entry of a dict or a list, an attribute, the content of a cell, an answer. Arrays are
read again at each call; anything else is part of what the program was made for, and a change of it makes another one.
"""

from __future__ import annotations

import inspect
import os
from array import array
from collections import ChainMap, UserDict, UserList, deque
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from types import BuiltinMethodType, FunctionType, MappingProxyType, MethodType, MethodWrapperType, ModuleType
from typing import Any, Literal

import numpy as np
from scipy.sparse import issparse

from sdgrad.convert.callables import is_filled, names_in, places_read
from sdgrad.errors import ParseError
from sdgrad.record.python_state import content_of, is_source, put
from sdgrad.record.sparse.known import special_format
from sdgrad.record.values import holds_recorded, is_recorded

How = Literal["item", "attribute", "cell", "length", "entries", "items", "parts", "called"]
NOTHING = object()
PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)
MAPPINGS = (dict, UserDict, ChainMap, MappingProxyType, type(os.environ))
SEQUENCES = (list, tuple, deque, UserList)
LOOSE = (set, deque, bytearray)
METHODS = (MethodType, BuiltinMethodType, MethodWrapperType)
MOST = 100_000  # reads of what objects hold, each by itself; what holds more is compared as a whole
CONTENTS: dict[How, Callable[[Any], tuple]] = {
    "entries": tuple,
    "items": lambda owner: tuple(part for pair in owner.items() for part in pair),
    "parts": lambda owner: _parts(owner, ()),
}
"""What of a collection is compared as a whole."""


def _parts(value: Any, around: tuple[int, ...]) -> Any:
    """Return what a collection holds, and what is held by that, as tuples.

    :param around: what it is a part of.
    """
    if not isinstance(value, (*SEQUENCES, *MAPPINGS, set, frozenset)) or id(value) in around:
        return value
    found = (p for pair in value.items() for p in pair) if isinstance(value, MAPPINGS) else value
    return tuple(_parts(p, (*around, id(value))) for p in found)


@dataclass(frozen=True, eq=False)
class Read:
    """One thing that was read, and how to read it again."""

    owner: Any
    key: Any
    how: How
    value: Any
    content: str | None = None

    def again(self) -> Any:
        """Return what is there now; :data:`NOTHING` if there is none."""
        try:
            if self.how == "item":
                return self.owner[self.key]
            if self.how == "attribute":
                return getattr(self.owner, self.key)
            if self.how in CONTENTS:
                return CONTENTS[self.how](self.owner)
            if self.how == "called":
                return self.owner(*self.key)
            return self.owner.cell_contents if self.how == "cell" else len(self.owner)
        except (LookupError, AttributeError, ValueError):
            return NOTHING

    def told(self) -> str:
        """Return the name under which it was read; nothing for an entry of a list."""
        if self.how == "attribute":
            kind = self.owner if isinstance(self.owner, type) else type(self.owner)
            return f"{kind.__name__}.{self.key}"
        return self.key if self.how == "item" and isinstance(self.key, str) else ""

    def holds(self) -> bool:
        """True if what is there now gives the same program."""
        now, value = self.again(), self.value
        if now is value:
            return self.content is None or _content(now) == self.content
        if type(now) is not type(value):
            return False
        if isinstance(value, METHODS):  # a new object each time; equal if it is the same one of the same object
            return bool(now == value)
        if isinstance(value, np.ndarray):
            return is_numeric(value) and now.dtype == value.dtype and now.shape == value.shape
        if isinstance(value, PLAIN):
            return _equal(now, value)
        if self.how == "attribute" and isinstance(inspect.getattr_static(type(self.owner), self.key, None), property):
            now, value = _parts(now, ()), _parts(value, ())  # made at each look
        return equal_parts(now, value)


def _content(value: Any) -> str | None:
    """Return what an array of texts or objects holds, which is part of what is recorded; None of all else."""
    return repr(value.tolist()) if isinstance(value, np.ndarray) and not is_numeric(value) else None


def _equal(now: Any, value: Any) -> bool:
    """True if two numbers or texts are the same for all functions: 2, 2.0 and True are not, nor are 0.0 and -0.0."""
    return now is value or type(now) is type(value) and bool(now == value) and (bool(value) or repr(now) == repr(value))


def equal_parts(now: Any, value: Any) -> bool:
    """True if numbers and texts are the same, all else is one object, and tuples are of such."""
    if type(now) is tuple and type(value) is tuple:
        return len(now) == len(value) and all(map(equal_parts, now, value))
    return _equal(now, value) if isinstance(value, PLAIN) else now is value


@dataclass(frozen=True, eq=False)
class Content:
    """An array whose content decided what was recorded."""

    array: Any  # itself, or the read that leads to it
    content: np.ndarray

    def holds(self) -> bool:
        """True if the content is the same."""
        now = self.array.again() if isinstance(self.array, Read) else self.array
        return now is not NOTHING and np.array_equal(now, self.content)


@dataclass(frozen=True, eq=False)
class OneArray:
    """Two places that held one array, which is one input of the program."""

    first: Read
    second: Read

    def holds(self) -> bool:
        """True if both hold one array."""
        return self.first.again() is self.second.again()


def is_loose(value: Any) -> bool:
    """True of collections that a recording changes themselves: all but lists and dicts, of which it has copies."""
    return isinstance(value, LOOSE) or isinstance(value, (list, dict)) and type(value) not in (list, dict)


def is_numeric(value: Any) -> bool:
    """True of arrays that programs can take."""
    return isinstance(value, np.ndarray) and value.dtype.kind in "biufc"


def special_kind(value: Any) -> str:
    """Say what is wrong with an array of a subclass, whose operators may mean something else; empty for others."""
    kind = type(value)
    if issparse(value):
        return special_format(value)
    if not isinstance(value, np.ndarray) or kind in (np.ndarray, np.memmap):
        return ""
    instead = "Use its data and its mask as two arrays" if isinstance(value, np.ma.MaskedArray) else "Use np.asarray"
    return f"is a {kind.__module__}.{kind.__name__}, not an ndarray: its operators mean something else. {instead}"


@dataclass
class Reads:
    """Collect what a recording reads, each once."""

    found: dict[Any, Read] = field(default_factory=dict)
    arrays: dict[int, Read] = field(default_factory=dict)
    own: dict[int, Any] = field(default_factory=dict)  # objects that the function made itself
    chosen: dict[int, Any] = field(default_factory=dict)  # lists and dicts that are copies of one of several
    copies: dict[int, tuple[Any, Any, Any]] = field(default_factory=dict)  # of lists and dicts: original, copy, before
    contents: list[Any] = field(default_factory=list)
    classes: set[type] = field(default_factory=set)  # whose special methods have been looked into
    sources: dict[int, Any] = field(default_factory=dict)  # iterators and the like
    loose: dict[int, tuple[Any, dict]] = field(default_factory=dict)  # sets and the like, which are not copied

    def guards(self) -> tuple[Any, ...]:
        """Return what has to hold for the program to be the right one."""
        return (*self.found.values(), *self.contents)

    def made(self, value: Any) -> Any:
        """Remember that the function made an object: nothing in it comes from outside."""
        self.own[id(value)] = value
        return value

    def add(self, owner: Any, key: Any, how: How, value: Any) -> None:
        """Note that a value was read, and everything in it if it is a list, a dict or a set."""
        if id(owner) in self.own or id(value) in self.own or is_recorded(value):
            return
        place = (id(owner), key, how)
        if place in self.found:
            return
        self.found[place] = read = Read(owner, key, how, value, _content(value))
        if how in CONTENTS:
            return
        if isinstance(value, np.ndarray):
            first = self.arrays.setdefault(id(value), read)
            if first is not read:
                self.contents.append(OneArray(first, read))
        elif isinstance(value, (*SEQUENCES, *MAPPINGS)):
            self._inside(value)
        elif isinstance(value, (set, frozenset, bytearray, memoryview, array)):
            self.add(value, None, "entries", tuple(value))
        elif is_source(value):
            self.sources[id(value)] = value
        self._note_loose(value)

    def arguments(self, given: Mapping[str, Any]) -> None:
        """Note what collections among the arguments hold, which are no nests."""
        for name, value in given.items():
            if not is_recorded(value) and not isinstance(value, (*PLAIN, np.ndarray)):
                self.add(given, name, "item", value)

    def adopt(self, read: Read) -> Any:
        """Note what a function that is called here read outside, and return what is there now."""
        now = read.again()
        now = read.value if now is NOTHING else now
        self.add(read.owner, read.key, read.how, now)
        return now

    def _inside(self, value: Any) -> None:
        parts = value.values() if isinstance(value, MAPPINGS) else value
        is_plain = all(isinstance(v, PLAIN) for v in parts)
        if is_plain or len(self.found) > MOST:
            how: How = "parts" if not is_plain else "items" if isinstance(value, MAPPINGS) else "entries"
            self.add(value, None, how, CONTENTS[how](value))
            return
        if isinstance(value, MAPPINGS):
            self.add(value, None, "entries", tuple(value))  # the order of keys, too
        elif not isinstance(value, tuple):
            self.add(value, None, "length", len(value))
        for key, part in value.items() if isinstance(value, MAPPINGS) else enumerate(value):
            self.add(value, key, "item", part)

    def copy(self, value: Any, met: Callable[[Any], Any]) -> Any:
        """Return a copy of a list, a dict or a tuple from outside, with what a recording has in place of its parts."""
        if id(value) in self.own:
            return value
        if id(value) in self.copies:
            return self.copies[id(value)][1]
        if isinstance(value, dict):
            found: Any = {k: met(v) for k, v in value.items()}
        elif isinstance(value, tuple):
            parts = list(map(met, value))
            if all(a is b for a, b in zip(parts, value, strict=True)):
                return value
            found = type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        else:
            found = list(map(met, value))
        self.made(found)
        self.copies[id(value)] = (value, found, found.copy() if not isinstance(value, tuple) else found)
        return found

    def known_first(self, value: Any, met: Callable[[Any], Any]) -> None:
        """Know a collection from outside before anything is recorded."""
        self._note_loose(value)
        if not is_loose(value):
            self.copy(value, met)

    def _note_loose(self, value: Any) -> None:
        if is_loose(value) and id(value) not in self.loose:
            self._note_whole(value)

    def _note_whole(self, value: Any) -> None:
        """Note what a collection holds, and lists and dicts in it: there are no copies of these."""
        held = content_of(value) or {}
        self.loose[id(value)] = (value, held)
        for part in held.values():
            if isinstance(part, (list, dict)) and id(part) not in self.loose:
                self._note_whole(part)

    def put_back(self) -> None:
        """Let sets and the like hold what they held: the recording begins again, or has failed."""
        for original, content in self.loose.values():
            put(original, content)

    def changed(self, known: Collection[int]) -> Iterator[Any]:
        """Yield collections from outside that have been changed.

        :param known: what is not looked at, by the identity of what stands for it.
        """
        for original, copy, before in self.copies.values():
            if id(copy) not in known and not isinstance(original, tuple) and not _same(copy, before):
                yield original
        for original, content in self.loose.values():
            if id(original) not in known and not _same(content_of(original) or {}, content):
                yield original

    def write_back(self) -> Iterator[tuple[Any, dict]]:
        """Give lists and dicts from outside what the function changed in them; yield each with what it held.

        :raises ParseError: it put something recorded there, which has no value after the call.
        """
        for original, copy, before in self.copies.values():
            if isinstance(original, tuple) or _same(copy, before):
                continue
            _refuse_recorded(original, copy)
            held = content_of(original) or {}
            original.clear()
            original.update(copy) if isinstance(original, dict) else original.extend(copy)
            yield original, held
        for original, held in self.loose.values():
            if not _same(content_of(original) or {}, held):
                _refuse_recorded(original, original)
                yield original, held

    def globals_of(self, name: str, value: Any, names: Mapping[str, Any]) -> None:
        """Note that a global name was read."""
        if name in names:
            self.add(names, name, "item", value)

    def cells_of(self, function: Any) -> None:
        """Note what the cells of a function from outside hold, and what it has for arguments that are left out."""
        self.add(function, "__code__", "attribute", function.__code__)  # which editors and notebooks replace
        for name in ("__defaults__", "__kwdefaults__", "registry"):  # of functools.singledispatch
            if held := getattr(function, name, None):
                self.add(function, name, "attribute", held)
        for cell in function.__closure__ or ():
            if is_filled(cell):
                self.add(cell, None, "cell", cell.cell_contents)

    def of_function(self, function: Any, is_own: Callable[[str], bool], seen: tuple[Any, ...] = ()) -> None:
        """Note what a function that is recorded later finds outside of itself, and what those find that it calls.

        :param is_own: of the names of the user's modules, where functions are looked into.
        """
        if not isinstance(function, FunctionType) or function in seen or not is_own(function.__module__ or "__main__"):
            return
        self.cells_of(function)
        found = [(space, name, space[name]) for space, name in places_read(function, is_own)]
        for space, name, value in found:
            self.add(space, name, "item", value)
        cells = (c.cell_contents for c in function.__closure__ or () if is_filled(c))
        for value in (*(value for _, _, value in found), *cells):
            self.of_function(value, is_own, (*seen, function))
            if not isinstance(value, (type, FunctionType)) and is_own(type(value).__module__):
                self._of_object(value, names_in(function.__code__), is_own, (*seen, function))

    def _of_object(self, owner: Any, names: set[str], is_own: Callable[[str], bool], seen: tuple[Any, ...]) -> None:
        """Note what an object holds, and what those of its methods find outside that are mentioned."""
        for name, value in getattr(owner, "__dict__", {}).items():
            self.add(owner, name, "attribute", value)
        for name in names - getattr(owner, "__dict__", {}).keys():
            held = inspect.getattr_static(owner, name, None)
            if isinstance(held, FunctionType):
                self.of_function(held, is_own, seen)
            elif held is not None:
                self.add(owner, name, "attribute", getattr(owner, name, NOTHING))

    def of_state(self, owner: Any) -> None:
        """Note what an object of a library's holds, by which code that is not converted has answered."""
        if not isinstance(owner, (type, ModuleType, FunctionType)) and not is_recorded(owner):
            for name, value in getattr(owner, "__dict__", {}).items():
                self.add(owner, name, "attribute", value)

    def of_class(self, kind: type, is_own: Callable[[str], bool]) -> None:
        """Note what special methods of a class find outside, which Python calls as they stand."""
        for base in (*kind.__mro__, type(kind)):
            if base in self.classes or not is_own(base.__module__):
                continue
            self.classes.add(base)
            for name, held in vars(base).items():
                method = getattr(held, "__func__", held)
                is_special = name.startswith("__") and isinstance(method, FunctionType)
                if is_special and (method.__closure__ or next(places_read(method, is_own), None) is not None):
                    self.of_function(method, is_own)

    def path(self, array: np.ndarray) -> Read | None:
        """Return how an array was reached."""
        return self.arrays.get(id(array))


def same_content(now: Any, before: Any) -> bool:
    """True if two values are one, or hold the same numbers and texts: either may be bound in place of the other."""
    if type(now) is not type(before):
        return False
    if is_numeric(now):
        return now.dtype == before.dtype and np.array_equal(now, before)
    return equal_parts(_parts(now, ()), _parts(before, ()))


def _refuse_recorded(original: Any, now: Any) -> None:
    parts = now.values() if isinstance(now, dict) else now
    if any(map(holds_recorded, parts)):
        raise ParseError(
            f"a {type(original).__name__} that exists outside of the function is changed: what is put there "
            "has a value in a call only. Return it instead"
        )


def _same(now: Any, before: Any) -> bool:
    if isinstance(now, dict):
        return now.keys() == before.keys() and all(now[k] is before[k] for k in now)
    return len(now) == len(before) and all(a is b for a, b in zip(now, before, strict=True))
