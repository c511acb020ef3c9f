"""ONNX's own node tests, forward and backward, one at a time."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx.backend.test.loader import load_node_model_tests
from onnx.reference import ReferenceEvaluator

import sdgrad.onnx
from sdgrad.errors import SdgradError
from sdgrad.onnx.backend import as_input
from sdgrad.onnx.precision import in_double
from sdgrad.onnx_ops.nodes import ONNXOp

T = onnx.TensorProto
FLOATS = {T.FLOAT, T.DOUBLE, T.FLOAT16, T.BFLOAT16}
PLAIN = FLOATS | {T.INT8, T.INT16, T.INT32, T.INT64, T.UINT8, T.UINT16, T.UINT32, T.UINT64, T.BOOL}
ASIDE = {"ImageDecoder", "QLinearConv", "QLinearMatMul", "ConvInteger", "MatMulInteger", "QuantizeLinear"}
ASIDE |= {"DequantizeLinear", "DynamicQuantizeLinear", "TfIdfVectorizer"}
RANDOM = {"Bernoulli", "RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial"}
BITS = {"BitCast"}  # which mean another thing in double precision
STEPS = (1e-5, 1e-6)


@dataclass
class Outcome:
    """What came of one case."""

    name: str
    operator: str
    forward: str  # "pass", or what went wrong
    how: str = ""  # pure, onnxruntime, elsewhere
    gradient: str = ""  # "pass", "none": nothing to differentiate, or why not
    seconds: float = 0.0


def cases() -> list[Any]:
    """Cases of the standard's own domain whose operands are tensors of plain numbers, expansions aside."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = load_node_model_tests()
    return [
        c
        for c in found
        if not c.name.split("_")[-1].startswith("expanded") and "_expanded_" not in c.name and is_plain(c.model)
    ]


def is_plain(model: onnx.ModelProto) -> bool:
    graph = model.graph
    if any(n.op_type in ASIDE or n.domain not in ("", "ai.onnx.preview.training") for n in graph.node):
        return False
    opset = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 13)
    values = [*graph.input, *graph.output]
    return opset >= 13 and all(v.type.HasField("tensor_type") and v.type.tensor_type.elem_type in PLAIN for v in values)


def run(case: Any, gradients: bool = True) -> Outcome:
    """Forward against the case's own numbers, gradients against differences of ONNX's reference implementation."""
    operator = case.model.graph.node[0].op_type
    outcome = Outcome(case.name, operator, "pass")
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            forward(case, outcome)
        except Exception as error:  # noqa: BLE001 (whatever comes is a finding)
            outcome.forward = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        if gradients and outcome.forward == "pass":
            try:
                outcome.gradient = gradient(case)
            except SdgradError as error:
                text = " ".join(str(error).split())
                outcome.gradient = f"refused: {text}"[:300]
            except Exception as error:  # noqa: BLE001
                outcome.gradient = f"{type(error).__name__}: {error}".splitlines()[0][:300]
    outcome.seconds = round(time.perf_counter() - start, 2)
    return outcome


def forward(case: Any, outcome: Outcome) -> None:
    model = sdgrad.onnx.load(case.model)
    for given, wanted in case.data_sets:
        inputs = [as_input(x) for x in given if x is not None]
        found = model(*inputs)
        for got, want in zip(found if isinstance(found, tuple) else (found,), wanted, strict=True):
            compare(np.asarray(got), as_input(want), case)
        outcome.how = how(model, inputs)


def is_random(case: Any) -> bool:
    """Whether other random numbers are drawn than the reference has."""
    return (
        "training_dropout" in case.name
        and "zero_ratio" not in case.name
        or any(n.op_type in RANDOM for n in case.model.graph.node)
    )


def compare(found: np.ndarray, wanted: np.ndarray, case: Any) -> None:
    assert found.shape == wanted.shape, f"shape {found.shape}, not {wanted.shape}"
    assert found.dtype == wanted.dtype, f"dtype {found.dtype}, not {wanted.dtype}"
    if is_random(case):
        return
    if found.dtype.kind in "iub":
        np.testing.assert_array_equal(found, wanted)
        return
    low = found.dtype.itemsize < 4
    np.testing.assert_allclose(
        found.astype(np.float64),
        wanted.astype(np.float64),
        rtol=max(case.rtol, 1e-2 if low else 1e-3),
        atol=max(case.atol, 1e-2 if low else 1e-6),
    )


def how(model: sdgrad.onnx.Model, inputs: list[np.ndarray]) -> str:
    try:
        sdfg = model.sdfg_for(*inputs)
    except SdgradError:
        return "elsewhere"
    nodes = [n for n, _ in sdfg.all_nodes_recursive() if isinstance(n, ONNXOp)]
    return "onnxruntime" if any(n.implementation == "onnxruntime" for n in nodes) else "pure"


# --- gradients -------------------------------------------------------------------------------------------------


def gradient(case: Any) -> str:
    """The derivative of the outputs in a random direction, both ways."""
    inputs = [as_input(x) for x in case.data_sets[0][0] if x is not None]
    if not any(x.dtype.kind in "f" for x in inputs) or any(x.dtype.kind not in "fiub" for x in inputs):
        return "none"
    if is_random(case):
        return "no differences: random numbers"
    if case.model.graph.node[0].op_type in BITS:
        return "none"
    proto, wide = in_double(case.model), [x.astype(np.float64) if x.dtype.kind == "f" else x for x in inputs]
    rng = np.random.default_rng(5)
    names = [i.name for i in proto.graph.input]
    model = sdgrad.onnx.load(proto)
    fixed = model.decided_by(model.function.graph(model.bound(wide, {})))
    exact = case.model.graph.node[0].op_type == "OneHot"  # real numbers that are indices
    wide = [x if n in fixed or exact else near(x, rng) for n, x in zip(names, wide, strict=True)]
    reference = ReferenceEvaluator(proto)

    def value(arrays: list[np.ndarray]) -> list[np.ndarray]:
        return [np.asarray(r) for r in reference.run(None, dict(zip(names, arrays, strict=True)))]

    try:
        at = value(wide)
    except (TypeError, ValueError, RuntimeError):
        return "no differences: the reference does not run it in double precision"
    weights = [rng.standard_normal(r.shape) if r.dtype.kind == "f" else None for r in at]
    if all(w is None for w in weights):
        return "none"
    _, pullback = model.vjp(*wide)
    found = pullback(*weights)
    moved = [
        rng.standard_normal(x.shape)
        if x.dtype.kind == "f" and n not in fixed and (not exact or n == names[-1])
        else None
        for n, x in zip(names, wide, strict=True)
    ]

    def along(step: float) -> float:
        ahead, behind = (
            value([x + s * step * d if d is not None else x for x, d in zip(wide, moved, strict=True)]) for s in (1, -1)
        )
        return sum(
            float(np.sum(w * (a - b))) / (2 * step)
            for w, a, b in zip(weights, ahead, behind, strict=True)
            if w is not None and a.size
        )

    differences = [along(h) for h in STEPS]
    size = max(1.0, abs(differences[0]))
    if not np.isfinite(differences).all() or abs(differences[0] - differences[1]) > 1e-4 * size:
        return "no differences: a kink, or too steep"
    mine = sum(float(np.sum(found[n] * d)) for n, d in zip(names, moved, strict=True) if d is not None and d.size)
    if not abs(mine - differences[1]) <= 1e-5 * max(size, sum(abs(w).sum() for w in weights if w is not None)):
        return f"wrong: {mine:.8g}, differences {differences[1]:.8g}"
    return "pass"


def near(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A little away from the case's own numbers: they are often at kinks."""
    if x.dtype.kind != "f":
        return x
    return x + 1e-3 * rng.uniform(0.1, 1.0, x.shape) * np.where(np.isfinite(x), 1.0, 0.0)
