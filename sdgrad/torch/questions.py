"""Notice what a module asks of its tensors beside numbers, and of PyTorch's switches: a trace keeps the answers."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import torch

from sdgrad.torch.read_outside import is_own, read_by

LAYOUT = (torch.Tensor.is_contiguous, torch.Tensor.stride, torch.Tensor.storage_offset)
"""Questions whose answers are a part of what decides which program a call needs, once they are asked."""
SLOTS: Any = torch.Tensor
OF_GRADIENTS = {getattr(SLOTS, n).__get__: f"x.{n}" for n in ("requires_grad", "is_leaf", "grad_fn")}
"""Questions that are refused: a trace has gradients, whatever a call has."""
HOOKS = {SLOTS.register_hook: "x.register_hook", SLOTS.retain_grad: "x.retain_grad"}
"""What is done in a backward pass of PyTorch's own."""
SWITCHES = ("is_grad_enabled", "is_inference_mode_enabled")
IMPORTED = tuple(getattr(torch, n) for n in SWITCHES)
LIBRARIES = (torch.__path__[0], str(Path(__file__).parents[1]))


def asked_outside(depth: int) -> bool:
    """True if a caller is no code of PyTorch's, or of ours, which give the same result for each answer."""
    return not sys._getframe(depth + 1).f_code.co_filename.startswith(LIBRARIES)


def keeps_otherwise() -> bool:
    """True inside of hooks that change what is kept for backward; PyTorch's own keep it elsewhere."""
    hooks = torch._C._autograd._top_saved_tensors_default_hooks(True)
    return hooks is not None and not getattr(hooks[0], "__module__", "").startswith(("torch.", __name__))


def _as_it_is(x: torch.Tensor) -> torch.Tensor:
    return x


def kept_as_they_are() -> contextlib.AbstractContextManager:
    """Keep what the body saves for backward from hooks around it, such as those of a checkpoint, which counts it."""
    if torch._C._autograd._top_saved_tensors_default_hooks(True) is None:
        return contextlib.nullcontext()
    return torch.autograd.graph.saved_tensors_hooks(_as_it_is, _as_it_is)


def switches_of(module: torch.nn.Module) -> Iterator[str]:
    """Yield the names by which a module, or what it calls, asks for switches that are imported: these are not noted."""
    owners: list[FunctionType | type] = [type(module)]
    owners += [v for v in vars(module).values() if isinstance(v, FunctionType)]
    for owner in owners:
        yield from _imported_switches(owner, set())


def _imported_switches(owner: FunctionType | type, seen: set[int]) -> Iterator[str]:
    for holder, name in read_by(owner) if id(owner) not in seen else ():
        value = holder.get(name)
        seen.add(id(owner))
        if any(value is s for s in IMPORTED):
            yield name
        elif isinstance(value, FunctionType) and is_own(value):
            yield from _imported_switches(value, seen)


@contextlib.contextmanager
def switches_noted(note: Callable[[str], None]) -> Iterator[None]:
    """Say which switches of PyTorch the body asks for."""
    own = {name: getattr(torch, name) for name in SWITCHES}

    def noting(name: str) -> Callable[[], bool]:
        def asked() -> bool:
            if asked_outside(1):
                note(f"torch.{name}()")
            return own[name]()

        return asked

    try:
        for name in SWITCHES:
            setattr(torch, name, noting(name))
        yield
    finally:
        for name, function in own.items():
            setattr(torch, name, function)
