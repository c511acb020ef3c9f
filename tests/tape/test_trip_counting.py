"""Iterations counted ahead, on copies."""

from dataclasses import replace

from treetext import block, program, text

from sdgrad.program.naming import all_names
from sdgrad.tape.plan import Counter
from sdgrad.tape.slices import Criterion, closed
from sdgrad.tape.trip_counting import count_trips

DECLARATIONS = """
    argument r: float64[1]
    argument x: float64[8]
    argument n: int64[8]
    body
"""
WHILE = """
      loop j = 0 ... step 1 while c > 0.5 with c = r[0]:
        do:
          v = x[0]
          u = sin(v)
          x[0] = u
        do:
          v = r[0]
          u = v * 0.5
          r[0] = u
"""
TRIANGLE = """
      loop j = 0 .. 7 step 1:
        loop l = 0 .. m with m = n[j] step 1:
          do:
            v = x[l]
            r[0] += v
"""


def counted(body: str, path: tuple[int, ...]) -> str:
    of = program(DECLARATIONS + body)
    counters = {path: Counter("count", "total")}
    nodes, _ = count_trips(of.body[0], (0,), counters, of, all_names(of))
    return text(replace(of, body=tuple(nodes)))


def test_what_decides_about_a_while_loop():
    of = program(DECLARATIONS + WHILE)
    containers = closed([((0,), of.body[0])], Criterion(set(), set(), {(0,): ""}), of).needed
    assert "r" in containers and "x" not in containers


def test_a_while_loop_runs_on_copies():
    assert counted(WHILE, (0,)) == block("""
        do:
          v_1 = 0
          total[0] = v_1
        do:
          v_0 = r[0]
          trial_r[0] = v_0
        loop j = 0 ... step 1 while c > 0.5 with c = trial_r[0]:
          do:
            v = trial_r[0]
            u = v * 0.5
            trial_r[0] = u
          do:
            total_before = total[0]
            total_after = total_before + 1
            total[0] = total_after
        total := v_1 with v_1 = total[0]
    """)


def test_a_loop_that_decides_nothing_is_not_run():
    """The number of its iterations is computed from its bounds."""
    assert "total_before + max(0, int_floor(m - 0 + 1, 1))" in counted(TRIANGLE, (0, 0, 0))
    assert "loop l" not in counted(TRIANGLE, (0, 0, 0))
