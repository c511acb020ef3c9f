"""Give blocks of memory with live ranges their offsets, so that blocks that live at once do not overlap.

The least memory is that of the point where most is live; to reach it is NP-hard (dynamic storage allocation, Garey &
Johnson 1979, problem SR2). Greedy placement in a good order nearly always does (Pisarchyk & Lee 2020): several orders
are tried, and each block goes to the lowest gap in which it fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sdgrad.analysis.live_ranges import Span


@dataclass(frozen=True)
class Block:
    """Some units of memory that are in use from one point to another one, both included."""

    size: int
    span: Span


Order = Callable[[Block], tuple]
ORDERS: tuple[Order, ...] = (
    lambda b: (-b.size, b.span),
    lambda b: (b.span[0] - b.span[1], -b.size),
    lambda b: (-b.size * (b.span[1] - b.span[0] + 1), b.span),
    lambda b: (b.span[0], -b.size),
    lambda b: (-b.span[1], -b.size),
)
"""Keys of sorting: large ones first, long-lived ones first, both, by their beginning, by their end."""


def place(blocks: Mapping[str, Block]) -> tuple[dict[str, int], int]:
    """Return the offset of each block, and the memory of all: the least that any of the orders leads to."""
    least = most_live(blocks.values())
    best: tuple[dict[str, int], int] | None = None
    for order in ORDERS:
        found = _placed(blocks, sorted(blocks, key=lambda n: (order(blocks[n]), n)))
        if best is None or found[1] < best[1]:
            best = found
        if best[1] == least:
            break
    assert best is not None
    return best


def most_live(blocks: Iterable[Block]) -> int:
    """Return the most units that are in use at one point."""
    changes: dict[int, int] = {}
    for block in blocks:
        changes[block.span[0]] = changes.get(block.span[0], 0) + block.size
        changes[block.span[1] + 1] = changes.get(block.span[1] + 1, 0) - block.size
    most = now = 0
    for point in sorted(changes):
        now += changes[point]
        most = max(most, now)
    return most


def _placed(blocks: Mapping[str, Block], order: Sequence[str]) -> tuple[dict[str, int], int]:
    """Put blocks one after the other into the lowest gap that fits."""
    sizes = np.array([blocks[n].size for n in order], np.int64)
    firsts, lasts = (np.array([blocks[n].span[k] for n in order], np.int64) for k in range(2))
    offsets = np.zeros(len(sizes), np.int64)
    for k, size in enumerate(sizes):
        met = np.flatnonzero((firsts[:k] <= lasts[k]) & (firsts[k] <= lasts[:k]))
        met = met[np.argsort(offsets[met], kind="stable")]
        free = np.concatenate(([0], np.maximum.accumulate(offsets[met] + sizes[met])))  # where gaps begin
        fits = np.flatnonzero(free[:-1] + size <= offsets[met])
        offsets[k] = free[fits[0] if len(fits) else -1]
    return dict(zip(order, offsets.tolist(), strict=True)), int((offsets + sizes).max(initial=0))
