"""Adjoints that are written down for ONNX operators: against PyTorch, to second order, and what they keep."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import dace
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from references import assert_close

import sdgrad
import sdgrad.onnx
from sdgrad import onnx_ops as operators
from sdgrad.autodiff.request import Request
from sdgrad.onnx_ops.registry import ADJOINTS
from sdgrad.pipeline import differentiate

torch = pytest.importorskip("torch")
from recurrent_reference import batch_first, gru, lstm  # noqa: E402

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
    """An operator, and the same in PyTorch.

    :param fixed: operands that are not differentiated, by position; None leaves one out.
    :param note: what the attributes do not say.
    """

    kind: str
    shapes: tuple
    torch: Callable
    attributes: dict = field(default_factory=dict)
    outputs: int = 1
    fixed: dict = field(default_factory=dict)
    note: str = ""

    def __str__(self) -> str:
        shown = [f"{k}={v}".replace(" ", "") for k, v in self.attributes.items()]
        return "-".join([self.kind, *shown, *[self.note.replace(" ", "_")] * bool(self.note)])

    @property
    def operands(self) -> list[str]:
        names = [f"x{k}" for k in range(len(self.shapes))]
        for position, value in sorted(self.fixed.items()):
            names.insert(position, f"fixed{position}" if value is not None else "")
        return names


def attention(q, k, v, mask=None, *, causal=False, scale=None, shared=False):
    """With the factor that the standard says, which is in single precision."""
    whole = np.float32(scale) if scale is not None else 1 / np.sqrt(np.float32(q.shape[-1]))
    return F.scaled_dot_product_attention(
        q, k, v, mask, 0.0, causal, scale=float(np.sqrt(whole)) ** 2, enable_gqa=shared
    )


def three_dimensional(q, k, v, heads, shared):
    """Attention whose heads are all in the last dimension."""
    parts = (x.unflatten(-1, (n, -1)).transpose(1, 2) for x, n in zip((q, k, v), (heads, shared, shared), strict=True))
    return attention(*parts, shared=True).transpose(1, 2).flatten(-2)


def scattered(x, u, index):
    """``x`` with ``u`` added at rows that are indices."""
    return x.index_put(tuple(torch.tensor(index).unbind(-1)), u, accumulate=True)


ROWS = np.array([[1, -1, 0], [3, 3, 1]])
COLUMNS = np.array([[0, 2, 2], [-1, 1, 0], [3, 3, 3]])
APART = np.array([[0, 2], [-1, 1], [3, -3]])
PAIRS = np.array([[[0, 1]], [[2, -1]], [[0, 1]]])
DEEP = np.array([[[3, 1]], [[0, 0]], [[-1, 1]]])
LENGTHS = np.array([2, 4], np.int32)
SEEN = np.array([[True, True, False], [False, False, False], [False, True, True]])
BOTH = {"direction": "bidirectional"}


def recurrent(gates, directions=1, states=1, holes=0, layout=0):
    """Shapes of four steps, a batch of two, three features and four units."""
    d, n = directions, 4
    state = (2, d, n) if layout else (d, 2, n)
    start = (2, 4, 3) if layout else (4, 2, 3)
    weights = ((d, gates * n, 3), (d, gates * n, n), (d, 2 * gates * n))
    return (start, *weights, *[state] * states, *[(d, holes * n)] * bool(holes))


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
    Case("MatMul", ((3, 4), (4, 5)), torch.matmul),
    Case("MatMul", ((2, 1, 3, 4), (5, 4, 2)), torch.matmul, note="broadcast"),
    Case("MatMul", ((4,), (2, 4, 3)), torch.matmul, note="row"),
    Case("MatMul", ((2, 3, 4), (4,)), torch.matmul, note="column"),
    Case("MatMul", ((4,), (4,)), torch.matmul, note="inner"),
    Case("Gemm", ((3, 4), (4, 5), (5,)), lambda x, y, c: x @ y + c),
    Case("Gemm", ((3, 4), (4, 5)), lambda x, y: 0.5 * x @ y, {"alpha": 0.5}),
    Case(
        "Gemm",
        ((4, 3), (5, 4), (3, 1)),
        lambda x, y, c: 0.5 * x.T @ y.T + 2 * c,
        {"alpha": 0.5, "beta": 2.0, "transA": 1, "transB": 1},
    ),
    Case("Gather", ((4, 5),), lambda x: x[:, ROWS], {"axis": 1}, fixed={1: ROWS}),
    Case("Gather", ((4, 5),), lambda x: x[ROWS], fixed={1: ROWS}),
    Case(
        "GatherElements", ((3, 4),), lambda x: x.gather(1, torch.tensor(COLUMNS % 4)), {"axis": 1}, fixed={1: COLUMNS}
    ),
    Case("GatherND", ((3, 4, 2),), lambda x: x[PAIRS[..., 0], PAIRS[..., 1]], fixed={1: PAIRS}),
    Case(
        "GatherND",
        ((3, 4, 2),),
        lambda x: torch.stack([x[k, DEEP[k, :, 0], DEEP[k, :, 1]] for k in range(3)]),
        {"batch_dims": 1},
        fixed={1: DEEP},
    ),
    Case(
        "ScatterElements",
        ((3, 4), (3, 3)),
        lambda x, u: x.scatter_add(1, torch.tensor(COLUMNS % 4), u),
        {"axis": 1, "reduction": "add"},
        fixed={1: COLUMNS},
    ),
    Case(
        "ScatterElements",
        ((3, 4), (3, 2)),
        lambda x, u: x.scatter(1, torch.tensor(APART % 4), u),
        {"axis": 1},
        fixed={1: APART},
    ),
    Case("ScatterND", ((3, 4, 2), (3, 1, 2)), lambda x, u: scattered(x, u, PAIRS), {"reduction": "add"}, 1, {1: PAIRS}),
    Case("Attention", ((2, 3, 4, 5), (2, 3, 6, 5), (2, 3, 6, 2)), attention),
    Case("Attention", ((2, 4, 3, 5), (2, 2, 3, 5), (2, 2, 3, 5)), partial(attention, shared=True), note="shared heads"),
    Case("Attention", ((1, 2, 4, 3),) * 3, partial(attention, causal=True, scale=0.5), {"is_causal": 1, "scale": 0.5}),
    Case(
        "Attention",
        ((2, 3, 4), (2, 5, 2), (2, 5, 6)),
        partial(three_dimensional, heads=2, shared=1),
        {"q_num_heads": 2, "kv_num_heads": 1},
    ),
    Case("Attention", ((2, 2, 3, 4),) * 3 + ((2, 1, 3, 3),), attention, note="added mask"),
    Case(
        "Attention",
        ((2, 2, 3, 4),) * 3,
        lambda q, k, v: (
            attention(q, k, v, torch.tensor(SEEN | ~SEEN.any(1, keepdims=True))) * torch.tensor(SEEN.any(1)[:, None])
        ),
        fixed={3: SEEN},
        note="a row that sees nothing",
    ),
    Case("LSTM", recurrent(4, states=2), lstm, {"hidden_size": 4}, 3, {4: None}),
    Case("LSTM", recurrent(4, states=2, holes=3), partial(lstm, lengths=LENGTHS), {"hidden_size": 4}, 3, {4: LENGTHS}),
    Case(
        "LSTM",
        recurrent(4, 2, 2, 3, 1),
        batch_first(partial(lstm, lengths=LENGTHS, reverse=(False, True)), 2),
        {"hidden_size": 4, "layout": 1, **BOTH},
        3,
        {4: LENGTHS},
    ),
    Case("GRU", recurrent(3), gru, {"hidden_size": 4}, 2, {4: None}),
    Case(
        "GRU",
        recurrent(3),
        partial(gru, linear=True, reverse=(True,), lengths=LENGTHS),
        {"hidden_size": 4, "linear_before_reset": 1, "direction": "reverse"},
        2,
        {4: LENGTHS},
    ),
    Case(
        "GRU",
        recurrent(3, 2, layout=1),
        batch_first(partial(gru, reverse=(False, True)), 1),
        {"hidden_size": 4, "layout": 1, **BOTH},
        2,
        {4: None},
    ),
]


def model_of(case: Case, batch: str | None = None) -> sdgrad.onnx.Model:
    """A model of one node, with an open first dimension of its first input if that has a name."""
    names = [f"x{k}" for k in range(len(case.shapes))]
    made = [f"y{k}" for k in range(case.outputs)]
    shapes = [list(s) for s in case.shapes]
    shapes[0][0] = batch or shapes[0][0]
    inputs = [helper.make_tensor_value_info(n, TensorProto.DOUBLE, s) for n, s in zip(names, shapes, strict=True)]
    outputs = [helper.make_tensor_value_info(n, TensorProto.DOUBLE, None) for n in made]
    node = helper.make_node(case.kind, case.operands, made, **case.attributes)
    given = [numpy_helper.from_array(v, f"fixed{k}") for k, v in case.fixed.items() if v is not None]
    graph = helper.make_graph([node], case.kind, inputs, outputs, given)
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


def test_probabilities_are_not_kept():
    case = next(c for c in CASES if c.kind == "Attention")
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


def softmax_graph(target: str, name: str) -> dace.SDFG:
    """A softmax of the rows of ``A``; tests that run at once compile it under other names."""
    sdfg = dace.SDFG(f"softmax_{name}")
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
    sdfg = softmax_graph("A", "in_place")
    sdgrad.add_backward_pass(sdfg, ["A"], ["A"])
    a, gradient = RNG.standard_normal((3, 4)), RNG.standard_normal((3, 4))
    result, wanted = softmax_by_torch(a, gradient)
    sdfg(A=a, gradient_A=gradient)
    assert_close(a, result, 1e-12, "softmax")
    assert_close(gradient, wanted, 1e-10, "gradient")


def test_graphs_that_dace_compiles():
    a, b = RNG.standard_normal((3, 4)), np.zeros((3, 4))
    softmax_graph("B", "compiled")(A=a, B=b)
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

    sdfg = softmax_graph("B", "by_user")
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
