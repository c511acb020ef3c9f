"""Define library nodes that know a program that computes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from dace import data as dt

from sdgrad.program.tree import Program


@runtime_checkable
class Lowered(Protocol):
    """A library node that is replaced by its program when a graph is read."""

    declined: str  # why there is none, where :meth:`lowered` has returned None

    def lowered(self, operands: Mapping[str, dt.Data]) -> Program | None:
        """Return the node as a program whose arguments are its connectors; None if it has to stay a node.

        :param operands: descriptors of what its connectors are, by connector.
        """
