"""Nodes of DaCe whose operands have extents of one."""

from __future__ import annotations

import dace
import numpy as np
import pytest
from graphs import call, copied, differences, gradients

import sdgrad
from sdgrad.lift.unit_extents import replace_unit_nodes

X = dace.float64


@dace.program
def systems(A: X[3, 3], B: X[3, 4], a: X[1, 1], b: X[3], c: X[3, 1], d: X[1], e: X[1, 2], S: X[3]):
    x = np.linalg.solve(A, b)
    y = np.linalg.solve(A, c)
    z = np.linalg.solve(A, B[:, 1])
    u = np.linalg.solve(a, d)
    v = np.linalg.solve(a, e)
    S[:] = np.sin(x) + z * u[0] + v[0, 1]
    S += y[:, 0] ** 2


def systems_of_numpy(A, B, a, b, c, d, e):
    x, y, z = np.linalg.solve(A, b), np.linalg.solve(A, c), np.linalg.solve(A, B[:, 1])
    return {"S": np.sin(x) + z * np.linalg.solve(a, d)[0] + np.linalg.solve(a, e)[0, 1] + y[:, 0] ** 2}


@dace.program
def of_one_number(a: X[1, 1], c: X[3, 1], d: X[1], r: X[1, 3], S: X[3]):
    S[:] = np.linalg.inv(a)[0, 0] * (c @ d) + np.linalg.cholesky(a)[0, 0] * (d @ r)
    S += (a @ d)[0]


def of_one_number_of_numpy(a, c, d, r):
    return {"S": np.linalg.inv(a)[0, 0] * (c @ d) + np.linalg.cholesky(a)[0, 0] * (d @ r) + (a @ d)[0]}


@pytest.mark.parametrize("program, function", [(systems, systems_of_numpy), (of_one_number, of_one_number_of_numpy)])
def test_a_graph_has_its_values_and_gradients(program, function):
    rng = np.random.default_rng(0)
    sdfg = program.to_sdfg()
    wrt = [n for n in sdfg.arglist() if n != "S"]
    values = {n: rng.random(sdfg.arrays[n].shape) + 1.0 for n in wrt}
    values.update({"A": values["A"] + 4.0 * np.eye(3)} if "A" in values else {})
    seed = {"gradient_S": rng.standard_normal(3)}
    expected = differences(lambda v: function(**v), values, wrt, seed)
    sdgrad.add_backward_pass(sdfg, inputs=wrt, outputs=["S"])
    found = call(sdfg, copied({**values, **gradients(wrt, values), **seed, "S": np.zeros(3)}))
    np.testing.assert_allclose(found["S"], function(**values)["S"], rtol=1e-12)
    for name in expected:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-7, atol=1e-9, err_msg=name)


def test_other_nodes_stay():
    sdfg = dace.SDFG("plain")
    state = sdfg.add_state()
    node = dace.libraries.linalg.Solve("solve")
    for name, connector in (("A", "_ain"), ("B", "_bin"), ("X", "_bout")):
        sdfg.add_array(name, [3, 3], X)
        if name == "X":
            state.add_edge(node, connector, state.add_write(name), None, dace.Memlet(f"{name}[0:3, 0:3]"))
        else:
            state.add_edge(state.add_read(name), None, node, connector, dace.Memlet(f"{name}[0:3, 0:3]"))
    replace_unit_nodes(sdfg)
    assert node in state.nodes()
