"""Assignments, conditions, and symbols that loops carry."""

import ast

import dace
import sympy
from dace import data as dt

from sdgrad.lift.interstate import carry, joins, lift_assignment, lift_value, reload, unassigned
from sdgrad.lift.views import Env
from sdgrad.program.names import Names
from sdgrad.program.tree import lines
from sdgrad.symbolic.expr import sym


def environment() -> tuple[dace.SDFG, Env]:
    """A graph over a vector ``x``, with symbols ``k`` (``j + 1``), ``r`` (a real number) and ``m`` (the caller's)."""
    sdfg = dace.SDFG("graph")
    _, desc = sdfg.add_array("x", [8], dace.float64)
    for name, dtype in (("k", dace.int64), ("r", dace.float64), ("m", dace.int64)):
        sdfg.add_symbol(name, dtype)
    env = Env(Names({"x", "k", "r", "m"}), {}, dict(sdfg.symbols), frozenset({"m"}))
    env.declare("x", desc, free_name=False)
    env.values["k"] = sym("j") + 1
    return sdfg, env


def written(nodes) -> list[str]:
    return [line for n in nodes for line in lines(n)]


def test_elements_become_loads_and_symbols_their_values():
    _, env = environment()
    assert str(lift_value("x[k] + x[m + 1] > k", env)) == "v_x + v_x_0 > j + 1 with v_x = x[j + 1]; v_x_0 = x[m + 1]"


def test_an_integer_gets_a_name_at_each_assignment():
    sdfg, env = environment()
    assert written(lift_assignment("k", "k + 2", sdfg, env)) == ["k_0 := j + 1 + 2"]
    assert written(lift_assignment("k", "k * 2", sdfg, env)) == ["k_1 := k_0 * 2"]
    assert env.values["k"] == sym("k_1")


def test_a_real_number_becomes_a_scalar():
    sdfg, env = environment()
    assert written(lift_assignment("r", "x[0]", sdfg, env))[-1].startswith("  r_value[0] = ")
    assert str(lift_value("r > 0", env)) == "v_r > 0 with v_r = r_value[0]"
    assert isinstance(env.containers["r_value"].desc, dt.Scalar)


def test_a_carried_symbol_is_stored_and_read_again():
    sdfg, env = environment()
    assert written(carry("k", env)) == ["do:", "  v = j + 1", "  k_value[0] = v"]
    assert written(reload({"k"}, env)) == ["k_0 := v_0 with v_0 = k_value[0]"]
    assert written(lift_assignment("k", "k + 1", sdfg, env)) == [
        "do:",
        "  v_1 = k_0 + 1",
        "  k_value[0] = v_1",
        "k_1 := v_2 with v_2 = k_value[0]",
    ]


def test_arms_join_in_common_names():
    _, env = environment()
    assert written(joins({"k": "k_9"}, {"k": sym("k_0")}, env)) == ["k_9 := k_0"]
    assert written(joins({"k": "k_9"}, {}, env)) == ["k_9 := 0"]


def test_a_symbol_without_an_assignment_is_the_callers_or_zero():
    _, env = environment()
    assert unassigned("m", env) == sym("m")
    assert unassigned("k", env) == sympy.Integer(0)


def test_shapes_follow_their_symbols():
    sdfg, env = environment()
    _, desc = sdfg.add_transient("t", [sym("k")], dace.float64)
    env.declare("t", desc, free_name=False)
    assert env.containers["t"].shape == (sym("j") + 1,)
    lift_assignment("k", "x[0]", sdfg, env)
    assert env.containers["t"].shape == (sym("k_0"),)
    assert ast.unparse(lift_value("k", env).expr) == "k_0"
