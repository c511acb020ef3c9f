"""Define the library node that drives loops with checkpoints: it says what runs next (``sdgrad_schedule.h``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import dace
import dace.library
from dace import nodes as nd
from dace import properties
from dace.transformation.transformation import ExpandTransformation

from sdgrad.runtime import INCLUDE
from sdgrad.runtime.libraries.triangular_solve import LOOPS, cpp_tasklet

HEADER = str(INCLUDE / "sdgrad_schedule.h")
PARTS = ("more", "restore", "save", "first", "taped", "last", "into", "until", "back", "out_of")
"""The numbers that say what runs next, in the order of ``CheckpointSchedule``."""

CODE = {
    "start": "sdgrad::start_schedule({numbers}, _numbers);",
    "forwards": "reinterpret_cast<sdgrad::CheckpointSchedule *>(_numbers)->next(false);",
    "backwards": "reinterpret_cast<sdgrad::CheckpointSchedule *>(_numbers)->next(true);",
}


def count_of_numbers(state: int, room: int) -> int:
    """Return how many numbers a schedule has: as ``schedule_items`` counts them, with those before the items."""
    return 19 + 4 * (2 * (room // state) + 2)


@dace.library.expansion
class ExpandCall(ExpandTransformation):
    """Expand to a call."""

    environments: ClassVar[list] = []

    @staticmethod
    def expansion(node: CheckpointSchedule, state: dace.SDFGState, sdfg: dace.SDFG, **kwargs: Any) -> nd.Tasklet:
        """Return the tasklet."""
        numbers = (dace.symbolic.symstr(dace.symbolic.pystr_to_symbolic(n), cpp_mode=True) for n in node.given)
        code = CODE[node.kind].format(numbers=", ".join(f"int64_t({n})" for n in numbers))
        given, types = ({c: dace.pointer(dace.int64)} for c in ("_was", "_numbers"))
        return cpp_tasklet(node, given if state.in_edges(node) else {}, types, code, HEADER)


@dace.library.node
class CheckpointSchedule(nd.LibraryNode):
    """Say what runs next, in the array ``_numbers`` that holds the schedule: the first are :data:`PARTS`.

    ``start`` begins with the numbers ``given``: trips, units of a state, units of a tape, units of room, and 1 if tapes
    may stay. ``forwards`` and ``backwards`` find the next part of the way; ``_was`` is the same array.
    """

    implementations: ClassVar[dict[str, type]] = {LOOPS: ExpandCall}
    default_implementation: ClassVar[str] = LOOPS

    kind = properties.Property(dtype=str, default="start", choices=list(CODE))
    given = properties.ListProperty(element_type=str, default=[])

    def __init__(self, kind: str = "start", given: Sequence[str] = ()) -> None:
        inputs = set() if kind == "start" else {"_was"}
        super().__init__(f"schedule_{kind}", inputs=inputs, outputs={"_numbers"})
        self.kind, self.given = kind, list(given)

    @property
    def free_symbols(self) -> set[str]:
        """Return the symbols of the numbers given."""
        return {str(s) for n in self.given for s in dace.symbolic.pystr_to_symbolic(n).free_symbols}
