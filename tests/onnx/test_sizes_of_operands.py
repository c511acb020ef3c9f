"""Operands whose sizes do not fit are refused, as onnxruntime refuses them: memory beyond their ends was read."""

import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper

import sdgrad.onnx
from sdgrad.errors import ArgumentError

node = helper.make_node


def ones(*shape):
    return np.ones(shape)


def whole(*values):
    return np.array(values, np.int64)


def model_of(kind, x, constants, opset=17, **attributes):
    """An operator of ``x``, whose sizes the file leaves open, and constants."""
    names = [f"c{k}" for k in range(len(constants))]
    operator = node(kind, ["x", *names], ["y"] + ["z"] * (kind in ("TopK", "Split")), **attributes)
    given = helper.make_tensor_value_info("x", T.DOUBLE, [f"n{k}" for k in range(x.ndim)])
    held = [numpy_helper.from_array(c, n) for n, c in zip(names, constants, strict=True)]
    graph = helper.make_graph([operator], "sizes", [given], [helper.make_tensor_value_info("y", T.DOUBLE, None)], held)
    return sdgrad.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8))


CASES = [
    ("Reshape", ones(4, 3), ones(3, 3), [whole(2, 6)], {}),
    ("MatMul", ones(2, 4), ones(2, 3), [ones(4, 2)], {}),
    ("Gemm", ones(2, 4), ones(2, 3), [ones(4, 2)], {}),
    ("Einsum", ones(2, 4), ones(2, 3), [ones(4, 2)], {"equation": "ij,jk->ik"}),
    ("Concat", ones(2, 3), ones(2, 4), [ones(3, 3)], {"axis": 0}),
    ("Conv", ones(1, 3, 5), ones(1, 2, 5), [ones(2, 3, 2)], {}),
    ("ScatterElements", ones(2, 5), ones(2, 3), [np.zeros((2, 5), np.int64), ones(2, 5)], {"axis": 0}),
    ("GatherElements", ones(2, 5), ones(2, 3), [np.zeros((2, 5), np.int64)], {"axis": 0}),
    ("ScatterND", ones(4, 3), ones(4, 2), [whole(1, 2).reshape(2, 1), ones(2, 3)], {}),
    ("Squeeze", ones(2, 1), ones(2, 3), [whole(1)], {}),
    ("Expand", ones(3, 1), ones(3, 2), [whole(3, 4)], {}),
    ("BatchNormalization", ones(2, 3), ones(2, 1), [ones(3)] * 4, {}),
    ("Split", ones(4, 2), ones(3, 2), [], {"axis": 0}),
    ("Pad", ones(7), ones(3), [whole(5, 5)], {"mode": "reflect"}),
    ("Pad", ones(7), ones(3), [whole(-2, -2)], {}),
    ("TopK", ones(6), ones(3), [whole(5)], {}),
    ("DepthToSpace", ones(1, 4, 2, 2), ones(1, 3, 2, 2), [], {"blocksize": 2}),
    ("GatherND", ones(2, 3), ones(3, 3), [np.zeros((2, 1), np.int64)], {"batch_dims": 1}),
    ("Compress", ones(3, 2), ones(2, 2), [np.array([True, False, True])], {"axis": 0}),
    ("ReverseSequence", ones(2, 3), ones(2, 4), [whole(1, 2, 1)], {}),
    ("GridSample", ones(1, 1, 2, 2), ones(2, 1, 2, 2), [np.zeros((1, 3, 3, 2))], {}),
    ("SoftmaxCrossEntropyLoss", ones(2, 3), ones(3, 3), [whole(0, 1)], {}),
    ("LayerNormalization", ones(2, 4), ones(2, 1), [ones(4)], {}),
    ("MaxPool", ones(1, 1, 4), ones(1, 1, 2), [], {"kernel_shape": [3]}),
    ("Conv", ones(1, 2, 5), ones(1, 2, 2), [ones(2, 2, 3)], {}),
    ("ConvTranspose", ones(1, 4, 2), ones(1, 3, 2), [ones(4, 2, 2)], {"group": 2}),
    ("Col2Im", ones(1, 4, 4), ones(1, 4, 3), [whole(3, 3), whole(2, 2)], {}),
    ("LSTM", ones(3, 2, 2), ones(3, 1, 2), [ones(1, 4, 2), ones(1, 4, 1), ones(1, 8), np.full(2, 3, np.int32)], {}),
]
OPSETS = {"Split": 13, "Col2Im": 18}


@pytest.mark.parametrize(
    "kind, right, wrong, constants, attributes", CASES, ids=[f"{c[0]}{k}" for k, c in enumerate(CASES)]
)
def test_sizes_that_do_not_fit_are_refused(kind, right, wrong, constants, attributes):
    model = model_of(kind, right, constants, opset=OPSETS.get(kind, 17), **attributes)
    model.vjp(right)
    for call in (model, model.vjp):
        with pytest.raises(ArgumentError, match=rf"{kind}: operands of shapes .* do not fit together"):
            call(wrong)


@pytest.mark.parametrize("length", [5, -3])
def test_lengths_of_sequences(length):
    names = ["x", "w", "r", "", "n"]
    layer = node("GRU", names, ["y"], hidden_size=2)
    shapes = {"x": [4, 1, 3], "w": [1, 6, 3], "r": [1, 6, 2]}
    inputs = [helper.make_tensor_value_info(k, T.DOUBLE, s) for k, s in shapes.items()]
    inputs.append(helper.make_tensor_value_info("n", T.INT32, [1]))
    graph = helper.make_graph([layer], "layer", inputs, [helper.make_tensor_value_info("y", T.DOUBLE, None)])
    model = sdgrad.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    given = {k: np.full(s, 0.1) for k, s in shapes.items()}
    model(**given, n=np.array([3], np.int32))
    with pytest.raises(IndexError, match="an index is out of bounds"):
        model(**given, n=np.array([length], np.int32))
