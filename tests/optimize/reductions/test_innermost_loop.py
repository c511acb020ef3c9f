"""The innermost loop of sums, chosen by how accesses walk through memory."""

from treetext import program

from sdgrad.optimize.reductions.innermost_loop import InnermostLoop
from sdgrad.optimize.reductions.store_groups import StoreGroups

DECLARATIONS = """
argument A: float64[8, 6]
argument k: int64[8]
argument x: float64[8]
argument y: float64[6]
body
"""


def leaf_and_choice(body):
    found = program(DECLARATIONS + body)
    return found.body[0], InnermostLoop(found, StoreGroups(found))


def test_rows_and_columns():
    leaf, loops = leaf_and_choice("  map i=0:8, j=0:6:\n    t = A[i, j]\n    x[i] += t\n    y[j] += t\n")
    i, j = leaf.params
    assert (loops.columns(leaf, i), loops.columns(leaf, j)) == (1, 0), "along i, A is read down a column"
    assert loops.is_row(leaf, i) and loops.is_row(leaf, j)
    assert loops.row(leaf) == j


def test_whole_rows_are_added():
    leaf, loops = leaf_and_choice("  map j=0:6, i=0:8:\n    t = A[i, j]\n    y[j] += t\n")
    j, i = leaf.params
    assert loops.along(leaf, (j,), (i,)) == j


def test_no_row_if_the_leaf_reads_what_it_changes():
    leaf, loops = leaf_and_choice("  map i=0:8, j=0:6:\n    t = x[i]\n    x[i] += t\n    y[j] += t\n")
    assert loops.row(leaf) is None


def test_no_row_if_data_choose_the_element():
    leaf, loops = leaf_and_choice("  map i=0:8, j=0:6:\n    n = k[i]\n    t = A[i, j]\n    x[n] += t\n")
    assert loops.row(leaf) is None


def test_no_row_if_fresh_sums_share_a_container():
    leaf, loops = leaf_and_choice("  map i=0:8, j=0:6:\n    t = A[i, j]\n    x[0] += t (fresh)\n    x[1] += t\n")
    assert loops.shares_fresh(leaf) and loops.row(leaf) is None


def test_interchange_for_unit_strides():
    leaf, loops = leaf_and_choice("  map j=0:6, i=0:8:\n    t = A[i, j]\n    A[i, j] += t\n")
    assert [p.name for p in loops.interchanged(leaf).params] == ["i", "j"]
    triangle, loops = leaf_and_choice("  map j=0:6, i=j:8:\n    t = A[i, j]\n    A[i, j] += t\n")
    assert loops.interchanged(triangle) == triangle, "the bounds of i depend on j"
