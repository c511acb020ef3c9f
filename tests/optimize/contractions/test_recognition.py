"""Which leaves are contractions, and how a leaf is distributed over its stores."""

import ast

import pytest
from treetext import block, program

from sdgrad.optimize.contractions.recognition import known_scale, recognise, split_stores, terms
from sdgrad.program.tree import lines

DECLARATIONS = """
    argument A: float64[8, 9]
    argument B: float64[9, 7]
    argument s: float64[1]
    argument C: float64[8, 7]
    argument D: float64[8, 7]
    body
      map i=0:8, j=0:7, k=0:9:
        a = A[i, k]
        b = B[k, j]
"""


def nest(statements):
    """A program of one leaf over ``i``, ``j`` and ``k`` that loads ``a`` and ``b``."""
    rows = "\n".join(8 * " " + row.strip() for row in statements.strip().splitlines())
    return program(DECLARATIONS + rows)


def leaf(statements):
    return nest(statements).body[0]


def printed(leaves):
    return "\n".join(line for found in leaves for line in lines(found))


@pytest.mark.parametrize(
    ("statements", "scale"),
    [
        ("v = a * b\nC[i, j] += v", None),
        ("v = b * a\nC[i, j] += v (fresh)", None),
        ("v = -(a * b)\nC[i, j] += v", "-1"),
        ("v = 2.0 * a\nw = v * b\nC[i, j] += w", "2.0"),
        ("c = s[0]\nv = c * a * b\nC[i, j] += v", "c"),
        ("c = s[0]\nv = 2.0 * a\nw = v * (c * b)\nC[i, j] += w", "2.0 * c"),
    ],
)
def test_a_sum_of_a_product_is_a_contraction(statements, scale):
    found = recognise(leaf(statements))
    assert {found.a.name, found.b.name} == {"a", "b"}
    assert (ast.unparse(found.scale) if found.scale is not None else None) == scale
    assert [x.name for x in found.constants] == (["c"] if "s[0]" in statements else [])


@pytest.mark.parametrize(
    "statements",
    [
        "v = a * b\nC[i, j] = v",
        "v = a + b\nC[i, j] += v",
        "v = a * a\nC[i, j] += v",
        "v = sin(a) * b\nC[i, j] += v",
        "c = D[i, j]\nv = a * b * c\nC[i, j] += v",
        "v = a * b\nC[i, j] += v if g",
        "v = a * b\nC[i, j] += v\nD[i, j] += v",
        "v = 2.0 * 3.0 * 4.0 * 5.0 * a * b\nC[i, j] += v",
    ],
    ids=["set", "sum", "square", "function", "three factors", "guard", "two stores", "many constants"],
)
def test_other_leaves_are_none(statements):
    assert recognise(leaf(statements)) is None


def test_a_sum_over_one_array_has_a_constant_operand():
    found = recognise(
        program("""
            argument A: float64[8, 9]
            argument s: float64[1]
            argument y: float64[8]
            body
              map i=0:8, k=0:9:
                a = A[i, k]
                c = s[0]
                v = a * c
                y[i] += v
        """).body[0]
    )
    assert (found.a.name, found.b.name, found.constants) == ("a", "c", ())


def test_known_scales():
    assert known_scale(None) == 1
    assert known_scale(ast.parse("2", mode="eval").body) == 2
    assert known_scale(ast.parse("c", mode="eval").body) is None


def test_terms_of_a_sum_have_leaves_of_their_own():
    before = leaf("u = a * b\nv = u - a\nC[i, j] += v (fresh)")
    assert printed(terms(before, before.stores[0])) == block("""
        map i=0:8, j=0:7, k=0:9:
          a = A[i, k]
          b = B[k, j]
          v_term_0 = a * b
          C[i, j] += v_term_0 (fresh)
        map i=0:8, j=0:7, k=0:9:
          a = A[i, k]
          v_term_1 = -1 * a
          C[i, j] += v_term_1
    """)


def test_the_rest_of_a_leaf_follows_what_replaces_single_stores():
    before = nest("v = a * b\nC[i, j] += v\nD[i, j] = a")
    after = split_stores(before.body[0], before, lambda x: [x] if recognise(x) else None)
    assert printed(after) == block("""
        map i=0:8, j=0:7, k=0:9:
          a = A[i, k]
          b = B[k, j]
          v = a * b
          C[i, j] += v
        map i=0:8, j=0:7, k=0:9:
          a = A[i, k]
          D[i, j] = a
    """)


def test_a_leaf_that_reads_its_results_is_not_distributed():
    before = nest("c = C[i, j]\nv = a * b\nC[i, j] += v\nD[i, j] = c")
    assert split_stores(before.body[0], before, lambda x: [x]) == before.body
