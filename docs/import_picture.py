"""Draw which room imports which, from the imports themselves: ``.venv/bin/python docs/import_picture.py``.

``docs/rooms.svg`` is what it writes, and ``tests/test_import_picture.py`` says whether that is up to date. Rooms and
imports are those of ``tests/test_layout.py``. An arrow that others imply is left out (transitive reduction). Levels are
the longest ways down; order and places in a level follow Sugiyama et al. 1981.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from pathlib import Path

import networkx as nx

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "rooms.svg"
Node = tuple[str, int]
"""A room at a level, or a place where the arrow ``"a>b"`` crosses that level."""

HEIGHT, GAP, STEP, MARGIN = 24, 16, 52, 14
BEND = 10  # the width that an arrow takes where it crosses a level
LETTER = 7.1
SWEEPS, SHIFTS = 40, 200
KINDS = {
    "what users call": ("#fde2c8", ("cli", "torch", "onnx", "testing", "solvers", "api", "random", "sparsity")),
    "differentiation": ("#f8cfd6", ("autodiff", "tape", "backward_impls", "pipeline", "specialize", "onnx_ops")),
    "programs": (
        "#d5e8d4",
        ("program", "symbolic", "analysis", "rewrite", "lift", "canonicalize", "record", "convert"),
    ),
    "optimization": ("#d6e4f5", ("optimize", "memory")),
    "machine code, settings": ("#e6e6e6", ("runtime", "machine", "config", "errors")),
}
COLOURS = {room: colour for colour, rooms in KINDS.values() for room in rooms}


def rooms() -> nx.DiGraph:
    """Return the rooms and which imports which, without what others imply."""
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]
    from test_layout import GRAPH, room

    between = nx.DiGraph(sorted({(room(a), room(b)) for a, b in GRAPH.edges if room(a) != room(b)}))
    return nx.transitive_reduction(between)


def levels(graph: nx.DiGraph) -> tuple[list[list[Node]], list[tuple[Node, Node]]]:
    """Return the nodes of each level from the bottom, and the pieces of arrows from a level to the one below."""
    place = {n: k for k, level in enumerate(nx.topological_generations(graph.reverse())) for n in level}
    found: list[list[Node]] = [[] for _ in range(max(place.values()) + 1)]
    for n in sorted(graph):
        found[place[n]].append((n, place[n]))
    pieces = []
    for a, b in sorted(graph.edges):
        way = [(a, place[a]), *((f"{a}>{b}", k) for k in range(place[a] - 1, place[b], -1)), (b, place[b])]
        for node in way[1:-1]:
            found[node[1]].append(node)
        pieces += list(pairwise(way))
    return found, pieces


def neighbours(pieces: Sequence[tuple[Node, Node]], up: bool) -> Callable[[Node], list[Node]]:
    """Return the function from a node to what it is connected with, above or below."""
    found: dict[Node, list[Node]] = {}
    for a, b in pieces:
        found.setdefault(b if up else a, []).append(a if up else b)
    return lambda node: found.get(node, [])


def crossings(found: Sequence[Sequence[Node]], pieces: Sequence[tuple[Node, Node]]) -> int:
    """Return how many pairs of arrows cross."""
    place = {n: k for level in found for k, n in enumerate(level)}
    by_level: dict[int, list[tuple[int, int]]] = {}
    for a, b in pieces:
        by_level.setdefault(a[1], []).append((place[a], place[b]))
    return sum((p[0] - q[0]) * (p[1] - q[1]) < 0 for one in by_level.values() for p in one for q in one) // 2


def ordered(found: list[list[Node]], pieces: Sequence[tuple[Node, Node]]) -> list[list[Node]]:
    """Return levels in an order in which few arrows cross: each node at the mean of its neighbours, up and down."""
    best, fewest = found, crossings(found, pieces)
    for sweep in range(SWEEPS):
        of = neighbours(pieces, up=bool(sweep % 2))
        place = {n: k / max(1, len(level) - 1) for level in found for k, n in enumerate(level)}
        made: list[list[Node]] = []
        for level in found if not sweep % 2 else found[::-1]:
            mean = {n: sum(place[m] for m in of(n)) / len(of(n)) if of(n) else place[n] for n in level}
            made.append(sorted(level, key=lambda n: (mean[n], n)))
            place |= {n: k / max(1, len(level) - 1) for k, n in enumerate(made[-1])}
        found = made if not sweep % 2 else made[::-1]
        count = crossings(found, pieces)
        if count < fewest:
            best, fewest = found, count
    return best


def width(node: Node) -> float:
    """Return the width that a node takes."""
    return BEND if ">" in node[0] else LETTER * len(node[0]) + 16


def placed(found: Sequence[Sequence[Node]], pieces: Sequence[tuple[Node, Node]]) -> dict[Node, float]:
    """Return the middle of each node: near those of its neighbours, as far as there is room."""
    x = {}
    for level in found:
        left = -sum(width(n) + GAP for n in level) / 2
        for n in level:
            x[n] = left + width(n) / 2
            left += width(n) + GAP
    near = weighted(pieces)
    for sweep in range(SHIFTS):
        for level in found if sweep % 2 else found[::-1]:
            weights = [sum(w for _, w in near[n]) for n in level]
            wanted = [sum(w * x[m] for m, w in near[n]) / whole for n, whole in zip(level, weights, strict=True)]
            x |= dict(zip(level, apart(level, wanted, weights), strict=True))
    least = min(x[n] - width(n) / 2 for n in x)
    return {n: x[n] - least + MARGIN for n in x}


def weighted(pieces: Sequence[tuple[Node, Node]]) -> dict[Node, list[tuple[Node, int]]]:
    """Return what each node is connected with, and how straight that should be: long arrows most of all."""
    found: dict[Node, list[tuple[Node, int]]] = {}
    for a, b in pieces:
        weight = (1, 3, 9)[(">" in a[0]) + (">" in b[0])]
        found.setdefault(a, []).append((b, weight))
        found.setdefault(b, []).append((a, weight))
    return found


def apart(level: Sequence[Node], wanted: Sequence[float], weights: Sequence[int]) -> list[float]:
    """Return the places nearest to those that are wanted, in the same order and with room between them.

    Nodes that would be too near, or in the wrong order, form blocks (pool adjacent violators, Kruskal 1964).
    """
    steps = [0.0, *((width(a) + width(b)) / 2 + GAP for a, b in pairwise(level))]
    offsets = list(accumulate(steps))
    blocks: list[tuple[float, int, int]] = []  # place, weight, how many nodes
    for place, weight, offset in zip(wanted, weights, offsets, strict=True):
        block = (place - offset, weight, 1)
        while blocks and blocks[-1][0] > block[0]:
            (p, w, n), (q, v, m) = blocks.pop(), block
            block = ((p * w + q * v) / (w + v), w + v, n + m)
        blocks.append(block)
    return [p + o for p, o in zip((p for p, _, n in blocks for _ in range(n)), offsets, strict=True)]


def drawn(graph: nx.DiGraph) -> str:
    """Return the picture as SVG."""
    found, pieces = levels(graph)
    found = ordered(found, pieces)
    x, top = placed(found, pieces), len(found) - 1
    y = {n: MARGIN + (top - n[1]) * STEP + HEIGHT / 2 for n in x}
    across = max(x[n] + width(n) / 2 for n in x) + MARGIN
    down = MARGIN + top * STEP + HEIGHT + MARGIN + 26
    lines = [arrow([(x[n], y[n]) for n in way]) for way in ways(graph, found)]
    boxes = [box(n[0], x[n], y[n]) for level in found for n in level if ">" not in n[0]]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across:.0f} {down:.0f}" width="{across:.0f}" '
        'font-family="Helvetica, Arial, sans-serif" font-size="12.5">'
    )
    marker = (
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0,0.8 L8,4 L0,7.2 z" fill="#667"/></marker></defs>'
    )
    paper = f'<rect width="{across:.0f}" height="{down:.0f}" rx="6" fill="white"/>'
    return "\n".join([head, marker, paper, *lines, *boxes, *legend(down - 18), "</svg>\n"])


def ways(graph: nx.DiGraph, found: Sequence[Sequence[Node]]) -> list[list[Node]]:
    """Return the nodes that each arrow goes through."""
    place = {n[0]: n for level in found for n in level if ">" not in n[0]}
    return [
        [place[a], *((f"{a}>{b}", k) for k in range(place[a][1] - 1, place[b][1], -1)), place[b]]
        for a, b in sorted(graph.edges)
    ]


def arrow(points: Sequence[tuple[float, float]]) -> str:
    """Return a line from the lower edge of a box to the upper one of another, upright where it crosses a level."""
    (x, y), *others = points
    path = f"M{x:.1f},{y + HEIGHT / 2:.1f}"
    for k, (to, level) in enumerate(others, 1):
        start, end = y + HEIGHT / 2, level - HEIGHT / 2
        middle = (start + end) / 2
        path += f" C{x:.1f},{middle:.1f} {to:.1f},{middle:.1f} {to:.1f},{end:.1f}"
        path += f" V{level + HEIGHT / 2:.1f}" if k < len(others) else ""
        x, y = to, level
    return f'<path d="{path}" fill="none" stroke="#889" stroke-width="1.2" marker-end="url(#head)"/>'


def box(room: str, x: float, y: float) -> str:
    """Return a room."""
    wide = width((room, 0))
    colour = COLOURS.get(room.split(".")[0], "white")
    frame = f'x="{x - wide / 2:.1f}" y="{y - HEIGHT / 2:.1f}" width="{wide:.1f}" height="{HEIGHT}" rx="4"'
    text = f'<text x="{x:.1f}" y="{y + 4.5:.1f}" text-anchor="middle">{room.replace(".", "/")}</text>'
    return f'<rect {frame} fill="{colour}" stroke="#556"/>{text}'


def legend(y: float) -> list[str]:
    """Return what the colours mean."""
    found, x = [], float(MARGIN)
    for name, (colour, _) in KINDS.items():
        found.append(f'<rect x="{x:.1f}" y="{y - 9:.1f}" width="12" height="12" fill="{colour}" stroke="#556"/>')
        found.append(f'<text x="{x + 17:.1f}" y="{y + 1.5:.1f}">{name}</text>')
        x += 17 + 6.4 * len(name) + 20
    return found


if __name__ == "__main__":
    PICTURE.write_text(drawn(rooms()))
    print(f"wrote {PICTURE}")
