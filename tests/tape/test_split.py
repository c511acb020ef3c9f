"""The forward and the backward half, and what the one leaves for the other."""

from treetext import block, program, text

from sdgrad.tape.split import split

DECLARATIONS = """
    argument x: float64[8]
    argument y: float64[8]
    local t: float64[8]
    local u: float64[8]
    body
"""
FORWARD = """
      map i=0:8:
        v = x[i]
        a = exp(v)
        t[i] = a
      map i=0:8:
        v = t[i]
        a = sin(v)
        u[i] = a
"""
BACKWARD = """
      map i=0:8:
        v = u[i]
        y[i] = v
"""


def halves(stored=None, forward: str = FORWARD, backward: str = BACKWARD):
    of = program(DECLARATIONS + forward + backward)
    k = len(program(DECLARATIONS + forward).body)
    return split(of, of.body[:k], of.body[k:], stored)


def test_what_both_use_is_an_argument_of_both():
    found = halves()
    assert found.kept == {"u"}
    assert found.forward.arguments == ("x", "u")
    assert found.backward.arguments == ("y", "u")


def test_what_may_not_be_stored_is_computed_again():
    found = halves(stored=())
    assert found.kept == set()
    assert text(found.backward).startswith(text(found.forward))


def test_a_stored_operand_ends_the_recomputation():
    """Only the second leaf runs again."""
    found = halves(stored=("t",), backward=BACKWARD + BACKWARD.replace("u[i]", "t[i]"))
    assert found.kept == {"t"}
    assert text(found.backward).startswith(
        block("""
        map i=0:8:
          v = t[i]
          a = sin(v)
          u[i] = a
    """)
    )


SYMBOL = """
      m := a with a = n[0]
      map i=0:m:
        v = x[i]
        u[i] = v
"""


def test_symbols_are_carried_over():
    declarations = DECLARATIONS.replace("    body", "    argument n: int64[1]\n    body")
    of = program(
        declarations
        + SYMBOL
        + """
      map i=0:m:
        v = u[i]
        y[i] = v
    """
    )
    found = split(of, of.body[:2], of.body[2:])
    assert found.kept == {"u", "symbol_m"}
    assert "symbol_m[0] = v_m" in text(found.forward)
    assert text(found.backward).startswith("m := v_m with v_m = symbol_m[0]")


def test_sizes_that_arguments_determine():
    declarations = DECLARATIONS.replace("local u: float64[8]", "local u: float64[m]").replace(
        "    body", "    argument n: int64[1]\n    body"
    )
    rest = """
      map i=0:m:
        v = u[i]
        y[i] = v
    """
    of = program(declarations + SYMBOL + rest)
    (assignment,) = split(of, of.body[:2], of.body[2:]).sizes
    assert assignment.symbol == "m"
    changed = "      do:\n        b = 3\n        n[0] = b\n"
    of = program(declarations + changed + SYMBOL + rest)
    assert split(of, of.body[:3], of.body[3:]).sizes is None
