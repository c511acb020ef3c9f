"""Take what comes next of an iterator: of one from outside, each call takes something else."""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sdgrad.errors import ParseError
from sdgrad.record.functions.table import full_name
from sdgrad.record.libraries import is_users
from sdgrad.record.outside import Advanced

if TYPE_CHECKING:
    from sdgrad.record.recorder import Recorder

COUNTER = itertools.count
LEAVE_IT = (
    *(builtins.isinstance, builtins.type, builtins.id, builtins.hasattr, builtins.getattr, builtins.callable),
    *(builtins.repr, builtins.str, builtins.format, builtins.print, builtins.iter, builtins.hash, builtins.issubclass),
)
"""Functions that take nothing of an iterator."""
TAKING = ("__next__", "send", "throw", "read", "readline", "readlines", "readinto", "get", "get_nowait", "recv")
INSTEAD = "and a program is made once. Take it before the call, and pass it as an argument"


def taken(recorder: Recorder, *values: Any, by: Callable | None = None, owner: Any = None) -> None:
    """Note that something is drawn from generators or iterators.

    :param by: the function that is called with them; None: all that they give is taken.
    :param owner: of which it is a method.
    :raises ParseError: from one that was there before, whose next item is another one at each call.
    """
    recorder.outside_places.drawn(owner, *values)
    given = [] if any(by is f for f in LEAVE_IT) else [*values]
    if getattr(by, "__name__", "") in TAKING:
        given.append(owner)
    for source in given:
        if id(source) not in recorder.reads.sources or is_users(type(source)):
            continue
        what = f"what comes next of a {type(source).__name__} from outside of the function"
        raise ParseError(f"{what} is something else at each call, {INSTEAD}")
    if by is builtins.input:
        raise ParseError(f"{full_name(by)} gives something else at each call, {INSTEAD}")


def next_of(recorder: Recorder, source: Any, *otherwise: Any) -> Any:
    """Return the next item of an iterator; of a counter from outside, the one that this call began with comes first.

    :raises ParseError: another iterator from outside.
    """
    if not isinstance(source, COUNTER) or id(source) not in recorder.reads.sources:
        taken(recorder, source)
        return next(source, *otherwise)
    recorder.outside_places.drawn(source)
    before, items = recorder.hints.counted.setdefault(id(source), (Advanced(source, repr(source)), []))
    done = recorder.outside_places.counted
    position = done[id(source)] = done.get(id(source), -1) + 1
    if position == len(items):
        items.append(next(source))
    return items[position]
