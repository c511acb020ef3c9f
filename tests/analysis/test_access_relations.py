"""Accesses as integer relations: which are exact, injective, apart, covering."""

import pytest
import sympy
from dace.symbolic import int_floor
from treetext import program

from sdgrad.analysis.access_relations import (
    NotAffine,
    apart,
    covers,
    injective,
    isl_text,
    leaf_relation,
    loop_param,
    partition,
)
from sdgrad.symbolic.expr import sym

DECLARATIONS = """
    argument A: float64[8]
    argument M: float64[8, 8]
    argument idx: int64[8]
    body
"""
EIGHT = sympy.Integer(8)


def leaf_of(body: str):
    (leaf,) = program(DECLARATIONS + body).body
    return leaf


I, J = sym("i"), sym("j")


@pytest.mark.parametrize(
    "expr, text",
    [
        (2 * I + 1, "(1 + (2 * v_i))"),
        (sympy.Mod(I, 3), "((v_i) mod 3)"),
        (int_floor(I + 1, 2), "floor(((1 + v_i)) / 2)"),
    ],
)
def test_isl_text(expr, text):
    assert isl_text(expr) == text


@pytest.mark.parametrize("expr", [I * J, I**2, sympy.Mod(I, J), int_floor(I, J), int_floor(I, -2)], ids=str)
def test_what_is_not_affine(expr):
    with pytest.raises(NotAffine):
        isl_text(expr)


def test_an_affine_access_is_exact():
    leaf = leaf_of("""
      map i=0:4:
        v = A[2*i]
        A[i] = v
    """)
    found = leaf_relation(leaf.loads[0], leaf, 1)
    assert found.exact
    assert str(found.elements.count_val()) == "4"


def test_an_access_from_data_stands_for_any_element():
    leaf = leaf_of("""
      map i=0:4:
        j = idx[i]
        v = A[j]
        A[i] = v
    """)
    found = leaf_relation(leaf.loads[1], leaf, 1)
    assert not found.exact
    assert not found.elements.is_bounded()


@pytest.mark.parametrize("index, same", [("i", True), ("7 - i", True), ("i + j", False), ("8*i + j", True)])
def test_injective(index, same):
    leaf = leaf_of(f"""
      map i=0:8, j=0:{8 if "j" in index else 1}:
        v = 1.0
        A[{index}] = v
    """)
    assert injective(leaf.stores[0], leaf, 1) is same


def test_an_index_from_data_is_not_injective():
    leaf = leaf_of("""
      map i=0:8:
        j = idx[i]
        v = 1.0
        A[j] = v
    """)
    assert not injective(leaf.stores[0], leaf, 1)


@pytest.mark.parametrize("read, answer", [("i", True), ("i + 1", False), ("i + 8", True)])
def test_apart(read, answer):
    leaf = leaf_of(f"""
      map i=0:8:
        v = A[{read}]
        A[i] = v
    """)
    assert apart(leaf.loads[0], leaf.stores[0], leaf) is answer


@pytest.mark.parametrize("index, answer", [("j, i", True), ("7 - i, j", True), ("i, i", False)])
def test_covers(index, answer):
    leaf = leaf_of(f"""
      map i=0:8, j=0:8:
        v = 1.0
        M[{index}] = v
    """)
    assert covers(leaf.stores[0], leaf, (EIGHT, EIGHT)) is answer


@pytest.mark.parametrize("second, answer", [("2*i + 1", True), ("2*i", False), ("i", False)])
def test_partition(second, answer):
    leaf = leaf_of(f"""
      map i=0:4:
        v = 1.0
        A[2*i] = v
        A[{second}] = v
    """)
    assert partition(leaf.stores, leaf, (EIGHT,)) is answer


def test_a_loop_with_bounds_from_data_has_no_parameter():
    found = program(
        DECLARATIONS
        + """
      loop k = 0 .. m with m = idx[0] step 1:
        do:
          v = 1.0
          A[k] = v
      loop k = 0 .. 5 step 1:
        do:
          v = 1.0
          A[k] = v
    """
    )
    unknown, known = map(loop_param, found.body)
    assert unknown is None
    assert str(known) == "k=0:6"
