"""Compare a captured module with the module itself, once for each program."""

from __future__ import annotations

import pickle
import random
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.func import functional_call
from torch.nn.utils.prune import BasePruningMethod
from torch.utils import _pytree as pytree

from sdgrad.errors import CaptureError, Problem
from sdgrad.torch.call import Call
from sdgrad.torch.hidden_writes import watched
from sdgrad.torch.questions import switches_of
from sdgrad.torch.watch import hooks_of_own, stamp

TOLERANCE = {torch.float16: 5e-2, torch.float32: 5e-3, torch.float64: 1e-6}
"""What results may differ by, in parts of the largest number of a tensor: rounding, in whatever order sums are made."""


class Holder(nn.Module):
    """A module and the function of it that is called: its hooks stay outside."""

    called: Callable

    def __init__(self, module: nn.Module, forward: Callable) -> None:
        super().__init__()
        self.held = module
        self.__dict__["called"] = forward

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.called(self.held, *args, **kwargs)


def called_with(holder: Holder, state: dict[str, torch.Tensor], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Call a module with other parameters and buffers, and put its own back.

    :param state: tensors by name; those that a call puts in place of buffers are there afterwards.
    """
    own = {**dict(holder.named_parameters()), **dict(holder.named_buffers())}
    given = {id(t): state[n] for n, t in own.items() if n in state}
    slots = {}  # each by one name: PyTorch would swap that of a module with two names twice, and back once
    for prefix, module in holder.named_modules():
        for name, t in (*module._parameters.items(), *module._buffers.items()):
            if id(t) in given:
                path = f"{prefix}.{name}"
                slots[path] = state.get(path, given[id(t)])
    found = functional_call(holder, slots, tuple(args), dict(kwargs), tie_weights=False)
    state |= {n: slots[n] for n in state if n in slots}
    return found


@dataclass(frozen=True)
class Expected:
    """Hold what the module itself gives, and the state of PyTorch's generator afterwards.

    :param outside: tensors that it reads and that are neither its own nor given, with their versions.
    :param asks_layout: it asks how tensors lie in memory.
    """

    leaves: Sequence[Any]
    generator: torch.Tensor
    outside: Sequence[tuple[weakref.ref, int]]
    asks_layout: bool


def expected(module: nn.Module, forward: Callable, call: Call) -> Expected:
    """Run the module itself; its buffers, its arguments and PyTorch's generator stay as they are.

    :raises CaptureError: the call does what would be done once only: it sets attributes, or draws Python's numbers.
    """
    label, shown = type(module).__name__, stamp(module, inside=False)
    before, numbers, arrays = torch.get_rng_state(), random.getstate(), np.random.get_state(legacy=False)
    copies = {f"held.{n}": t.clone() for n, t in call.buffers.items()}
    state = {**{f"held.{n}": t for n, t in call.parameters.items()}, **copies}
    args, kwargs = call.rebuild([_carrying(x.detach().clone()) for x in call.inputs])
    given = [x for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
    with hooks_of_own(module), watched((*state.values(), *given)) as hidden:
        for name in dict.fromkeys(n for m in module.modules() for n in switches_of(m)):
            hidden.asked(f"{name}()")
        found = called_with(Holder(module, forward), state, args, kwargs)
    after = torch.get_rng_state()
    torch.set_rng_state(before)
    if hidden.problems:
        raise CaptureError(label, list(dict.fromkeys(hidden.problems)))
    if stamp(module, inside=False) != shown:
        reason = "what it assigns would stay as it is in the first call"
        raise CaptureError(label, [Problem("a call that sets an attribute", reason, "", _instead_of_hooks(module))])
    if random.getstate() != numbers:
        random.setstate(numbers)
        raise CaptureError(label, [Problem("Python's random numbers", "they would stay as they are in the first call")])
    if pickle.dumps(np.random.get_state(legacy=False)) != pickle.dumps(arrays):  # it has arrays
        np.random.set_state(arrays)
        raise CaptureError(label, [Problem("NumPy's random numbers", "they would stay as they are in the first call")])
    if opaque := [x for x in pytree.tree_leaves(found) if _holds_tensors(x)]:
        hint = "return a tuple, list or dict; torch.export.register_dataclass makes a dataclass known as one"
        of = f"a result of type {type(opaque[0]).__name__} that holds tensors"
        raise CaptureError(label, [Problem(of, "tracing does not look into it", "", hint)])
    leaves = [x.detach() if isinstance(x, torch.Tensor) else x for x in pytree.tree_leaves(found)]
    return Expected(leaves, after, hidden.outside, hidden.asks_layout)


def _holds_tensors(x: Any) -> bool:
    """True of an object that has tensors as attributes, or in collections that are attributes."""
    if isinstance(x, (torch.Tensor, type)):
        return False
    own = [*getattr(x, "__dict__", {}).values()] + [getattr(x, n, None) for n in getattr(x, "__slots__", ())]
    return any(isinstance(y, torch.Tensor) for y in pytree.tree_leaves(own))


def _instead_of_hooks(module: nn.Module) -> str:
    """Say what to write in place of PyTorch's hooks that set a weight in each call; empty if there are none."""
    hooks = {type(h) for m in module.modules() for h in m._forward_pre_hooks.values()}
    if any(issubclass(kind, BasePruningMethod) for kind in hooks):
        masked = "torch.nn.utils.parametrize.register_parametrization, with a module that multiplies by the mask"
        return f"torch.nn.utils.prune.remove makes a pruned weight a parameter; to train with its mask, use {masked}"
    if any(kind.__module__.startswith("torch.nn.utils.") for kind in hooks):
        return "use the function of the same name of torch.nn.utils.parametrizations"
    return ""


def _carrying(x: torch.Tensor) -> torch.Tensor:
    """Return a tensor that carries a gradient, and may be written, if it is of a kind that can."""
    return x.requires_grad_() * 1 if x.dtype.is_floating_point or x.dtype.is_complex else x


def compare(label: str, wanted: Expected, found: Any) -> None:
    """Raise an error if a captured module gives something else than the module itself.

    :raises CaptureError: which result, and by how much.
    """
    problems = []
    leaves = pytree.tree_leaves(found)
    if len(leaves) != len(wanted.leaves):
        problems.append(Problem("the results", f"there are {len(leaves)}, and the module has {len(wanted.leaves)}"))
    for k, (mine, own) in enumerate(zip(leaves, wanted.leaves, strict=False)):
        if message := _difference(mine, own):
            problems.append(Problem(f"result {k}", message, "", "please report this, with the module"))
    if not torch.equal(torch.get_rng_state(), wanted.generator):
        problems.append(Problem("random numbers", "as many were not drawn as by the module itself"))
    if problems:
        raise CaptureError(label, problems)


def _difference(mine: Any, own: Any) -> str:
    """Say how a result differs from the module's own; empty if it does not."""
    if not isinstance(own, torch.Tensor) or not isinstance(mine, torch.Tensor):
        return "" if type(mine) is type(own) else f"it is {mine!r}, and {own!r} from the module itself"
    if mine.dtype != own.dtype or mine.shape != own.shape:
        return f"it is {mine.dtype} of shape {tuple(mine.shape)}, and {own.dtype} of shape {tuple(own.shape)} eagerly"
    if not own.numel():
        return ""
    if own.dtype not in TOLERANCE:
        return "" if torch.equal(mine, own) else "its numbers are not those of the module itself"
    limit = TOLERANCE[own.dtype]
    largest = own.abs().nan_to_num(0, 0, 0).max().item()
    if torch.allclose(mine.detach(), own, rtol=limit, atol=limit * largest + 1e-12, equal_nan=True):
        return ""
    return f"it differs from the module's own by up to {(mine - own).abs().max().item():.3g}, of {largest:.3g}"
