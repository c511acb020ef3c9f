"""Let functions that were made while a function was recorded outlive the recording."""

from __future__ import annotations

from typing import Any

from sdgrad.convert.operators import Operators
from sdgrad.record.functions.table import active
from sdgrad.record.special_methods import RecordingOperators


class Escaped(RecordingOperators):
    """Record in another recording (a rule that is differentiated later); else do what Python does (a callback)."""

    def __getattribute__(self, name: str) -> Any:
        if active() is None and name in vars(Operators):
            return vars(Operators)[name].__get__(self)
        return super().__getattribute__(name)


def over(operators: RecordingOperators) -> None:
    """Say that a recording is over: converted code that is run afterwards is not part of it."""
    operators.__class__ = Escaped
