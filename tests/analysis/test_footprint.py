"""Boxes of elements that a block reads and writes."""

from treetext import program

from sdgrad.analysis.footprint import box, reads_of, writes_of

DECLARATIONS = """
    argument A: float64[9]
    argument B: float64[9]
    argument idx: int64[9]
    body
"""


def footprint(body: str) -> tuple[str, str]:
    """Reads and writes as text; a box that is not exact ends with ``?``."""
    of = program(DECLARATIONS + body, symbols="n")

    def text(touches) -> str:
        boxes = ((t.container, ", ".join(f"{a}..{b}" for a, b, _ in t.ranges), "" if t.exact else "?") for t in touches)
        return ", ".join(f"{name}[{ranges}]{mark}" for name, ranges, mark in boxes)

    return text(reads_of(of.body, of)), text(writes_of(of.body, of))


def test_a_parameter_plus_a_constant_gives_a_range():
    assert footprint("""
      map i=0:8:
        v = A[i + 1]
        B[i] = v
    """) == ("A[1..8]", "B[0..7]")


def test_an_index_from_data_gives_the_whole_array():
    assert footprint("""
      map i=0:8:
        j = idx[i]
        v = A[j]
        B[i] = v
    """) == ("idx[0..7], A[0..8]?", "B[0..7]")


def test_a_branch_need_not_run():
    assert footprint("""
      if n > 2:
        do:
          v = A[0]
          B[1] = v
    """) == ("A[0..0]?", "B[1..1]?")


def test_a_sum_reads_its_target():
    assert footprint("""
      do:
        v = A[0]
        B[1] += v
    """) == ("A[0..0], B[0..8]?", "B[1..1]")


def test_loops_are_dimensions():
    assert footprint("""
      loop k = 2 .. 5 step 1:
        do:
          v = A[k - 2]
          B[k] = v
    """) == ("A[0..3]", "B[2..5]")


def test_accesses_of_one_array_join_in_a_box():
    of = program(
        DECLARATIONS
        + """
      map i=0:8:
        v = A[i]
        w = A[i + 1]
        u = v + w
        B[i] = u
    """
    )
    touches = [t for t in reads_of(of.body, of) if t.container == "A"]
    region, exact = box(touches, of.containers["A"])
    assert (str(region.subset), exact) == ("0:9", False)
    region, exact = box(touches[:1], of.containers["A"])
    assert (str(region.subset), exact) == ("0:8", True)
