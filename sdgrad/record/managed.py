"""Enter and leave objects as ``with`` does."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from sdgrad.errors import SdgradError
from sdgrad.record.guards import guarded
from sdgrad.record.restart import Control


class Managed:
    """Enter and leave an object; it keeps neither refusals nor what starts a recording again.

    :param called: calls a method of the object, by its name.
    """

    def __init__(self, recorder: Any, value: Any, called: Callable[..., Any]) -> None:
        self._called = called
        self._guard = None
        if isinstance(value, contextlib.suppress):
            self._guard = guarded(recorder, lambda: value._exceptions)  # type: ignore[attr-defined]

    def __enter__(self) -> Any:
        found = self._called("__enter__")
        if self._guard is not None:
            self._guard.__enter__()
        return found

    def __exit__(self, *error: Any) -> Any:
        found = self._called("__exit__", *error)
        if self._guard is not None:
            self._guard.__exit__(*error)
        return False if error[0] is not None and issubclass(error[0], (Control, SdgradError)) else found
