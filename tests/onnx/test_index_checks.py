"""Indices that a model is given, or computes, are checked: it read and wrote outside of tensors."""

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto as T
from onnx import helper

import sdgrad.onnx
from sdgrad.config import config

node, described = helper.make_node, helper.make_tensor_value_info
X = np.arange(12.0).reshape(4, 3) / 7 + 0.5
ROWS = np.array([[1.0, -2.0, 0.5], [0.3, 0.2, -0.1]])


def integer(name, value):
    return node("Constant", [], [name], value_int=value)


def model_of(nodes, inputs, opset=21):
    """A model with the sum of ``y`` as its result."""
    total = node("ReduceSum", ["y"], ["total"], keepdims=0)
    infos = [described(n, T.DOUBLE if v.dtype.kind == "f" else T.INT64, v.shape) for n, v in inputs.items()]
    graph = helper.make_graph([*nodes, total], "indexed", infos, [described("total", T.DOUBLE, [])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def shifted(*nodes):
    """Nodes that take ``k``, one less than what the model is given."""
    return [integer("one", 1), node("Sub", ["i", "one"], ["k"]), *nodes]


SQUARE = node("Mul", ["t", "t"], ["y"])
CASES = {
    "Gather": ([node("Gather", ["x", "k"], ["t"], axis=0)], {}, [[1, 4], [0, 2]], [[1, 5], [-4, 1]]),
    "GatherElements": (
        [node("GatherElements", ["x", "k"], ["t"], axis=1)],
        {},
        [[[1, 2], [3, -1]]],
        [[[1, 4], [1, 1]]],
    ),
    "GatherND": ([node("GatherND", ["x", "k"], ["t"])], {}, [[[4, 3], [1, 0]]], [[[4, 4], [1, 1]], [[5, 1], [1, 1]]]),
    "ScatterElements": (
        [node("ScatterElements", ["x", "k", "u"], ["t"], axis=0, reduction="add")],
        {"u": ROWS},
        [[[1, 4, 2], [1, 1, 1]]],
        [[[1, 5, 2], [1, 1, 1]], [[-4, 1, 1], [1, 1, 1]]],
    ),
    "ScatterND": (
        [node("ScatterND", ["x", "k", "u"], ["t"])],
        {"u": ROWS},
        [[[2], [4]]],
        [[[2], [5]], [[-4], [1]]],
    ),
    "ReverseSequence": (
        [node("ReverseSequence", ["x", "k"], ["t"], batch_axis=1, time_axis=0)],
        {},
        [[5, 2, 3]],
        [[6, 2, 3], [0, 2, 3]],
    ),
    "If": (
        [
            node("ReduceSum", ["u"], ["s"], keepdims=0),
            node("Constant", [], ["zero"], value_float=0.0),
            node("Cast", ["zero"], ["nought"], to=T.DOUBLE),
            node("Less", ["nought", "s"], ["c"]),
            node(
                "If",
                ["c"],
                ["t"],
                then_branch=helper.make_graph(
                    [node("Gather", ["x", "k"], ["a"], axis=0)], "a", [], [described("a", T.DOUBLE, None)]
                ),
                else_branch=helper.make_graph(
                    [node("Identity", ["two"], ["b"])], "b", [], [described("b", T.DOUBLE, None)]
                ),
            ),
        ],
        {"u": np.array([1.0]), "two": ROWS},
        [[1, 4]],
        [[1, 5], [-4, 1]],
    ),
    "Loop": (
        [
            integer("trips", 3),
            node(
                "Loop",
                ["trips", "", "u"],
                ["t"],
                body=helper.make_graph(
                    [
                        node("Gather", ["k", "n"], ["at"], axis=0),
                        node("Gather", ["x", "at"], ["row"], axis=0),
                        node("Add", ["v", "row"], ["w"]),
                        node("Identity", ["going"], ["goes_on"]),
                    ],
                    "body",
                    [described("n", T.INT64, []), described("going", T.BOOL, []), described("v", T.DOUBLE, [3])],
                    [described("goes_on", T.BOOL, []), described("w", T.DOUBLE, [3])],
                ),
            ),
        ],
        {"u": np.zeros(3)},
        [[1, 4, 2]],
        [[1, 5, 2], [1, 2, 7]],
    ),
}


def runtime_and_differences(proto, inputs):
    """The value by onnxruntime, and the gradient by ``x`` from its differences."""
    session = onnxruntime.InferenceSession(proto.SerializeToString())

    def value(x):
        return float(session.run(None, {**inputs, "x": x})[0])

    steps = 1e-5 * np.eye(X.size).reshape(X.size, *X.shape)
    slopes = [(value(X + h) - value(X - h)) / 2e-5 for h in steps]
    return value(X), np.reshape(slopes, X.shape)


@pytest.mark.parametrize("kind", CASES)
def test_what_lies_outside_is_an_index_error(kind):
    nodes, others, right, wrong = CASES[kind]
    proto = model_of(shifted(*nodes, SQUARE), {"x": X, "i": np.array(right[0]), **others})
    model = sdgrad.onnx.load(proto)
    for i in right:
        inputs = {"i": np.array(i), **others}
        value, slopes = runtime_and_differences(proto, inputs)
        found, pullback = model.vjp(x=X, **inputs)
        np.testing.assert_allclose(found, value, rtol=1e-12)
        np.testing.assert_allclose(pullback(1.0)["x"], slopes, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(model(x=X, **inputs), value, rtol=1e-12)
    for i in wrong:
        inputs = {"i": np.array(i), **others}
        with pytest.raises(IndexError, match="an index is out of bounds for a"):
            model(x=X, **inputs)
        with pytest.raises(IndexError, match="an index is out of bounds for a"):
            model.vjp(x=X, **inputs)
        with pytest.raises(IndexError, match="an index is out of bounds for a"):
            model.value_and_grad(lambda t: t, "x")(x=X, **inputs)


def test_an_arm_that_is_not_taken_checks_nothing():
    nodes, others, *_ = CASES["If"]
    inputs = {"i": np.array([1, 9]), **others, "u": np.array([-1.0])}
    model = sdgrad.onnx.load(model_of(shifted(*nodes, SQUARE), {"x": X, **inputs}))
    np.testing.assert_allclose(model(x=X, **inputs), np.sum(ROWS**2))


def test_the_first_check_that_fails_is_told():
    nodes = [
        node("Gather", ["x", "i"], ["rows"], axis=0, name="of rows"),
        node("Gather", ["rows", "j"], ["y"], axis=1, name="of columns"),
    ]
    given = {"x": X, "i": np.array([3, -4]), "j": np.array([2, 0])}
    model = sdgrad.onnx.load(model_of(nodes, given))
    np.testing.assert_allclose(model(**given), X[[3, -4]][:, [2, 0]].sum())
    outside = {"i": np.array([4, 0]), "j": np.array([0, 3])}
    with pytest.raises(IndexError, match="of rows: an index is out of bounds for an axis of size 4"):
        model(**{**given, "i": outside["i"]})
    with pytest.raises(IndexError, match="of columns: an index is out of bounds for an axis of size 3"):
        model(**{**given, "j": outside["j"]})
    with pytest.raises(IndexError, match="of rows"):
        model(**{**given, **outside})


def test_known_indices_are_checked_when_the_model_is_read():
    nodes = [integer("k", 7), node("Gather", ["x", "k"], ["y"], axis=0, name="picked")]
    model = sdgrad.onnx.load(model_of(nodes, {"x": X}))
    with pytest.raises(IndexError, match="picked: index 7 is out of bounds for an axis of size 4"):
        model(X)


def test_the_check_can_be_turned_off():
    nodes, others, right, wrong = CASES["Gather"]
    wide = np.arange(30.0).reshape(10, 3)
    model = sdgrad.onnx.load(model_of(shifted(*nodes, SQUARE), {"x": X, "i": np.array(right[0])}))
    with config.override(check_indices=False):
        model(wide[:4], np.array([1, 6]))  # memory that is there
    with pytest.raises(IndexError):
        model(wide[:4], np.array([1, 6]))


def test_an_operator_in_a_function_shows_the_line_of_its_call():
    def picked(x, i):
        return np.sum(sdgrad.onnx_ops.ONNXGather(x, i + 1, axis=0) ** 2)

    gradient = sdgrad.grad(picked)
    np.testing.assert_allclose(gradient(X, np.array([0, 2]))[[1, 3]], 2 * X[[1, 3]])
    with pytest.raises(IndexError, match=r"test_index_checks.py:\d+\n +return np.sum\(sdgrad.onnx_ops.ONNXGather"):
        gradient(X, np.array([0, 3]))
