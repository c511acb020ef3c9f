"""Start a recording again so that what decides something is known: the last means before a refusal."""

from __future__ import annotations

from typing import Any

import numpy as np

from sdgrad.record.restart import Restart
from sdgrad.record.values import DATA, KNOWN, Origin, is_recorded

MOST_TRIES = 3  # at one place: arrays that the function makes are others in each recording, and never become known


def settle(recorder: Any, origin: Origin) -> None:
    """Start again where what something depends on can be known: arguments, trips of loops, arrays of integers.

    The content of an array of integers is part of what the program is made for then: a mesh, a graph, labels.

    :raises Restart: it can.
    """
    if recorder.over:
        return
    if DATA not in origin and (rest := origin - {KNOWN}):
        raise recorder.hints.fix(rest)
    tries, site = recorder.hints.settled, recorder.site()
    if tries.get(site, 0) < MOST_TRIES and freeze(recorder):
        tries[site] = tries.get(site, 0) + 1
        raise Restart(recorder.hints)
    for around in {id(v.recorder): v.recorder for v, _ in recorder.outer.values() if is_recorded(v)}.values():
        settle(around, frozenset({DATA}))  # what the recording around this one has taken


def freeze(recorder: Any) -> bool:
    """Ask for the content of all arrays from outside, and of arguments that hold integers; False if it is known."""
    hints = recorder.hints
    arrays = {k for k, (v, _) in recorder.outer.items() if isinstance(v, np.ndarray)}
    new = arrays - hints.frozen, hints.countable - hints.fixed
    hints.frozen |= new[0]
    hints.fixed |= new[1]
    return any(new)
