"""Draw the bytes of a program over its points: a table of the largest arrays, and a picture."""

from __future__ import annotations

import html
from collections.abc import Iterator

import numpy as np

from sdgrad.machine.limits import shown
from sdgrad.memory.report import Piece, Timeline

LARGEST = 10
WIDTH, HEIGHT = 800, 240  # of the picture
COLUMNS, ROWS = 60, 8  # of the one in text
COLORS = ("#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#eeca3b", "#b279a2", "#ff9da6", "#9d755d", "#bab0ac")


def table(timeline: Timeline) -> Iterator[str]:
    """Yield the largest arrays as text, with where they are live, and a picture of all bytes."""
    peak = timeline.always + int(timeline.live.max(initial=0))
    yield f"memory: {shown(peak)} at point {timeline.peak} of {len(timeline.live)}; the largest arrays:"
    for piece in timeline.pieces[:LARGEST]:
        first, last = piece.span
        yield f"  {shown(piece.bytes):>10}  points {first} to {last}  '{piece.name}'  {piece.line}".rstrip()
    yield from _text(timeline)


def _text(timeline: Timeline) -> Iterator[str]:
    """Yield a picture of the bytes at each point, in letters."""
    whole = timeline.live + timeline.always
    if not len(whole):
        return
    edges = np.linspace(0, len(whole), min(COLUMNS, len(whole)) + 1).astype(int)
    most = [int(whole[a:b].max()) for a, b in zip(edges, edges[1:], strict=False)]
    for row in range(ROWS, 0, -1):
        mark = f"{shown(int(whole.max()) * row // ROWS):>10} |"
        yield mark + "".join("#" if m * ROWS >= int(whole.max()) * row else " " for m in most)
    yield f"{'':>10} +{'-' * len(most)} forward, then backward"


def svg(timeline: Timeline, limit: int | None) -> str:
    """Return the picture: an area for each of the largest arrays, one for all others, and the line of the limit."""
    whole = timeline.live + timeline.always
    if not len(whole):
        return ""
    top = max(int(whole.max()), limit or 0)

    def x(point: float) -> float:
        return WIDTH * point / len(whole)

    def y(size: float) -> float:
        return HEIGHT * (1 - size / (1.05 * top))

    largest = timeline.pieces[:LARGEST]
    below = np.zeros(len(whole))
    areas = []
    for color, piece in zip(COLORS, largest, strict=False):
        own = below.copy()
        own[piece.span[0] : piece.span[1] + 1] += piece.bytes
        areas.append(_area(below, own, color, str(piece), x, y))
        below = own
    areas.append(_area(below, np.maximum(whole, below), "#dddddd", "all others", x, y))
    line = f"<line x1='0' x2='{WIDTH}' y1='{y(limit):.1f}' y2='{y(limit):.1f}' stroke='red'/>" if limit else ""
    return f"<svg viewBox='0 0 {WIDTH} {HEIGHT}' role='img'>{''.join(areas)}{line}</svg>{_legend(largest)}"


def _area(below: np.ndarray, above: np.ndarray, color: str, title: str, x, y) -> str:
    """Return the area between two heights, as steps."""
    there = [(x(k + side), y(v)) for k, v in enumerate(above) for side in (0, 1)]
    back = [(x(k + side), y(v)) for k, v in reversed([*enumerate(below)]) for side in (1, 0)]
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in (*there, *back))
    return f"<polygon points='{points}' fill='{color}'><title>{html.escape(title)}</title></polygon>"


def _legend(largest: tuple[Piece, ...]) -> str:
    rows = (
        f"<li><span style='background:{c}'>&emsp;</span> {html.escape(str(p))}, points {p.span[0]} to {p.span[1]}</li>"
        for c, p in zip(COLORS, largest, strict=False)
    )
    return f"<ul>{''.join(rows)}</ul>"
