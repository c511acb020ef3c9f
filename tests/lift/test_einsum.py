"""Einsum nodes as leaves."""

import pytest
from dace import subsets
from treetext import block, program

from sdgrad.errors import UnsupportedNode
from sdgrad.lift.einsum import einsum_leaf
from sdgrad.program.names import Names
from sdgrad.program.tree import Source, lines
from sdgrad.program.window import whole_window

CONTAINERS = program("""
    argument A: float64[3, 4]
    argument B: float64[4, 5]
    argument C: float64[3, 5]
    argument s: float64[1]
    body
""").containers


def summed(text: str, *names: str, alpha: float = 1) -> str:
    *inputs, output = [
        (whole_window(n, CONTAINERS[n].desc), subsets.Range.from_array(CONTAINERS[n].desc)) for n in names
    ]
    connectors = {f"_in{k}": operand for k, operand in enumerate(inputs)}
    return "\n".join(lines(einsum_leaf(text, alpha, connectors, output, Names(), Source())))


def test_a_matrix_product():
    assert summed("ik,kj->ij", "A", "B", "C") == block("""
        map i_i=0:3, i_j=0:5, i_k=0:4:
          v_A = A[i_i, i_k]
          v_B = B[i_k, i_j]
          v = v_A * v_B
          C[i_i, i_j] += v (fresh)
    """)


def test_a_scaled_sum_of_all_elements():
    assert summed("ij->", "A", "s", alpha=2.5) == block("""
        map i_i=0:3, i_j=0:4:
          v_A = A[i_i, i_j]
          v = 2.5 * v_A
          s[0] += v (fresh)
    """)


@pytest.mark.parametrize("text", ["...k,kj->...j", "ik,kj,jl->il"])
def test_other_texts_are_refused(text):
    with pytest.raises(UnsupportedNode, match="einsum"):
        summed(text, "A", "B", "C")
