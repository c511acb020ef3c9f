"""Index symbols as loads in the leaves that use them."""

from treetext import block, program

from sdgrad.program.naming import all_names
from sdgrad.program.tree import lines
from sdgrad.rewrite.index_loads import assigned_symbols, with_local_indices

DECLARATIONS = """
    argument x: float64[8]
    argument w: float64[8]
    argument idx: int64[8]
    body
"""


def substituted(source: str, *symbols: str) -> str | None:
    found = program(DECLARATIONS + source)
    nodes = with_local_indices(found.body, set(symbols), all_names(found), found)
    return None if nodes is None else "\n".join(line for n in nodes for line in lines(n))


def test_a_symbol_is_read_in_the_leaf():
    assert substituted(
        """
      k := v with v = idx[3]
      do:
        u = w[0]
        x[k] += u
    """,
        "k",
    ) == block("""
        do:
          v = idx[3]
          k_0 = v
          u = w[0]
          x[k_0] += u
    """)


def test_symbols_may_build_on_each_other():
    assert substituted(
        """
      k := v with v = idx[3]
      m := k + 1
      do:
        u = w[0]
        x[m] = u
    """,
        "k",
        "m",
    ) == block("""
        do:
          v = idx[3]
          k_0 = v
          m_0 = k_0 + 1
          u = w[0]
          x[m_0] = u
    """)


def test_data_that_change_before_the_use_are_none():
    assert (
        substituted(
            """
      k := v with v = idx[3]
      do:
        a = 0
        idx[3] = a
      do:
        u = w[0]
        x[k] = u
    """,
            "k",
        )
        is None
    )


def test_a_symbol_in_a_bound_is_none():
    assert (
        substituted(
            """
      k := v with v = idx[3]
      map i=0:k:
        u = w[i]
        x[i] = u
    """,
            "k",
        )
        is None
    )


def test_another_node_than_a_leaf_is_none():
    assert (
        substituted(
            """
      k := v with v = idx[3]
      loop i = 0 .. 3 step 1:
        do:
          u = w[i]
          x[k] = u
    """,
            "k",
        )
        is None
    )


def test_loops_and_assignments_are_counted():
    found = program(
        DECLARATIONS
        + """
      k := 1
      loop k = 0 .. 3 step 1:
        m := 2
    """
    )
    assert assigned_symbols(found.body) == {"k": 2, "m": 1}
