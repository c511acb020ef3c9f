"""Factors of a term that are invariant along some of its subscripts."""

import ast

import pytest
from treetext import program

from sdgrad.optimize.dataflow.broadcast_factors import Broadcast, broadcast_factors
from sdgrad.optimize.dataflow.sum_and_product_terms import addends
from sdgrad.program.tree import Leaf

DECLARATIONS = """
    argument A: float64[8, 5]
    argument B: float64[8, 9]
    argument u: float64[5]
    argument w: float64[9]
    argument C: float64[8, 9]
    argument y: float64[5]
    body
"""
WHOLE = {"A", "B", "C", "u", "w", "y"}


def factored(source: str, summed: frozenset[str] = frozenset()) -> Broadcast | None:
    (leaf,) = program(DECLARATIONS + source).body
    assert isinstance(leaf, Leaf)
    (store,) = leaf.stores
    (term,) = addends(leaf, store.value)
    return broadcast_factors(store, leaf, term, WHOLE, summed)


def names(exprs) -> list[str]:
    return [ast.unparse(e) for e in exprs]


def test_a_product_of_matrix_and_vector_is_invariant_along_columns():
    found = factored("""
      map i=0:8, j=0:9, k=0:5:
        a = A[i, k]
        b = u[k]
        p = a * b
        C[i, j] += p
    """)
    assert found.repeated == {"j"}
    assert (names(found.once), names(found.others)) == (["a", "b"], [])
    assert [str(p) for p in found.nests.kept] == ["i=0:8", "k=0:5"]
    assert [str(p) for p in found.nests.element] == ["i=0:8", "j=0:9"]
    assert found.nests.running is None


def test_a_factor_of_the_element_is_multiplied_behind_the_sum():
    found = factored("""
      map i=0:8, j=0:9, k=0:5:
        a = A[i, k]
        b = w[j]
        p = a * b
        C[i, j] += p
    """)
    assert (names(found.once), names(found.others)) == (["a"], ["b"])


def test_rows_of_a_triangle_are_prefix_sums():
    found = factored("""
      map i=0:5, k=0:i + 1:
        a = u[k]
        y[i] += a
    """)
    assert found.repeated == {"i"}
    assert found.nests.running is not None


@pytest.mark.parametrize(
    "source",
    [
        """
      map i=0:8, j=0:9, k=0:5:
        a = A[i, k]
        b = B[k, j]
        p = a * b
        C[i, j] += p
    """,
        """
      map i=0:8, j=0:9:
        b = w[j]
        C[i, j] += b
    """,
        """
      map i=0:8, j=0:9, k=0:5:
        a = A[i, k]
        c = C[i, j]
        p = a * c
        C[i, j] += p
    """,
    ],
    ids=["a product of matrices", "no sum", "the leaf reads what it adds to"],
)
def test_no_invariant_factors(source):
    assert factored(source) is None


BROADCAST = """
      map i=0:8, j=0:9:
        b = u[0]
        c = sin(b)
        C[i, j] = c
"""


def test_an_assignment_pays_if_a_sum_reads_it():
    found = factored(BROADCAST, frozenset({"C"}))
    assert found.repeated == {"i", "j"}
    assert names(found.once) == ["c"]
    assert factored(BROADCAST) is None
