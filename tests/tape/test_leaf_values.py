"""Values of a leaf: loaded again, computed again, or kept on the tape."""

import dace

OVERWRITE_X = """
      map i=0:8:
        zero = 0.0
        x[i] = zero
"""


def leaf(*rows: str) -> str:
    return "      map i=0:8:\n" + "".join(f"        {row}\n" for row in rows)


def test_a_surviving_load_is_repeated(planned):
    found = planned(leaf("v = x[i]", "u = v * v", "s[0] += u"))
    assert found.tape == ["no tape"]
    assert found.replay(0) == ["v = x[i]"]


def test_values_are_recomputed_from_survivors(planned):
    found = planned(leaf("v = x[i]", "u = v + 1.0", "y = sin(u)", "s[0] += y"))
    assert found.replay(0) == ["v = x[i]", "u = v + 1.0"]


def test_a_lost_load_goes_on_the_tape(planned):
    found = planned(leaf("v = x[i]", "u = sin(v)", "s[0] += u") + OVERWRITE_X)
    assert found.tape == ["tape_x[i] keeps v = x[i]"]
    assert found.replay(0) == ["v = tape_x[i]"]


def test_a_lost_load_is_lost_even_if_its_subscript_is_kept(planned):
    """The place is lost, too, and needed for the adjoint of the load: both are kept."""
    found = planned(
        leaf("k = idx[i]", "v = x[k]", "u = sin(v)", "s[0] += u") + OVERWRITE_X + OVERWRITE_X.replace("x[i]", "idx[i]")
    )
    assert len(found.tape) == 2 and not any("= x[" in row for row in found.replay(0))


def test_the_cheapest_values_are_kept(planned):
    """One sum instead of its two operands."""
    found = planned(
        leaf("v = x[i]", "a = w[i]", "u = v + a", "y = sin(u)", "s[0] += y")
        + OVERWRITE_X
        + OVERWRITE_X.replace("x[i]", "w[i]")
    )
    assert found.tape == ["tape_u[i] keeps u"]


def test_an_operand_instead_of_two_results(planned):
    found = planned(leaf("v = x[i]", "a = sin(v)", "b = cos(v)", "u = a * b", "s[0] += u") + OVERWRITE_X)
    assert found.tape == ["tape_x[i] keeps v = x[i]"]
    assert found.replay(0) == ["v = tape_x[i]", "a = sin(v)", "b = cos(v)"]


def test_an_index_from_data_is_kept_as_an_integer(planned):
    found = planned(
        leaf("j = idx[i]", "v = x[j]", "s[0] += v")
        + """
      map i=0:8:
        zero = 0
        idx[i] = zero
    """
    )
    assert found.tape == ["tape_idx[i] keeps j = idx[i]"]
    assert found.plan.containers[0].dtype == dace.int64


def test_a_product_keeps_its_initial_value(planned):
    found = planned(leaf("v = x[i]", "s[0] *= v"))
    assert found.tape == ["tape_s[0] keeps x0 = s[0]"]
    assert [str(size) for size, _ in found.plan.leaves[0,].instances] == ["8"]
