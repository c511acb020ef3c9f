"""Show the current work in a status line of the terminal; nothing if standard error is no terminal."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.status import Status

_shown: list[Status] = []
"""The status line, if one is shown."""
_changing = threading.Lock()


@contextlib.contextmanager
def working(on: str) -> Iterator[None]:
    """Show ``on`` in this context; the text before it comes back afterwards."""
    with _changing:
        first = not _shown and sys.stderr.isatty()
        if first:
            from rich.console import Console  # which takes a while to import

            _shown.append(Console(file=sys.stderr).status(on))
            _shown[0].start()
        status = _shown[0] if _shown else None
        before = status.status if status is not None else ""
        if status is not None:
            status.update(on)
    try:
        yield
    finally:
        with _changing:
            if first:
                _shown.pop().stop()
            elif status is not None:
                status.update(before)
