"""What ``add_backward_pass`` takes: names, access nodes, and the arguments of DaCe's own function."""

import inspect

import dace
import numpy as np
import pytest
from references import assert_close

import sdgrad
from sdgrad.errors import ArgumentError, NameNotFound


@dace.program
def total(AB: dace.float64[4], S: dace.float64[1]):
    S[0] = np.sum(AB * AB)


def slope(sdfg: dace.SDFG) -> np.ndarray:
    found = np.zeros(4)
    sdfg(AB=np.arange(4.0), S=np.zeros(1), gradient_AB=found, gradient_S=np.ones(1))
    return found


@pytest.mark.parametrize("simplify", [False, True])
def test_a_name_is_one_name(simplify):
    sdfg = total.to_sdfg()
    sdfg.name = f"one_name_{simplify}"
    assert sdgrad.add_backward_pass(sdfg, inputs="AB", outputs="S", simplify=simplify) is sdfg
    assert_close(slope(sdfg), 2 * np.arange(4.0), 1e-12, "result")


def test_an_access_node_is_one_as_well():
    sdfg = total.to_sdfg()
    node = next(n for s in sdfg.states() for n in s.data_nodes() if n.data == "AB")
    sdgrad.add_backward_pass(sdfg, inputs=node, outputs=["S"])
    assert "gradient_AB" in sdfg.arrays


@pytest.mark.parametrize("extend", [sdgrad.add_backward_pass, sdgrad.add_forward_tangent])
def test_an_output_that_the_graph_never_writes_is_refused(extend):
    """With inputs and outputs exchanged the gradient was zero."""
    with pytest.raises(ArgumentError, match="never writes the output 'AB'.* It writes S: are inputs and outputs exch"):
        extend(total.to_sdfg(), inputs="S", outputs="AB")
    extend(total.to_sdfg(), inputs="AB", outputs=["S", "AB"])  # of the identity


def test_letters_are_no_names():
    with pytest.raises(NameNotFound, match="'A'"):
        sdgrad.add_backward_pass(total.to_sdfg(), inputs=["A", "B"], outputs="S")
    with pytest.raises(ArgumentError, match="not as int"):
        sdgrad.add_backward_pass(total.to_sdfg(), inputs=[1], outputs="S")


def test_it_has_the_arguments_that_callers_of_dace_pass():
    own = inspect.signature(sdgrad.add_backward_pass).parameters
    assert {"sdfg", "inputs", "outputs", "simplify", "separate_sdfgs"} <= own.keys()


@pytest.mark.parametrize("step", [2, -3])
def test_a_loop_whose_direction_the_caller_chooses(step):
    sdfg = dace.SDFG(f"either_way_{step % 7}")
    sdfg.add_array("AB", [9], dace.float64)
    sdfg.add_array("S", [1], dace.float64)
    for symbol in ("step", "first"):
        sdfg.add_symbol(symbol, dace.int64)
    condition = "(step > 0 and i < 9) or (step < 0 and i >= 0)" if step > 0 else "i >= 0"
    loop = dace.sdfg.state.LoopRegion("loop", condition, "i", "i = first", "i = i + step")
    sdfg.add_node(loop, is_start_block=True)
    state = loop.add_state(is_start_block=True)
    tasklet = state.add_tasklet("add", {"a", "s"}, {"out"}, "out = s + a * a")
    state.add_edge(state.add_read("AB"), None, tasklet, "a", dace.Memlet("AB[i]"))
    state.add_edge(state.add_read("S"), None, tasklet, "s", dace.Memlet("S[0]"))
    state.add_edge(tasklet, "out", state.add_write("S"), None, dace.Memlet("S[0]"))
    sdgrad.add_backward_pass(sdfg, inputs="AB", outputs="S")
    x, found, expected = np.arange(9.0), np.zeros(9), np.zeros(9)
    first = 1 if step > 0 else 8
    sdfg(AB=x, S=np.zeros(1), gradient_AB=found, gradient_S=np.ones(1), step=step, first=first)
    expected[first::step] = 2 * x[first::step]
    assert_close(found, expected, 1e-12, "result")


def test_parts_whose_size_has_two_symbols_of_one_name():
    """The kernel of NPBench as it is published: equal sizes were not seen to be equal."""
    rows, columns = (dace.symbol(s, dtype=dace.int64) for s in ("rows", "columns"))

    @dace.program
    def covariance(count: dace.float64, data: dace.float64[rows, columns]):
        mean = np.mean(data, axis=0)
        np.subtract(data, mean, out=data)
        cov = np.zeros((columns, columns), dtype=data.dtype)
        for i in range(columns):
            cov[i, i:columns] = data[:, i] @ data[:, i:columns] / (count - 1.0)
            cov[i:columns, i] = cov[i, i:columns]
        return cov

    graph = covariance.to_sdfg(simplify=True)
    sdgrad.add_backward_pass(graph, ["data"], ["__return"])
    data, gradient = np.random.default_rng(1).random((5, 3)), np.zeros((5, 3))
    given = {"count": 5.0, "rows": 5, "columns": 3, "__return": np.zeros((3, 3)), "gradient___return": np.ones((3, 3))}
    graph(data=data.copy(), gradient_data=gradient, **given)
    centred = data - data.mean(axis=0)
    np.testing.assert_allclose(gradient, np.repeat(2 * centred.sum(axis=1, keepdims=True), 3, axis=1) / 4, atol=1e-12)
