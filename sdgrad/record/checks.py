"""Record checks: ``assert`` and ``raise`` that depend on what only a run knows.

A check that fails leaves its number in one integer of the program, and the call raises the exception. Of several it is
the one that was recorded first: numbers count down.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import sympy

from sdgrad.program.naming import STATUS
from sdgrad.program.tree import SCALAR, Store
from sdgrad.record.elementwise import apply, compute
from sdgrad.record.guards import uncaught
from sdgrad.record.index_ranges import plain
from sdgrad.record.outside import shown_line
from sdgrad.record.recorder import ONLY_DATA, Recorder
from sdgrad.record.tensors import Tensor
from sdgrad.record.values import RULES, Number, is_positive
from sdgrad.runtime.call.checks import LAST, Checks

WHOLE = np.dtype(np.int64)


def require(recorder: Recorder, condition: Any, error: BaseException) -> None:
    """Record that a condition has to hold, or else the call raises an error."""
    _fail_if(recorder, apply(np.logical_not, [condition]), error)


def require_of_function(recorder: Recorder, condition: Any, error: BaseException) -> None:
    """Record that a condition has to hold for a function that the user calls: the error shows the line."""
    uncaught(recorder, error)
    require_unseen(recorder, condition, error)


def require_unseen(recorder: Recorder, condition: Any, error: BaseException) -> None:
    """Record what Python does not ask for, so that no handler of the function would see the error."""
    line, told = shown_line(recorder.where()), str(error.args[0]) if error.args else ""
    if not told.startswith(line):
        error.args = (f"{line}{told}", *error.args[1:])
    _leave_number(recorder, apply(np.logical_not, [condition]), error)


def fail(recorder: Recorder, error: BaseException) -> None:
    """Record that the call raises an error if it comes here."""
    _fail_if(recorder, True, error)


def _fail_if(recorder: Recorder, failed: Any, error: BaseException) -> None:
    uncaught(recorder, error, getattr(failed, "origin", frozenset()))
    _leave_number(recorder, failed, error)


def _leave_number(recorder: Recorder, failed: Any, error: BaseException) -> None:
    fail_with(recorder, failed, LAST - len(errors(recorder)))
    errors(recorder).append(error)


def errors(recorder: Recorder) -> list[BaseException]:
    """Return the exceptions of the checks so far."""
    if recorder.checks is None:
        tensor = recorder.declare(recorder.names.fresh(STATUS), (), WHOLE, argument=True)
        made: list[BaseException] = []
        recorder.checks = (tensor, made)
        recorder.inputs[tensor.container] = Checks(made)
    return recorder.checks[1]


def fail_with(recorder: Recorder, failed: Any, number: Any) -> None:
    """Leave the number of a failed check, unless an earlier one failed: a maximum, which takes no order of loops."""
    errors(recorder)
    assert recorder.checks is not None
    if failed is not True:
        number = compute("{1} if {0} else 0", [failed, number], [np.dtype(bool), WHOLE], WHOLE)
    name = recorder.named(recorder.element(number, WHOLE))
    recorder.add(Store(recorder.checks[0].container, SCALAR, name, "max"))


@contextmanager
def apart(recorder: Recorder) -> Iterator[tuple[Checks, Tensor]]:
    """Let checks leave their numbers in memory of their own: a node has it among its results (:func:`take_over`)."""
    status = recorder.declare("status", (), WHOLE)
    recorder.write(status, (), 0)
    made: list[BaseException] = []
    before, recorder.checks = recorder.checks, (status, made)
    try:
        yield Checks(made), status
    finally:
        recorder.checks = before


def agree(recorder: Recorder, *shapes: Sequence[Any]) -> None:
    """Record that extents which only a run knows are equal, where shapes are broadcast to one."""
    rank = max(map(len, shapes), default=0)
    for extents in zip(*((1,) * (rank - len(s)) + tuple(s) for s in shapes), strict=True):
        wide = [n for n in extents if n != 1]
        first = next((n for n in wide if isinstance(n, int)), wide[0] if wide else 1)
        for other in wide:
            if isinstance(other, int) or sympy.expand(plain(first) - plain(other)) == 0:
                continue
            sizes = (n if isinstance(n, int) else recorder.symbolic(n, ONLY_DATA) for n in (first, other))
            told = f"operands of sizes {first} and {other}, which only a run knows: they are not equal"
            require_of_function(recorder, apply(np.equal, list(sizes)), ValueError(told))


def within(recorder: Recorder, bound: Any, extent: Any) -> None:
    """Record that the bound of a slice, which only a run knows, lies in its array: NumPy would cut it off."""
    if not isinstance(bound, Number) or plain(extent - bound.expr).is_nonnegative and is_positive(bound):
        return
    if (fits := recorder.hints.fits_of(bound.expr, extent)) is not None:
        if not recorder.hints.takes(fits):
            raise recorder.hints.fix({("argument", name) for _, name in fits.symbols})
        return
    if all(isinstance(o, tuple) and o[0] == "argument" for o in bound.origin):
        raise recorder.hints.fix(bound.origin)
    size = extent if isinstance(extent, int) else recorder.symbolic(extent, ONLY_DATA)
    inside = apply(np.logical_and, [apply(np.greater_equal, [bound, 0]), apply(np.less_equal, [bound, size])])
    told = f"a slice that only a run knows begins or ends outside of its {extent} elements"
    require_of_function(recorder, inside, IndexError(told))


RULES.agree, RULES.within, RULES.require = agree, within, require_of_function


def take_over(recorder: Recorder, checks: Checks, status: Tensor) -> None:
    """Record that the checks of a program that was called are checks of this one."""
    own = errors(recorder)
    found: Number = recorder.read(status, ())
    offset = len(own)
    fail_with(recorder, apply(np.not_equal, [found, 0]), apply(np.subtract, [found, offset]))
    own.extend(checks.errors)
