"""ONNX models: called, differentiated, trained, refused."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import TensorProto as T
from onnx import helper, numpy_helper
from references import assert_close

import sdgrad
import sdgrad.onnx
from sdgrad import cli
from sdgrad import onnx_ops as operators
from sdgrad.errors import ArgumentError
from sdgrad.onnx.backend import SdgradBackend

RNG = np.random.default_rng(3)
X = RNG.standard_normal((6, 2)).astype(np.float32)


def made(nodes, inputs, outputs, weights=None, opset=21):
    """A model of some nodes; inputs and outputs by name, with type and shape."""
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info(n, *t) for n, t in inputs.items()],
        [helper.make_tensor_value_info(n, *t) for n, t in outputs.items()],
        [numpy_helper.from_array(a, n) for n, a in (weights or {}).items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = 10
    return model


def perceptron():
    weights = {
        "W1": (RNG.standard_normal((2, 8)) / 2).astype(np.float32),
        "b1": np.zeros(8, np.float32),
        "W2": (RNG.standard_normal((8, 3)) / 2).astype(np.float32),
        "b2": np.zeros(3, np.float32),
    }
    nodes = [
        helper.make_node("Gemm", ["x", "W1", "b1"], ["h"]),
        helper.make_node("Tanh", ["h"], ["t"]),
        helper.make_node("Gemm", ["t", "W2", "b2"], ["y"]),
    ]
    return made(nodes, {"x": (T.FLOAT, ["N", 2])}, {"y": (T.FLOAT, ["N", 3])}, weights)


def cross_entropy(y, target):
    shifted = y - np.max(y, axis=1, keepdims=True)
    return -np.sum((shifted - np.log(np.sum(np.exp(shifted), axis=1, keepdims=True))) * target) / y.shape[0]


@pytest.fixture
def path(tmp_path):
    onnx.save(perceptron(), tmp_path / "perceptron.onnx")
    return tmp_path / "perceptron.onnx"


# Calls ---------------------------------------------------------------------------------------------------------


def test_called_as_onnxruntime_is(path):
    model = sdgrad.onnx.load(path)
    wanted = onnxruntime.InferenceSession(str(path)).run(None, {"x": X})[0]
    assert_close(model(X), wanted, 1e-5, "outputs")
    assert_close(model(x=X), wanted, 1e-5, "by name")
    found = model(torch.tensor(X))
    assert isinstance(found, torch.Tensor)
    assert_close(found.numpy(), wanted, 1e-5, "tensor")
    assert model(X[:1]).shape == (1, 3)


def test_pullback_is_that_of_torch(path):
    model = sdgrad.onnx.load(path)
    outputs, pullback = model.vjp(X)
    cotangent = RNG.standard_normal(outputs.shape).astype(np.float32)
    found = pullback(cotangent)
    leaves = {n: torch.tensor(a, requires_grad=True) for n, a in {"x": X, **model.weights}.items()}
    hidden = torch.tanh(leaves["x"] @ leaves["W1"] + leaves["b1"])
    (hidden @ leaves["W2"] + leaves["b2"]).backward(torch.tensor(cotangent))
    assert list(found) == ["x", "W1", "b1", "W2", "b2"]
    for name, leaf in leaves.items():
        assert_close(found[name], leaf.grad.numpy(), 1e-4, name)


def test_trains_from_its_file(path):
    model = sdgrad.onnx.load(path)
    target = np.eye(3, dtype=np.float32)[[0, 1, 2, 0, 1, 2]]
    step = model.value_and_grad(cross_entropy)
    values = []
    for _ in range(10):
        value, gradients = step(X, target=target)
        values.append(float(value))
        for name, gradient in gradients.items():
            model.weights[name] -= 0.3 * gradient
    assert all(b < a for a, b in zip(values, values[1:], strict=False)), values
    with pytest.raises(sdgrad.errors.NameNotFound, match="did you mean 'W"):
        model.value_and_grad(cross_entropy, wrt="W")
    with pytest.raises(sdgrad.errors.ArgumentError, match="'target' of the loss is missing"):
        step(X)


def test_graph_of_a_model(path):
    """Open dimensions are symbols; the graph is one like any other."""
    model = sdgrad.onnx.load(path)
    sdfg = model.sdfg
    assert str(sdfg.arrays["x"].shape[0]) == "N"
    sdgrad.add_backward_pass(sdfg=sdfg, inputs=["W1"], outputs=["__return"])
    given = {"x": X, **{n: w for n, w in model.weights.items()}}
    gradient, result = np.zeros((2, 8), np.float32), np.zeros((6, 3), np.float32)
    cotangent = np.ones((6, 3), np.float32)
    sdfg(**given, gradient_W1=gradient, gradient___return=cotangent, __return=result, N=6)
    outputs, pullback = model.vjp(X)
    assert_close(gradient, pullback(np.ones_like(outputs))["W1"], 1e-4, "W1")


# Operators -----------------------------------------------------------------------------------------------------


def test_integers_among_outputs():
    nodes = [helper.make_node("TopK", ["x", "k"], ["values", "places"], axis=1)]
    model = sdgrad.onnx.load(
        made(
            nodes,
            {"x": (T.DOUBLE, [2, 4])},
            {"values": (T.DOUBLE, [2, 2]), "places": (T.INT64, [2, 2])},
            {"k": np.array([2])},
        )  # fmt: skip
    )
    x = np.array([[3.0, 1.0, 4.0, 2.0], [0.0, 5.0, 1.0, 6.0]])
    (values, places), pullback = model.vjp(x)
    assert values.tolist() == [[4, 3], [6, 5]] and places.tolist() == [[2, 0], [3, 1]]
    assert pullback(np.array([[1.0, 2.0], [3.0, 4.0]]), None)["x"].tolist() == [[2, 0, 1, 0], [0, 4, 0, 3]]


@pytest.mark.parametrize("column_major", [0, 1])
def test_places_of_the_largest(column_major):
    """The search for the first of them starts from the largest integer, which no double is."""
    options = {"kernel_shape": [2, 3], "pads": [1, 1, 0, 1], "storage_order": column_major}
    nodes = [helper.make_node("MaxPool", ["x"], ["y", "places"], **options)]
    model = made(nodes, {"x": (T.FLOAT, [2, 2, 4, 5])}, {"y": (T.FLOAT, None), "places": (T.INT64, None)})
    x = RNG.standard_normal((2, 2, 4, 5)).astype(np.float32)
    wanted = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    for found, own in zip(sdgrad.onnx.load(model)(x), wanted, strict=True):
        np.testing.assert_array_equal(found, own)


@pytest.mark.parametrize(("kind", "function"), [("Softmax", torch.softmax), ("LogSoftmax", torch.log_softmax)])
def test_rows_that_are_masked_everywhere(kind, function):
    """What a model does not use of a result that is NaN has the gradient zero."""
    nodes = [helper.make_node(kind, ["x"], ["s"], axis=1), helper.make_node("Where", ["masked", "zero", "s"], ["y"])]
    types = {"x": (T.DOUBLE, [3, 4]), "masked": (T.BOOL, [3, 1])}
    model = sdgrad.onnx.load(made(nodes, types, {"y": (T.DOUBLE, [3, 4])}, {"zero": np.zeros(1)}))
    x, masked, seed = RNG.standard_normal((3, 4)), np.array([[False], [True], [False]]), RNG.standard_normal((3, 4))
    x[1], x[2, 0] = -np.inf, -np.inf
    seed[2, 0] = 0.0  # whose logarithm is infinite
    found = model.vjp(x, masked)[1](seed)["x"]
    leaf = torch.tensor(x, requires_grad=True)
    function(leaf[::2], 1).backward(torch.tensor(seed[::2]))
    assert_close(found[::2], leaf.grad.numpy()[::2], 1e-12, "other rows")
    assert found[1].tolist() == [0, 0, 0, 0]


def test_weights_of_the_mel_scale():
    """Whole numbers decide their shape; real numbers are rounded, and have the derivative zero."""
    names = {"bins": T.INT32, "length": T.INT32, "rate": T.INT32, "low": T.FLOAT, "high": T.FLOAT}
    nodes = [helper.make_node("MelWeightMatrix", [*names], ["w"]), helper.make_node("MatMul", ["x", "w"], ["y"])]
    types = {"x": (T.FLOAT, [2, 33]), **{n: (t, []) for n, t in names.items()}}
    model = made(nodes, types, {"y": (T.FLOAT, None), "w": (T.FLOAT, None)})
    x = RNG.standard_normal((2, 33)).astype(np.float32)
    numbers = [np.array(v, np.int32) for v in (12, 64, 16000)] + [np.array(v, np.float32) for v in (125, 7600)]
    given = dict(zip(types, [x, *numbers], strict=True))
    y, w = onnxruntime.InferenceSession(model.SerializeToString()).run(None, given)
    outputs, pullback = sdgrad.onnx.load(model).vjp(**given)
    assert_close(outputs[0], y, 1e-5, "product")
    assert_close(outputs[1], w, 1e-6, "weights")
    found = pullback(np.ones_like(y), np.ones_like(w))
    assert_close(found["x"], np.ones_like(y) @ w.T, 1e-5, "gradient")
    assert found["low"] == 0 and found["high"] == 0 and found["bins"] is None


def test_content_that_decides_shapes():
    """Another content is another program; there is no gradient by it."""
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"])]
    model = sdgrad.onnx.load(
        made(nodes, {"x": (T.DOUBLE, [2, 3]), "shape": (T.INT64, [2])}, {"y": (T.DOUBLE, ["a", "b"])})
    )
    x = np.arange(6.0).reshape(2, 3)
    assert model(x, np.array([3, 2])).shape == (3, 2) and model(x, np.array([1, -1])).shape == (1, 6)
    _, pullback = model.vjp(x, np.array([3, 2]))
    assert pullback(np.ones((3, 2)))["shape"] is None


@pytest.mark.parametrize("names", ["i0 i1 y0", "v at c", "v_0 c v", "__return y tape_y"])
def test_tensors_called_like_names_in_generated_code(names):
    """Parameters of maps and numbers in tasklets hid tensors of their names."""
    x, at, y = names.split()
    nodes = [
        helper.make_node("Gather", [x, at], ["middle"]),
        helper.make_node("Conv", ["middle", "w"], ["found"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("Softmax", ["found"], [y], axis=1),
    ]
    inputs = [(x, T.DOUBLE, [6, 3, 5, 5]), (at, T.INT64, [4]), ("w", T.DOUBLE, [2, 3, 3, 3])]
    graph = helper.make_graph(
        nodes,
        "named",
        [helper.make_tensor_value_info(*i) for i in inputs],
        [helper.make_tensor_value_info(y, T.DOUBLE, None)],
    )
    model = sdgrad.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10))
    rng = np.random.default_rng(2)
    images, index, kernel = rng.standard_normal((6, 3, 5, 5)), np.array([2, 0, 5, 2]), rng.standard_normal((2, 3, 3, 3))
    result, pullback = model.vjp(images, index, kernel)
    given = torch.tensor(images, requires_grad=True)
    wanted = torch.softmax(torch.nn.functional.conv2d(given[index], torch.tensor(kernel), padding=1), 1)
    seed = rng.standard_normal(result.shape)
    wanted.backward(torch.tensor(seed))
    assert_close(result, wanted.detach().numpy(), 1e-9, "result")
    assert_close(pullback(seed)[x], given.grad.numpy(), 1e-9, "gradient")


@pytest.mark.parametrize("causal", [0, 1])
def test_attention_over_many_positions(causal):
    """Its standard definition makes masks, which were too large to be written out."""
    shape = (1, 2, 40, 4)
    graph = helper.make_graph(
        [helper.make_node("Attention", ["q", "k", "v"], ["y"], is_causal=causal)],
        "attends",
        [helper.make_tensor_value_info(n, T.DOUBLE, shape) for n in "qkv"],
        [helper.make_tensor_value_info("y", T.DOUBLE, None)],
    )
    model = sdgrad.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10))
    rng = np.random.default_rng(2)
    given = [torch.tensor(rng.standard_normal(shape), requires_grad=True) for _ in range(3)]
    wanted = torch.nn.functional.scaled_dot_product_attention(*given, is_causal=bool(causal))
    seed = rng.standard_normal(shape)
    wanted.backward(torch.tensor(seed))
    result, pullback = model.vjp(*(x.detach().numpy() for x in given))
    np.testing.assert_allclose(result, wanted.detach().numpy(), atol=1e-6)  # its scale is in single precision
    for found, x in zip(pullback(seed).values(), given, strict=True):
        np.testing.assert_allclose(found, x.grad.numpy(), atol=2e-6)


def test_update_at_computed_places():
    """Largest and product at places that meet: one after another, as the standard says."""
    nodes = [helper.make_node("ScatterND", ["x", "i", "u"], ["y"], reduction="mul")]
    types = {"x": (T.DOUBLE, [4]), "i": (T.INT64, [3, 1]), "u": (T.DOUBLE, [3])}
    model = sdgrad.onnx.load(made(nodes, types, {"y": (T.DOUBLE, [4])}))
    x, u = np.array([1.0, 2.0, 3.0, 4.0]), np.array([5.0, 6.0, 0.5])
    outputs, pullback = model.vjp(x, np.array([[1], [1], [3]]), u)
    assert outputs.tolist() == [1, 60, 3, 2]
    found = pullback(np.ones(4))
    assert found["x"].tolist() == [1, 30, 1, 0.5] and found["u"].tolist() == [12, 10, 4]


def test_operators_without_a_lowering_run_by_onnxruntime():
    nodes = [
        helper.make_node("Mul", ["x", "x"], ["s"]),
        helper.make_node("MaxRoiPool", ["s", "boxes"], ["g"], pooled_shape=[2, 2]),
        helper.make_node("Relu", ["g"], ["y"]),
    ]
    types = {"x": (T.FLOAT, [1, 1, 4, 4]), "boxes": (T.FLOAT, [1, 5])}
    model = made(nodes, types, {"y": (T.FLOAT, [1, 1, 2, 2])})
    x, boxes = RNG.random((1, 1, 4, 4), np.float32), np.array([[0, 0, 0, 3, 3]], np.float32)
    wanted = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x, "boxes": boxes})[0]
    own = sdgrad.onnx.load(model)
    assert_close(own(x, boxes), wanted, 1e-5, "outputs")
    with pytest.raises(sdgrad.errors.DifferentiationError, match="ONNXMaxRoiPool"):
        own.vjp(x, boxes)


@pytest.mark.parametrize("which", [operators.ONNXTanh, operators.ONNXOp], ids=["one operator", "all"])
def test_onnxruntime_by_choice(which, monkeypatch):
    """For all nodes of a kind, or for all operators; there is no derivative then, and the error names the node."""
    monkeypatch.setattr(which, "default_implementation", "onnxruntime")
    node = helper.make_node("Tanh", ["x"], ["y"], "the_node")
    value = [helper.make_tensor_value_info(n, T.DOUBLE, [3]) for n in "xy"]
    graph = helper.make_graph([node], "chosen", value[:1], value[1:])
    model = sdgrad.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]))
    x = np.array([-1.0, 0.0, 2.0])
    kinds = [n for n, _ in model.sdfg_for(x).all_nodes_recursive() if isinstance(n, operators.ONNXOp)]
    assert [n.implementation for n in kinds] == ["onnxruntime"]
    np.testing.assert_allclose(model(x), np.tanh(x), rtol=1e-12)
    with pytest.raises(sdgrad.DifferentiationError, match="the_node"):
        model.vjp(x)


def test_nodes_in_programs():
    """``ONNX<Operator>`` in a graph made by hand."""
    import dace

    from sdgrad.onnx_ops.nodes import NODES

    sdfg = dace.SDFG("by_hand")
    sdfg.add_array("A", [3, 4], dace.float64)
    sdfg.add_array("B", [3, 4], dace.float64)
    state = sdfg.add_state()
    node = NODES["", "Softmax"]("softmax", axis=0)
    state.add_node(node)
    state.add_edge(state.add_read("A"), None, node, "input", dace.Memlet("A[0:3, 0:4]"))
    state.add_edge(node, "output", state.add_write("B"), None, dace.Memlet("B[0:3, 0:4]"))
    a, b = RNG.standard_normal((3, 4)), np.zeros((3, 4))
    sdgrad.add_backward_pass(sdfg=sdfg, inputs=["A"], outputs=["B"])
    gradient, cotangent = np.zeros((3, 4)), RNG.standard_normal((3, 4))
    sdfg(A=a, B=b, gradient_A=gradient, gradient_B=cotangent.copy())
    leaf = torch.tensor(a, requires_grad=True)
    torch.softmax(leaf, 0).backward(torch.tensor(cotangent))
    assert_close(b, torch.softmax(leaf, 0).detach().numpy(), 1e-12, "softmax")
    assert_close(gradient, leaf.grad.numpy(), 1e-12, "gradient")


def normed(x, scale, shift):
    y = operators.ONNXLayerNormalization(x, scale, shift, axis=-1)
    return np.sum(y * y * y)


def test_operators_in_functions():
    """``sdgrad.onnx_ops.ONNX<Operator>`` where DaCe's frontend reads."""
    x, scale, shift = RNG.standard_normal((3, 4)), RNG.standard_normal(4), RNG.standard_normal(4)
    value, found = sdgrad.value_and_grad(normed, wrt=("x", "scale", "shift"))(x, scale, shift)
    leaves = [torch.tensor(a, requires_grad=True) for a in (x, scale, shift)]
    epsilon = float(np.float32(1e-5))  # as ONNX keeps it
    wanted = (torch.nn.functional.layer_norm(leaves[0], (4,), *leaves[1:], epsilon) ** 3).sum()
    wanted.backward()
    assert_close(value, wanted.item(), 1e-12, "value")
    for name, gradient, leaf in zip(("x", "scale", "shift"), found, leaves, strict=True):
        assert_close(gradient, leaf.grad.numpy(), 1e-10, name)


# Exporters -----------------------------------------------------------------------------------------------------


def test_model_exported_by_torch(tmp_path):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = torch.nn.Conv2d(1, 3, 3, padding=1)
            self.norm = torch.nn.LayerNorm(48)
            self.out = torch.nn.Linear(48, 2)

        def forward(self, x):
            h = torch.nn.functional.max_pool2d(torch.relu(self.conv(x)), 2)
            return self.out(self.norm(h.flatten(1)))

    torch.manual_seed(0)
    net, x = Net().eval(), torch.randn(5, 1, 8, 8)
    torch.onnx.export(net, (x,), tmp_path / "net.onnx", dynamo=True, verbose=False)
    model = sdgrad.onnx.load(tmp_path / "net.onnx")
    assert_close(model(x.numpy()), net(x).detach().numpy(), 1e-4, "outputs")
    _, pullback = model.vjp(x.numpy())
    found = pullback(np.ones((5, 2), np.float32))
    x.requires_grad_()
    net(x).sum().backward()
    assert_close(found[model.inputs[0]], x.grad.numpy(), 1e-3, "image")
    wanted = {tuple(p.shape): p.grad.numpy() for p in net.parameters()}
    for shape in ((3, 1, 3, 3), (2, 48)):
        matching = [g for n, g in found.items() if n in model.weights and g.shape in (shape, shape[::-1])]
        assert any(np.allclose(g if g.shape == shape else g.T, wanted[shape], atol=1e-3) for g in matching), shape
    target = np.eye(2, dtype=np.float32)[[0, 1, 0, 1, 0]]
    step = model.value_and_grad(cross_entropy)
    values = [_descend(model, step, x.detach().numpy(), target) for _ in range(10)]
    assert values[-1] < values[0]


def _descend(model, step, x, target):
    value, gradients = step(x, target=target)
    for name, gradient in gradients.items():
        model.weights[name] -= 0.05 * gradient
    return float(value)


def test_model_exported_by_scikit_learn():
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import FloatTensorType
    from sklearn.neural_network import MLPRegressor

    x = RNG.standard_normal((40, 3)).astype(np.float32)
    y = (x[:, 0] * x[:, 1]).astype(np.float32)
    fitted = MLPRegressor(hidden_layer_sizes=(8,), max_iter=20, random_state=0).fit(x, y)
    proto = convert_sklearn(fitted, initial_types=[("x", FloatTensorType([None, 3]))])
    model = sdgrad.onnx.load(proto)
    assert_close(model(x).ravel(), fitted.predict(x), 1e-3, "predictions")

    step = model.value_and_grad(squared_error)
    values = [_descend(model, step, x, y.reshape(-1, 1)) for _ in range(10)]
    assert values[-1] < values[0]


def squared_error(found, target):
    return np.sum((found - target) ** 2) / target.shape[0]


LIGHT = onnx.__path__[0] + "/backend/test/data/light/light_squeezenet.onnx"


def test_an_architecture_and_its_saliency():
    """The derivative along a direction of the image against differences of onnxruntime.

    The weights, which the graph makes, are all alike: sums are large, and the softmax at the end turns on their last
    bits. So it is left out; what is before it is linear in the image as long as no unit changes its sign.
    """
    proto = onnx.load(LIGHT)
    last = proto.graph.node.pop()
    del proto.graph.output[:]
    proto.graph.output.append(onnx.ValueInfoProto(name=last.input[0]))
    model = sdgrad.onnx.load(proto)
    image, moved = (RNG.random((1, 3, 224, 224)).astype(np.float32) for _ in range(2))
    session = onnxruntime.InferenceSession(proto.SerializeToString())

    def reference(x):
        return session.run(None, {model.inputs[0]: x})[0]

    outputs, pullback = model.vjp(image)
    assert_close(outputs, reference(image), 1e-4, "outputs")
    wanted = np.sum((reference(image + moved) - reference(image - moved)).astype(np.float64)) / 2
    found = np.sum(pullback(np.ones_like(outputs))[model.inputs[0]].astype(np.float64) * moved)
    assert_close(found, wanted, 1e-2, "saliency")  # sums of a million numbers in single precision


# Errors --------------------------------------------------------------------------------------------------------


def test_wrong_calls(path):
    model = sdgrad.onnx.load(path)
    with pytest.raises(sdgrad.errors.ArgumentError, match="input 'x' is float64; the model takes float32"):
        model(X.astype(np.float64))
    with pytest.raises(sdgrad.errors.ArgumentError, match=r"shape \(6, 1\); the model takes \(N, 2\)"):
        model(X[:, :1])
    with pytest.raises(sdgrad.errors.ArgumentError, match="input 'x' is missing"):
        model()
    with pytest.raises(sdgrad.errors.NameNotFound, match="no input named 'z'"):
        model(z=X)
    with pytest.raises(sdgrad.errors.ArgumentError, match="2 were given"):
        model(X, X)
    _, pullback = model.vjp(X)
    with pytest.raises(sdgrad.errors.ArgumentError, match="expected 1 cotangents"):
        pullback()
    with pytest.raises(sdgrad.errors.ArgumentError, match="cotangent"):
        pullback(np.ones((2, 2), np.float32))


def test_files_that_are_no_models(tmp_path, path):
    load = sdgrad.onnx.load
    with pytest.raises(sdgrad.errors.InvalidModel, match="there is no file"):
        load(tmp_path / "missing.onnx")
    (tmp_path / "text.onnx").write_text("no model")
    with pytest.raises(sdgrad.errors.InvalidModel, match="is not an ONNX model"):
        load(tmp_path / "text.onnx")
    (tmp_path / "cut.onnx").write_bytes(path.read_bytes()[:100])
    with pytest.raises(sdgrad.errors.InvalidModel, match="is not an ONNX model"):
        load(tmp_path / "cut.onnx")
    newer = perceptron()
    newer.opset_import[0].version = 999
    with pytest.raises(sdgrad.errors.InvalidModel, match="uses operator set 999"):
        load(newer)
    strange = perceptron()
    strange.graph.node[1].op_type = "Tahn"
    with pytest.raises(sdgrad.errors.InvalidModel, match="Tahn '': there is no such operator"):
        load(strange)
    foreign = perceptron()
    foreign.graph.node[1].domain = "com.example"
    with pytest.raises(sdgrad.errors.InvalidModel, match="does not import the domain 'com.example'"):
        load(foreign)


def test_data_outside_of_the_file(tmp_path):
    model = perceptron()
    wanted = sdgrad.onnx.load(model)(X)
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    loaded = sdgrad.onnx.load(tmp_path / "m.onnx")
    assert_close(loaded(X), wanted, 1e-6, "outputs")
    (tmp_path / "m.data").write_bytes(b"short")
    with pytest.raises(sdgrad.errors.InvalidModel, match="ends at byte"):
        sdgrad.onnx.load(tmp_path / "m.onnx")
    (tmp_path / "m.data").unlink()
    with pytest.raises(sdgrad.errors.InvalidModel, match="which does not exist"):
        sdgrad.onnx.load(tmp_path / "m.onnx")


# The backend and the command line ------------------------------------------------------------------------------


def test_backend():
    (found,) = SdgradBackend.run_node(helper.make_node("Add", ["a", "b"], ["c"]), [X, X])
    assert_close(found, 2 * X, 1e-7, "sum")
    assert SdgradBackend.supports_device("CPU") and not SdgradBackend.supports_device("CUDA")


def test_command_line(path, tmp_path, capsys):
    assert cli.main(["onnx", "info", str(path)]) == 0
    assert "Gemm" in capsys.readouterr().out
    assert cli.main(["onnx", "check", str(path)]) == 0
    assert "differs from differences" in capsys.readouterr().out
    assert cli.main(["onnx", "info", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["operators"][0]["count"] >= 1
    assert cli.main(["onnx", "check", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["gradients"] < 1e-3
    assert cli.main(["onnx", "grad", str(path), "--wrt", "x", "--out", str(tmp_path / "lib")]) == 0
    header = next((tmp_path / "lib").glob("*.h")).read_text()
    assert "gradient_x" in header and "cotangent" in header
    assert cli.main(["onnx", "info", str(tmp_path / "missing.onnx")]) == 1
    assert "there is no file" in capsys.readouterr().err


def test_a_cotangent_of_whole_numbers_is_refused_by_name():
    """It had been by a name that nobody wrote."""
    nodes = [helper.make_node("ArgMax", ["x"], ["label"], axis=1, keepdims=0), helper.make_node("Tanh", ["x"], ["y"])]
    outputs = {"label": (T.INT64, [6]), "y": (T.FLOAT, [6, 2])}
    model = sdgrad.onnx.load(made(nodes, {"x": (T.FLOAT, [6, 2])}, outputs))
    (_, y), pullback = model.vjp(X)
    with pytest.raises(ArgumentError, match="output 'label' holds int64 numbers.*give None"):
        pullback(np.zeros(6, np.int64), np.ones((6, 2), np.float32))
    assert_close(pullback(None, np.ones_like(y))["x"], 1 - np.tanh(X) ** 2, 1e-4, "gradient")
