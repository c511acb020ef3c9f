"""Make descriptors of memory, DaCe's ``Data``, by copies: its constructors compute strides and check them each time."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import lru_cache

import dace
from dace import data as dt

from sdgrad.program.instructions import Expr


def lasting(desc: dt.Data, transient: bool) -> dt.Data:
    """Return the descriptor of memory that lasts as long as a call (``transient``), or belongs to the caller."""
    new = copy.copy(desc)
    new.transient = transient
    return new


def dense(dtype: dace.typeclass, shape: Sequence[Expr], transient: bool) -> dt.Array:
    """Return a new descriptor of an array whose elements follow each other, row by row."""
    return copy.copy(_dense(dtype, tuple(shape), transient))


@lru_cache(maxsize=4096)
def _dense(dtype: dace.typeclass, shape: tuple[Expr, ...], transient: bool) -> dt.Array:
    """Make a descriptor that is copied: to compute strides and check them takes DaCe 70 times as long as a copy."""
    return dt.Array(dtype, list(shape), transient=transient)
