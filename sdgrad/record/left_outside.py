"""Stand for what calls leave outside of a function, and for what they find there."""

from __future__ import annotations

from typing import Any

import numpy as np

from sdgrad.record.outside import MISSING, Place
from sdgrad.record.recorder import WEAK
from sdgrad.record.unusable import Unusable
from sdgrad.record.values import Number


class Left(Unusable):
    """Stand for what a call has left outside of the function.

    :param before: what was there.
    """

    def __init__(self, reason: str, before: Any) -> None:
        super().__init__(reason)
        self.before: Any = before.before if isinstance(before, Left) else before

    def __getattr__(self, name: str) -> Any:
        if name == "before":
            raise AttributeError(name)
        return super().__getattr__(name)


def left(place: Place) -> Left:
    """Return what stands for something recorded at a place outside."""
    before = place.old if place.old is not MISSING else getattr(type(place.owner), str(place.key), 0)
    return Left(f"{place.told()} has a value in the compiled program only: return it instead", before)


def found_outside(recorder: Any, value: Any, told: str) -> Any:
    """Return an input in place of a number that a function changes outside; all else is unchanged.

    It is refused later if results depend on it, and so on what the call before has left.
    """
    before = value.before if isinstance(value, Left) else value
    if type(before) not in WEAK:
        return value
    tensor = recorder.input("before", np.array(before))
    recorder.outside_places.found[tensor.container] = told
    return Number(recorder, tensor.dtype, True, frozenset(), tensor=tensor)
