"""Convolutions in single precision, by oneDNN where it is installed: against PyTorch in double precision."""

import numpy as np
import pytest
import torch
from onnx import helper

import sdgrad
import sdgrad.onnx
from sdgrad.runtime.libraries import onednn
from sdgrad.torch.function import apply

CASES = {  # shapes of image and weights, strides, padding at both ends, dilations, groups
    "plain": ((2, 3, 8, 9), (4, 3, 3, 2), [1, 1], [1, 1], [1, 1], 1),
    "strides, dilation and groups": ((1, 4, 8, 9), (6, 2, 3, 3), [2, 3], [1, 0], [2, 1], 2),
    "one channel": ((1, 1, 8), (1, 1, 3), [1], [0], [1], 1),
    "each channel for itself": ((2, 4, 9), (4, 1, 3), [2], [1], [1], 4),
    "three dimensions": ((2, 2, 5, 6, 4), (3, 2, 3, 2, 2), [1, 2, 1], [1, 1, 0], [1, 1, 2], 1),
    "one pixel": ((2, 3, 8, 8), (4, 3, 1, 1), [1, 1], [0, 0], [1, 1], 1),
    "rest of a stride": ((1, 2, 8), (2, 2, 3), [3], [0], [1], 1),
}
TRANSPOSED = {  # the same, and how much longer the result is made
    "plain": ((2, 3, 5, 6), (3, 4, 3, 3), [2, 2], [1, 1], [1, 1], 1, [0, 0]),
    "groups": ((2, 4, 5, 6), (4, 3, 3, 3), [2, 2], [1, 1], [1, 1], 2, [1, 1]),
    "one dimension": ((1, 2, 5), (2, 2, 3), [1], [0], [1], 1, [0]),
    "three dimensions": ((1, 2, 3, 4, 3), (2, 2, 2, 2, 2), [2, 1, 2], [0, 1, 0], [1, 1, 1], 1, [0, 0, 0]),
    "longer than a stride": ((1, 2, 4), (2, 3, 2), [2], [0], [3], 1, [2]),
}


def model(kind, image, weights, strides, pads, dilations, groups, output_padding=None):
    inputs = [helper.make_tensor_value_info(n, 1, s) for n, s in (("x", image), ("w", weights))]
    more = {} if output_padding is None else {"output_padding": output_padding}
    node = helper.make_node(
        kind, ["x", "w"], ["y"], strides=strides, pads=[*pads, *pads], dilations=dilations, group=groups,
        kernel_shape=weights[2:], **more,
    )  # fmt: skip
    graph = helper.make_graph([node], "convolution", inputs, [helper.make_tensor_value_info("y", 1, None)])
    return sdgrad.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)]))


def reference(kind, strides, pads, dilations, groups, output_padding=None):
    function = torch.nn.functional
    if kind == "Conv":
        found = (function.conv1d, function.conv2d, function.conv3d)[len(strides) - 1]
        return lambda x, w: found(x, w, None, strides, pads, dilations, groups)
    found = (function.conv_transpose1d, function.conv_transpose2d, function.conv_transpose3d)[len(strides) - 1]
    return lambda x, w: found(x, w, None, strides, pads, output_padding, groups, dilations)


def single(rng, shape):
    return rng.standard_normal(shape).astype(np.float32)


def close(found, wanted):
    wanted = wanted.detach().numpy() if isinstance(wanted, torch.Tensor) else wanted
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6 * (1 + np.abs(wanted).max()))


@pytest.mark.parametrize(
    ("kind", "case"),
    [*(("Conv", c) for c in CASES.items()), *(("ConvTranspose", c) for c in TRANSPOSED.items())],
    ids=lambda v: v if isinstance(v, str) else v[0],
)
def test_result_and_gradients(kind, case):
    image, weights, *how = case[1]
    rng = np.random.default_rng(0)
    x, w = single(rng, image), single(rng, weights)
    y, pullback = model(kind, image, weights, *how).vjp(x, w)
    seed = single(rng, y.shape)
    gradients = pullback(seed)
    wide = [torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in (x, w)]
    result = reference(kind, *how)(*wide)
    close(y, result)
    known = torch.autograd.grad(result, wide, torch.tensor(seed, dtype=torch.float64))
    for name, wanted in zip("xw", known, strict=True):
        close(gradients[name], wanted)


def test_it_is_a_node_of_onednn():
    """Where the wheel is installed, which it is for tests on x86."""
    if onednn.library_path() is None:
        pytest.skip(f"{onednn.WHEEL} is not installed")
    own = model("Conv", *CASES["plain"])
    x, w = np.zeros((2, 3, 8, 9), np.float32), np.zeros((4, 3, 3, 2), np.float32)
    program = own.function.derive({"x": x, "w": w})[0]
    kinds = [type(n.node).__name__ for n in program.body if hasattr(n, "node")]
    assert kinds == ["Convolution"]


def test_forward_mode_and_second_derivatives():
    """Tangents, and the derivative of the pullback in a direction, against PyTorch's."""
    image, weights, *how = CASES["strides, dilation and groups"]
    rng = np.random.default_rng(1)
    x, w, dx, dw = single(rng, image), single(rng, weights), single(rng, image), single(rng, weights)
    function, known = model("Conv", image, weights, *how).function, reference("Conv", *how)
    wide = [torch.tensor(a, dtype=torch.float64) for a in (x, w, dx, dw)]
    result, tangent = sdgrad.jvp(function, (x, w), (dx, dw))
    wanted, wanted_tangent = torch.func.jvp(known, tuple(wide[:2]), tuple(wide[2:]))
    close(result, wanted)
    close(tangent, wanted_tangent)


def test_second_derivatives():
    """The gradient of a squared gradient."""
    image, weights, *how = CASES["each channel for itself"]
    rng = np.random.default_rng(2)
    x, w = single(rng, image), single(rng, weights)
    own, known = model("Conv", image, weights, *how).function, reference("Conv", *how)
    order = [torch.tensor(a, requires_grad=True) for a in (x, w)]
    wide = [torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in (x, w)]
    found = []
    for function, operands in ((lambda x, w: apply(own, {"x": x, "w": w})[0], order), (known, wide)):
        loss = (function(*operands) ** 3).sum()
        gradients = torch.autograd.grad(loss, operands, create_graph=True)
        found.append(torch.autograd.grad(sum((g**2).sum() for g in gradients), operands))
    for mine, wanted in zip(*found, strict=True):
        np.testing.assert_allclose(mine.numpy(), wanted.numpy(), rtol=0, atol=1e-5 * (1 + wanted.abs().max().item()))


def test_no_images():
    """An empty batch has an empty result, and weights the gradient zero."""
    image, weights, *how = CASES["plain"]
    own = model("Conv", ("n", *image[1:]), weights, *how)
    w = single(np.random.default_rng(3), weights)
    y, pullback = own.vjp(np.zeros((0, *image[1:]), np.float32), w)
    assert y.shape[0] == 0
    assert not pullback(np.zeros_like(y))["w"].any()
