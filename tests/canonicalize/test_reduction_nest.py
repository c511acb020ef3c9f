"""Which nests of loops only accumulate into one sum."""

from treetext import program

from sdgrad.canonicalize.reduction_nest import ReductionNest, levels
from sdgrad.program.tree import Branch, Loop, Program

DECLARATIONS = """
    argument d: float64[4, 3]
    argument n: int64[1]
    argument y: float64[3]
    local r: float64[1]
    body
"""
SCALED_SUM = """
      loop j = 0 .. 3 step 1:
        loop a = 0 .. 2 step 1:
          do:
            u = d[j, a]
            v = sin(u)
            r[0] = v
          do:
            u = r[0]
            v = 3.0 * u
            y[a] += v
"""


def recognized(source: str) -> tuple[ReductionNest | None, Program]:
    found = program(DECLARATIONS + source)
    (loop,) = found.body
    assert isinstance(loop, Loop)
    return ReductionNest.of(loop, {"r"}, found), found


def test_a_nest_that_adds_to_one_array():
    nest, _ = recognized(SCALED_SUM)
    assert nest is not None
    assert [p.name for p in nest.loops] == ["j", "a"]
    assert nest.added == "v"
    assert nest.temporaries == {"r"}
    assert nest.depends == {0: {"j", "a"}, 1: {"a", "j"}}


def test_a_spelled_out_sum_counts_as_well():
    nest, _ = recognized("""
      loop j = 0 .. 3 step 1:
        loop a = 0 .. 2 step 1:
          do:
            u = d[j, a]
            s = y[a]
            t = s + u
            y[a] = t
    """)
    assert nest is not None and nest.added == "u"


def test_the_last_leaf_is_linear_in_what_the_inner_loops_make():
    nest, _ = recognized(SCALED_SUM)
    assert nest is not None
    assert nest.behind({0, 1}, {"j"}) == [1]


def test_a_leaf_that_is_not_linear_does_not_run_behind():
    nest, _ = recognized(SCALED_SUM.replace("3.0 * u", "u * u"))
    assert nest is not None
    assert nest.behind({0, 1}, {"j"}) == []


def test_a_guard_on_loop_variables_is_part_of_the_nest():
    nest, found = recognized("""
      loop j = 0 .. 3 step 1:
        if j > 1:
          loop a = 0 .. 2 step 1:
            do:
              u = d[j, a]
              y[a] += u
    """)
    assert nest is not None and list(map(str, nest.conditions)) == ["j > 1"]
    assert [type(n) for n in levels(nest.source)] == [Loop, Branch, Loop]


def test_a_guard_on_data_is_none():
    nest, _ = recognized("""
      loop j = 0 .. 3 step 1:
        if c > 1 with c = n[0]:
          loop a = 0 .. 2 step 1:
            do:
              u = d[j, a]
              y[a] += u
    """)
    assert nest is None


def test_a_nest_that_assigns_its_target_is_none():
    nest, _ = recognized("""
      loop j = 0 .. 3 step 1:
        loop a = 0 .. 2 step 1:
          do:
            u = d[j, a]
            y[a] = u
    """)
    assert nest is None


def test_a_nest_that_reads_its_target_is_none():
    nest, _ = recognized(SCALED_SUM.replace("u = d[j, a]", "u = y[a]"))
    assert nest is None


def test_a_single_loop_is_none():
    nest, _ = recognized("""
      loop a = 0 .. 2 step 1:
        do:
          u = d[0, a]
          y[a] += u
    """)
    assert nest is None


def test_bounds_that_are_no_numbers_are_none():
    nest, _ = recognized(SCALED_SUM.replace("loop j = 0 .. 3", "loop j = 0 .. m"))
    assert nest is None
