"""Names that branches and loops hand on: those that are read later."""

import ast

import pytest

from sdgrad.convert.liveness import mark

CASES = {
    "an arm": ("if c:\n    x = y\nreturn x", {"x"}, {"x", "y"}),
    "unread": ("if c:\n    x = y\nreturn z", {"z"}, {"y", "z"}),
    "carried": ("for i in r:\n    s = s + i\nreturn s", {"s"}, {"s"}),
    "local to a trip": ("for i in r:\n    t = i\n    f(t)\nreturn 0", set(), {"f"}),
    "read in the next trip": ("for i in r:\n    f(t)\n    t = i\nreturn 0", set(), {"f", "t"}),
    "condition": ("while c > t:\n    c = 0\nreturn 0", set(), {"c", "t"}),
    "killed": ("if c:\n    x = 1\nx = 2\nreturn x", set(), set()),
    "updated": ("if c:\n    x = 1\nx += 2\nreturn x", {"x"}, {"x"}),
    "through a loop": ("if c:\n    x = 1\nwhile d:\n    f(x)\n    x = 2", {"d", "f", "x"}, {"d", "f", "x"}),
    "a try": ("if c:\n    x = 1\ntry:\n    x = g()\nexcept E:\n    pass\nreturn x", {"x", "g", "E"}, {"x", "g", "E"}),
}


@pytest.mark.parametrize("case", CASES)
def test_live_names(case):
    source, after, head = CASES[case]
    statements = ast.parse(source).body
    mark(statements, frozenset(), frozenset())
    assert statements[0].sdgrad_after == after
    assert statements[0].sdgrad_head == head


def test_names_of_inner_functions_live_everywhere():
    statements = ast.parse("if c:\n    x = 1\nx = 2").body
    mark(statements, frozenset(), frozenset({"x"}))
    assert "x" in statements[0].sdgrad_after
