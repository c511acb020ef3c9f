"""The picture of rooms and imports on the page on architecture is that of the imports."""

import importlib.util
from pathlib import Path

import networkx as nx

FILE = Path(__file__).parents[1] / "docs" / "import_picture.py"
spec = importlib.util.spec_from_file_location(FILE.stem, FILE)
picture = importlib.util.module_from_spec(spec)
spec.loader.exec_module(picture)


def test_it_is_up_to_date():
    assert picture.PICTURE.read_text() == picture.drawn(picture.rooms()), "run .venv/bin/python docs/import_picture.py"


def test_all_rooms_have_a_colour():
    assert {room.split(".")[0] for room in picture.rooms()} == set(picture.COLOURS)


def test_boxes_and_arrows():
    """An arrow over several levels goes past the boxes between; one that others imply is no part of the graph."""
    graph = nx.DiGraph([("api", "tape"), ("tape", "program"), ("api", "config"), ("tape", "lift"), ("lift", "config")])
    svg = picture.drawn(graph)
    assert svg.count("<path d=") == 1 + graph.number_of_edges()  # the head of an arrow is a path, too
    assert svg.count("<rect") == 1 + len(graph) + len(picture.KINDS)
    found, pieces = picture.levels(graph)
    assert [len(level) for level in found] == [2, 2, 2, 1] or sum(map(len, found)) > len(graph)
    assert picture.crossings(picture.ordered(found, pieces), pieces) == 0


def test_boxes_do_not_overlap():
    found, pieces = picture.levels(picture.rooms())
    found = picture.ordered(found, pieces)
    x = picture.placed(found, pieces)
    for level in found:
        for a, b in zip(level, level[1:], strict=False):
            assert x[b] - x[a] >= (picture.width(a) + picture.width(b)) / 2 - 1e-6
