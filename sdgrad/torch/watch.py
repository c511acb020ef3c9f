"""Stamp a module: the stamp changes with anything but tensors that decides what the module computes."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import torch
from torch import nn

PLAIN = (int, float, bool, str, bytes, type(None), torch.dtype, torch.device)
OF_EVERY_MODULE = frozenset(nn.Module().__dict__)
HOOKS = ("_forward_hooks", "_forward_pre_hooks")
BACKWARD_HOOKS = ("_backward_hooks", "_backward_pre_hooks")
STATE = "_sdgrad"
"""The attribute in which a wrapped module keeps what was made for it."""
IGNORED = OF_EVERY_MODULE | {STATE, "_flat_weights", "_flat_weight_refs"}  # the last two repeat parameters


def stamp(module: nn.Module) -> Hashable:
    """Return a value that is equal for two calls if no submodule, attribute, hook or mode was changed between.

    Content of attributes that are neither plain values nor lists, tuples or dicts of such is not looked at.
    """
    return tuple(map(_own, module.modules()))


def _own(module: nn.Module) -> Hashable:
    attributes = module.__dict__
    hooks = tuple(k for name in HOOKS for k in attributes[name])
    mine = tuple((n, _plain(v)) for n, v in attributes.items() if n not in IGNORED)
    return (id(module), module.training, hooks, tuple(attributes["_modules"]), mine)


def _plain(value: Any) -> Hashable:
    """Return a value as a hashable one: plain values as they are, all others by identity."""
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, (tuple, list)):
        return tuple(map(_plain, value))
    if isinstance(value, dict):
        return tuple((_plain(k), _plain(v)) for k, v in value.items())
    if isinstance(value, torch.Tensor):
        return (id(value), value._version)
    return id(value)


def has_backward_hooks(module: nn.Module) -> nn.Module | None:
    """Return a submodule with hooks that eager's backward pass calls between its operations; else None."""
    return next((m for m in module.modules() if any(m.__dict__[name] for name in BACKWARD_HOOKS)), None)
