"""Boxes of index ranges: halos, frames, and what is certain about symbolic ends."""

from dataclasses import replace

import sympy
from treetext import expression

from sdgrad.config import config
from sdgrad.optimize.reductions.index_boxes import contains, disjoint, frame, halo, hull, intersection, is_large


def box(source):
    """``0..5, 1..n`` as a box."""
    return [tuple(map(expression, part.split(".."))) for part in source.split(",")]


def written(found):
    return ", ".join(f"{a}..{b}" for a, b in found)


def points(found):
    ranges = [range(int(a), int(b) + 1) for a, b in found]
    return {(i, j) for i in ranges[0] for j in ranges[1]}


def test_halo():
    slabs = list(halo(box("1..4, 1..8"), box("0..5, 0..9"), 0))
    assert [written(s) for s in slabs] == ["0..0, 0..9", "5..5, 0..9", "1..4, 0..0", "1..4, 9..9"]


def test_halo_is_a_partition():
    interior, whole = box("3..4, 2..8"), box("0..5, 0..9")
    slabs = [points(s) for first in (0, 1) for s in halo(interior, whole, first)]
    for found in (slabs[: len(slabs) // 2], slabs[len(slabs) // 2 :]):
        assert sum(map(len, found)) == len(points(whole)) - len(points(interior))
        assert set().union(*found) == points(whole) - points(interior)


def test_halo_of_unknown_length():
    """Ends stay within the whole box, which may be shorter than the halo's sides."""
    slabs = [written(s) for s in halo(box("2..n"), box("0..n + 1"), 0)]
    assert slabs == ["0..Min(0, n + 1)", "1..Min(1, n + 1)", "Max(2, n + 1)..n + 1"]


def test_long_sides_of_a_halo_stay_whole():
    with config.override(machine=replace(config.machine, stencil_cuts=2)):
        assert [written(s) for s in halo(box("3..6"), box("0..8"), 0)] == ["0..2", "7..7", "8..8"]


def test_frame():
    strips = [written(s) for s in frame(box("0..5, 0..9"), box("1..5, 0..7"))]
    assert strips == ["0..0, 0..9", "1..5, 8..9"]


def test_relations():
    whole, part, other = box("0..5, 0..9"), box("1..5, 0..7"), box("6..7, 0..9")
    assert contains(whole, part) and not contains(part, whole)
    assert disjoint(whole, other) and not disjoint(whole, part)
    assert written(intersection(box("0..5"), box("2..8"))) == "2..5"
    assert written(hull(box("0..5"), box("2..8"))) == "0..8"


def test_what_is_not_certain():
    assert not contains(box("0..n"), box("0..m")) and not disjoint(box("0..n"), box("m..9"))
    assert written(intersection(box("0..n"), box("0..m"))) == f"0..{sympy.Min(*map(expression, 'nm'))}"


def test_large():
    with config.override(machine=replace(config.machine, stencil_core=50)):
        assert is_large(box("0..4, 0..9")) and not is_large(box("0..4, 0..8")) and not is_large(box("0..4, 0..n"))
