"""Copies, reductions and write-conflict resolutions."""

import dace
import pytest
from dace import subsets
from treetext import block, program

from sdgrad.errors import UnsupportedNode
from sdgrad.lift.copies import copy_leaf, mode_of, reduce_leaves
from sdgrad.program.names import Names
from sdgrad.program.tree import Source, lines
from sdgrad.program.window import whole_window

CONTAINERS = program("""
    argument A: float64[6, 4]
    argument B: float64[24]
    argument C: float64[3, 4]
    argument S: float64[6]
    argument T: float64[1]
    body
""").containers


def copied(source: str, taken: str, target: str, given: str, wcr: str | None = None) -> str:
    ranges = map(subsets.Range.from_string, (taken, given))
    first, second = ranges
    leaf = copy_leaf(CONTAINERS[source], first, CONTAINERS[target], second, wcr, Names(), Source())
    return "\n".join(lines(leaf))


def test_dimensions_of_size_one_are_left_out():
    assert copied("A", "2:5, 0:4", "C", "0:3, 0:4") == block("""
        map i0=0:3, i1=0:4:
          v_A = A[i0 + 2, i1]
          C[i0, i1] = v_A
    """)
    assert copied("A", "0:6, 3", "S", "0:6") == block("""
        map i0=0:6:
          v_A = A[i0, 3]
          S[i0] = v_A
    """)


def test_other_shapes_are_copied_in_row_major_order():
    assert copied("A", "0:6, 0:4", "B", "0:24") == block("""
        map i0=0:24:
          v_A = A[Mod(int_floor(i0, 4), 6), Mod(i0, 4)]
          B[i0] = v_A
    """)


def test_a_copy_may_accumulate():
    assert "S[i0] += v_B" in copied("B", "0:6", "S", "0:6", "lambda a, b: a + b")


def test_subsets_of_different_sizes_are_refused():
    with pytest.raises(UnsupportedNode, match="of another size"):
        copied("A", "0:6, 0:4", "S", "0:6")


def reduced(target: str, axes: tuple[int, ...] | None, wcr: str, identity: object) -> list[str]:
    windows = [whole_window(n, CONTAINERS[n].desc) for n in ("A", target)]
    whole = [subsets.Range.from_array(CONTAINERS[n].desc) for n in ("A", target)]
    found = reduce_leaves(
        windows[0], whole[0], windows[1], whole[1], dace.float64, axes, wcr, identity, Names(), Source()
    )
    return ["\n".join(lines(leaf)) for leaf in found]


def test_a_sum_from_zero_is_fresh():
    assert reduced("S", (1,), "lambda a, b: a + b", 0) == [
        block("""
        map i0=0:6, i1=0:4:
          v_A = A[i0, i1]
          S[i0] += v_A (fresh)
    """)
    ]


def test_another_start_value_is_stored_first():
    assert reduced("S", (1,), "lambda a, b: a + b", 3) == [
        block("""
        map i0=0:6:
          v_init = 3
          S[i0] = v_init
    """),
        block("""
        map i0=0:6, i1=0:4:
          v_A = A[i0, i1]
          S[i0] += v_A
    """),
    ]


def test_a_reduction_of_all_axes():
    (found,) = reduced("T", None, "lambda a, b: max(a, b)", None)
    assert found.endswith("T[0] max= v_A")


def test_an_output_of_another_rank_is_refused():
    with pytest.raises(UnsupportedNode, match="another rank"):
        reduced("C", (1,), "lambda a, b: a + b", 0)


@pytest.mark.parametrize(
    "wcr, mode",
    [
        (None, "set"),
        ("lambda a, b: a + b", "sum"),
        ("lambda a, b: a * b", "prod"),
        ("lambda a, b: a - b", "sub"),
        ("lambda a, b: b - a", "custom"),
        ("lambda a, b: a / b", "div"),
        ("lambda a, b: fmax(a, b)", "max"),
        ("lambda a, b: min(a, b)", "min"),
        ("lambda a, b: a + 2 * b", "custom"),
    ],
)
def test_modes_of_write_conflict_resolutions(wcr, mode):
    assert mode_of(wcr) == mode
