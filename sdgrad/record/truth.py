"""Take values where Python takes a truth: in conditions, and in ``and`` and ``or``."""

from __future__ import annotations

from typing import Any

import numpy as np

from sdgrad.errors import ParseError
from sdgrad.record.elementwise import apply
from sdgrad.record.functions.table import FUNCTIONS, own
from sdgrad.record.indexing import item
from sdgrad.record.values import Array, is_recorded


def joined(parts: tuple, ufunc: np.ufunc, ends: bool) -> Any:
    """Return ``and`` or ``or`` of some operands: one of these, as in Python.

    :param ends: the truth that decides.
    """
    value = scalar(parts[0]())
    for part in parts[1:]:
        if is_recorded(value):
            other = scalar(part())
            if not is_recorded(other) and not isinstance(other, (bool, int, float, np.generic)):
                raise ParseError("'and' and 'or' of what only a run knows and an object of Python's")
            if is_truth(value) and is_truth(other):
                value = apply(ufunc, [value, other])
            else:  # one of its operands, as in Python
                value = FUNCTIONS[np.where](value, *((other, value) if ufunc is np.logical_and else (value, other)))
        elif bool(value) is not ends:
            value = scalar(part())
    return value


def scalar(value: Any) -> Any:
    """Return the only element of an array, as a condition takes it."""
    value = own(value)
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
