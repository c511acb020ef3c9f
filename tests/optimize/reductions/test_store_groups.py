"""Groups of stores that can share a loop, from small leaves."""

import pytest
from treetext import program

from sdgrad.optimize.reductions.store_groups import StoreGroups, only
from sdgrad.program.tree import lines

DECLARATIONS = """
argument x: float64[8, 8]
argument k: int64[8]
argument a: float64[8]
argument b: float64[8]
argument c: float64[20]
body
"""


def leaf_and_groups(body):
    found = program(DECLARATIONS + body)
    return found.body[0], StoreGroups(found)


@pytest.mark.parametrize(
    ("stores", "expected"),
    [
        ("a[i] += t\n    b[i] += t", [["a[i] += t", "b[i] += t"]]),
        ("a[i] += t\n    b[j] += t", [["a[i] += t"], ["b[j] += t"]]),
        ("a[i] += t\n    a[i] += t", [["a[i] += t"], ["a[i] += t"]]),
        ("a[n] += t\n    b[n] += t", [["a[n] += t", "b[n] += t"]]),
        ("x[i, j] = t\n    a[i] += t\n    b[i] += t", [["a[i] += t", "b[i] += t"], ["x[i, j] = t"]]),
    ],
)
def test_groups(stores, expected):
    leaf, groups = leaf_and_groups(f"  map i=0:8, j=0:8:\n    n = k[i]\n    t = sin(2.0)\n    {stores}\n")
    assert [[str(s) for s in group] for group in groups.partition(leaf)] == expected


def test_dependences():
    leaf, groups = leaf_and_groups(
        "  map i=0:8:\n    t = x[i, 0]\n    c[2*i] += t\n    c[2*i + 1] += t\n    c[i] += t\n"
    )
    even, odd, every = leaf.stores
    assert not groups.meet(even, odd, leaf)
    assert groups.meet(even, every, leaf)
    assert all(groups.is_injective(s, leaf) for s in leaf.stores)
    assert groups.conflicting(leaf) == []
    assert groups.overlapping(leaf.stores, leaf)
    assert not groups.overlapping([even, odd], leaf)


def test_regular_sums_reduce_the_innermost_parameter():
    leaf, groups = leaf_and_groups(
        "  map i=0:8, j=0:8:\n    t = x[i, j]\n    a[i] += t\n    b[j] += t\n    x[i, j] += t\n"
    )
    assert [groups.is_regular(s, leaf) for s in leaf.stores] == [True, False, False]
    assert groups.conflicting(leaf) == list(leaf.stores[:2])


def test_slice():
    leaf, _ = leaf_and_groups("  map i=0:8:\n    t = x[i, 0]\n    u = x[i, 1]\n    a[i] += t\n    b[i] += u\n")
    assert lines(only(leaf, leaf.stores[1:])) == ["map i=0:8:", "  u = x[i, 1]", "  b[i] += u"]
