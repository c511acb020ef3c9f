"""Maps with a structured body: locals that their adjoint computes again."""

BODY = """
      scope i=0:8:
        local a: float64[8]
        local b: float64[1]
        local c: float64[1]
        map j=0:8:
          v = x[j]
          u = v * v
          a[j] = u
        do:
          v = w[i]
          c[0] = v
        do:
          v = c[0]
          b[0] = v
        map j=0:8:
          v = a[j]
          u = b[0]
          y = sin(v)
          q = y * u
          s[0] += q
"""


def test_all_locals_that_needed_ones_depend_on(planned):
    (replay,) = planned(BODY).plan.replays.values()
    assert replay.locals == {"a", "b", "c"}
    assert not replay.loads


def test_a_local_that_nobody_needs_is_not_computed(planned):
    """Of a linear function of ``a`` no value of ``a`` is needed."""
    (replay,) = planned(BODY.replace("sin(v)", "3.0 * v").replace("y * u", "y + u")).plan.replays.values()
    assert "a" not in replay.locals


def test_lost_loads_of_the_slice_come_from_the_tape(planned):
    found = planned(
        BODY
        + """
      map i=0:8:
        v = 0.0
        w[i] = v
    """
    )
    (replay,) = found.plan.replays.values()
    assert {path: list(map(str, kept.values())) for path, kept in replay.loads.items()} == {
        (0, 0, 1): ["tape_w[i] keeps v = w[i]"]
    }
