"""Bound what a process keeps of functions: it may make any number of them."""

from __future__ import annotations

from typing import Any

MOST_FUNCTIONS = 1024
"""Functions whose normal forms are kept: some 100 KB each."""
MOST_DIFFERENTIATED = 64
"""Adjoints that are kept after they are compiled, for those who ask what was made: some 100 KB each."""


def forget_oldest(most: int, first: dict[Any, Any], *others: dict[Any, Any]) -> None:
    """Remove the oldest entries of a dictionary beyond a number, and what others have of the same keys."""
    if len(first) <= most:
        return
    for oldest in list(first)[:-most]:
        for known in (first, *others):
            known.pop(oldest, None)
