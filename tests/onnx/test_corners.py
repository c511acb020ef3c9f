"""Corners of operators: values against onnxruntime, gradients against differences in double precision."""

import numpy as np
import onnxruntime
import pytest
import torch
from onnx import TensorProto as T
from onnx import ValueInfoProto, helper, numpy_helper
from references import assert_close

import sdgrad.onnx
from sdgrad.errors import ArgumentError, DifferentiationError, InvalidModel

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


# Windows --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("auto_pad", ["NOTSET", "SAME_UPPER", "SAME_LOWER"])
def test_odd_padding_of_an_output_shape(auto_pad):
    """Without ``auto_pad``, the larger half is before the image: results were moved by one element."""
    transposed = node("ConvTranspose", ["x", "w"], ["y"], strides=[3, 2], output_shape=[9, 8], auto_pad=auto_pad)
    check(transposed, {"x": some(1, 4, 3, 4), "w": some(4, 2, 3, 3)})


def test_padding_is_never_the_largest_element():
    """It had the index -1, and took the cotangent, where the elements are as small as it is."""
    pool = node("MaxPool", ["x"], ["y", "i"], kernel_shape=[2], pads=[1, 1])
    least = np.full((1, 1, 3), -np.inf, np.float32)
    assert_as_onnxruntime(pool, {"x": least}, opset=12)
    assert_as_onnxruntime(pool, {"x": np.zeros((1, 1, 3), np.uint8)}, opset=12)
    _, pullback = sdgrad.onnx.load(model_of(pool, {"x": least}, {}, 12)).vjp(least)
    assert pullback(np.arange(1, 5, dtype=np.float32).reshape(1, 1, 4), None)["x"].tolist() == [[[3, 3, 4]]]


def test_nan_is_the_largest_element():
    """As in PyTorch; its cotangent had been written behind the gradient."""
    x = np.array([1, np.nan, 2, 3, 4, 1, 0, np.nan], np.float32).reshape(1, 2, 4)
    pool = node("MaxPool", ["x"], ["y", "i"], kernel_shape=[2], strides=[2])
    leaf = torch.tensor(x, requires_grad=True)
    wanted, places = torch.nn.functional.max_pool1d(leaf, 2, return_indices=True)
    cotangent = np.arange(1, 5, dtype=np.float32).reshape(1, 2, 2)
    wanted.backward(torch.tensor(cotangent))
    (value, found), pullback = sdgrad.onnx.load(model_of(pool, {"x": x}, {}, 12)).vjp(x)
    np.testing.assert_array_equal(value, wanted.detach())
    np.testing.assert_array_equal(found, places.numpy() + [[[0], [4]]])
    np.testing.assert_array_equal(pullback(cotangent, None)["x"], leaf.grad)


# Elements and sums ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exponent", [2.0, 0.5, 3.0])
def test_a_constant_exponent_of_more_dimensions(exponent):
    """The result lacked them where the power was a square or a root."""
    constant = helper.make_node("Constant", [], ["e"], value=numpy_helper.from_array(np.full((1, 1), exponent, "f4")))
    power, x = node("Pow", ["x", "e"], ["y"]), abs(some(3))
    proto = model_of(power, {"x": x}, {}, 18)
    proto.graph.node.insert(0, constant)
    (wanted,) = onnxruntime.InferenceSession(proto.SerializeToString()).run(None, {"x": x})
    found, pullback = sdgrad.onnx.load(proto).vjp(x)
    assert found.shape == (1, 3)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    np.testing.assert_allclose(pullback(np.ones_like(found))["x"], exponent * x ** (exponent - 1), rtol=1e-4)


def test_powers_of_integers_are_rounded_towards_zero():
    x = np.array([2, 3, 3, 1, -1, -2, 2], np.int32)
    exponents = single(0.5, 0.5, 2, -1, -1, 3, -0.5)
    assert_as_onnxruntime(node("Pow", ["x", "e"], ["y"]), {"x": x, "e": exponents})
    assert_as_onnxruntime(node("Pow", ["x", "e"], ["y"]), {"x": x, "e": np.array([0, 5, 2, -1, -1, 3, -2])})


@pytest.mark.parametrize("kind", ["Softmax", "LogSoftmax"])
def test_softmax_of_infinities(kind):
    x = np.array([[-np.inf, 1, 2], [-np.inf] * 3, [np.inf, 1, 2]], np.float32)
    assert_as_onnxruntime(node(kind, ["x"], ["y"]), {"x": x})


def test_logarithm_of_a_sum_of_exponentials_of_integers():
    """It was an error of Python's."""
    x = np.array([[3, -5, 4], [70, 71, 69]], np.int32)
    assert_as_onnxruntime(node("ReduceLogSumExp", ["x", "a"], ["y"]), {"x": x}, {"a": whole(1)})


# Recurrent layers -----------------------------------------------------------------------------------------------


def test_parameters_of_activations_that_have_them():
    """An activation without beta took that of the next one."""
    own = {"activations": ["LeakyRelu", "HardSigmoid"], "activation_alpha": [0.3, 0.4], "activation_beta": [0.1]}
    layer = node("RNN", ["x", "w", "r"], ["y", "h"], hidden_size=3, direction="bidirectional", **own)
    check(layer, {"x": some(4, 2, 2), "w": some(2, 3, 2), "r": some(2, 3, 3)})


# Older forms, and none of something -----------------------------------------------------------------------------


def test_older_forms_of_topk_have_a_derivative():
    check(node("TopK", ["x"], ["v", "i"], axis=-1, k=2), {"x": some(3, 5)}, opset=9)
    check(node("TopK", ["x", "k"], ["v", "i"], axis=0), {"x": some(3, 5)}, {"k": whole(2)}, opset=10)


def test_rows_without_indices():
    check(node("GatherND", ["x", "i"], ["y"]), {"x": some(2, 3), "i": np.zeros((2, 0), np.int64)})
    check(node("GatherND", ["x", "i"], ["y"]), {"x": some(2, 3)}, {"i": np.zeros((2, 0), np.int64)})


def test_determinant_of_no_rows():
    x = some(2, 0, 0)
    found = sdgrad.onnx.load(model_of(node("Det", ["x"], ["y"]), {"x": x}, {}, 18))(x)
    np.testing.assert_array_equal(found, np.linalg.det(x))


def test_a_loop_of_less_than_no_trips():
    state, going = helper.make_tensor_value_info("s", T.FLOAT, [3]), helper.make_tensor_value_info("c", T.BOOL, [])
    trip = helper.make_tensor_value_info("k", T.INT64, [])
    nodes = [node("Identity", ["c"], ["d"]), node("Sin", ["s"], ["t"]), node("Identity", ["t"], ["o"])]
    body = helper.make_graph(nodes, "body", [trip, going, state], [ValueInfoProto(name=n) for n in "dto"])
    x = some(3)
    model = sdgrad.onnx.load(
        model_of(node("Loop", ["m", "", "x"], ["y", "z"], body=body), {"x": x}, {"m": whole(-2)}, 18)
    )
    (last, collected), pullback = model.vjp(x)
    assert collected.shape == (0, 3)
    np.testing.assert_array_equal(last, x)
    np.testing.assert_array_equal(pullback(np.ones_like(x), None)["x"], np.ones(3))


def test_axes_of_a_padding_that_come_in():
    """It was an error of Python's: the amounts were known first."""
    pad = node("Pad", ["x", "p", "", "a"], ["y"])
    assert_as_onnxruntime(pad, {"x": some(2, 3), "p": whole(1, 2), "a": whole(-1)})


# Refused --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind, attributes",
    [
        ("Softmax", {"axis": 5}),
        ("ReduceSum", {}),
        ("ArgMax", {"axis": -3}),
        ("Flatten", {"axis": 3}),
        ("OneHot", {"axis": 3}),
        ("Unsqueeze", {}),
    ],
)
def test_axes_that_an_operand_lacks(kind, attributes):
    """They were counted anew from the first axis."""
    held = {"ReduceSum": {"a": whole(4)}, "Unsqueeze": {"a": whole(0, 7)}}.get(kind, {})
    held |= {"d": whole(3), "v": whole(0, 1)} if kind == "OneHot" else {}
    given = {"x": np.ones((2, 3), np.int64 if kind == "OneHot" else np.float32)}
    model = sdgrad.onnx.load(model_of(node(kind, ["x", *held], ["y"], **attributes), given, held, 18))
    with pytest.raises(ArgumentError, match=rf"{kind}: an operand of shape \(2, 3\) has no axis"):
        model(**given)


@pytest.mark.parametrize(
    "equation, shapes",
    [
        ("...i,...i->...", [(2, 3), (4, 3)]),
        ("ij->ik", [(2, 3)]),
        ("i->i", [(2, 3)]),
        ("ij,jk->ik", [(2, 3)]),
        ("ii->i", [(1, 3)]),
    ],
)
def test_equations_that_do_not_fit(equation, shapes):
    """Some read beyond the operands, others were errors of Python's."""
    given = {f"x{k}": some(*s) for k, s in enumerate(shapes)}
    model = sdgrad.onnx.load(model_of(node("Einsum", [*given], ["y"], equation=equation), given, {}, 18))
    with pytest.raises(ArgumentError, match="do not fit together .*equation="):
        model(**given)


@pytest.mark.parametrize("kind", ["Split", "Resize", "STFT"])
def test_parts_that_do_not_fit(kind):
    """Five elements in four parts of two, a factor too few, and frames that are longer than their window."""
    if kind == "Split":
        operator, given, held = node("Split", ["x"], list("abcd"), num_outputs=4), {"x": some(5)}, {}
    elif kind == "Resize":
        operator, given, held = node("Resize", ["x", "", "s"], ["y"]), {"x": some(1, 1, 3)}, {"s": single(1, 2)}
    else:
        operator = node("STFT", ["x", "s", "w", "l"], ["y"])
        given, held = {"x": some(1, 20, 1), "w": some(4)}, {"s": np.array(3), "l": np.array(6)}
    model = sdgrad.onnx.load(model_of(operator, given, held, 18))
    with pytest.raises(ArgumentError, match=f"{kind}: operands of shapes .* do not fit together"):
        model(**given)


def test_why_a_tensor_has_no_derivative():
    """Branches of different shapes were said to decide shapes."""
    whole_one = helper.make_graph([node("Sin", ["x"], ["t"])], "whole", [], [ValueInfoProto(name="t")])
    twice = helper.make_graph([node("Concat", ["x", "x"], ["e"], axis=0)], "twice", [], [ValueInfoProto(name="e")])
    branch = node("If", ["c"], ["y"], then_branch=whole_one, else_branch=twice)
    given = {"x": some(3), "c": np.array(True)}
    assert_as_onnxruntime(branch, given)
    with pytest.raises(DifferentiationError, match="computed by onnxruntime, .*: branches give arrays of shapes"):
        sdgrad.onnx.load(model_of(branch, given, {}, 18)).vjp(**given)


def test_moments_that_nobody_asks_for():
    """The old ones had no cotangent, and the gradient was refused."""
    names = ["x", "s", "b", "m", "v"]
    given = {n: abs(some(2)) for n in names} | {"x": some(3, 2, 4)}
    assert_gradient(node("BatchNormalization", names, ["y"], training_mode=1), given, opset=15)


# Functions of the model -----------------------------------------------------------------------------------------


def calling(body, version):
    """A model of operator set 18 whose function imports another one."""
    function = helper.make_function("own", "F", ["a"], ["b"], body, [helper.make_opsetid("", version)])
    proto = model_of(node("F", ["x"], ["y"], domain="own"), {"x": some(2, 3)}, {}, 18)
    proto.opset_import.append(helper.make_opsetid("own", 1))
    proto.functions.append(function)
    return proto


def test_functions_of_other_operator_sets():
    """They were left as calls, which nothing knows, also where the operators are the same."""
    x = some(2, 3)
    proto = calling([node("Sin", ["a"], ["t"]), node("LeakyRelu", ["t"], ["b"], alpha=0.3)], 17)
    (wanted,) = onnxruntime.InferenceSession(proto.SerializeToString()).run(None, {"x": x})
    np.testing.assert_allclose(sdgrad.onnx.load(proto)(x), wanted, rtol=1e-5)
    with pytest.raises(InvalidModel, match="'F': Softmax is another operator in version 11 .* write both in one"):
        sdgrad.onnx.load(calling([node("Softmax", ["a"], ["b"])], 11))
