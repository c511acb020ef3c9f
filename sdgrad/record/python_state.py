"""Find out what a part of a function changes in Python, and put it back: lists, dicts, sets, attributes, cells."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from sdgrad.convert.callables import is_filled
from sdgrad.record.values import is_recorded

MOST = 10_000  # objects that are looked at
GLOBAL = (np.random.mtrand._rand, random._inst)
CHANNELS = ("queue", "_queue", "multiprocessing", "socket", "asyncio")
"""Modules whose objects hand on what somebody else puts into them."""
KINDS = (np.random.Generator, np.random.RandomState, random.Random)
"""Random number generators."""
OPAQUE = (str, bytes, int, float, complex, type(None), type, ModuleType, np.ndarray, np.generic, np.dtype)
Content = dict[Any, Any]  # what an object holds, by attribute, key or position


@dataclass(frozen=True)
class GlobalNames:
    """Names that a function declares as global."""

    names: Sequence[str]
    space: dict[str, Any]


@dataclass(frozen=True)
class Held:
    """One object that can change, what it held at some time, and how it was reached from a name."""

    owner: Any
    content: Content
    path: str

    @property
    def grows(self) -> bool:
        """True if how many entries it has means something: not of attributes."""
        return isinstance(self.owner, (list, dict, deque, set))

    def entry(self, content: Content, key: Any, otherwise: Any) -> Any:
        """Return an entry of a content; for an attribute that is not there, the one of the class."""
        if key in content or self.grows or not isinstance(key, str):
            return content.get(key, otherwise)
        found = getattr(type(self.owner), key, otherwise)
        return otherwise if hasattr(found, "__get__") else found

    def told(self, key: Any) -> str:
        """Return how an error calls an entry."""
        if isinstance(self.owner, (FunctionType, GlobalNames)):
            return str(key)
        return f"{self.path}[{key!r}]" if self.grows else f"{self.path}.{key}"


@dataclass(frozen=True)
class PythonState:
    """Hold what mutable objects contained at some time."""

    held: tuple[Held, ...]

    @staticmethod
    def of(names: Mapping[str, Any], others: Iterable[Any] = ()) -> PythonState:
        """Return the state of everything that the values of names reach, and others."""
        found: dict[int, Held] = {}
        todo = [(f"{type(v).__name__}_{k}", v) for k, v in enumerate(others)] + list(names.items())[::-1]
        while todo and len(found) < MOST:
            path, value = todo.pop()
            if is_recorded(value) or isinstance(value, OPAQUE) or id(value) in found:
                continue
            content = content_of(value)
            if content is None:
                continue
            found[id(value)] = own = Held(value, content, path)
            todo += [(own.told(k), v) for k, v in content.items()]
        return PythonState(tuple(found.values()))

    def holds(self, value: Any) -> bool:
        """True if an object was there at that time."""
        return any(h.owner is value for h in self.held) or any(value is g for g in GLOBAL)

    def changes(self) -> dict[int, Content]:
        """Return what objects hold by now, if that is something else: by their positions."""
        now = ((k, h, content_of(h.owner)) for k, h in enumerate(self.held))
        return {k: content for k, h, content in now if content is not None and not _same(content, h.content)}

    def again(self) -> PythonState:
        """Return the state of the same objects as it is now."""
        return PythonState(tuple(replace(h, content=content_of(h.owner) or {}) for h in self.held))

    def put_back(self, changed: Iterable[int]) -> None:
        """Let objects hold again what they held."""
        for k in changed:
            put(self.held[k].owner, self.held[k].content)


def content_of(value: Any) -> Content | None:
    """Return a shallow copy of what an object holds; None if it holds nothing that can change."""
    if isinstance(value, (list, tuple, deque, bytearray)):
        return dict(enumerate(value))
    if isinstance(value, (set, frozenset)):
        return dict.fromkeys(value)
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, FunctionType):
        cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
        return {n: c.cell_contents for n, c in cells if is_filled(c)}
    if isinstance(value, MethodType):
        return {"__self__": value.__self__}
    if isinstance(value, partial):
        return {"func": value.func, "args": value.args, "keywords": value.keywords}
    if isinstance(value, GlobalNames):
        return {n: value.space[n] for n in value.names if n in value.space}
    if is_drawn_from(value):
        return {}
    if type(value).__module__.partition(".")[0] in ("sdgrad", "numpy", "dace", "builtins"):
        return None
    slots = {n: getattr(value, n) for n in slots_of(type(value)) if hasattr(value, n)}
    return {**slots, **vars(value)} if hasattr(value, "__dict__") else slots or None


def is_drawn_from(value: Any) -> bool:
    """True of random number generators, iterators and generators: each use changes them."""
    return isinstance(value, KINDS) or hasattr(type(value), "__next__")


def is_source(value: Any) -> bool:
    """True of what gives something else each time: iterators, files, queues."""
    return hasattr(type(value), "__next__") or type(value).__module__.partition(".")[0] in CHANNELS


def slots_of(kind: type) -> list[str]:
    """Return the names of the attributes that objects of a class have beside their dictionary."""
    found = []
    for base in kind.__mro__:
        names = base.__dict__.get("__slots__") or ()
        for name in (names,) if isinstance(names, str) else names:
            private = name.startswith("__") and not name.endswith("__")
            found.append(f"_{base.__name__.lstrip('_')}{name}" if private else name)
    return [n for n in found if not n.startswith("__")]


def put(owner: Any, content: Content) -> None:
    """Let an object hold something else."""
    if isinstance(owner, list):
        owner[:] = content.values()
    elif isinstance(owner, (deque, bytearray)):
        owner.clear()
        owner.extend(content.values())
    elif isinstance(owner, GlobalNames):
        owner.space.update(content)
    elif isinstance(owner, (set, dict)):
        owner.clear()
        owner.update(content)
    elif isinstance(owner, FunctionType):
        for name, cell in zip(owner.__code__.co_freevars, owner.__closure__ or (), strict=True):
            if name in content:
                cell.cell_contents = content[name]
    elif not isinstance(owner, (tuple, frozenset, MethodType, partial)):
        slots = slots_of(type(owner))
        for name in content.keys() & set(slots):
            object.__setattr__(owner, name, content[name])
        if hasattr(owner, "__dict__"):
            vars(owner).clear()
            vars(owner).update({n: v for n, v in content.items() if n not in slots})


def _same(now: Content, before: Content) -> bool:
    """True if two contents hold the same objects."""
    return now.keys() == before.keys() and all(now[k] is before[k] for k in before)
