"""Call functions that ``np.vectorize`` wraps: a loop over the elements of their operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sdgrad.errors import ParseError
from sdgrad.record.elementwise import kind
from sdgrad.record.functions.shapes import broadcast_arrays, ravel, reshape
from sdgrad.record.functions.table import array, known


def fill(function: Any, found: Any, parts: Any, named: Any) -> None:
    """Write the results of a function; this is converted, as code of the user's is."""
    for k in range(found.shape[0]):
        found[k] = function(*[p[k] for p in parts], **{name: p[k] for name, p in named})


def fill_each(function: Any, found: Any, parts: Any, named: Any) -> None:
    """Write the results of a function that returns several."""
    for k in range(found[0].shape[0]):
        results = function(*[p[k] for p in parts], **{name: p[k] for name, p in named})
        for j in range(len(found)):
            found[j][k] = results[j]


def vectorized(
    wrapped: np.vectorize, args: Sequence[Any], kwargs: Mapping[str, Any], call: Callable, convert: Callable
) -> Any:
    """Return what ``np.vectorize(function)`` gives; results have the type that holds all of them.

    :param call: calls a function of the user's.
    :param convert: converts one.
    """
    if wrapped.signature is not None or wrapped.excluded:
        raise ParseError("numpy.vectorize(signature=, excluded=) is not recorded: write a loop")
    if wrapped.pyfunc in (None, np._NoValue):
        raise TypeError("numpy.vectorize needs a function")
    wide = broadcast_arrays(*args, *kwargs.values())
    shape, flat = wide[0].shape, [ravel(a) for a in wide]
    parts, named = flat[: len(args)], list(zip(kwargs, flat[len(args) :], strict=True))
    otypes = wrapped.otypes
    if not flat[0].shape[0] and otypes is None:
        raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
    types = list(otypes) if otypes is not None else _types(wrapped.pyfunc, parts, named, call)
    found = [known(np.zeros(flat[0].shape, t)) for t in types]
    if len(found) == 1:
        convert(fill)(wrapped.pyfunc, found[0], parts, named)
        return reshape(found[0], shape)
    convert(fill_each)(wrapped.pyfunc, found, parts, named)
    return tuple(reshape(f, shape) for f in found)


def _types(function: Any, parts: Sequence[Any], named: Sequence[tuple[str, Any]], call: Callable) -> list[np.dtype]:
    """Return the types of a function's results, as the first elements give them."""
    first = call(function, *[p[0] for p in parts], **{n: p[0] for n, p in named})
    results = first if isinstance(first, tuple) else (first,)
    return [np.dtype(kind(r if np.ndim(r) == 0 else array(r))) for r in results]
