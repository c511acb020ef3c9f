"""Order elements along an axis.

Short rows are ordered by ranks, which compares every two elements, in nests that fuse with what is around them; others
by a library node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sdgrad.record.elements import Element, call, element, where
from sdgrad.record.tensors import Tensor
from sdgrad.runtime.libraries.ordering import Argsort, Select

RANKED = 16  # elements up to which comparing every two takes less time than a call for each row


def order_along(source: Tensor, axis: int, descending: bool = False) -> Tensor:
    """Return the places of elements in order along an axis; equal ones keep their order.

    :param descending: the largest first; what is not a number counts as larger than all.
    """
    n = source.shape[axis]
    is_long = isinstance(n, int) and n > RANKED and isinstance(source.size, int) and source.size > 0
    own = _by_calls if is_long and source.dtype != np.float16 else _by_ranks
    return own(source, axis, descending)


def _by_calls(source: Tensor, axis: int, descending: bool) -> Tensor:
    """Let a library order each row."""
    return _of_rows(source, axis, Argsort(descending=descending), source.shape[axis])


def places_of_ranks(source: Tensor, axis: int, ranks: Sequence[int]) -> Tensor:
    """Return the places of the elements of some ranks along an axis; of equal ones the earlier has the lower rank."""
    return _of_rows(source, axis, Select(ranks=ranks), len(ranks))


def _of_rows(source: Tensor, axis: int, node: Any, count: int) -> Tensor:
    """Return the places that a library finds in each row along an axis."""
    builder: Any = source.builder
    last = [*(d for d in range(source.rank) if d != axis), axis]
    turned = source.transpose(last)
    rows = builder.view(turned, (turned.size // turned.shape[-1], turned.shape[-1]))
    found = builder.call(node, {"_a": rows}, "_order", (rows.shape[0], count), np.int64)
    return builder.view(found, (*turned.shape[:-1], count)).transpose([last.index(d) for d in range(source.rank)])


def _by_ranks(source: Tensor, axis: int, descending: bool) -> Tensor:
    """Let each element go where its rank says: as many are before it as come first, or are equal and earlier."""
    builder: Any = source.builder

    def before(out: tuple, other: tuple) -> Element:
        own, rival = source[out], source[(*out[:axis], other[0], *out[axis + 1 :])]
        earlier = element(other[0], np.int64) < element(out[axis], np.int64)
        return where(_is_before(rival, own, earlier, descending), element(1, np.int64), 0)

    rank = builder.reduction(source.shape, [source.shape[axis]], before, "sum", np.int64)
    order = builder.declare("t", source.shape, np.int64)

    def put(*i: Any) -> tuple:
        return (*i[:axis], rank[i], *i[axis + 1 :]), element(i[axis], np.int64).astype(np.int64), None

    builder.scatter(order, source.shape, put)
    return order


def _is_before(rival: Element, own: Element, earlier: Element, descending: bool) -> Element:
    """Return whether an element comes before another one."""
    first, same = own < rival if descending else rival < own, rival.equals(own)
    if own.dtype.kind == "f":  # what is not a number is the largest
        here, there = (call("isnan", v, dtype=bool) for v in (own, rival))
        first = first | (there & ~here if descending else here & ~there)
        same = same | (here & there)
    return first | (same & earlier)
