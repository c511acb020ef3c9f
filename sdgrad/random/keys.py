"""Keys: values of two 64-bit words that decide draws, as in Salmon, Moraes, Dror and Shaw 2011."""

from __future__ import annotations

from typing import Any

import numpy as np

from sdgrad.errors import ParseError
from sdgrad.random.draws import KEY, WHOLE, WORD, drawn
from sdgrad.record.calls import works_inside
from sdgrad.record.functions.arguments import shape_of
from sdgrad.record.functions.table import active, array, known
from sdgrad.record.values import Number, is_recorded
from sdgrad.runtime.libraries.random_numbers import Kind

LEAST, MOST = -(2**127), 2**128


@works_inside
def key(seed: Any) -> Any:
    """Return the key of a seed: ``numpy.random.Philox(key=seed)`` has the same.

    :param seed: an integer, of up to 128 bits where it is Python's.
    """
    if is_recorded(seed):
        if not isinstance(seed, Number) or seed.dtype.kind not in "iu":
            raise TypeError(f"a seed is one integer, not an array, nor of type {seed.dtype}")
        number: Any = seed
        return np.array([number, np.where(number < 0, -1, 0)]).astype(WORD)
    own = seed.__index__()
    if not LEAST <= own < MOST:
        raise ValueError("a seed has up to 128 bits")
    found = np.array([own % 2**64, own % 2**128 // 2**64], WORD)
    return found if active() is None else known(found)


@works_inside
def split(key: Any, num: Any = 2) -> Any:
    """Return new keys, an array of shape ``(num, 2)``: ``key, sub = split(key)``. The old one is not to be used again.

    :param num: how many, or the shape of an array of keys.
    """
    shape = shape_of(num)
    return drawn(Kind.KEYS, key, (*shape, *KEY), WORD)


@works_inside
def fold_in(key: Any, data: Any) -> Any:
    """Return the key that a key and an integer make: other integers make other keys, as in a loop over steps."""
    given = array(data) if is_recorded(data) else np.asarray(data)
    if given.dtype.kind not in "iu" or given.ndim:
        raise TypeError(f"sdgrad.random.fold_in takes one integer, not type {given.dtype} and shape {given.shape}")
    return drawn(Kind.FOLDED, key, KEY, WORD, given.astype(WHOLE))


@works_inside
def bits(key: Any, shape: Any = (), dtype: Any = np.uint64) -> Any:
    """Return random words: ``numpy.random.Philox(key=key).random_raw()`` has the same.

    :param dtype: uint64, or uint32 for halves of these words, the lower one first.
    """
    found = np.dtype(dtype)
    kinds = {WORD: Kind.WORDS, np.dtype(np.uint32): Kind.HALVES}
    if found not in kinds:
        raise ParseError(f"sdgrad.random.bits draws uint64 or uint32, not {found}")
    return drawn(kinds[found], key, shape_of(shape), found)


def pair(key: Any) -> tuple[Any, Any]:
    """Return two keys of a key."""
    both = split(key)
    return both[0], both[1]
