"""Sets of elements, and orders by several keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sdgrad.errors import ParseError
from sdgrad.record.carried import leaves
from sdgrad.record.elementwise import origin
from sdgrad.record.functions.arguments import static_axis
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.reductions import any_
from sdgrad.record.functions.shapes import ravel
from sdgrad.record.functions.table import active, array, rule
from sdgrad.record.recorder import ONLY_DATA
from sdgrad.record.settling import settle
from sdgrad.record.values import is_known, is_recorded


@rule(np.isin)
def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Any:
    """Compare each element with all others."""
    found = any_(np.equal(array(element)[..., None], ravel(test_elements)), -1)
    return np.logical_not(found) if invert else found


@rule(np.lexsort)
def lexsort(keys: Sequence[Any], axis: Any = -1) -> Any:
    """Order by the last key first: by one key after the other, each time keeping the order of what is equal."""
    given = [array(k) for k in keys]
    if not given:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    d = static_axis(axis, given[0].ndim)
    order = np.argsort(given[0], axis=d, kind="stable")
    for key in given[1:]:
        by = np.argsort(np.take_along_axis(key, order, d), axis=d, kind="stable")
        order = np.take_along_axis(order, by, d)
    return order


@rule(np.sort_complex)
def sort_complex(a: Any) -> Any:
    x = array(a)
    small = x.dtype.kind in "iu" and x.dtype.itemsize <= 2
    ordered = np.sort(x)
    return astype(ordered, np.complex64 if small else np.complex128)


def _refused(function: Any) -> None:
    """Register a function whose results have a size that data decide: of content that is known it has a value."""

    def of_known(*args: Any, **kwargs: Any) -> Any:
        recorded = [x for x in leaves([args, kwargs]) if is_recorded(x) and not is_known(x)]
        of_integers = all(x.dtype.kind in "biu" for x in recorded)  # which may be made known
        settle(active(), origin(*recorded) if of_integers else ONLY_DATA)
        raise ParseError(
            f"numpy.{function.__name__}: only a run knows how many elements the result has. Compare with np.isin and "
            "count, or take the content from integers that are known"
        )

    rule(function)(of_known)


SIZED_BY_DATA = (
    *(np.unique, np.unique_values, np.unique_all, np.unique_counts, np.unique_inverse),
    *(np.intersect1d, np.setdiff1d, np.union1d, np.setxor1d),
)
for _function in SIZED_BY_DATA:
    _refused(_function)
