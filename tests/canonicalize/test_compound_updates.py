"""Updates in place: assignments where each element has one, and else reductions."""

from treetext import block, program, text

from sdgrad.canonicalize.compound_updates import spell_out_updates

DECLARATIONS = """
    argument x: float64[8]
    argument y: float64[8]
    argument idx: int64[8]
    body
"""


def test_a_product_in_place_becomes_an_assignment():
    before = program(
        DECLARATIONS
        + """
      map i=0:8:
        v = y[i]
        x[i] *= v
    """
    )
    assert text(spell_out_updates(before)) == block("""
        map i=0:8:
          v = y[i]
          x0 = x[i]
          x1 = x0 * v
          x[i] = x1
    """)


def test_a_maximum_in_place_becomes_an_assignment():
    before = program(
        DECLARATIONS
        + """
      map i=0:8:
        v = y[i]
        x[i] max= v
    """
    )
    assert "x1 = sdgrad_maximum(x0, v)" in text(spell_out_updates(before))


def test_a_reduction_stays():
    before = program(
        DECLARATIONS
        + """
      map i=0:8:
        v = y[i]
        x[0] *= v
    """
    )
    assert spell_out_updates(before).body == before.body


def test_a_sum_stays():
    before = program(
        DECLARATIONS
        + """
      map i=0:8:
        v = y[i]
        x[i] += v
    """
    )
    assert spell_out_updates(before).body == before.body


def test_updates_of_elements_that_data_choose_run_in_order():
    before = program(
        DECLARATIONS
        + """
      map i=0:8:
        k = idx[i]
        v = y[i]
        x[k] *= v
    """
    )
    assert text(spell_out_updates(before)) == block("""
        loop i_0 = 0 .. 7 step 1:
          do:
            k = idx[i_0]
            v = y[i_0]
            x0 = x[k]
            x1 = x0 * v
            x[k] = x1
    """)
