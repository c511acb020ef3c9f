"""Stamp a module: the stamp changes with anything but tensors that decides what the module computes."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import nn

PLAIN = (int, float, bool, str, bytes, type(None), torch.dtype, torch.device)
OF_EVERY_MODULE = frozenset(nn.Module().__dict__)
OPAQUE = (type, nn.Module, ModuleType)
LARGEST = 1 << 16  # bytes of an array whose content is compared
HOOKS = ("_forward_hooks", "_forward_pre_hooks")
BACKWARD_HOOKS = ("_backward_hooks", "_backward_pre_hooks")
STATE = "_sdgrad"
"""The attribute in which a wrapped module keeps what was made for it."""
IGNORED = OF_EVERY_MODULE | {STATE, "_flat_weights", "_flat_weight_refs"}  # the last two repeat parameters


@dataclass
class Look:
    """One look at a module.

    :param inside: at the content of objects, too.
    :param known: what was looked at, by identity.
    """

    inside: bool
    known: dict[int, Hashable] = field(default_factory=dict)


def stamp(module: nn.Module, inside: bool = True) -> Hashable:
    """Return a value that is equal for two calls if no submodule, attribute, hook or mode was changed between.

    Attributes are plain values, arrays, tensors, and collections and objects of such; of functions, classes and modules
    elsewhere only the identity is looked at.

    :param inside: look at the content of objects, too.
    """
    look = Look(inside)
    inner = [m for m in module.modules() if m is not module]
    hooks = tuple(k for m in inner for name in BACKWARD_HOOKS for k in m.__dict__[name])  # the module's own are outside
    return (*(_own(m, look) for m in module.modules()), hooks)


def _own(module: nn.Module, look: Look) -> Hashable:
    attributes = module.__dict__
    hooks = tuple(k for name in HOOKS for k in attributes[name])
    mine = tuple((n, _plain(v, look)) for n, v in attributes.items() if n not in IGNORED)
    return (id(module), module.training, hooks, tuple(attributes["_modules"]), mine)


def _plain(value: Any, look: Look) -> Hashable:
    """Return a value as a hashable one: its content, or where there is none to look at, its identity."""
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, torch.Tensor):
        return (id(value), value._version)
    if isinstance(value, np.ndarray):
        return (id(value), value.tobytes() if value.nbytes <= LARGEST else None)
    known = look.known
    if id(value) in known or isinstance(value, OPAQUE) or callable(value):
        return known.get(id(value), id(value))
    known[id(value)] = id(value)  # of what holds itself
    if isinstance(value, (tuple, list)):
        found: Hashable = tuple(_plain(v, look) for v in value)
    elif isinstance(value, dict):
        found = tuple((_plain(k, look), _plain(v, look)) for k, v in value.items())
    elif isinstance(value, (set, frozenset)):
        found = frozenset(_plain(v, look) for v in value)
    else:
        content = getattr(value, "__dict__", {}) if look.inside else {}
        found = (id(value), tuple((n, _plain(v, look)) for n, v in content.items()))
    known[id(value)] = found
    return found


def has_backward_hooks(module: nn.Module) -> nn.Module | None:
    """Return a submodule with hooks that eager's backward pass calls between its operations; else None."""
    return next((m for m in module.modules() if any(m.__dict__[name] for name in BACKWARD_HOOKS)), None)
