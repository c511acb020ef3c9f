"""``break``, ``continue`` and ``return`` as flags and conditions."""

from dataclasses import replace

from treetext import block, program

from sdgrad.lift.jumps import Jump, without_jumps
from sdgrad.lift.views import Env
from sdgrad.program.names import Names
from sdgrad.program.tree import Branch, Loop, Program, lines

DECLARATIONS = """
    argument x: float64[8]
    body
"""


def parsed(source: str) -> Program:
    return program(DECLARATIONS + source)


def written(nodes: tuple) -> str:
    env = Env(Names(), {}, {})
    return "\n".join(line for n in without_jumps(nodes, env) for line in lines(n))


def loop_with(kind: str) -> tuple:
    """A loop that jumps if ``c > 0`` between two leaves."""
    (loop,) = parsed("""
      loop i = 0 .. 7 step 1:
        do:
          u = 1.0
          x[i] = u
        if c > 0:
          do:
            u = 2.0
            x[i] = u
        do:
          u = 3.0
          x[i] = u
    """).body
    assert isinstance(loop, Loop)
    first, branch, last = loop.body
    assert isinstance(branch, Branch)
    ((condition, inner),) = branch.arms
    jumping = replace(branch, arms=((condition, (*inner, Jump(kind))),))
    return (replace(loop, body=(first, jumping, last)),)


def test_a_block_without_jumps_stays():
    body = parsed("""
      do:
        u = 1.0
        x[0] = u
    """).body
    assert without_jumps(body, Env(Names(), {}, {})) is body


def test_what_follows_a_continue_is_the_other_arm():
    assert written(loop_with("continue")) == block("""
        loop i = 0 .. 7 step 1:
          do:
            v_continue_flag = 0
            continue_flag[0] = v_continue_flag
          do:
            u = 1.0
            x[i] = u
          if c > 0:
            do:
              u = 2.0
              x[i] = u
            do:
              v_continue_flag = 1
              continue_flag[0] = v_continue_flag
          else:
            do:
              u = 3.0
              x[i] = u
    """)


def test_a_loop_with_a_break_stops_on_its_flag():
    assert written(loop_with("break")).splitlines()[:4] == [
        "do:",
        "  v_break_flag = 0",
        "  break_flag[0] = v_break_flag",
        "loop i = 0 .. 7 step 1 while v_break_flag == 0 with v_break_flag = break_flag[0]:",
    ]


def test_what_follows_a_loop_with_a_return_runs_if_the_flag_is_clear():
    after = parsed("""
      do:
        u = 4.0
        x[0] = u
    """).body
    assert written((*loop_with("return"), *after)).endswith(
        block("""
        if v_return_flag == 0 with v_return_flag = return_flag[0]:
          do:
            u = 4.0
            x[0] = u
    """)
    )


def test_what_follows_two_ways_on_runs_if_the_flag_is_clear():
    """After an inner branch that may jump in one of its arms, both paths meet."""
    (loop,) = loop_with("continue")
    first, branch, last = loop.body
    nested = replace(branch, arms=((branch.arms[0][0], (first, branch)), (None, ())))
    assert "if v_continue_flag == 0" in written((replace(loop, body=(nested, last)),))
