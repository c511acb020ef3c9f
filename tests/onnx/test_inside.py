"""Models that recorded functions call, and losses of models."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import sdgrad
import sdgrad.onnx
from sdgrad.errors import ArgumentError, ParseError
from sdgrad.testing import check_grads

RNG = np.random.default_rng(3)


def model_of(nodes, inputs, outputs, **weights):
    """A model; a type other than double is given with the shape of an input."""
    values = [helper.make_tensor_value_info(n, kind, shape) for n, (kind, shape) in inputs.items()]
    made = [helper.make_tensor_value_info(n, TensorProto.DOUBLE, None) for n in outputs]
    initializers = [numpy_helper.from_array(w, n) for n, w in weights.items()]
    graph = helper.make_graph([helper.make_node(*n) for n in nodes], "inside", values, made, initializers)
    return sdgrad.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]))


def scaled(w, shape):
    return model_of([("Mul", ["x", "w"], ["t"]), ("Sin", ["t"], ["y"])], {"x": (TensorProto.DOUBLE, shape)}, "y", w=w)


def test_weights_are_read_at_each_call():
    model = scaled(np.array([1.0, 2.0]), [2])
    slope = sdgrad.grad(lambda x: np.sum(model(x) ** 2))
    x = np.array([0.3, 0.4])

    def wanted(w):
        return 2 * w * np.sin(w * x) * np.cos(w * x)

    assert np.allclose(slope(x), wanted(np.array([1.0, 2.0])), rtol=1e-13)
    model.weights["w"][0] = 3.0
    assert np.allclose(slope(x), wanted(np.array([3.0, 2.0])), rtol=1e-13)
    model.weights["w"] = np.array([-1.0, 0.5])
    assert np.allclose(slope(x), wanted(np.array([-1.0, 0.5])), rtol=1e-13)
    model.weights["w"] = np.array([0.7])
    assert np.allclose(slope(x), wanted(0.7), rtol=1e-13)


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (2, 1)])
def test_results_have_the_shapes_of_the_model(shape):
    model = scaled(np.array(2.0), shape)

    def f(x):
        y = model(x=x)
        return y[..., None] * np.ones(np.shape(y) + (2,)) if np.ndim(y) else y * np.ones(2)

    x = RNG.standard_normal(shape)
    found = sdgrad.jacobian(f)(x)
    assert found.shape == (*shape, 2, *shape)
    assert np.allclose(np.sum(found), 2 * np.sum(2 * np.cos(2 * x)), rtol=1e-13)


def test_several_results_and_inputs_by_name():
    shapes = {"a": (TensorProto.DOUBLE, [3]), "b": (TensorProto.DOUBLE, [3])}
    model = model_of([("Mul", "ab", ["p"]), ("Exp", "b", ["q"])], shapes, "pq")

    def f(a, b):
        p, q = model(b=b, a=np.tanh(a))
        return np.sum(p * p / q)

    check_grads(f, (RNG.standard_normal(3), RNG.standard_normal(3)), 2)


RESHAPE = {"x": (TensorProto.DOUBLE, [6]), "s": (TensorProto.INT64, [2])}


def test_contents_that_decide_shapes():
    model = model_of([("Reshape", "xs", ["t"]), ("Exp", "t", ["y"])], RESHAPE, "y")
    weights = RNG.standard_normal((2, 3))

    def by_argument(x, s):
        return np.sum(model(x, s) * weights.reshape(s[0], s[1]))

    def by_constant(x):
        return np.sum(model(x, np.array([3, 2])) * weights.reshape(3, 2))

    x = RNG.standard_normal(6)
    wanted = np.exp(x) * weights.ravel()
    assert np.allclose(sdgrad.grad(by_constant)(x), wanted, rtol=1e-13)
    for s in ([3, 2], [2, 3], [6, 1]):
        assert np.allclose(sdgrad.grad(by_argument)(x, np.array(s)), wanted, rtol=1e-13)


def test_a_number_that_decides_a_shape():
    nodes = [("Range", "zns", ["r"]), ("CastLike", "rx", ["c"]), ("Mul", "cx", ["y"])]
    inputs = {"x": (TensorProto.DOUBLE, [1]), "n": (TensorProto.INT64, [])}
    model = model_of(nodes, inputs, "y", z=np.array(0), s=np.array(1))
    slope = sdgrad.grad(lambda x, n: np.sum(model(x, n) ** 2))
    for n, squares in ((2, 1), (4, 14)):
        assert np.allclose(slope(np.array([0.7]), n), [1.4 * squares], rtol=1e-13)


def test_contents_that_only_a_run_knows_are_refused():
    model = model_of([("Reshape", "xs", ["y"])], RESHAPE, "y")

    def f(x):
        sizes = np.where(x[:2] > 0.0, 3, 2)
        return np.sum(model(x, sizes))  # this line

    with pytest.raises(ParseError, match=r"this line(.|\n)*content of 's' decides the shapes"):
        sdgrad.grad(f)(np.array([1.0, -1.0, 1, 1, 1, 1]))


def test_labels_that_data_decide_need_no_content():
    """A classifier of scikit-learn was refused, because its labels have the shape that their places have."""
    label = onnx.helper.make_node("ArrayFeatureExtractor", ["c", "at"], ["l"], domain="ai.onnx.ml")
    nodes = [onnx.helper.make_node("ArgMax", ["x"], ["at"], axis=1), label, onnx.helper.make_node("Exp", ["x"], ["p"])]
    shown = [onnx.helper.make_tensor_value_info("x", TensorProto.DOUBLE, [2, 3])]
    found = [onnx.ValueInfoProto(name=n) for n in "lp"]
    classes = onnx.numpy_helper.from_array(np.array([4, 5, 9]), "c")
    graph = onnx.helper.make_graph(nodes, "classifier", shown, found, [classes])
    opsets = [onnx.helper.make_opsetid("", 18), onnx.helper.make_opsetid("ai.onnx.ml", 3)]
    model = sdgrad.onnx.load(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=9))
    x = np.array([[0.5, 2.0, 1.0], [3.0, 0.0, 1.0]])
    labels, _ = model(x)
    np.testing.assert_array_equal(labels, [[5, 4]])
    assert np.allclose(sdgrad.grad(lambda x: np.sum(model(x)[1]))(x), np.exp(x), rtol=1e-13)


def test_another_type_is_refused_as_by_a_call():
    model = scaled(np.array([1.0]), [2])
    with pytest.raises(ArgumentError, match="'x' is float32; the model takes float64"):
        sdgrad.grad(lambda x: np.sum(model(x)))(np.ones(2, np.float32))


def test_real_numbers_that_decide_shapes_are_refused():
    model = model_of([("Unique", "t", ["y"]), ("Exp", "x", ["t"])][::-1], {"x": (TensorProto.DOUBLE, [3])}, "y")
    with pytest.raises(ParseError, match="content of 'x' decides the shapes"):
        sdgrad.grad(lambda x: np.sum(model(np.sin(x))))(np.array([1.0, 3.0, 1.0]))
    with pytest.raises(sdgrad.SdgradError, match="'x' decides"):
        sdgrad.grad(lambda x: np.sum(model(x)))(np.array([1.0, 3.0, 1.0]))


@pytest.mark.parametrize("name", ["t", "h", "y", "v_y", "i0", "__i0", "output", "w"])
def test_arguments_of_a_loss_may_be_called_like_what_is_in_the_model(name):
    """They were once taken for the model's own arrays of this name."""
    model = model_of(
        [("Mul", "xw", ["h"]), ("Tanh", "h", ["t"]), ("Softmax", "t", ["y"])],
        {"x": (TensorProto.DOUBLE, [3])},
        "y",
        w=np.array([0.5, 2.0, -1.0]),
    )
    other = "result" if name != "result" else "first"
    loss = eval(f"lambda {other}, {name}: np.sum({other} ** 2 * {name})", {"np": np})  # noqa: S307
    x, factor = RNG.standard_normal(3), RNG.standard_normal(3)
    value, slope = model.value_and_grad(loss, "x")(x, factor)

    def plain(x):
        t = np.exp(np.tanh(x * model.weights["w"]))
        return np.sum((t / np.sum(t)) ** 2 * factor)

    assert value == pytest.approx(plain(x), rel=1e-13)
    moved = [(plain(x + 1e-5 * e) - plain(x - 1e-5 * e)) / 2e-5 for e in np.eye(3)]
    assert np.allclose(slope, moved, rtol=1e-7, atol=1e-9)


def test_external_data(tmp_path):
    """Weights that stay in a file of their own."""
    w = RNG.standard_normal(400)
    graph = helper.make_graph(
        [helper.make_node("Mul", "xw", ["y"])],
        "outside",
        [helper.make_tensor_value_info("x", TensorProto.DOUBLE, [400])],
        [helper.make_tensor_value_info("y", TensorProto.DOUBLE, [400])],
        [numpy_helper.from_array(w, "w")],
    )
    path = tmp_path / "m.onnx"
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    onnx.save(proto, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    model = sdgrad.onnx.load(path)
    assert np.allclose(sdgrad.grad(lambda x: np.sum(model(x)))(np.ones(400)), w, rtol=1e-15)
