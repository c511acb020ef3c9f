"""Stamp a module: the stamp changes with anything but tensors that decides what the module computes."""

from __future__ import annotations

import contextlib
import functools
from array import array
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodType, ModuleType, SimpleNamespace
from typing import Any
from zlib import crc32

import numpy as np
import torch
from torch import nn

from sdgrad.convert.callables import Same
from sdgrad.record.python_state import slots_of
from sdgrad.torch.read_outside import Place, held_by, is_own, read_by

NUMBERS = (int, float, complex, np.generic)
PRINTED = (range, Fraction, Decimal)  # these are made anew where they are written
PLAIN = (str, bytes, type(None), torch.dtype, torch.device)
OF_EVERY_MODULE = frozenset(nn.Module().__dict__)
OPAQUE = (type, nn.Module, ModuleType)
CODE = (FunctionType, MethodType, functools.partial, staticmethod, classmethod, property)
MADE = (MethodType, functools.partial)  # made anew at each look; their parts say what they are
KEPT = (type, ModuleType, FunctionType, BuiltinFunctionType)
LARGEST = 1 << 16  # bytes of an array whose content is compared, and not a checksum of it
HOOKS = ("_forward_hooks", "_forward_pre_hooks")
WEIGHTS = ("_parameters", "_buffers")
BACKWARD_HOOKS = ("_backward_hooks", "_backward_pre_hooks")
STATE = "_sdgrad"
"""The attribute in which a wrapped module keeps what was made for it."""
IGNORED = OF_EVERY_MODULE | {STATE, "_flat_weights", "_flat_weight_refs"}  # the last two repeat parameters


@dataclass
class Look:
    """One look at a module.

    :param inside: at the content of objects, too.
    :param known: what was looked at, by identity.
    :param numbers: of modules and weights, by identity.
    """

    inside: bool
    known: dict[int, Hashable] = field(default_factory=dict)
    numbers: dict[int, int] = field(default_factory=dict)

    def number(self, value: Any) -> int | None:
        """Return the number of a module or weight, in the order in which they are met first."""
        return None if value is None else self.numbers.setdefault(id(value), len(self.numbers))


def stamp(module: nn.Module, inside: bool = True) -> Hashable:
    """Return a value that is equal for two calls if no submodule, attribute, hook or mode was changed between.

    Attributes are plain values, arrays, tensors, and collections and objects of such. Of users' functions and classes,
    what they read outside is looked at, too; of those of libraries, and of modules elsewhere, only the identity.

    :param inside: look at the content of objects, too.
    """
    look = Look(inside)
    inner = [m for m in module.modules() if m is not module]
    hooks = tuple(k for m in inner for name in BACKWARD_HOOKS for k in m.__dict__[name])  # the module's own are outside
    kinds = dict.fromkeys(type(m) for m in module.modules())
    everywhere = _of_hooks(map(hooks_of_all, (*HOOKS, *BACKWARD_HOOKS)), look)
    return (*(_own(m, look) for m in module.modules()), hooks, everywhere, *(_of_class(k, look) for k in kinds))


def hooks_of_all(name: str) -> dict[int, Any]:
    """Return the hooks of a kind that PyTorch calls for every module."""
    return getattr(torch.nn.modules.module, f"_global{name}")


@contextlib.contextmanager
def hooks_of_own(module: nn.Module) -> Iterator[None]:
    """Let hooks of all modules see those of a module, and not what holds these where they are traced."""
    own = set(map(id, module.modules()))

    def limited(hook: Callable) -> Callable:
        return lambda at, *args, **kwargs: hook(at, *args, **kwargs) if id(at) in own else None

    held = [(hooks, dict(hooks)) for hooks in map(hooks_of_all, HOOKS)]
    try:
        for hooks, before in held:
            hooks.update({k: limited(h) for k, h in before.items()})
        yield
    finally:
        for hooks, before in held:
            hooks.update(before)


def _at(places: Sequence[Place], look: Look) -> Hashable:
    """Return what there is at some places."""
    return tuple(content(space.get(name), look) for space, name in places)


def _of_hooks(held: Iterable[Mapping[int, Any]], look: Look) -> Hashable:
    """Return hooks by their numbers, and what they read."""
    return tuple((k, content(h, look)) for hooks in held for k, h in hooks.items())


def _own(module: nn.Module, look: Look) -> Hashable:
    attributes = module.__dict__
    hooks = _of_hooks([attributes[name] for name in HOOKS], look)
    parts = tuple((n, look.number(m)) for n, m in attributes["_modules"].items())
    weights = tuple((n, look.number(t)) for s in WEIGHTS for n, t in attributes[s].items())
    mine = tuple((n, content(v, look)) for n, v in attributes.items() if n not in IGNORED)
    return (type(module), id(module), module.training, hooks, parts, weights, mine)


def content(value: Any, look: Look) -> Hashable:
    """Return a value as a hashable one: its content, or where there is none to look at, its identity."""
    if isinstance(value, NUMBERS):
        told = value if value and value == value else repr(value)  # 0.0 and -0.0 are equal, and nan is not
        return (type(value), told)  # 2, 2.0 and True are equal
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, torch.Tensor):
        return (id(value), value._version)
    if isinstance(value, np.ndarray):
        held = value.tobytes() if value.nbytes <= LARGEST else crc32(value.tobytes())
        return (id(value), value.dtype, value.shape, held)
    if isinstance(value, PRINTED):
        return (type(value), repr(value))
    if isinstance(value, array):
        return (type(value), value.typecode, value.tobytes())
    known = look.known
    if id(value) in known or isinstance(value, OPAQUE):
        return known.get(id(value), _identity(value))
    known[id(value)] = id(value)  # of what holds itself
    if isinstance(value, (tuple, list, deque)):
        found: Hashable = (type(value), *(content(v, look) for v in value))
    elif isinstance(value, bytearray):
        found = bytes(value)
    elif isinstance(value, (dict, MappingProxyType)):
        found = tuple((content(k, look), content(v, look)) for k, v in value.items())
    elif isinstance(value, slice):
        found = (slice, *(content(v, look) for v in (value.start, value.stop, value.step)))
    elif isinstance(value, (set, frozenset)):
        found = frozenset(content(v, look) for v in value)
    elif isinstance(value, CODE):
        found = (type(value) if isinstance(value, MADE) else _identity(value), _of_code(value, look))
    else:
        is_shown = look.inside and has_value(type(value))
        found = (type(value) if is_shown else _identity(value), _of_object(value, look))
    known[id(value)] = found
    return found


def _identity(value: Any) -> Hashable:
    """Return what no other object is equal to, and which keeps it, as another may be where it was."""
    if isinstance(value, nn.Module):
        return (type(value), id(value))
    return value if isinstance(value, KEPT) else Same(value)


def has_value(kind: type) -> bool:
    """True of a class whose objects are equal by more than identity, and hold nothing but attributes."""
    own = all(base in (object, SimpleNamespace) or is_own(base) for base in kind.__mro__)
    return own and kind.__eq__ is not object.__eq__


def _of_code(value: Any, look: Look) -> Hashable:
    """Return what is called, by the parts that it is made of; a user's function by what it reads."""
    if isinstance(value, functools.partial):
        return tuple(content(v, look) for v in (value.func, value.args, value.keywords))
    if isinstance(value, MethodType):
        return (content(value.__func__, look), content(value.__self__, look))
    if isinstance(value, property):
        return content(value.fget, look)
    if isinstance(value, (staticmethod, classmethod)):
        return content(value.__func__, look)
    return (_at(read_by(value), look), tuple(content(v, look) for v in held_by(value))) if is_own(value) else None


def _of_object(value: Any, look: Look) -> Hashable:
    """Return what an object has, and its class if that is a user's."""
    if not look.inside or callable(value) and not is_own(type(value)):
        return None
    held = {n: getattr(value, n) for n in slots_of(type(value)) if hasattr(value, n)}
    mine = tuple((n, content(v, look)) for n, v in (*held.items(), *getattr(value, "__dict__", {}).items()))
    return (mine, _of_class(type(value), look))


def _of_class(kind: type, look: Look) -> Hashable:
    """Return what a class holds, once in a look."""
    if not is_own(kind) or id(kind) in look.known:
        return None
    look.known[id(kind)] = id(kind)
    return _at(read_by(kind), look)


def has_backward_hooks(module: nn.Module) -> nn.Module | None:
    """Return a submodule with hooks that eager's backward pass calls between its operations; else None."""
    return next((m for m in module.modules() if any(m.__dict__[name] for name in BACKWARD_HOOKS)), None)
