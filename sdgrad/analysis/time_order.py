"""Order the instances of two nodes in time, as an integer relation.

Time is the lexicographic order of iterations and positions in blocks (Feautrier 1991). For the reads of the first leaf
and the writes of the second one in ::

    for i: A; B

instance ``i'`` of ``B`` runs after instance ``i`` of ``A`` if ``i' > i`` or ``i' = i``.
"""

from __future__ import annotations

import functools

import islpy as isl

from sdgrad.analysis.enclosing import Place, dims_of
from sdgrad.analysis.paths import Path


def follows(first: Place, second: Place, extra: tuple[int, int], after: bool, private: Path | None) -> isl.Map | None:
    """Return ``{ first instance -> second instance : the second runs later }``; None if the second never does.

    Instances have the dimensions of their places, and ``extra`` ones of their own leaf. Loops order instances
    lexicographically. The instances of a map have no order: each may run after any other.

    :param after: True if the first access happens at the end of its node; then the node itself does not run later.
    :param private: the map in which each instance has a container of its own: different instances share no memory.
    """
    n, m = len(first.dims) + extra[0], len(second.dims) + extra[1]
    equal: list[str] = []
    cases: list[str] = []
    at = 0
    for (path, node), (other, _) in zip(first.outer, second.outer, strict=False):
        if path != other:
            break
        alone = private is not None and len(path) <= len(private)
        for dim in dims_of(node):
            if not alone:
                later = {1: f"y{at} > x{at}", -1: f"y{at} < x{at}"}.get(dim.direction or 0, f"y{at} != x{at}")
                cases.append(" and ".join([*equal, later]))
            equal.append(f"y{at} = x{at}")
            at += 1
    if _in_order(first, second, after):
        cases.append(" and ".join(equal))
    if not cases:
        return None
    text = " or ".join(f"({c})" if c else "(1 = 1)" for c in cases)
    x, y = (", ".join(f"{v}{k}" for k in range(count)) for v, count in (("x", n), ("y", m)))
    return _map(f"{{ [{x}] -> [{y}] : {text} }}")


@functools.lru_cache(maxsize=4096)
def _map(text: str) -> isl.Map:
    """Parse an order, once: there are far fewer orders than pairs of accesses, and parsing takes half of the time."""
    return isl.Map(text)


def _in_order(first: Place, second: Place, after: bool) -> bool:
    """True if the second node runs after the first in the same iteration of all nodes around both."""
    a, b = first.path, second.path
    if a == b:
        return not after
    common = 0
    while common < min(len(a), len(b)) and a[common] == b[common]:
        common += 1
    if common == len(a):  # inside the first node, whose condition or bounds were read before
        return not after
    if common == len(b):  # the first is inside the second: what the second does by itself came before
        return False
    if common % 2 == 1:  # paths alternate position, arm, position: they part in different arms of a branch
        return False
    return b[common:] > a[common:]
