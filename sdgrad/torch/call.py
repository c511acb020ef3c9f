"""Describe one call of a module: its tensors, and what decides which program it needs."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from sdgrad.torch.watch import Look, content, stamp


@dataclass(frozen=True)
class Call:
    """Hold parameters and buffers by name, and the leaves of the arguments.

    :param has_layouts: how tensors lie in memory is a part of its key.
    """

    parameters: Mapping[str, torch.Tensor]
    buffers: Mapping[str, torch.Tensor]
    leaves: Sequence[Any]
    structure: pytree.TreeSpec
    stamp: Hashable
    has_layouts: bool = False

    @staticmethod
    def of(module: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any], has_layouts: bool = False) -> Call:
        leaves, structure = pytree.tree_flatten((tuple(args), dict(kwargs)))
        leaves = [x.resolve_neg() if isinstance(x, torch.Tensor) and x.is_neg() else x for x in leaves]
        weights = dict(module.named_parameters()), dict(module.named_buffers())
        return Call(*weights, leaves, structure, stamp(module), has_layouts)

    @property
    def inputs(self) -> list[torch.Tensor]:
        """Return the tensors among the arguments."""
        return [x for x in self.leaves if isinstance(x, torch.Tensor)]

    @functools.cached_property
    def key(self) -> Hashable:
        """Return a value that is equal for calls of the same program."""
        return self.keyed({})

    def keyed(self, shapes: Mapping[int, Hashable]) -> Hashable:
        """Return such a key with something else in place of the shapes of some inputs, by their numbers."""
        own = tuple((n, *_memory(t), t.shape) for n, t in (*self.parameters.items(), *self.buffers.items()))
        numbers, look = iter(range(len(self.leaves))), Look(inside=True)
        kinds = tuple(
            (*_memory(x), shapes.get(next(numbers), x.shape)) if isinstance(x, torch.Tensor) else content(x, look)
            for x in self.leaves
        )
        settings = (torch.get_default_dtype(), torch.is_autocast_enabled("cpu"))
        return (self.structure, kinds, own, self.stamp, settings, self.layouts if self.has_layouts else None)

    @property
    def layouts(self) -> Hashable:
        """Return how tensors lie in memory."""
        return tuple((x.stride(), x.storage_offset()) for x in (*self.parameters.values(), *self.inputs))

    def rebuild(self, tensors: Sequence[torch.Tensor]) -> tuple[tuple, dict]:
        """Return the arguments with other tensors in place."""
        remaining = iter(tensors)
        leaves = [next(remaining) if isinstance(x, torch.Tensor) else x for x in self.leaves]
        return pytree.tree_unflatten(leaves, self.structure)


def _memory(x: torch.Tensor) -> tuple[Hashable, ...]:
    """Return what a program has to know of a tensor's memory besides its shape."""
    return (x.dtype, x.device, x.layout, type(x), x._is_zerotensor())


def is_sharded(module: nn.Module) -> bool:
    """True of a module whose parameters PyTorch has divided among ranks (FSDP, first and second version)."""
    return getattr(module, "_is_fsdp_managed_module", False) or type(module).__name__.startswith("FSDP")
