"""Register rules by operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Rule = Callable[..., Any]
RULES: dict[str, Rule] = {}


def aten(*names: str) -> Callable[[Rule], Rule]:
    """Register a function for overloads of ATen, such as ``add.Tensor``."""

    def register(rule: Rule) -> Rule:
        for name in names:
            RULES[name] = rule
        return rule

    return register
