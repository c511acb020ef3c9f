"""Give the state dict of a wrapped module the names of the module inside."""

from __future__ import annotations

from typing import Any

from torch import nn


def as_of_the_model(module: nn.Module, state: dict[str, Any], prefix: str, metadata: Any) -> None:
    """Rename what a wrapper has in a state dict to what the module inside has."""
    _rename(state, f"{prefix}model.", prefix)


def for_the_model(module: nn.Module, state: dict[str, Any], prefix: str, *rest: Any) -> None:
    """Rename what a module has in a state dict to what a wrapper of it has."""
    _rename(state, prefix, f"{prefix}model.")


def _rename(state: dict[str, Any], old: str, new: str) -> None:
    """Let names begin otherwise; all at once, as the name of one may be the old name of another."""
    found = {new + n[len(old) :] if n.startswith(old) else n: value for n, value in state.items()}
    state.clear()
    state.update(found)
