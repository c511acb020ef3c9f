"""A program for every direction: program in, program out."""

from treetext import block, program

from sdgrad.program.directions import in_every_direction, in_given_directions

SOURCE = """
argument x: float64[3]
argument s: float64[3]
argument r: float64[3]
body
  map i=0:3:
    v = x[i]
    u = s[i]
    w = v * u
    r[i] = w
"""


def test_unit_vectors():
    assert str(in_every_direction(program(SOURCE), ["x"], "s", ["r"], last=True)) == block("""
        program program
          argument x: float64[3]
          local s: float64[3]
          local r: float64[3]
          argument __return: float64[3, 3]
          body
            loop i0 = 0 .. 2 step 1:
              map i0_0=0:3:
                v_0 = 1 if i0_0 == i0 else 0
                s[i0_0] = v_0
              map i=0:3:
                v = x[i]
                u = s[i]
                w = v * u
                r[i] = w
              map i0_1=0:3:
                v_1 = r[i0_1]
                __return[i0_1, i0] = v_1
    """)


def test_axes_of_the_directions_may_come_first():
    assert "__return[i0, i0_1] = v_1" in str(in_every_direction(program(SOURCE), ["x"], "s", ["r"], last=False))


def test_given_directions():
    assert str(in_given_directions(program(SOURCE), ["x"], ["s"], ["r"], 4)) == block("""
        program program
          argument x: float64[3]
          local s: float64[3]
          local r: float64[3]
          argument directions_s: float64[4, 3]
          argument __return: float64[4, 3]
          body
            loop direction = 0 .. 3 step 1:
              map i0=0:3:
                v_0 = directions_s[direction, i0]
                s[i0] = v_0
              map i=0:3:
                v = x[i]
                u = s[i]
                w = v * u
                r[i] = w
              map i0_0=0:3:
                v_1 = r[i0_0]
                __return[direction, i0_0] = v_1
    """)


def test_written_arguments_start_anew_for_each_direction():
    found = str(in_every_direction(program(SOURCE.replace("r[i] = w", "x[i] = w")), ["x"], "s", ["x"], last=True))
    assert "local work_x: float64[3]" in found
    assert (
        block("""
        map i0_0=0:3:
          v_0 = x[i0_0]
          work_x[i0_0] = v_0
    """).replace("\n", "\n      ")
        in found
    )
