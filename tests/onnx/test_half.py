"""Gradients in half precision, beside PyTorch's in double precision of the same numbers."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from onnx import TensorProto as T
from onnx import helper

import sdgrad.onnx

CASES = {
    "Gemm": ([(5, 7), (7, 4), (4,)], {}, lambda x, w, c: x @ w + c),
    "MatMul": ([(2, 5, 7), (7, 4)], {}, lambda x, w: x @ w),
    "Conv": ([(2, 3, 8, 8), (4, 3, 3, 3), (4,)], {"pads": [1] * 4}, lambda x, w, c: F.conv2d(x, w, c, padding=1)),
    "ConvTranspose": (
        [(2, 3, 5, 5), (3, 4, 3, 3)],
        {"strides": [2, 2]},
        lambda x, w: F.conv_transpose2d(x, w, stride=2),
    ),
    "Softmax": ([(4, 9)], {"axis": -1}, lambda x: F.softmax(x, -1)),
    "LogSoftmax": ([(4, 9)], {"axis": -1}, lambda x: F.log_softmax(x, -1)),
    "LayerNormalization": ([(4, 9), (9,), (9,)], {"axis": -1}, lambda x, s, c: F.layer_norm(x, (9,), s, c)),
    "InstanceNormalization": ([(2, 3, 9), (3,), (3,)], {}, lambda x, s, c: F.instance_norm(x, weight=s, bias=c)),
    "MaxPool": ([(2, 3, 8, 8)], {"kernel_shape": [2, 2], "strides": [2, 2]}, lambda x: F.max_pool2d(x, 2)),
    "AveragePool": ([(2, 3, 8, 8)], {"kernel_shape": [2, 2], "strides": [2, 2]}, lambda x: F.avg_pool2d(x, 2)),
    "GlobalAveragePool": ([(2, 3, 8, 8)], {}, lambda x: x.mean((2, 3), keepdim=True)),
    "ReduceMean": ([(6, 50)], {}, lambda x: x.mean().reshape(1, 1)),
    "ReduceLogSumExp": ([(6, 50)], {}, lambda x: x.logsumexp((0, 1), keepdim=True)),
    "Relu": ([(40,)], {}, F.relu),
    "Gelu": ([(40,)], {}, F.gelu),
    "Elu": ([(40,)], {}, F.elu),
    "Tanh": ([(40,)], {}, torch.tanh),
    "Sigmoid": ([(40,)], {}, torch.sigmoid),
    "Softplus": ([(40,)], {}, F.softplus),
    "Erf": ([(40,)], {}, torch.erf),
    "Div": ([(6, 5), (5,)], {}, lambda x, y: x / y),
    "Pow": ([(6, 5), (5,)], {}, lambda x, y: x**y),
    "Mul": ([(6, 5), (6, 1)], {}, lambda x, y: x * y),
}


@pytest.mark.parametrize("kind", CASES)
def test_gradient(kind):
    shapes, attributes, function = CASES[kind]
    rng = np.random.default_rng(sorted(CASES).index(kind))
    low = 0.3 if kind in ("Pow", "Div") else -1.5
    arrays = [rng.uniform(low, 1.5, s).astype(np.float16) for s in shapes]
    names = [f"x{k}" for k in range(len(shapes))]
    inputs = [helper.make_tensor_value_info(n, T.FLOAT16, s) for n, s in zip(names, shapes, strict=True)]
    output = helper.make_tensor_value_info("y", T.FLOAT16, None)
    graph = helper.make_graph([helper.make_node(kind, names, ["y"], **attributes)], "half", inputs, [output])
    model = sdgrad.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10))

    leaves = [torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in arrays]
    wanted = function(*leaves)
    cotangent = rng.uniform(-1, 1, tuple(wanted.shape)).astype(np.float16)
    slopes = torch.autograd.grad(wanted, leaves, torch.tensor(cotangent, dtype=torch.float64))

    y, pullback = model.vjp(*arrays)
    found = pullback(cotangent)
    close(y, wanted.detach().numpy(), "outputs")
    for name, slope in zip(names, slopes, strict=True):
        close(found[name], slope.numpy(), name)


def close(found, wanted, name):
    """Within a few roundings of the largest number: sums are of numbers that are rounded to half precision."""
    assert found.dtype == np.float16
    apart = np.max(np.abs(found.astype(np.float64) - wanted)) / np.max(np.abs(wanted))
    assert apart < 8 * np.finfo(np.float16).eps, f"{name}: {apart:.1e} apart"
