"""Trace a module with ``torch.export``: quietly, with gradients, with errors that say what to do."""

from __future__ import annotations

import contextlib
import io
import logging
import threading
import traceback
import warnings
from collections.abc import Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from types import FrameType
from typing import Any

import torch

from sdgrad.errors import CaptureError, Problem
from sdgrad.torch.questions import kept_as_they_are
from sdgrad.torch.translate import FALLBACK

_local = threading.local()


def capturing() -> bool:
    """True if a module is being traced in this thread: wrapped modules inside it run as they are."""
    return getattr(_local, "depth", 0) > 0


@contextlib.contextmanager
def uncompiled() -> Iterator[None]:
    """Let wrapped modules run as they are, in this thread."""
    _local.depth = getattr(_local, "depth", 0) + 1
    try:
        with kept_as_they_are():
            yield
    finally:
        _local.depth -= 1


@contextlib.contextmanager
def tracing(label: str) -> Iterator[None]:
    """Trace quietly, with gradients, without fast paths that hide operations; turn errors into ours."""
    fast = torch.backends.mha.get_fastpath_enabled()
    apply = vars(torch.autograd.Function)["apply"]
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    torch.backends.mha.set_fastpath_enabled(False)
    torch.autograd.Function.apply = classmethod(_refuse_function)  # type: ignore[assignment,method-assign]
    try:
        text = io.StringIO()  # torch.export prints graphs when it fails
        with uncompiled(), warnings.catch_warnings(), torch.enable_grad(), redirect_stdout(text), redirect_stderr(text):
            warnings.simplefilter("ignore")
            yield
    except CaptureError:
        raise
    except Exception as error:  # noqa: BLE001 (torch.export has errors of many kinds)
        raise CaptureError(label, [_explained(error)]) from error
    finally:
        torch.autograd.Function.apply = apply  # type: ignore[method-assign]
        torch.backends.mha.set_fastpath_enabled(fast)
        logging.disable(disabled)


def _refuse_function(cls: type, *args: Any, **kwargs: Any) -> Any:
    """Raise an error for a ``torch.autograd.Function``: tracing does not see its backward."""
    what = getattr(cls, "described", lambda *_: f"torch.autograd.Function '{cls.__name__}'")(*args)
    problem = Problem(what, "it has a backward of its own, which tracing does not see", _line_called(), FALLBACK)
    raise CaptureError(what, [problem])


def _explained(error: Exception) -> Problem:
    """Return an error of ``torch.export``, shortened to its statement."""
    text = str(error).strip().splitlines() or [type(error).__name__]
    message = next((line.strip() for line in text if line.strip()), "")
    data = any(word in str(error) for word in ("data-dependent", "GuardOnDataDependent", "unbacked", "DynamicValue"))
    what = "control flow, or a size, that depends on the content of a tensor" if data else type(error).__name__
    if "Constraints violated" in message:
        said = next((line.strip(" -") for line in text if line.lstrip().startswith("- ")), message)
        hint = "leave it out of dynamic_shapes, or give a torch.export.Dim with a range that the module allows"
        return Problem("a size that is said to change", said.split(". ")[0], "", hint)
    if "fake tensor in the exported program constant's list" in message:
        reason = "it is the memory of another tensor, and tracing does not see what is written there"
        hint = "take x.detach(), or write a new tensor; for torch.autograd.grad of layers, write its formula, or "
        return Problem("x.data", reason, _line_of(error), hint + FALLBACK)
    if any(f.f_locals.get("batch_sizes") is not None for f, _ in traceback.walk_tb(error.__traceback__)):
        hint = "run the layer on padded sequences, and take y[torch.arange(len(n)), n - 1] as its last results; "
        return Problem(
            "a packed sequence", "its sizes depend on the content of lengths", _line_of(error), hint + FALLBACK
        )
    if "is not equal to" in message and "size()" in message:
        return Problem("dimensions of one name", message, "", "give dimensions that differ names of their own")
    return Problem(what, message[:300], _line_of(error), FALLBACK)


def _line_of(error: BaseException) -> str:
    """Return the innermost line outside of PyTorch where an error came up."""
    return _innermost(traceback.walk_tb(error.__traceback__))


def _line_called() -> str:
    """Return the innermost line outside of PyTorch that is running."""
    return _innermost(reversed(list(traceback.walk_stack(None))))


def _innermost(frames: Iterable[tuple[FrameType, int]]) -> str:
    """Return the last line outside of PyTorch, and of what we add to it."""
    own = [(f.f_code.co_filename, line) for f, line in frames]
    outside = [f"{name}:{line}" for name, line in own if "/torch/" not in name and "<" not in name]
    return outside[-1] if outside else ""
