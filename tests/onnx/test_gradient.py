"""``Gradient`` of the training domain: models that ask for their own derivatives."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from references import assert_close

import sdgrad
import sdgrad.onnx

torch = pytest.importorskip("torch")
RNG = np.random.default_rng(5)
DOMAIN = "ai.onnx.preview.training"


def model_of(nodes, inputs, outputs, weights=()):
    values = [helper.make_tensor_value_info(n, TensorProto.DOUBLE, s) for n, s in inputs.items()]
    made = [helper.make_tensor_value_info(n, TensorProto.DOUBLE, None) for n in outputs]
    initializers = [onnx.numpy_helper.from_array(a, n) for n, a in weights]
    graph = helper.make_graph(nodes, "asks", values, made, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid(DOMAIN, 1)])


def gradient(xs, y, outputs, zs=(), inputs=None):
    attributes = {"xs": list(xs), "y": y} | ({"zs": list(zs)} if zs else {})
    return helper.make_node("Gradient", inputs or [*xs, *zs], outputs, name="ask", domain=DOMAIN, **attributes)


def linear(W, X, Z):
    """The standard's example: ``Y = softmax(W X) Z``, its derivatives, and one by an intermediate tensor."""
    h = torch.softmax(W @ X, 1)
    return h, h @ Z


NODES = [
    helper.make_node("MatMul", ["W", "X"], ["P"]),
    helper.make_node("Softmax", ["P"], ["H"], axis=1),
    helper.make_node("Gemm", ["H", "Z"], ["Y"]),
]
SHAPES = {"W": [3, 4], "X": [4, 5], "Z": [5, 2]}


def test_by_inputs_and_between():
    """By trainable tensors with one that is not; by an intermediate one, also at another value than its own."""
    nodes = [
        *NODES,
        gradient(["W", "Z"], "Y", ["dW", "dZ"], ["X"]),
        gradient(["H", "Z"], "Y", ["dH", ""]),
        gradient(["P"], "H", ["dP"], inputs=["P2"]),
    ]
    model = sdgrad.onnx.load(model_of(nodes, {**SHAPES, "P2": [3, 5]}, ["Y", "dW", "dZ", "dH", "dP"]))
    values = {n: RNG.standard_normal(s) for n, s in SHAPES.items()}
    p2 = RNG.standard_normal((3, 5))
    leaves = {n: torch.tensor(v, requires_grad=True) for n, v in values.items()}
    h, y = linear(*leaves.values())
    found = model(**values, P2=p2)
    wanted = torch.autograd.grad(y.sum(), [leaves["W"], leaves["Z"], h])
    assert_close(found[0], y.detach().numpy(), 1e-12, "Y")
    for k, w in enumerate(wanted, start=1):
        assert_close(found[k], w.numpy(), 1e-10, f"gradient {k}")
    assert_close(found[4], np.zeros((3, 5)), 1e-10, "the sum of a softmax is one")


def test_of_a_gradient_and_by_the_engine():
    """A gradient of a gradient in the model, and the whole differentiated from outside."""
    nodes = [
        helper.make_node("Mul", ["x", "x"], ["s"]),
        helper.make_node("Sin", ["s"], ["t"]),
        helper.make_node("ReduceSum", ["t"], ["O"], keepdims=0),
        gradient(["x"], "O", ["d"]),
        helper.make_node("Mul", ["d", "w"], ["dw"]),
        gradient(["x"], "dw", ["dd"], ["w"]),
    ]
    model = sdgrad.onnx.load(model_of(nodes, {"x": [4], "w": [4]}, ["d", "dd"]))
    x, w, c, e = RNG.standard_normal((4, 4))
    (first, second), pullback = model.vjp(x=x, w=w)
    a, b = (torch.tensor(v, requires_grad=True) for v in (x, w))
    (d,) = torch.autograd.grad(torch.sin(a * a).sum(), a, create_graph=True)
    (dd,) = torch.autograd.grad((d * b).sum(), a, create_graph=True)
    assert_close(first, d.detach().numpy(), 1e-12, "first")
    assert_close(second, dd.detach().numpy(), 1e-10, "second")
    wanted = torch.autograd.grad((d * torch.tensor(c)).sum() + (dd * torch.tensor(e)).sum(), [a, b])
    found = pullback(c, e)
    for name, reference in zip("xw", wanted, strict=True):
        assert_close(found[name], reference.numpy(), 1e-9, name)


def test_of_a_loss_by_weights():
    """A model whose training step is in its file: gradients by initializers, with an adjoint that is written down."""
    weights = [("K", RNG.standard_normal((3, 2, 3, 3))), ("s", np.ones(3)), ("b", np.zeros(3))]
    nodes = [
        helper.make_node("Conv", ["image", "K"], ["c"], kernel_shape=[3, 3]),
        helper.make_node("InstanceNormalization", ["c", "s", "b"], ["n"]),
        helper.make_node("Relu", ["n"], ["r"]),
        helper.make_node("ReduceSumSquare", ["r"], ["loss"], keepdims=0),
        gradient(["K", "s"], "loss", ["dK", "ds"]),
    ]
    model = sdgrad.onnx.load(model_of(nodes, {"image": [2, 2, 6, 6]}, ["loss", "dK", "ds"], weights))
    image = RNG.standard_normal((2, 2, 6, 6))
    found = model(image)
    K, s, b = (torch.tensor(a, requires_grad=True) for _, a in weights)
    c = torch.nn.functional.conv2d(torch.tensor(image), K)
    n = torch.nn.functional.instance_norm(c, None, None, s, b, eps=float(np.float32(1e-5)))
    loss = (torch.relu(n) ** 2).sum()
    loss.backward()
    for k, wanted in enumerate((loss.detach(), K.grad, s.grad)):
        assert_close(found[k], wanted.numpy(), 1e-9, f"output {k}")


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (gradient(["W", "Q"], "Y", ["dW", "dQ"], inputs=["W", "X"]), "'ask' names Q, which nothing before it computes"),
        (gradient(["W"], "Y", ["dW"], inputs=["W", "X"]), "names 1 operands in xs and zs, and has 2 inputs"),
    ],
)
def test_wrong_names(node, message):
    with pytest.raises(sdgrad.errors.InvalidModel, match=message):
        sdgrad.onnx.load(model_of([*NODES, node], SHAPES, ["Y"]))
