"""Bad input: the kind of error, and that its text names the construct, the place and what to write instead."""

import array
import collections
import ctypes
from pathlib import Path

import dace
import numpy as np
import pytest
import scipy.signal
from dace import Memlet
from graphs import text

import sdgrad
from sdgrad.errors import ArgumentError, NameNotFound, NotScalarError, ParseError, SdgradError, UnusedInputError

HERE = Path(__file__).name
N = dace.symbol("N")


def line_of(marker: str) -> int:
    """The line of this file that ends in a comment."""
    lines = Path(__file__).read_text().splitlines()
    return next(k for k, line in enumerate(lines, 1) if line.endswith(f"# {marker}"))


def assert_says(error: Exception, *parts: str) -> None:
    for part in parts:
        assert part in str(error), f"{part!r} is not in:\n{error}"


# Functions -------------------------------------------------------------------------------------------


def total(x):
    return np.sum(x * x)


def scaled_total(x, n, a=2.0):
    return np.sum(x * n) * a


def squares(x):
    return x * x


def two_results(x):
    return np.sum(x), np.prod(x)


def writes_two(x, y):
    x[:] = x * 2.0
    y[:] = x + y


@dace.program
def annotated(x: dace.float64[4], a: dace.float64):
    return np.sum(x * a)


@dace.program
def same_sizes(x: dace.float64[N], y: dace.float64[N]):
    return np.sum(x * y)


X = np.linspace(0.5, 1.5, 4)
INTEGERS = np.arange(4)

CALLS = {
    "integer argument": (total, 0, (INTEGERS,), ArgumentError, ("argument 'x' is int64", "Convert it to float64")),
    "python integer": (total, 0, (3,), ArgumentError, ("argument 'x' is int64", "floating-point")),
    "second argument is integer": (scaled_total, ("x", "n"), (X, 3), ArgumentError, ("argument 'n' is int64",)),
    "position out of range": (total, 2, (X,), ArgumentError, ("wrt=2", "total has 1 argument")),
    "negative position": (scaled_total, -4, (X, X), ArgumentError, ("wrt=-4", "scaled_total has 3 arguments")),
    "unknown name": (scaled_total, "xx", (X, X), NameNotFound, ("named 'xx'", "did you mean 'x'?", "a, n, x")),
    "not a scalar": (squares, 0, (X,), NotScalarError, ("squares returns an array of shape (4)", "sdgrad.vjp")),
    "two results": (two_results, 0, (X,), NotScalarError, ("two_results has 2 outputs", "sdgrad.vjp")),
    "two written arguments": (writes_two, 0, (X, X.copy()), NotScalarError, ("writes_two has 2 outputs", "vjp")),
    "too few arguments": (scaled_total, 0, (X,), ArgumentError, ("scaled_total", "missing a required argument: 'n'")),
    "too many arguments": (total, 0, (X, X), ArgumentError, ("total", "too many positional arguments")),
    "wrong shape": (annotated, 0, (np.ones(5), 1.0), ArgumentError, ("argument 'x'", "expected shape (4)", "(5,)")),
    "wrong dimensions": (
        annotated,
        0,
        (np.ones((4, 1)), 1.0),
        ArgumentError,
        ("argument 'x'", "float64 array with 1 dimensions", "float64 array of shape (4, 1)"),
    ),
    "wrong type": (
        annotated,
        0,
        (np.ones(4, np.float32), 1.0),
        ArgumentError,
        ("argument 'x'", "expected a float64 array", "found a float32 array of shape (4,)"),
    ),
    "array for a scalar": (
        annotated,
        0,
        (np.ones(4), np.ones(3)),
        ArgumentError,
        ("argument 'a'", "expected a float64 scalar", "float64 array of shape (3,)"),
    ),
    "sizes that contradict": (
        same_sizes,
        0,
        (np.ones(4), np.ones(5)),
        ArgumentError,
        ("argument 'y'", "dimension 0 is 5", "N is 4"),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_wrong_calls_of_grad(name):
    function, wrt, args, kind, parts = CALLS[name]
    with pytest.raises(kind) as caught:
        sdgrad.grad(function, wrt)(*args)
    assert isinstance(caught.value, SdgradError)
    assert_says(caught.value, *parts)


def test_unexpected_keyword():
    with pytest.raises(ArgumentError) as caught:
        sdgrad.grad(total)(X, y=3.0)
    assert_says(caught.value, "total", "unexpected keyword argument 'y'")


@pytest.mark.parametrize(
    ("cotangents", "parts"),
    [
        ((), ("expected 2 cotangents", "found 0")),
        ((1.0,), ("expected 2 cotangents", "found 1")),
        ((1.0, 2.0, 3.0), ("expected 2 cotangents", "found 3")),
        ((np.ones(3), 1.0), ("cotangent of", "expected shape ()", "found (3,)")),
        ((1.0, np.ones((1, 1))), ("cotangent of", "expected shape ()", "found (1, 1)")),
    ],
)
def test_wrong_cotangents(cotangents, parts):
    _, pullback = sdgrad.vjp(two_results, X)
    with pytest.raises(ArgumentError) as caught:
        pullback(*cotangents)
    assert_says(caught.value, *parts)


def test_what_is_no_function():
    with pytest.raises(ArgumentError, match="not a callable object"):
        sdgrad.vjp(3, X)


def nothing(x):
    y = x * x  # noqa: F841


def test_a_function_without_outputs():
    with pytest.raises(NotScalarError, match="nothing returns nothing and writes no argument"):
        sdgrad.vjp(nothing, X)


def unused_second(x, y):
    return np.sum(x)


def test_unused_input_on_request():
    with pytest.raises(UnusedInputError) as caught:
        sdgrad.grad(unused_second, (0, 1), unused="error")(X, X)
    assert_says(caught.value, "'y'")
    assert "'x'" not in str(caught.value)


def foreign(x):
    return x + 1


def calls_back(x):
    return np.sum(foreign_library(x))


class _Foreign:
    def __call__(self, x):
        return scipy.signal.wiener(x)


foreign_library = _Foreign()


def test_callbacks_into_python():
    with pytest.raises(ParseError) as caught:
        sdgrad.grad(calls_back)(X)
    assert_says(caught.value, "return scipy.signal.wiener(x)", "return np.sum(foreign_library(x))", "no derivative")


def test_what_is_not_recorded_is_named():
    with pytest.raises(ParseError) as caught:
        sdgrad.grad(uses_power_reduce)(X)
    assert_says(caught.value, "return np.power.reduce(x)", "numpy.power.reduce", "write a loop")


def uses_power_reduce(x):
    return np.power.reduce(x)


def one_array_of_two_names(x):
    y = x * 2.0
    for _ in range(2):
        z = y
        z[0] = 1.0
        y = y * z
    return np.sum(y)


def a_slice_and_its_array_in_a_branch(x):
    v = np.sin(x)
    w = v[1:]
    if x[0] > 0.5:
        v = np.cos(x)
    v[1] = 5.0 * x[2]
    return np.sum(w * w) + np.sum(v)


def a_slice_written_after_its_loop(x):
    v = np.sin(x)
    for i in range(3):
        w = v[1:]
        if i == 1:
            v = np.cos(x)
    w[0] = 3.0 * x[1]
    return np.sum(v * v) + np.sum(w)


def double(V):
    for e in range(V.shape[0]):
        V[e] = 2.0 * V[e]


def a_slice_written_by_a_function(x):
    v = np.sin(x)
    w = v[1:]
    for _ in range(3):
        w = v[:2]
    double(w)
    return np.sum(v * v)


def a_slice_after_a_loop_that_may_be_left(x):
    v = np.sin(x)
    for i in range(3):
        w = v[1:]
        if x[i] > 0.3:
            break
        v = np.cos(x * i)
    v[2] = 7.0 * x[0]
    return np.sum(w * w)


def an_array_written_by_a_function_of_numpy(x):
    v = np.sin(x)
    w = v.T
    while np.sum(v) > 1.0:
        v = v * 0.5
    np.add(v, 1.0, out=v)
    return np.sum(w * w)


def too_many_shapes(x):
    s = 0.0
    for k in range(100):
        s += np.sum(np.zeros(k) + x[0])
    return s


@pytest.mark.parametrize(
    "function, where",
    [
        (a_slice_and_its_array_in_a_branch, "return np.sum(w * w) + np.sum(v)"),
        (a_slice_written_after_its_loop, "return np.sum(v * v) + np.sum(w)"),
        (a_slice_after_a_loop_that_may_be_left, "return np.sum(w * w)"),
        (an_array_written_by_a_function_of_numpy, "return np.sum(w * w)"),
    ],
)
def test_names_that_share_an_array(function, where):
    """A loop or a branch decides which array a name has, and it is written in place while the other name is read."""
    with pytest.raises(ParseError) as caught:
        sdgrad.grad(function)(X)
    assert_says(caught.value, where, "may share the memory of one that was written", ".copy()")


@pytest.mark.parametrize("function", [one_array_of_two_names, a_slice_written_by_a_function, too_many_shapes])
def test_what_was_refused_once(function):
    value, gradient = sdgrad.value_and_grad(function)(X)
    assert abs(value - function(X)) < 1e-12 * abs(value)
    for k, step in enumerate(1e-6 * np.eye(4)):
        assert abs(gradient[k] - (function(X + step) - function(X - step)) / 2e-6) < 1e-4


def doubling(A):
    s = A[0]
    while s < 10.0:
        s = s * s + A[1]
    return s


def test_a_loop_of_unknown_trips_in_two_graphs():
    sdfg = dace.program(doubling).to_sdfg(np.array([1.5, 0.5]), simplify=False)
    with (
        sdgrad.config.override(without=("checkpoints",)),
        pytest.raises(sdgrad.DifferentiationError, match=r"loop: how often it runs .*(\n|.)*test_errors.py:\d+"),
    ):
        sdgrad.add_backward_pass(sdfg, ["A"], ["__return"], separate_sdfgs=True)


# Graphs ----------------------------------------------------------------------------------------------


def mapped(code: str, dtype=dace.float64, wcr: str | None = None, **options) -> dace.SDFG:
    """``B[i] = f(A[i])`` with the code of one tasklet; ``C`` is there and is not touched."""
    sdfg = dace.SDFG("refused")
    for name in "ABC":
        sdfg.add_array(name, [4], dtype)
    add_map(sdfg, sdfg.add_state(), "step", code, "B[i]", wcr, **options)
    return sdfg


def add_map(sdfg, state, label, code, target, wcr=None, **options):
    state.add_mapped_tasklet(
        label, {"i": "0:4"}, {"x": Memlet("A[i]")}, code, {"y": Memlet(target, wcr=wcr)}, external_edges=True, **options
    )  # added here


def two_faults() -> dace.SDFG:
    sdfg = mapped("y = mystery(x)")
    add_map(sdfg, sdfg.add_state_after(sdfg.start_block), "other", "y = x * x;", "C[i]", language=dace.Language.CPP)
    return sdfg


def callback_graph() -> dace.SDFG:
    sdfg = mapped("y = mystery(x)")
    sdfg.add_symbol("mystery", dace.callback(dace.float64, dace.float64))
    return sdfg


CUSTOM = "lambda a, b: a * a + b"
GRAPHS = {
    "integer container": (lambda: mapped("y = x", dace.int64), "A", "B", ("input 'A'", "int64", "output 'B'")),
    "boolean container": (lambda: mapped("y = x", dace.bool_), "A", "B", ("input 'A'", "bool", "hint: ")),
    "unknown function": (
        lambda: mapped("y = mystery(x)"),
        "A",
        "B",
        ("function 'mystery'", "has no derivative", f"{HERE}:{{line}}", "register_scalar_rule"),
    ),
    "custom reduction": (
        lambda: mapped("y = x", wcr=CUSTOM),
        "A",
        "B",
        ("write-conflict resolution", CUSTOM, f"{HERE}:{{line}}", "hint: "),
    ),
    "logical reduction": (
        lambda: mapped("y = x", wcr="lambda a, b: a and b"),
        "A",
        "B",
        ("write-conflict resolution", "and", "into B", "use sum, product, min or max"),
    ),
    "foreign tasklet": (
        lambda: mapped("y = x * x;", language=dace.Language.CPP),
        "A",
        "B",
        ("tasklet 'step'", "CPP", f"{HERE}:{{line}}", "BackwardImplementation"),
    ),
    "callback": (callback_graph, "A", "B", ("mystery", "hint: ")),
    "two faults": (two_faults, "A", "B C", ("2 problems", "function 'mystery'", "tasklet 'other'")),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_that_is_refused_is_left_as_it_was(name):
    build, inputs, outputs, parts = GRAPHS[name]
    sdfg = build()
    before = text(sdfg)
    with pytest.raises(sdgrad.DifferentiationError) as caught:
        sdgrad.add_backward_pass(sdfg, inputs.split(), outputs.split())
    assert_says(caught.value, *(p.format(line=_line_of_map()) for p in parts))
    assert text(sdfg) == before


def _line_of_map() -> int:
    return line_of("added " + "here") - 2


def test_problems_are_values():
    with pytest.raises(sdgrad.DifferentiationError) as caught:
        sdgrad.add_backward_pass(two_faults(), ["A"], ["B", "C"])
    first, second = caught.value.problems
    assert (first.construct, HERE in first.where, bool(first.hint)) == ("function 'mystery'", True, True)
    assert "other" in second.construct
    assert HERE in second.where
    assert second.hint


@pytest.mark.parametrize(("inputs", "outputs"), [(["AA"], ["B"]), (["A"], ["BB"])])
def test_unknown_containers(inputs, outputs):
    sdfg = mapped("y = x")
    before = text(sdfg)
    with pytest.raises(NameNotFound) as caught:
        sdgrad.add_backward_pass(sdfg, inputs, outputs)
    wrong = next(n for n in (*inputs, *outputs) if len(n) == 2)
    assert_says(caught.value, f"named '{wrong}'", f"did you mean '{wrong[0]}'?", "A, B, C")
    assert isinstance(caught.value, KeyError)
    assert text(sdfg) == before


@dace.program
def with_temporaries(x: dace.float64[4], k: dace.int64[4], s: dace.float64[1]):
    y = np.sin(x) * x
    s[0] = np.sum(y * k)


def test_temporaries_are_not_offered():
    """They exist, but their names are the compiler's; numbers of integers have no derivative."""
    with pytest.raises(NameNotFound, match="no output named 'r'.* Known: s, x[.]$"):
        sdgrad.add_backward_pass(with_temporaries.to_sdfg(), ["x"], ["r"])


def test_unused_container_on_request():
    sdfg = mapped("y = x")
    before = text(sdfg)
    with pytest.raises(UnusedInputError, match="'C'"):
        sdgrad.add_backward_pass(sdfg, ["A", "C"], ["B"], unused="error")
    assert text(sdfg) == before


def test_what_is_not_active_is_not_refused():
    """The same constructs are let through where no derivative passes."""
    for build, _, _, _ in (GRAPHS["unknown function"], GRAPHS["foreign tasklet"]):
        sdfg = build()
        add_map(sdfg, sdfg.add_state_after(sdfg.start_block), "square", "y = x * x", "C[i]")
        sdgrad.add_backward_pass(sdfg, ["A"], ["C"])
        assert "gradient_A" in sdfg.arrays


# The table of errors ---------------------------------------------------------------------------------


def test_every_error_of_the_library_has_one_base():
    errors = [e for e in vars(sdgrad.errors).values() if isinstance(e, type) and issubclass(e, Exception)]
    assert len(errors) > 5
    assert all(issubclass(e, SdgradError) for e in errors)


class ArrayOfAnotherLibrary:
    def __array__(self, dtype=None, copy=None):
        return np.ones(3)


@pytest.mark.parametrize(
    "argument",
    [array.array("d", [0.1]), (ctypes.c_double * 2)(0.1, 0.2), memoryview(np.ones(2)), collections.UserList([0.1])],
    ids=["array", "ctypes", "memory", "list"],
)
def test_what_numpy_would_read_as_an_array_is_refused(argument):
    """Their gradient was zero, too."""
    with pytest.raises(ArgumentError, match="argument 'x' is (object|a .*, not an ndarray)"):
        sdgrad.grad(lambda x: np.sum(np.sin(x)))(argument)


@pytest.mark.parametrize("argument", [ArrayOfAnotherLibrary(), {"w": ArrayOfAnotherLibrary()}], ids=["alone", "nested"])
def test_arrays_of_other_libraries_are_refused(argument):
    """Their gradient was zero, without a word."""

    def f(x):
        return np.sum(np.sin(x["w"] if isinstance(x, dict) else x))

    with pytest.raises(ArgumentError, match=r"ArrayOfAnotherLibrary, not an ndarray: use np.asarray"):
        sdgrad.value_and_grad(f)(argument)


@pytest.mark.parametrize(
    "value, kind",
    [
        (np.array([0.1, None], dtype=object), "object"),
        (np.array(["a", "b"]), "<U1"),
        ("text", "<U4"),
        (np.zeros(3, dtype=[("a", float)]), r"\[\('a', '<f8'\)\]"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), "datetime64"),
        (np.arange(3), "int64"),
        (np.array([True, False]), "bool"),
    ],
)
def test_what_has_no_gradient_is_refused_by_its_kind(value, kind):
    with pytest.raises(ArgumentError, match=f"'x' is {kind}.*floating-point arguments only. Convert it to float64"):
        sdgrad.grad(lambda x: np.sum(np.sin(x)))(value)


def test_other_byte_orders_are_refused():
    with pytest.raises(ArgumentError, match=r"byte order .* pass x.astype\(x.dtype.newbyteorder\('='\)\)"):
        sdgrad.grad(lambda x: np.sum(x * x))(np.arange(3.0).astype(">f8"))


def test_complex_cotangents_of_real_values_are_refused():
    with pytest.raises(ArgumentError, match="it is complex, and the value is real"):
        sdgrad.vjp(lambda x: 2 * x, np.ones(3))[1](1j * np.ones(3))


def sorted_part(x):
    n = 0
    for v in x:
        if v > 0:
            n += 1
    return np.sum(np.sort(x[:n]))


def chosen_shapes(x):
    y = None
    for i in range(3):
        if x[i] > 0:
            y = x[: i + 1]
    return np.sum(y)


@pytest.mark.parametrize(
    ("function", "where", "told"),
    [
        (sorted_part, "np.sort(x[:n])", "numpy.sort of an array whose length only a run of the program knows"),
        (chosen_shapes, "return np.sum(y)", "compute in its arms what is used after it"),
    ],
    ids=["length", "shapes"],
)
def test_refusals_say_what_to_write(function, where, told):
    with pytest.raises(ParseError) as caught:
        sdgrad.grad(function)(np.array([0.5, 1.5, -0.7, 2.0]))
    assert_says(caught.value, where, told)
