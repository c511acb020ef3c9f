"""Loops of models that end when the values say so, forward and backward, beside PyTorch."""

import numpy as np
import onnxruntime
import pytest
import torch
from onnx import TensorProto as T
from onnx import helper, numpy_helper

import sdgrad.onnx

X = np.array([1, 2, 0.5], np.float32)
W = np.array([1.5, 1.2, 2.0], np.float32)
LIMIT = 100.0


def described(name, shape, kind=T.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def made(count, condition, computed=True):
    """``for k in range(count) while condition: s = s * w; condition = sum(s) < 100`` (or as it was)."""
    nodes = [helper.make_node("Mul", ["s", "w"], ["product"])]
    if computed:
        limit = numpy_helper.from_array(np.float32(LIMIT))
        nodes += [
            helper.make_node("ReduceSum", ["product"], ["total"], keepdims=0),
            helper.make_node("Constant", [], ["limit"], value=limit),
            helper.make_node("Less", ["total", "limit"], ["goes_on"]),
        ]
    else:
        nodes.append(helper.make_node("Identity", ["going"], ["goes_on"]))
    body = helper.make_graph(
        nodes,
        "body",
        [described("k", [], T.INT64), described("going", [], T.BOOL), described("s", [3])],
        [described("goes_on", [], T.BOOL), described("product", [3])],
    )
    inputs = [described("x", [3]), described("w", [3])]
    inputs += [described("count", [], T.INT64)] if count is not None else []
    inputs += [described("condition", [], T.BOOL)] if condition is not None else []
    given = ["count" if count is not None else "", "condition" if condition is not None else "", "x"]
    graph = helper.make_graph(
        [helper.make_node("Loop", given, ["y"], body=body)], "looped", inputs, [described("y", [3])]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.mark.parametrize("condition", [None, True, False], ids=["always", "true", "false"])
@pytest.mark.parametrize("count", [None, 0, 3, 20])
def test_condition_that_is_computed(count, condition):
    proto = made(count, condition)
    extra = {"count": np.int64(count)} if count is not None else {}
    extra |= {"condition": np.array(condition)} if condition is not None else {}
    extra = {n: np.asarray(v) for n, v in extra.items()}
    y, pullback = sdgrad.onnx.load(proto).vjp(X, W, *extra.values())
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    np.testing.assert_allclose(y, session.run(None, {"x": X, "w": W, **extra})[0], rtol=1e-6)

    x, w = (torch.tensor(a, requires_grad=True) for a in (X, W))
    state, going, k = x * 1, condition is not False, 0
    while going and (count is None or k < count):
        state, k = state * w, k + 1
        going = bool(state.sum() < LIMIT)
    wanted = torch.autograd.grad((state * torch.arange(1.0, 4.0)).sum() + 0 * w.sum(), (x, w))
    found = pullback(np.arange(1, 4, dtype=np.float32))
    for name, gradient in zip("xw", wanted, strict=True):
        np.testing.assert_allclose(found[name], gradient.numpy(), rtol=1e-5)


def test_number_of_trips_that_is_an_operand():
    """One program for all of them."""
    model = sdgrad.onnx.load(made(1, None, computed=False))
    programs = set()
    for count in (0, 1, 4):
        y, pullback = model.vjp(X, W, np.array(count))
        np.testing.assert_allclose(y, X * W**count, rtol=1e-6)
        found = pullback(np.ones(3, np.float32))
        np.testing.assert_allclose(found["x"], W**count, rtol=1e-6)
        np.testing.assert_allclose(found["w"], X * count * W ** max(count - 1, 0), rtol=1e-6)
        programs.add(id(model.function.graph(model.bound([X, W, np.array(count)], {}))))
    assert len(programs) == 1


def test_loop_without_an_end():
    """A call of the model runs for ever, as in onnxruntime."""
    model = sdgrad.onnx.load(made(None, None, computed=False))
    with pytest.raises(sdgrad.errors.SdgradError, match="no end"):
        model.vjp(X, W)
