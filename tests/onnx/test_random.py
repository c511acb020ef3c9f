"""Random numbers in models: drawn once, by onnxruntime, and constants for derivatives."""

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper

import sdgrad
import sdgrad.onnx
from sdgrad.onnx_ops import session

TYPES = {np.float16: (T.FLOAT16, 1e-2), np.float32: (T.FLOAT, 1e-5), np.float64: (T.DOUBLE, 1e-12)}


def made(nodes, shape, results, dtype=np.float32, constants=None):
    """A model of x, with everything else of its type unless it says otherwise."""
    kind = TYPES[dtype][0]
    graph = helper.make_graph(
        nodes,
        "random",
        [helper.make_tensor_value_info("x", kind, shape)],
        [helper.make_tensor_value_info(n, t or kind, None) for n, t in results.items()],
        [numpy_helper.from_array(np.asarray(v), n) for n, v in (constants or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def dropout(**attributes):
    nodes = [
        helper.make_node("Dropout", ["x", "ratio", "training"], ["y", "mask"], **attributes),
        helper.make_node("Mul", ["y", "y"], ["z"]),
    ]
    constants = {"ratio": np.float32(0.3), "training": True}
    return made(nodes, [40, 5], {"z": None, "mask": T.BOOL}, constants=constants)


def test_dropout_in_training():
    x = np.random.default_rng(0).standard_normal((40, 5)).astype(np.float32)
    model = sdgrad.onnx.load(dropout())
    seen = []
    for _ in range(2):
        (z, mask), pullback = model.vjp(x)
        kept = mask / np.float32(0.7)
        np.testing.assert_allclose(z, (x * kept) ** 2, rtol=1e-5)
        np.testing.assert_allclose(pullback(np.ones_like(z), None)["x"], 2 * x * kept**2, rtol=1e-5)
        assert 0.5 < mask.mean() < 0.9
        seen.append(mask)
    assert (seen[0] != seen[1]).any()


def test_dropout_of_a_seed_is_that_of_onnxruntime():
    x = np.random.default_rng(1).standard_normal((40, 5)).astype(np.float32)
    proto = dropout(seed=11)
    found = sdgrad.onnx.load(proto)(x)
    wanted = onnxruntime.InferenceSession(proto.SerializeToString()).run(None, {"x": x})
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-6)
    assert (found[1] == wanted[1]).all()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kind", ["RandomNormalLike", "RandomUniformLike", "Bernoulli"])
def test_numbers_that_are_multiplied_with(kind, dtype):
    """d (p r) / dx = p (1 - p) r for p = 1 / (1 + exp(-x)), whatever r is."""
    nodes = [
        helper.make_node("Sigmoid", ["x"], ["p"]),
        helper.make_node(kind, ["p"], ["r"]),
        helper.make_node("Mul", ["p", "r"], ["y"]),
    ]
    x = np.random.default_rng(2).standard_normal((30, 4)).astype(dtype)
    (y, r), pullback = sdgrad.onnx.load(made(nodes, [30, 4], {"y": None, "r": None}, dtype)).vjp(x)
    tolerance = TYPES[dtype][1]
    p = 1 / (1 + np.exp(-x.astype(np.float64)))
    found = pullback(np.ones_like(y), np.ones_like(r))["x"]
    np.testing.assert_allclose(y, p * r, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(found, p * (1 - p) * r, rtol=tolerance, atol=tolerance)
    assert y.dtype == r.dtype == found.dtype == dtype and r.std() > 0.1


def test_numbers_of_a_distribution():
    nodes = [
        helper.make_node("RandomNormal", [], ["normal"], shape=[1000], mean=2.0, scale=3.0),
        helper.make_node("RandomUniform", [], ["uniform"], shape=[1000], low=-1.0, high=3.0),
        helper.make_node("Mul", ["normal", "x"], ["scaled"]),
        helper.make_node("Add", ["scaled", "uniform"], ["y"]),
    ]
    model = sdgrad.onnx.load(made(nodes, [1000], {"y": None, "normal": None, "uniform": None}))
    x = np.ones(1000, np.float32)
    (y, normal, uniform), pullback = model.vjp(x)
    np.testing.assert_allclose(y, normal + uniform, rtol=1e-5)
    np.testing.assert_array_equal(pullback(np.ones_like(y), None, None)["x"], normal)
    assert abs(normal.mean() - 2) < 0.5 and abs(normal.std() - 3) < 0.5
    assert uniform.min() >= -1 and uniform.max() <= 3 and abs(uniform.mean() - 1) < 0.3


def test_a_session_that_cannot_be_made_is_an_error(monkeypatch):
    def refuse(model):
        raise RuntimeError("not today")

    session._session.cache_clear()
    monkeypatch.setattr(session, "session_of", refuse)
    model = sdgrad.onnx.load(dropout(seed=12))
    with pytest.raises(RuntimeError, match="not today"):
        model(np.zeros((40, 5), np.float32))
    session._session.cache_clear()
