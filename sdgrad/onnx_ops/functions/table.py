"""Register functions of arrays by the name that a node gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

FUNCTIONS: dict[str, Callable[..., Any]] = {}


def recorded(name: str) -> Callable[[Callable], Callable]:
    """Register a function of arrays; what it takes by keyword comes from the node."""

    def register(function: Callable) -> Callable:
        FUNCTIONS[name] = function
        return function

    return register
