"""Raise the exceptions of a program's checks: which one failed, the program says by a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

LAST = 2**31 - 1
"""The number of the first check. The largest number of a failed one stays."""


@dataclass(frozen=True, eq=False)
class Checks:
    """Hold the exceptions of a program, one for each check, numbered from :data:`LAST` down.

    It stands for an argument of one integer, which is zero before a call.
    """

    errors: Sequence[BaseException]

    def fresh(self) -> np.ndarray:
        """Return the argument before a call."""
        return np.zeros(1, np.int64)

    def done(self, found: Any) -> None:
        """Raise the exception of the check that failed, if any did: the first one recorded."""
        number = int(found[0])
        if number:
            raise _again(self.errors[LAST - number])


def _again(error: BaseException) -> BaseException:
    """Return a new exception like one, without calling its class, which may want other arguments."""
    new = type(error).__new__(type(error), *error.args)
    new.args = error.args
    new.__dict__.update(error.__dict__)
    new.__cause__, new.__suppress_context__ = error.__cause__, error.__suppress_context__
    return new


def first(given: Any, found: Any) -> None:
    """Raise the exception of a failed check of a call.

    :param given: arguments by name.
    :param found: what the program leaves in them.
    """
    for name, value in given.items():
        if isinstance(value, Checks) and name in found:
            value.done(found[name])
