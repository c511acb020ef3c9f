"""Collect the signatures of functions that are made on the way to another one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

_inner: list[list[Any]] = []  # of functions that are made on the way to others


@contextlib.contextmanager
def collecting() -> Iterator[list[Any]]:
    """Collect the signatures of functions that are made on the way to another one."""
    made: list[Any] = []
    _inner.append(made)
    try:
        yield made
    finally:
        _inner.pop()


def noted(*made: Any) -> None:
    """Note signatures for what is made of them."""
    if _inner:
        _inner[-1].extend(made)
