"""Symbols that programs mention: program in, names out."""

from treetext import program

from sdgrad.program.symbols import unbound_symbols, used_symbols, view_symbols

SOURCE = """
argument x: float64[N]
local part: float64[m] view of x[k:k + m]
body
  n := 2 * a
  loop j = b .. n step 1:
    map i=0:j:
      v = part[i]
      w = v * c
      x[i] = w
"""


def given():
    return program(SOURCE, symbols="a b c k m")


def test_symbols_and_local_names_of_a_node():
    (assign, loop) = given().body
    assert used_symbols(assign, given()) == {"a"}
    assert used_symbols(loop, given()) == {"b", "n", "i", "j", "v", "c", "w", "k", "m"}


def test_part_of_memory():
    assert view_symbols("part", given()) == {"k", "m"}
    assert view_symbols("x", given()) == set()


def test_assigned_and_counted_symbols_are_bound():
    found = unbound_symbols(given().body, given())
    assert {"a", "b", "c"} <= found
    assert not {"n", "j"} & found


def test_use_before_the_assignment_is_unbound():
    assert "n" in unbound_symbols(given().body[::-1], given())
