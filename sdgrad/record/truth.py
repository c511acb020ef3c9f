"""Take values where Python takes a truth: in conditions, and in ``and`` and ``or``."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from functools import partial
from typing import Any

import numpy as np

from sdgrad.errors import ParseError
from sdgrad.program.tree import Index, Leaf, Node
from sdgrad.record.choices import Choice, truth
from sdgrad.record.elementwise import apply
from sdgrad.record.functions.table import FUNCTIONS, own
from sdgrad.record.growth import shown
from sdgrad.record.indexing import item
from sdgrad.record.outside import check_met, held_outside
from sdgrad.record.python_state import PythonState
from sdgrad.record.restart import ArmEnds, Restart
from sdgrad.record.values import Array, is_recorded


def joined(parts: Sequence[Callable[[], Any]], ufunc: np.ufunc, ends: bool, choose: Callable) -> Any:
    """Return ``and`` or ``or`` of some operands: one of these, as in Python.

    :param ends: the truth that decides.
    :param choose: records a conditional expression.
    """
    value = scalar(parts[0]())
    for part in parts[1:]:
        if is_recorded(value):
            recorder, site = value.recorder, value.recorder.site()
            if site in recorder.hints.choices:
                value = scalar(_chosen(value, part, ends, choose))
                continue
            other = scalar(alone(recorder, site, part))
            if not is_recorded(other) and not isinstance(other, (bool, int, float, np.generic)):
                raise ParseError("'and' and 'or' of what only a run knows and an object of Python's")
            if is_truth(value) and is_truth(other):
                value = apply(ufunc, [value, other])
            else:  # one of its operands, as in Python
                value = FUNCTIONS[np.where](value, *((other, value) if ufunc is np.logical_and else (value, other)))
        elif bool(value) is not ends:
            value = scalar(part())
    return value


def chained(operators: Any, first: Any, rest: Sequence[tuple[str, Callable[[], Any]]]) -> Any:
    """Return ``a < b < c``: an operand is computed only if all comparisons before it held."""
    left, value = first, True
    for k, (word, operand) in enumerate(rest):
        if is_recorded(value):
            recorder, site = value.recorder, value.recorder.site()
            if site in recorder.hints.choices:
                return operators.choose(value, partial(chained, operators, left, rest[k:]), lambda: False)
            right = alone(recorder, site, operand, is_compared=True)
        else:
            right = operand()
        new = operators.compare(word, left, right)
        if not is_recorded(new) and not new and not is_recorded(value):
            return new
        value = apply(np.logical_and, [value, new]) if is_recorded(value) or is_recorded(new) else new
        left = right
    return value


def _chosen(value: Any, part: Callable[[], Any], ends: bool, choose: Callable) -> Any:
    """Record an operand that is computed only if the one before does not decide."""
    return choose(value, lambda: value, part) if ends else choose(value, part, lambda: value)


def alone(recorder: Any, site: Any, part: Callable[[], Any], is_compared: bool = False) -> Any:
    """Return an operand that only computes a value; start again if it does more: it may not be computed at all.

    :param is_compared: nothing else is done with it, so that it has no derivative; a truth value has none either.
    """
    before, block = PythonState.of({"part": part}, held_outside(recorder)), list[Any]()
    known = set(recorder.containers)
    recorder.arms += 1
    found: Any = None
    ends = False
    with recorder.inside(block):
        try:
            found = part()
        except ArmEnds:  # it raises, perhaps
            ends = True
    recorder.arms -= 1
    check_met(recorder, before)
    computes = is_compared or is_truth(found)  # else its derivative may be infinite where it is not computed
    computes = not block or computes and all(_only_computes(n, known, recorder) for n in block)
    if ends or before.changes() or not computes:
        recorder.hints.choices.add(site)
        raise Restart(recorder.hints)
    if block:
        recorder.append(*block)
    return found


def _only_computes(node: Node, known: Set[str], recorder: Any) -> bool:
    """True of code that reads numbers and elements at known places, and writes new numbers: nothing fails there."""
    return (
        isinstance(node, Leaf)
        and not node.params
        and all(s.container not in known and s.mode == "set" for s in node.stores)
        and all(_is_inside(x.index, recorder.containers[x.container].shape) for x in node.accesses)
    )


def _is_inside(index: Index, shape: Sequence[Any]) -> bool:
    """True if known subscripts lie within known sizes."""
    return all(i.is_Integer and (n - i).is_Integer and 0 <= i < n for i, n in zip(index, shape, strict=True))


def scalar(value: Any) -> Any:
    """Return the only element of an array, as a condition takes it."""
    if isinstance(value, Choice):
        return truth(value)
    value = own(value)
    shown(value)
    if isinstance(value, Array):
        if value.size != 1:
            raise ValueError(
                "the truth value of an array with more than one element is ambiguous: use .any() or .all()"
            )
        return item(value, (0,) * value.ndim)
    return value


def is_truth(value: Any) -> bool:
    """True of booleans, recorded ones as well."""
    return isinstance(value, (bool, np.bool_)) or getattr(value, "dtype", None) == np.bool_
