"""Integers in memory as expressions of bounds and subscripts."""

import ast

from treetext import block, program, text

from sdgrad.canonicalize.constant_propagation import assigned_once, integer_expression, known_integers
from sdgrad.symbolic.expr import sym

DECLARATIONS = """
    argument x: float64[8]
    argument n: int64[1]
    local k: int64[1]
    body
"""


def test_a_constant_in_memory_becomes_a_subscript():
    before = program(
        DECLARATIONS
        + """
      do:
        v = 3
        k[0] = v
      do:
        u = k[0]
        w = x[u + 1]
        x[0] = w
    """
    )
    assert text(known_integers(before)) == block("""
        do:
          v = 3
          k[0] = v
        do:
          u = 3
          w = x[4]
          x[0] = w
    """)


def test_a_symbol_with_an_affine_value_is_replaced():
    before = program(
        DECLARATIONS
        + """
      loop i = 0 .. 3 step 1:
        s := 2 * i + 1
        map j=0:s:
          v = 1.0
          x[j] = v
    """
    )
    assert text(known_integers(before)) == block("""
        loop i = 0 .. 3 step 1:
          map j=0:2*i + 1:
            v = 1.0
            x[j] = v
    """)


def test_an_argument_that_bounds_are_read_from_gets_a_symbol():
    before = program(
        DECLARATIONS
        + """
      loop i = 0 .. v - 1 with v = n[0] step 1:
        do:
          w = 1.0
          x[i] = w
    """
    )
    assert text(known_integers(before)) == block("""
        n_value := v with v = n[0]
        loop i = 0 .. n_value - 1 step 1:
          do:
            w = 1.0
            x[i] = w
    """)


def test_a_value_that_a_loop_changes_stays_in_memory():
    before = program(
        DECLARATIONS
        + """
      do:
        v = 0
        k[0] = v
      loop i = 0 .. 3 step 1:
        do:
          u = k[0]
          w = x[u]
          x[0] = w
        do:
          u = k[0]
          w = u + 1
          k[0] = w
    """
    )
    assert known_integers(before).body == before.body


def test_after_a_branch_only_what_both_arms_agree_on_is_known():
    before = program(
        DECLARATIONS
        + """
      if p > 0:
        do:
          v = 1
          k[0] = v
      else:
        do:
          v = 2
          k[0] = v
      do:
        u = k[0]
        w = x[u]
        x[0] = w
    """
    )
    assert text(known_integers(before)).endswith(
        block("""
        do:
          u = k[0]
          w = x[u]
          x[0] = w
    """)
    )


def test_integer_expressions_are_affine():
    local = {"k": sym("i") + 1}

    def meaning(source: str):
        return integer_expression(ast.parse(source, mode="eval").body, local, {"u"})

    assert meaning("2 * k - 3") == 2 * sym("i") - 1
    assert meaning("u + 1") is None  # not known before the leaf runs
    assert meaning("k / 2") is None
    assert meaning("1.5") is None


def test_symbols_with_one_assignment():
    found = program("""
    body
      a := 1
      b := 2
      b := 3
    """)
    assert assigned_once(found.body) == {"a"}
