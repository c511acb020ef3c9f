"""Notice what a module asks of its tensors beside numbers, and of PyTorch's switches: a trace keeps the answers."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

LAYOUT = (torch.Tensor.is_contiguous, torch.Tensor.stride, torch.Tensor.storage_offset)
"""Questions whose answers are a part of what decides which program a call needs, once they are asked."""
SLOTS: Any = torch.Tensor
OF_GRADIENTS = {getattr(SLOTS, n).__get__: f"x.{n}" for n in ("requires_grad", "is_leaf", "grad_fn")}
"""Questions that are refused: a trace has gradients, whatever a call has."""
HOOKS = {SLOTS.register_hook: "x.register_hook", SLOTS.retain_grad: "x.retain_grad"}
"""What is done in a backward pass of PyTorch's own."""
SWITCHES = ("is_grad_enabled", "is_inference_mode_enabled")
LIBRARIES = (torch.__path__[0], str(Path(__file__).parents[1]))


def asked_outside(depth: int) -> bool:
    """True if a caller is no code of PyTorch's, or of ours, which give the same result for each answer."""
    return not sys._getframe(depth + 1).f_code.co_filename.startswith(LIBRARIES)


def keeps_otherwise() -> bool:
    """True inside of hooks that change what is kept for backward; PyTorch's own keep it elsewhere."""
    hooks = torch._C._autograd._top_saved_tensors_default_hooks(True)
    return hooks is not None and not getattr(hooks[0], "__module__", "").startswith("torch.")


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
