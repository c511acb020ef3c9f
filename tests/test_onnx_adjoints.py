"""Adjoints that are written down for ONNX operators: against PyTorch, to second order, and what they keep."""

from collections.abc import Callable
from dataclasses import dataclass, field

import dace
import numpy as np
import pytest
from onnx import TensorProto, helper
from references import assert_close

import sdgrad
import sdgrad.onnx
from sdgrad import onnx_ops as operators
from sdgrad.onnx_ops.registry import ADJOINTS
from sdgrad.pipeline import differentiate
from sdgrad.request import Request

torch = pytest.importorskip("torch")
F = torch.nn.functional
EPSILON = float(np.float32(1e-5))  # as ONNX keeps it
RNG = np.random.default_rng(5)


def batch_norm(x, scale, bias, mean, variance):
    over = [0, *range(2, x.ndim)]
    wide = [-1, *[1] * (x.ndim - 2)]
    own, spread = x.mean(over), x.var(over, unbiased=False)
    unit = (x - own.reshape(wide)) / torch.sqrt(spread.reshape(wide) + EPSILON)
    share = float(np.float32(0.9))
    running = mean * share + own * (1 - share), variance * share + spread * (1 - share)
    return unit * scale.reshape(wide) + bias.reshape(wide), *running


def instance_norm(x, scale, bias):
    return F.instance_norm(x, None, None, scale, bias, eps=EPSILON)


def group_norm(x, scale, bias):
    return F.group_norm(x, 3, scale, bias, EPSILON)


@dataclass(frozen=True)
class Case:
    kind: str
    shapes: tuple
    torch: Callable
    attributes: dict = field(default_factory=dict)
    outputs: int = 1

    def __str__(self) -> str:
        return "-".join([self.kind, *(f"{k}={v}".replace(" ", "") for k, v in self.attributes.items())])


SQUARE = {"kernel_shape": [3, 3]}
AROUND = {"pads": [1, 1, 1, 1]}
TWO = {"strides": [2, 2]}
IMAGE = (2, 4, 8, 8)
CASES = [
    Case("Softmax", ((3, 5, 4),), lambda x: F.softmax(x, 1), {"axis": 1}),
    Case("LogSoftmax", ((3, 5, 4),), lambda x: F.log_softmax(x, -1), {"axis": -1}),
    Case("LayerNormalization", ((3, 5, 4), (4,), (4,)), lambda x, s, b: F.layer_norm(x, (4,), s, b, EPSILON)),
    Case(
        "LayerNormalization",
        ((3, 5, 4), (5, 4)),
        lambda x, s: F.layer_norm(x, (5, 4), s, None, EPSILON),
        {"axis": 1},
    ),
    Case("RMSNormalization", ((3, 5, 4), (4,)), lambda x, s: F.rms_norm(x, (4,), s, EPSILON)),
    Case("InstanceNormalization", ((3, 5, 4, 2), (5,), (5,)), instance_norm),
    Case("GroupNormalization", ((3, 6, 4), (6,), (6,)), group_norm, {"num_groups": 3}),
    Case("BatchNormalization", ((3, 5, 4), (5,), (5,), (5,), (5,)), batch_norm, {"training_mode": 1}, 3),
    Case(
        "MaxPool",
        ((2, 3, 9),),
        lambda x: F.max_pool1d(x, 2, 2, dilation=2),
        {"kernel_shape": [2], "strides": [2], "dilations": [2]},
    ),
    Case("MaxPool", ((2, 3, 8, 8),), lambda x: F.max_pool2d(x, 3, 2, 1), {**SQUARE, **AROUND, **TWO}),
    Case("Conv", (IMAGE, (6, 4, 3, 3), (6,)), lambda x, w, b: F.conv2d(x, w, b, 2, 1), {**SQUARE, **AROUND, **TWO}),
    Case(
        "Conv",
        (IMAGE, (6, 2, 3, 3), (6,)),
        lambda x, w, b: F.conv2d(x, w, b, 1, 1, 1, 2),
        {**SQUARE, **AROUND, "group": 2},
    ),
    Case(
        "Conv",
        (IMAGE, (4, 1, 3, 3)),
        lambda x, w: F.conv2d(x, w, None, 1, 0, 2, 4),
        {**SQUARE, "dilations": [2, 2], "group": 4},
    ),
    Case("Conv", ((2, 4, 7), (6, 4, 1)), lambda x, w: F.conv1d(x, w, None, 2), {"kernel_shape": [1], "strides": [2]}),
    Case("Conv", ((1, 2, 4, 5, 4), (3, 2, 2, 2, 2)), lambda x, w: F.conv3d(x, w), {"kernel_shape": [2, 2, 2]}),
    Case("Conv", (IMAGE, (6, 4, 1, 1)), F.conv2d, {"kernel_shape": [1, 1]}),
    Case("Relu", ((3, 5),), torch.relu),
    Case("LeakyRelu", ((3, 5),), lambda x: F.leaky_relu(x, 0.25), {"alpha": 0.25}),
    Case("LeakyRelu", ((3, 5),), lambda x: F.leaky_relu(x, -0.25), {"alpha": -0.25}),
    Case("ThresholdedRelu", ((3, 5),), lambda x: F.threshold(x, 0.5, 0.0), {"alpha": 0.5}),
    Case("ThresholdedRelu", ((3, 5),), lambda x: F.threshold(x, -0.5, 0.0), {"alpha": -0.5}),
    Case("Elu", ((3, 5),), lambda x: F.elu(x, 0.5), {"alpha": 0.5}),
    Case("Elu", ((3, 5),), lambda x: torch.where(x > 0, x, -0.5 * torch.expm1(x)), {"alpha": -0.5}),
    Case("Celu", ((3, 5),), lambda x: F.celu(x, 0.5), {"alpha": 0.5}),
    Case("Selu", ((3, 5),), lambda x: torch.where(x > 0, 1.5 * x, 0.75 * torch.expm1(x)), {"alpha": 0.5, "gamma": 1.5}),
]


def model_of(case: Case, batch: str | None = None) -> sdgrad.onnx.Model:
    """A model of one node, with an open first dimension of its first input if that has a name."""
    names = [f"x{k}" for k in range(len(case.shapes))]
    made = [f"y{k}" for k in range(case.outputs)]
    shapes = [list(s) for s in case.shapes]
    shapes[0][0] = batch or shapes[0][0]
    inputs = [helper.make_tensor_value_info(n, TensorProto.DOUBLE, s) for n, s in zip(names, shapes, strict=True)]
    outputs = [helper.make_tensor_value_info(n, TensorProto.DOUBLE, None) for n in made]
    node = helper.make_node(case.kind, names, made, **case.attributes)
    graph = helper.make_graph([node], case.kind, inputs, outputs)
    return sdgrad.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)]))


def values_of(case: Case) -> list[np.ndarray]:
    values = [RNG.standard_normal(s) for s in case.shapes]
    return [np.abs(v) + 0.5 if k == 4 else v for k, v in enumerate(values)]  # a variance


def as_tuple(found):
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradients_are_those_of_torch(case):
    values = values_of(case)
    results, pullback = model_of(case).vjp(*values)
    cotangents = [RNG.standard_normal(r.shape) for r in as_tuple(results)]
    found = pullback(*cotangents)
    leaves = [torch.tensor(v, requires_grad=True) for v in values]
    wanted = as_tuple(case.torch(*leaves))
    for k, (result, reference) in enumerate(zip(as_tuple(results), wanted, strict=True)):
        assert_close(result, reference.detach().numpy(), 1e-11, f"result {k}")
    sum((r * torch.tensor(c)).sum() for r, c in zip(wanted, cotangents, strict=True)).backward()
    for k, leaf in enumerate(leaves):
        wanted_gradient = leaf.grad.numpy() if leaf.grad is not None else np.zeros(case.shapes[k])
        assert_close(found[f"x{k}"], wanted_gradient, 1e-9, f"gradient of x{k}")


def test_every_adjoint_is_tested():
    assert {kind for _, kind in ADJOINTS} == {case.kind for case in CASES}


def test_an_open_batch():
    case = CASES[0]
    model = model_of(case, "n")
    for batch in (3, 7):
        x, cotangent = RNG.standard_normal((2, batch, 5, 4))
        _, pullback = model.vjp(x)
        leaf = torch.tensor(x, requires_grad=True)
        F.softmax(leaf, 1).backward(torch.tensor(cotangent))
        assert_close(pullback(cotangent)["x0"], leaf.grad.numpy(), 1e-10, f"batch of {batch}")


def test_windows_are_not_kept():
    """Nine times the image is what the lowering alone would leave for the backward pass."""
    case = next(c for c in CASES if c.kind == "Conv")
    sdfg = model_of(case).sdfg_for(*values_of(case))
    plan = differentiate(sdfg, Request(("x0", "x1", "x2"), ("y0",))).plan
    assert not plan.containers


def test_of_a_layer_only_its_output_is_kept():
    names = {"x": [3, 4], "v": [4, 5], "w": [5, 2]}
    inputs = [helper.make_tensor_value_info(n, TensorProto.DOUBLE, s) for n, s in names.items()]
    nodes = [
        helper.make_node("MatMul", ["x", "v"], ["h"]),
        helper.make_node("Selu", ["h"], ["r"]),
        helper.make_node("MatMul", ["r", "w"], ["y"]),
    ]
    graph = helper.make_graph(nodes, "layers", inputs, [helper.make_tensor_value_info("y", TensorProto.DOUBLE, None)])
    model = sdgrad.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)]))
    sdfg = model.sdfg_for(*(RNG.standard_normal(s) for s in names.values()))
    _, backward = differentiate(sdfg, Request(("x", "v", "w"), ("y",))).halves()
    kept = [n for n in backward.arguments if backward.containers[n].shape == (3, 5)]
    assert len(kept) == 1


def smoothed(x, scale):
    y = operators.ONNXSoftmax(x, axis=1)
    z = operators.ONNXRMSNormalization(y, scale, axis=-1)
    return np.sum(z * z * y)


def smoothed_by_torch(x, scale):
    y = F.softmax(x, 1)
    z = F.rms_norm(y, (4,), scale, EPSILON)
    return (z * z * y).sum()


def test_second_derivatives():
    primals = RNG.standard_normal((3, 4)), RNG.standard_normal(4)
    tangents = RNG.standard_normal((3, 4)), RNG.standard_normal(4)
    found = sdgrad.hvp(smoothed, primals, tangents)
    wanted = torch.autograd.functional.hvp(
        smoothed_by_torch, tuple(map(torch.tensor, primals)), tuple(map(torch.tensor, tangents))
    )[1]
    for a, b in zip(found, wanted, strict=True):
        assert_close(a, b.numpy(), 1e-9, "product with the Hessian")


def softmax_graph(target: str) -> dace.SDFG:
    """A softmax of the rows of ``A``."""
    sdfg = dace.SDFG(f"softmax_into_{target}")
    for name in {"A", target}:
        sdfg.add_array(name, [3, 4], dace.float64)
    state = sdfg.add_state()
    node = operators.NODES["", "Softmax"]("softmax", axis=1)
    state.add_node(node)
    state.add_edge(state.add_read("A"), None, node, "input", dace.Memlet("A[0:3, 0:4]"))
    state.add_edge(node, "output", state.add_write(target), None, dace.Memlet(f"{target}[0:3, 0:4]"))
    return sdfg


def softmax_by_torch(a, cotangent):
    """The softmax, and the gradient."""
    leaf = torch.tensor(a, requires_grad=True)
    result = F.softmax(leaf, 1)
    result.backward(torch.tensor(cotangent))
    return result.detach().numpy(), leaf.grad.numpy()


def test_results_over_operands():
    sdfg = softmax_graph("A")
    sdgrad.add_backward_pass(sdfg, ["A"], ["A"])
    a, gradient = RNG.standard_normal((3, 4)), RNG.standard_normal((3, 4))
    result, wanted = softmax_by_torch(a, gradient)
    sdfg(A=a, gradient_A=gradient)
    assert_close(a, result, 1e-12, "softmax")
    assert_close(gradient, wanted, 1e-10, "gradient")


def test_graphs_that_dace_compiles():
    a, b = RNG.standard_normal((3, 4)), np.zeros((3, 4))
    softmax_graph("B")(A=a, B=b)
    assert_close(b, softmax_by_torch(a, b)[0], 1e-12, "softmax")


def test_a_user_outranks_it():
    """A registered implementation is asked before the adjoint that is written down."""

    @sdgrad.register_backward("ONNXSoftmax", name="doubled")
    class Doubled(sdgrad.BackwardImplementation):
        @staticmethod
        def backward(node, context, given_gradients, required_gradients):
            def adjoint(output, grad_output):
                return 2 * output * (grad_output - np.sum(output * grad_output, axis=1, keepdims=True))

            return adjoint

    sdfg = softmax_graph("B")
    try:
        sdgrad.add_backward_pass(sdfg, ["A"], ["B"])
    finally:
        sdgrad.unregister_backward("ONNXSoftmax", "doubled")
    a, cotangent = RNG.standard_normal((3, 4)), RNG.standard_normal((3, 4))
    b, gradient = np.zeros((3, 4)), np.zeros((3, 4))
    sdfg(A=a, B=b, gradient_A=gradient, gradient_B=cotangent.copy())
    result, wanted = softmax_by_torch(a, cotangent)
    assert_close(b, result, 1e-12, "softmax")
    assert_close(gradient, 2 * wanted, 1e-10, "gradient")
