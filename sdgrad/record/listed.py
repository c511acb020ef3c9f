"""Take, and replace, a part of a list at a position that only a run knows."""

from __future__ import annotations

from typing import Any

import numpy as np

from sdgrad.record.carried import is_value, shape_of
from sdgrad.record.elementwise import apply
from sdgrad.record.functions.table import FUNCTIONS
from sdgrad.record.sparse.known import refuse_filling
from sdgrad.record.values import RULES, Number, can_be_fixed

MOST = 64  # parts, each of which is compared with the position


def _is_open(owner: Any, index: Any) -> bool:
    """True of a short list of numbers, or of arrays of one shape, and a position that cannot be known beforehand."""
    if not isinstance(index, Number) or not isinstance(owner, (list, tuple)) or can_be_fixed(index.origin):
        return False
    if not 0 < len(owner) <= MOST or index.dtype.kind not in "iu" or not all(map(is_value, owner)):
        return False
    return len({shape_of(v) if np.ndim(v) else () for v in owner}) == 1


def part_of(owner: Any, index: Any) -> Any:
    """Return an entry of a list, a dict or another object; the call raises IndexError if a list has none there."""
    if not _is_open(owner, index):
        return owner[index]
    found = owner[0]
    for k, part in list(enumerate(owner))[1:]:
        found = FUNCTIONS[np.where](_is_at(owner, index, k), part, found)
    _check(owner, index)
    return found


def replace_part(owner: Any, index: Any, value: Any) -> None:
    """Put a value in place of an entry; the call raises IndexError if a list has none there."""
    if not isinstance(owner, list) or not is_value(value) or not _is_open(owner, index):
        refuse_filling(owner, value)
        owner[index] = value
        return
    _check(owner, index)
    owner[:] = [FUNCTIONS[np.where](_is_at(owner, index, k), value, part) for k, part in enumerate(owner)]


def _is_at(owner: Any, index: Number, k: int) -> Any:
    """Return whether a position, which may be counted from the end, is this one."""
    return apply(np.logical_or, [apply(np.equal, [index, k]), apply(np.equal, [index, k - len(owner)])])


def _check(owner: Any, index: Number) -> None:
    inside = [apply(np.greater_equal, [index, -len(owner)]), apply(np.less, [index, len(owner)])]
    RULES.require(index.recorder, apply(np.logical_and, inside), IndexError("list index out of range"))
