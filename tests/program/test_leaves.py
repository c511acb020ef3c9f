"""Edits of straight-line code: leaf in, leaf out."""

from treetext import block, program, text

from sdgrad.program.leaf_tasklet import out_of_order
from sdgrad.program.leaves import (
    as_loops,
    backwards,
    dedupe,
    live,
    params_of,
    rename_instr,
    same_values,
    slice_for,
)
from sdgrad.program.tree import Program, Source
from sdgrad.symbolic.expr import sym

HEAD = "argument x: float64[8]\nargument y: float64[8]\nbody\n  map i=0:8:"


def leaf(source):
    return program(HEAD + "".join(f"\n    {row}" for row in source.strip().splitlines())).body[0]


def shown(instructions):
    return [str(i) for i in instructions]


def tree(*nodes):
    return text(Program("p", {}, {}, {}, nodes))


def test_dead_code_is_left_out():
    given = leaf("a = x[i]\nb = sin(a)\nc = 2.0 * a\ny[i] = c")
    assert shown(live(given.body, set())) == ["a = x[i]", "c = 2.0 * a", "y[i] = c"]
    assert shown(live(given.body, {"b"})) == shown(given.body)


def test_slice_has_no_stores():
    assert shown(slice_for(leaf("a = x[i]\nb = sin(a)\ny[i] = a").body, {"b"})) == ["a = x[i]", "b = sin(a)"]


def test_redundant_loads_are_merged():
    assert shown(dedupe(leaf("a = x[i]\nb = x[i]\nc = a * b\ny[i] = c").body)) == ["a = x[i]", "c = a * a", "y[i] = c"]


def test_load_behind_a_store_stays():
    given = leaf("a = x[i]\nx[i] = a\nb = x[i]\ny[i] = b")
    assert dedupe(given.body) == given.body


def test_names_of_equal_values():
    assert same_values(leaf("a = x[i]\nb = x[i]\nc = sin(a)\nd = sin(b)\ne = d").body) == {
        "b": "a",
        "d": "c",
        "e": "c",
    }


def test_instances_in_reverse_order():
    assert tree(backwards(leaf("a = x[i]\ny[i + 1] = a"))) == block("""
        for i=0:8:
          a = x[7 - i]
          y[8 - i] = a
    """)


def test_parameters_as_loops():
    given = leaf("a = x[i]\ny[i] = a")
    inner = program("argument x: float64[8]\nbody\n  do:\n    a = x[i]").body
    assert tree(*as_loops(given.params, inner, Source())) == block("""
        loop i = 0 .. 7 step 1:
          do:
            a = x[i]
    """)


def test_renaming():
    load = leaf("a = x[i]").body[0]
    assert str(rename_instr(load, {"a": "b"}, {"i": sym("k") + 1})) == "b = x[k + 1]"
    assert leaf("a = x[i]\ny[i] = a").body[1].names == {"i", "a"}


def test_parameters_of_an_access():
    (given,) = program("""
        argument x: float64[8, 8]
        body
          map i=0:8, j=0:8, k=0:i + 1:
            a = x[i, 0]
            b = x[k, 0]
    """).body
    first, second = given.loads
    assert [p.name for p in params_of(first, given)] == ["i"]
    assert [p.name for p in params_of(second, given)] == ["i", "j", "k"]  # the range of k depends on i


def test_containers_of_which_memlets_would_change_the_order():
    def found(source):
        whole = program(HEAD + "".join(f"\n    {row}" for row in source.splitlines()))
        return out_of_order(whole.body[0], whole)

    assert found("a = x[i]\ny[i] = a\ny[i + 1] = a") == set()
    assert found("a = x[i]\nk = int(a)\ny[i] = a\ny[k] += a") == {"y"}  # written after the body, and in it
    assert found("a = x[i]\nk = int(a)\ny[k] = a\ny[i] = a") == set()
    assert found("a = x[i]\nk = int(a)\ny[k] = a\nb = y[i]\nx[i] = b") == {"y"}  # read before the body
    assert found("a = x[i]\ny[i] = a\nb = y[i + 1]\nx[i] = b") == set()  # never the same element
