"""Describe rules of nodes of ours: what they take is known by name when the node is recorded."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

from sdgrad.record.calls import WorksInside


class NamedRule(WorksInside):
    """Base of the rules.

    :cvar label: what the rule is called.
    """

    label: ClassVar[str]

    @property
    def taken(self) -> tuple[str, ...]:
        """Return the names of the arguments, in order."""
        raise NotImplementedError

    @property
    def __name__(self) -> str:
        return self.label

    @property
    def __signature__(self) -> inspect.Signature:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature([inspect.Parameter(n, kind) for n in self.taken])

    def named(self, values: tuple) -> dict[str, Any]:
        """Return arguments by name."""
        return dict(zip(self.taken, values, strict=True))
