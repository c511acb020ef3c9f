"""Corners of operators: values against onnxruntime, gradients against differences in double precision."""

import numpy as np
import onnxruntime
import pytest
from onnx import ValueInfoProto, helper, numpy_helper
from references import assert_close

import sdgrad.onnx

RNG = np.random.default_rng(29)
node = helper.make_node


def some(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def whole(*values):
    return np.array(values, np.int64)


def single(*values):
    return np.array(values, np.float32)


def model_of(operator, given, held, opset):
    """A model of one operator, of which the file does not say what it gives."""
    inputs = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in given.items()
    ]
    outputs = [ValueInfoProto(name=n) for n in operator.output if n]
    graph = helper.make_graph(
        [operator], "corner", inputs, outputs, [numpy_helper.from_array(a, n) for n, a in held.items()]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def values_of(found):
    return found if isinstance(found, tuple) else (found,)


def assert_as_onnxruntime(operator, given, held=None, opset=18):
    """Compare what an operator gives, shapes and types included."""
    proto = model_of(operator, given, held or {}, opset)
    wanted = onnxruntime.InferenceSession(proto.SerializeToString()).run(None, given)
    for own, other in zip(values_of(sdgrad.onnx.load(proto)(**given)), wanted, strict=True):
        assert (own.shape, own.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(own, other, rtol=1e-4, atol=1e-5)


def assert_gradient(operator, given, held=None, opset=18):
    """Compare the derivative along a direction with that of differences."""
    wide = {n: a.astype(np.float64) if a.dtype == np.float32 else a for n, a in given.items()}
    model = sdgrad.onnx.load(model_of(operator, wide, held or {}, opset))
    results, pullback = model.vjp(**wide)
    weights = [RNG.standard_normal(v.shape) if v.dtype.kind == "f" else None for v in values_of(results)]
    gradients = pullback(*weights)
    along = {n: RNG.standard_normal(a.shape) for n, a in wide.items() if a.dtype == np.float64}

    def at(step):
        found = values_of(model(**{n: a + step * along[n] if n in along else a for n, a in wide.items()}))
        return sum(np.sum(v * w) for v, w in zip(found, weights, strict=True) if w is not None)

    expected = (at(1e-6) - at(-1e-6)) / 2e-6
    assert_close(sum(np.sum(gradients[n] * d) for n, d in along.items()), expected, 1e-6, operator.op_type)


def check(operator, given, held=None, opset=18):
    assert_as_onnxruntime(operator, given, held, opset)
    assert_gradient(operator, given, held, opset)


# Resize ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.7, 2.2])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_scales_are_numbers_of_single_precision(scale, mode):
    """Ten times 0.7 was six, and elements beside those that onnxruntime takes were taken."""
    resize = node("Resize", ["x", "", "s"], ["y"], mode=mode, nearest_mode="floor")
    check(resize, {"x": some(1, 1, 10)}, {"s": single(1, 1, scale)})
    upsample = node("Upsample", ["x", "s"], ["y"], mode=mode)
    check(upsample, {"x": some(1, 1, 1, 10)}, {"s": single(1, 1, 2, 1.3)}, opset=9)


@pytest.mark.parametrize("scale", [0.6, 1.6])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_first_form_of_resize(scale, mode):
    """It had no derivative."""
    check(node("Resize", ["x", "s"], ["y"], mode=mode), {"x": some(1, 1, 10, 5)}, {"s": single(1, 1, scale, 2)}, 10)
