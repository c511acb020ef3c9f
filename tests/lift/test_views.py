"""Parts of containers under other names: as offsets where that is possible, and else as views."""

import dace
import pytest
from dace import data as dt
from dace import subsets
from treetext import program

from sdgrad.errors import UnsupportedNode
from sdgrad.lift.views import Env, bind, param_symbols
from sdgrad.program.names import Names
from sdgrad.program.window import FromEnd
from sdgrad.symbolic.expr import sym

CONTAINERS = program("""
    argument A: float64[6, 4]
    body
""").containers
I, J = sym("i"), sym("j")


def environment(read_once: bool = False) -> Env:
    return Env(Names({"A"}), dict(CONTAINERS), {}, read_once=read_once)


def bound(desc: dt.Data, subset: str, env: Env):
    return bind("part", desc, CONTAINERS["A"], subsets.Range.from_string(subset), env)


def test_a_row_and_a_column_are_offsets():
    assert bound(dt.Array(dace.float64, [4]), "2, 0:4", environment()).index((I,)) == (2, I)
    assert bound(dt.Array(dace.float64, [6], strides=[4]), "0:6, 3", environment()).index((I,)) == (I, 3)


def test_steps_are_part_of_the_subscript():
    part = dt.Array(dace.float64, [3, 4], strides=[8, 1])
    assert bound(part, "0:6:2, 0:4", environment()).index((I, J)) == (2 * I, J)


def test_another_shape_is_a_view():
    env = environment()
    window = bound(dt.Array(dace.float64, [24]), "0:6, 0:4", env)
    assert window.index((I,)) == (I,)
    assert str(env.containers[window.container]) == "local part: float64[24] view of A[0:6, 0:4]"


def test_another_type_is_refused():
    with pytest.raises(UnsupportedNode, match="reinterprets A"):
        bound(dt.Array(dace.int64, [6, 4]), "0:6, 0:4", environment())


def test_in_a_python_function_subscripts_may_count_from_the_end_of_a_part():
    (index,) = {bound(dt.Array(dace.float64, [4]), "2, 0:4", environment(read_once=True)).index((I,))}
    assert not index[0].has(FromEnd)  # the row is no subscript of the part
    part = bound(dt.Array(dace.float64, [3]), "2, 1:4", environment(read_once=True)).index((I,))
    assert part[1].has(FromEnd)


def test_shapes_have_the_values_of_their_symbols():
    env = environment()
    env.values["n"] = sym("m") + 1
    assert env.declare("t", dt.Array(dace.float64, [sym("n")], transient=True)).shape == (sym("m") + 1,)


def test_parameters_get_fresh_names():
    env = environment()
    env.names.fresh("i")
    renamed, fresh = param_symbols(["i", "k"], env)
    assert fresh == ["i_0", "k"] and renamed == {"i": sym("i_0"), "k": sym("k")}
