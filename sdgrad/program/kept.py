"""Keep what a function says of an object that never changes, in the object itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

Thing = TypeVar("Thing")
Answer = TypeVar("Answer")


def kept(function: Callable[[Thing], Answer]) -> Callable[[Thing], Answer]:
    """Let a function of one immutable object find its answer once, as ``cached_property`` does for a class."""
    place = f"_{function.__module__}.{function.__name__}"

    @wraps(function)
    def answer(thing: Thing) -> Answer:
        known = thing.__dict__
        if place not in known:
            known[place] = function(thing)
        return known[place]

    return answer
