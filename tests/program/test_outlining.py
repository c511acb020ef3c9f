"""Runs of nodes become C++ functions: which do, what these do, and what stays a state."""

import dace
import numpy as np
import pytest
from dace import nodes as nd
from treetext import program

import sdgrad
from sdgrad.config import config
from sdgrad.program.emit import emit
from sdgrad.program.outlining import Outliner
from sdgrad.program.tree import Scope
from sdgrad.runtime.compile.cache import compile_sdfg


def run(source, symbols="", **values):
    """Run a program of text as one function, and as states; return what both leave in the arrays."""
    found = []
    for outlines in (True, False):
        given = {n: np.copy(v) if isinstance(v, np.ndarray) else v for n, v in values.items()}
        sdfg = emit(program(source, symbols=symbols), outlines)
        tasklets = [n for n, _ in sdfg.all_nodes_recursive() if isinstance(n, nd.Tasklet)]
        assert not outlines or [t.language for t in tasklets] == [dace.Language.CPP]
        compile_sdfg(sdfg)(given)
        found.append({n: v for n, v in given.items() if isinstance(v, np.ndarray)})
    outlined, states = found
    for name, value in states.items():
        np.testing.assert_array_equal(outlined[name], value)
    return outlined


def text_of(source, symbols=""):
    """Return a program of text as one C++ function."""
    made = program(source, symbols=symbols)
    return Outliner(made).outlined(made.body).text


X = np.arange(8.0)


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ("0 .. 7 step 1", [1, 2, 3, 4, 5, 6, 7, 8]),
        ("7 .. 0 step -1", [1, 2, 3, 4, 5, 6, 7, 8]),
        ("1 .. 7 step 3", [0, 2, 2, 3, 5, 5, 6, 8]),
        ("5 .. 2 step 1", [0, 1, 2, 3, 4, 5, 6, 7]),
    ],
)
def test_loops(bounds, expected):
    source = f"""
    argument x: float64[8]
    body
      loop k = {bounds}:
        do:
          v = x[k]
          w = v + 1.0
          x[k] = w
    """
    assert run(source, x=X)["x"].tolist() == expected


@pytest.mark.parametrize(("first", "last", "step"), [(1, 7, 2), (6, 0, -3), (3, 2, 1)])
def test_a_loop_whose_step_is_an_argument(first, last, step):
    source = """
    argument x: float64[8]
    body
      loop k = a .. b step s:
        do:
          v = 9.0
          x[k] = v
    """
    expected = X.copy()
    expected[[*range(first, last + (1 if step > 0 else -1), step)]] = 9.0
    assert np.array_equal(run(source, symbols="a b s", x=X, a=first, b=last, s=step)["x"], expected)


def test_branches_guards_and_reductions():
    source = """
    argument x: float64[8]
    argument y: float64[1]
    body
      map i=0:8:
        v = x[i]
        c = v > 2.0
        w = v * v
        y[0] += w if c
      loop k = 0 .. 7 step 1:
        if k % 2 == 0:
          do:
            z = 0.0
            x[k] = z
    """
    found = run(source, x=X, y=np.zeros(1))
    assert found["y"][0] == np.sum(X[X > 2.0] ** 2)
    assert np.array_equal(found["x"], np.where(np.arange(8) % 2 == 0, 0.0, X))


def test_an_array_with_one_element_and_a_view():
    source = """
    argument x: float64[2, 4]
    argument total: float64[1]
    local row: float64[4] view of x[1, 0:4]
    body
      map i=0:4:
        v = row[i]
        w = 2.0 * v
        row[i] = w
        total[0] += v
    """
    found = run(source, x=X.reshape(2, 4), total=np.zeros(1))
    assert found["total"][0] == 4 + 5 + 6 + 7
    assert np.array_equal(found["x"], [[0, 1, 2, 3], [8, 10, 12, 14]])


def test_symbols_of_instances_are_their_own():
    source = """
    argument x: int64[8]
    body
      scope i=0:8:
        n := x[i] + 1
        loop k = 0 .. n step 1:
          do:
            v = x[i]
            w = v + 1
            x[i] = w
    """
    text = text_of(source)
    assert text.index("#pragma omp parallel for") < text.index("int64_t n;")  # not one for all threads
    assert run(source, x=np.arange(8))["x"].tolist() == [2 * k + 2 for k in range(8)]


def test_a_symbol_that_is_asked_for_later_stays_outside():
    """What follows a loop in another run of nodes sees the loop's last value."""
    source = """
    argument x: float64[8]
    body
      loop k = 0 .. 3 step 1:
        n := k + 2
      do:
        v = 1.0
        x[n] = v
    """
    made = program(source)
    loop, leaf = made.body
    outliner = Outliner(made)
    assert not outliner.is_outlined(loop, made.body[1:]) and outliner.is_outlined(leaf, ())
    sdfg = emit(made, outlines=True)
    x = np.zeros(8)
    compile_sdfg(sdfg)({"x": x})
    assert x.tolist() == [0, 0, 0, 0, 0, 1, 0, 0]


def test_a_loop_whose_variable_is_read_behind_it_stays_outside():
    source = """
    argument x: float64[8]
    body
      loop i = 0 .. 1 step 1:
        loop k = 0 .. 3 step 1:
          do:
            v = 1.0
            x[k] += v
        do:
          w = 2.0
          x[k + 1] = w
    """
    made = program(source)
    assert not Outliner(made).is_outlined(made.body[0], ())
    x = np.zeros(8)
    compile_sdfg(emit(made, outlines=True))({"x": x})
    assert x.tolist() == [2, 2, 2, 2, 0, 2, 0, 0]


def test_functions_are_named_by_what_they_do():
    one, other = (text_of(f"argument x: float64[8]\nbody\n  map i=0:8:\n    v = {v}\n    x[i] = v") for v in (1.0, 2.0))
    assert one.split("(")[0] != other.split("(")[0]


def test_names_of_arguments_may_be_those_of_the_call():
    def f(x, part_x, part_in_x, part_out_x, s, part_s):
        for i in range(x.shape[0] - 1):
            x[i + 1] = x[i] * part_x[i] + np.sin(part_in_x[i]) * s + part_out_x[i] * part_s
        return np.sum(x * part_out_x) + s * part_s

    rng = np.random.default_rng(0)
    values = [*(rng.standard_normal(6) for _ in range(4)), 1.3, 0.7]
    found = sdgrad.grad(f, wrt=tuple(range(6)))(*map(np.copy, values))
    directions = [rng.standard_normal(np.shape(v)) for v in values]
    ahead, behind = (f(*(v + h * d for v, d in zip(values, directions, strict=True))) for h in (1e-6, -1e-6))
    slope = sum(np.sum(g * d) for g, d in zip(found, directions, strict=True))
    np.testing.assert_allclose(slope, (ahead - behind) / 2e-6, rtol=1e-7)


def test_debugging_keeps_states():
    def f(x):
        for i in range(1, x.shape[0]):
            x[i] = x[i] * x[i - 1]
        return np.sum(x)

    x = np.linspace(0.5, 1.5, 6)
    outlined = sdgrad.grad(f)(x.copy())
    with config.override(debug=True):
        assert np.array_equal(sdgrad.grad(f)(x.copy()), outlined)


def test_a_scope_with_much_memory_stays_a_graph():
    """DaCe takes it from the heap: it would be on the stack of each thread."""
    source = """
    argument x: float64[8]
    body
      scope i=0:8:
        local b: float64[{n}]
        do:
          v = x[i]
          b[0] = v
          w = b[0]
          x[i] = w
    """
    for n, outlined in ((4, True), (4000, False)):
        made = program(source.format(n=n))
        assert isinstance(made.body[0], Scope) and Outliner(made).is_outlined(made.body[0]) is outlined
