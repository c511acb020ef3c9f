"""Small programs before and after a pass, as text: distribution, hoisting and rematerialization."""

from treetext import block, program, text

from sdgrad.canonicalize.loop_distribution import as_sum, loops_as_nests
from sdgrad.canonicalize.loop_invariants import hoist_common
from sdgrad.canonicalize.rematerialize import sink_shadows
from sdgrad.program.naming import all_names


def test_a_loop_is_distributed_over_its_statements_and_its_temporary_expanded():
    before = program("""
    argument a: float64[8]
    argument B: float64[8, 5]
    argument C: float64[8, 5]
    local t: float64[1]
    body
      loop i = 0 .. 7 step 1:
        do:
          u = a[i]
          v = 2 * u
          t[0] = v
        map j=0:5:
          w = t[0]
          b = B[i, j]
          p = w * b
          C[i, j] += p
    """)
    after = loops_as_nests(before, all_names(before))
    assert text(after) == block("""
        map i_0=0:8:
          u = a[i_0]
          v = 2 * u
          t_0[i_0] = v
        map i_0=0:8, j=0:5:
          w = t_0[i_0]
          b = B[i_0, j]
          p = w * b
          C[i_0, j] += p
    """)
    assert str(after.containers["t_0"]) == "local t_0: float64[8]"


def test_a_loop_with_a_dependence_between_iterations_stays():
    before = program("""
    argument x: float64[8]
    body
      loop i = 1 .. 7 step 1:
        do:
          u = x[i - 1]
          v = 2 * u
          x[i] = v
    """)
    assert loops_as_nests(before, all_names(before)).body == before.body


def test_a_loop_whose_last_value_is_used_stays():
    before = program("""
    argument x: float64[8]
    body
      loop i = 0 .. 7 step 1:
        do:
          u = 1.0
          x[i] = u
      do:
        u = x[i]
        x[0] = u
    """)
    assert loops_as_nests(before, all_names(before)).body == before.body


def test_an_assignment_of_a_sum_is_an_update():
    before = program("""
    argument x: float64[8]
    argument y: float64[8]
    body
      map i=0:8:
        u = x[i]
        v = y[i]
        w = sin(v)
        s = u - w
        x[i] = s
    """)
    (leaf,) = before.body
    assert list(map(str, as_sum(leaf, before).body)) == [
        "v = y[i]",
        "w = sin(v)",
        "s = -1 * w",
        "x[i] += s",
    ]


def test_a_sum_whose_old_value_is_used_twice_is_no_update():
    before = program("""
    argument x: float64[8]
    body
      map i=0:8:
        u = x[i]
        v = sin(u)
        s = u + v
        x[i] = s
    """)
    (leaf,) = before.body
    assert as_sum(leaf, before) == leaf


def test_a_factor_free_of_a_loop_is_applied_to_the_sum():
    """``y[a] += f(A[a]) * C[j] * d[j, a]``: the sum over j comes first, the product once for each a."""
    before = program("""
    argument A: float64[3, 50]
    argument d: float64[40, 3, 50]
    argument y: float64[3]
    local f: float64[50]
    local r: float64[50]
    body
      loop j = 0 .. 39 step 1:
        loop a = 0 .. 2 step 1:
          map i=0:50:
            u = A[a, i]
            v = sin(u)
            f[i] = v
          map i=0:50:
            u = d[j, a, i]
            r[i] = u
          map i=0:50:
            u = f[i]
            v = r[i]
            w = u * v
            y[a] += w
    """)
    after = hoist_common(before, all_names(before))
    assert text(after) == block("""
        loop a = 0 .. 2 step 1:
          map i=0:50:
            u = A[a, i]
            v = sin(u)
            f[i] = v
          map i0=0:50:
            v_0 = 0
            sum_r[i0] = v_0
          loop j = 0 .. 39 step 1:
            map i=0:50:
              u = d[j, a, i]
              sum_r[i] += u
          map i=0:50:
            u = f[i]
            v = sum_r[i]
            w = u * v
            y[a] += w
    """)


def test_a_nest_without_a_common_factor_stays():
    before = program("""
    argument d: float64[40, 3]
    argument y: float64[3]
    body
      loop j = 0 .. 39 step 1:
        loop a = 0 .. 2 step 1:
          do:
            u = d[j, a]
            y[a] += u
    """)
    assert hoist_common(before, all_names(before)) is before


SHADOW = """
    argument x: float64[8]
    argument y: float64[8]
    local b: float64[8]
    local t: float64[8]
    body
      map i=0:8:
        u = x[i]
        v = sin(u)
        b[i] = v
        w = 2 * v
        t[i] = w
"""


def test_a_double_is_computed_where_it_is_read():
    before = program(
        SHADOW
        + """
      map i=1:8:
        p = b[i - 1]
        q = t[i]
        r = p + q
        y[i] = r
    """
    )
    assert text(sink_shadows(before, all_names(before))) == block("""
        map i=0:8:
          u = x[i]
          v = sin(u)
          b[i] = v
        map i=1:8:
          p = b[i - 1]
          v_b = b[i]
          q = 2 * v_b
          r = p + q
          y[i] = r
    """)


def test_a_double_whose_reader_has_no_use_for_the_original_stays():
    before = program(
        SHADOW
        + """
      map i=1:8:
        q = t[i]
        y[i] = q
    """
    )
    assert sink_shadows(before, all_names(before)) is before


def test_a_double_of_an_original_that_changes_stays():
    before = program(
        SHADOW
        + """
      map i=0:8:
        z = 0.0
        b[i] = z
      map i=1:8:
        p = b[i - 1]
        q = t[i]
        r = p + q
        y[i] = r
    """
    )
    assert sink_shadows(before, all_names(before)) is before
