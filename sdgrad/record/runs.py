"""Hold the scalar leaf that is being recorded."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import Any

from sdgrad.program.tree import Instr, Source
from sdgrad.record.values import Number


@dataclass
class Run:
    """Hold the open scalar leaf: instructions, what was loaded, and the numbers that may be needed afterwards."""

    body: list[Instr] = field(default_factory=list)
    loaded: dict[Any, str] = field(default_factory=dict)
    wrapped: dict[Any, Any] = field(default_factory=dict)  # subscripts that count from the beginning
    stored: set[str] = field(default_factory=set)
    numbers: list[weakref.ref[Number]] = field(default_factory=list)
    source: Source = Source()
