"""Compute with boxes: products of index ranges, whose ends are symbolic and included.

Splitting the halo of a two-dimensional box gives slabs of full length along the first dimension to split, and shorter
ones along the other::

    whole 0..5, 0..9     interior 1..4, 1..8     slabs 0..0, 0..9    5..5, 0..9    1..4, 0..0    1..4, 9..9

Predicates are conservative: they hold only if SymPy can decide the sign of a difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import sympy

from sdgrad.config import config
from sdgrad.program.tree import Expr

Range = tuple[Expr, Expr]
Box = Sequence[Range]


def halo(interior: Box, whole: Box, first: int) -> Iterator[list[Range]]:
    """Split the halo around the interior box into disjoint slabs.

    Slabs of few known elements are cut into slabs one element thick. Only the slabs that lie along ``first`` extend
    beyond the interior in other dimensions, so that in all others the same terms exist everywhere along ``first``.
    """
    order = [first, *(d for d in range(len(interior)) if d != first)]
    for k, d in enumerate(order):
        (begin, end), (low, high) = whole[d], interior[d]
        before, after = (begin, low - 1), (_largest(low, high + 1), end)
        for start, last in (*_layers(before), *_layers(after)):
            part = start, _smallest(last, end)  # a short range may be empty
            yield [part if e == d else interior[e] if e in order[:k] else whole[e] for e in range(len(interior))]


def frame(box: Box, core: Box) -> Iterator[list[Range]]:
    """Split what a core leaves of a box into disjoint strips."""
    for d, ((begin, end), (low, high)) in enumerate(zip(box, core, strict=True)):
        for part in ((begin, low - 1), (high + 1, end)):
            if part[0] <= part[1]:
                yield [*core[:d], part, *box[d + 1 :]]


def contains(outer: Box, inner: Box) -> bool:
    """True if a box certainly lies in another one."""
    pairs = zip(outer, inner, strict=True)
    return all((i[0] - o[0]).is_nonnegative and (o[1] - i[1]).is_nonnegative for o, i in pairs)


def disjoint(first: Box, second: Box) -> bool:
    """True if two boxes certainly have no element in common."""
    pairs = zip(first, second, strict=True)
    return any((a[0] - b[1]).is_positive or (b[0] - a[1]).is_positive for a, b in pairs)


def intersection(first: Box, second: Box) -> list[Range]:
    """Return the box of the common elements of two boxes."""
    return [(_largest(a[0], b[0]), _smallest(a[1], b[1])) for a, b in zip(first, second, strict=True)]


def hull(first: Box, second: Box) -> list[Range]:
    """Return the smallest box around two boxes whose ends differ by numbers."""
    return [
        (a[0] if (b[0] - a[0]).is_nonnegative else b[0], a[1] if (a[1] - b[1]).is_nonnegative else b[1])
        for a, b in zip(first, second, strict=True)
    ]


def is_large(box: Box) -> bool:
    """True if a box has so many elements that conditions on them cost more than a nest of its own."""
    counts = [b - a + 1 for a, b in box]
    return all(n.is_number and n > 0 for n in counts) and sympy.Mul(*counts) >= config.machine.stencil_core


def _layers(part: Range) -> list[Range]:
    """Cut a short range into single elements; a long or symbolic one stays whole."""
    count = part[1] - part[0] + 1
    if not count.is_Integer or count > config.machine.stencil_cuts:
        return [part]
    return [(part[0] + k, part[0] + k) for k in range(int(count))]


def _largest(a: Expr, b: Expr) -> Expr:
    """Return the larger of two ends, without ``Max`` if the sign of their difference is known."""
    return a if (a - b).is_nonnegative else b if (b - a).is_nonnegative else sympy.Max(a, b)


def _smallest(a: Expr, b: Expr) -> Expr:
    """Return the smaller of two ends, without ``Min`` if the sign of their difference is known."""
    return a if (b - a).is_nonnegative else b if (a - b).is_nonnegative else sympy.Min(a, b)
