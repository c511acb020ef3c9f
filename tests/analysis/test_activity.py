"""Which names of leaves are active: they depend on an input, and an output depends on them."""

from treetext import block, program

from sdgrad.analysis.activity import activity, unknown_functions

DECLARATIONS = """
    argument x: float64[8]
    argument k: float64[8]
    argument z: float64[8]
    argument s: float64[1]
    local t: float64[8]
    body
"""


def found(body: str, inputs=("x",), outputs=("s",)):
    of = program(DECLARATIONS + body)
    return of, activity(of, inputs, outputs)


def test_active_is_both_varied_and_useful():
    _, facts = found("""
      map i=0:8:
        v = x[i]
        c = k[i]
        w = v * c
        u = sin(v)
        s[0] += w
        z[i] = u
    """)
    assert str(facts) == "0: v, w"


def test_the_initial_value_of_a_sum_is_active_if_it_is_varied():
    _, facts = found("""
      map i=0:8:
        v = x[i]
        s[0] += v
      map i=0:8:
        v = x[i]
        s[0] += v
    """)
    assert str(facts) == block("""
        0: v
        1: =s, v
    """)


def test_an_overwritten_container_is_no_longer_varied():
    _, facts = found("""
      map i=0:8:
        v = x[i]
        t[i] = v
      map i=0:8:
        c = k[i]
        t[i] = c
      map i=0:8:
        w = t[i]
        s[0] += w
    """)
    assert str(facts) == ""


def test_a_loop_goes_round_to_a_fixpoint():
    """The sum reads ``z`` before the loop's body writes it, in an earlier iteration."""
    _, facts = found("""
      loop j = 0 .. 7 step 1:
        do:
          w = z[j]
          s[0] += w
        do:
          v = t[j]
          z[j] = v
        do:
          u = x[j]
          t[j] = u
    """)
    assert "0.0.0: =s, w" in str(facts) and "0.0.1: v" in str(facts) and "0.0.2: u" in str(facts)


def test_overwritten_cotangents():
    _, facts = found("""
      do:
        v = x[0]
        s[0] = v
      do:
        c = k[0]
        s[0] = c
    """)
    assert facts.overwritten == {(1,): frozenset({"s"})}


def test_an_active_function_without_a_derivative_is_reported():
    of, facts = found("""
      do:
        v = x[0]
        w = no_such_function(v)
        s[0] = w
    """)
    (problem,) = unknown_functions(of, facts)
    assert "no_such_function" in str(problem)


def test_an_inactive_one_is_not():
    of, facts = found("""
      do:
        v = k[0]
        w = no_such_function(v)
        s[0] = w
    """)
    assert unknown_functions(of, facts) == []
