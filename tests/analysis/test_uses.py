"""Which memory each node uses, by views as well."""

from treetext import program

from sdgrad.analysis.uses import used, users

PROGRAM = """
argument x: float64[8]
argument n: int64[1]
local t: float64[8]
local half: float64[4] view of t[0:4]
body
  map i=0:8:
    v = x[i]
    t[i] = v
  loop k = 0 .. m step 1 while m < 3 with m = n[0]:
    map i=0:4:
      w = half[i]
      x[i] = w
"""


def test_a_leaf_uses_the_memory_behind_its_views():
    found = program(PROGRAM)
    fill, loop = found.body
    assert used(fill, found) == {"x", "t"}
    assert used(loop.body[0], found) == {"x", "t"}


def test_a_control_node_uses_what_it_reads_itself():
    found = program(PROGRAM)
    assert used(found.body[1], found) == {"n"}


def test_users_are_counted_at_every_depth():
    found = program(PROGRAM)
    assert users(found.body, found) == {"x": 2, "t": 2, "n": 1}
