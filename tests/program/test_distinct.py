"""Names that values and containers do not share: program in, program out."""

from treetext import block, program, text

from sdgrad.program.distinct import distinct_names


def test_values_and_parameters_get_other_names():
    given = program("""
        argument x: float64[8]
        argument i: float64[8]
        argument v: float64[8]
        body
          map i=0:8:
            v = x[i]
            w = 2.0 * v
            i[i] = w
    """)
    assert text(distinct_names(given)) == block("""
        map i_0=0:8:
          v_0 = x[i_0]
          w = 2.0 * v_0
          i[i_0] = w
    """)


def test_program_without_common_names_stays():
    given = program("""
        argument x: float64[8]
        body
          map i=0:8:
            v = x[i]
            x[i] = v
    """)
    assert distinct_names(given) is given
