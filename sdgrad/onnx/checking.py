"""Check a model for ``sdgrad onnx``: its operators, and whether values and gradients are right."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from sdgrad.errors import SdgradError
from sdgrad.onnx.model import Model, load
from sdgrad.onnx.precision import in_double
from sdgrad.onnx_ops.nodes import ONNXOp
from sdgrad.onnx_ops.session import session_of

STEP = 1e-6


@dataclass(frozen=True)
class OperatorUse:
    """One operator of a model."""

    kind: str
    count: int
    forward: str  # by what it is run
    gradient: str  # how it is differentiated, or why not


def example_inputs(model: Model, extent: int = 2, seed: int = 0) -> list[np.ndarray]:
    """Return random inputs as the file declares them; open dimensions get ``extent``."""
    rng = np.random.default_rng(seed)
    found = []
    for info in model.reading.inputs:
        kind = info.type.tensor_type
        shape = [d.dim_value if d.HasField("dim_value") else extent for d in kind.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
        real = rng.standard_normal(shape) if dtype.kind == "f" else rng.integers(0, 2, shape)
        found.append(np.asarray(real, dtype))
    return found


def operators(model: Model, extent: int = 2) -> list[OperatorUse]:
    """Return the operators of a model, only those it needs for generated code."""
    sdfg = model.sdfg_for(*example_inputs(model, extent))
    nodes = [n for n, _ in sdfg.all_nodes_recursive() if isinstance(n, ONNXOp)]
    counts = Counter((n.kind, n.implementation) for n in nodes)
    return [
        OperatorUse(
            kind,
            count,
            "generated code" if how == "pure" else "onnxruntime",
            "through its definition" if how == "pure" else "no: onnxruntime has no derivative",
        )
        for (kind, how), count in sorted(counts.items())
    ]


@dataclass(frozen=True)
class Check:
    """Differences from onnxruntime, and from differences of ONNX's reference implementation; both relative."""

    values: float
    gradients: float | None
    remark: str = ""


def check(model: str | onnx.ModelProto, extent: int = 2, seed: int = 0) -> Check:
    """Compare outputs to onnxruntime's, and the derivative in a random direction to finite differences."""
    own = load(model)
    inputs = example_inputs(own, extent, seed)
    feed = dict(zip(own.inputs, inputs, strict=True))
    wanted = session_of(own.reading.proto).run(None, feed)
    found = own(*inputs)
    values = max(relative(f, w) for f, w in zip(found if len(wanted) > 1 else (found,), wanted, strict=True))
    try:
        return Check(values, *directional(in_double(own.reading.proto), inputs, seed))
    except SdgradError as error:
        return Check(values, None, str(error))


def relative(found: np.ndarray, wanted: np.ndarray) -> float:
    if wanted.size == 0:
        return 0.0
    size = float(np.max(np.abs(wanted.astype(np.float64)))) or 1.0
    return float(np.max(np.abs(np.asarray(found, np.float64) - wanted))) / size


def directional(proto: onnx.ModelProto, inputs: list[np.ndarray], seed: int) -> tuple[float | None, str]:
    """Return the relative error of the gradient by the inputs."""
    model = load(proto)
    wide = [x.astype(np.float64) if x.dtype.kind == "f" else x for x in inputs]
    rng = np.random.default_rng(seed + 1)
    moved = [rng.standard_normal(x.shape) if x.dtype.kind == "f" else np.zeros_like(x) for x in wide]
    reference = ReferenceEvaluator(model.reading.proto)

    def value(shift: float) -> list[np.ndarray]:
        at = [x + shift * d if x.dtype.kind == "f" else x for x, d in zip(wide, moved, strict=True)]
        return [np.asarray(r) for r in reference.run(None, dict(zip(model.inputs, at, strict=True)))]

    weights = [rng.standard_normal(r.shape) for r in value(0.0)]
    if not any(x.dtype.kind == "f" for x in wide):
        return None, "no input is a real number"
    wanted = sum(
        float(np.sum(w * (p - m))) / (2 * STEP) for w, p, m in zip(weights, value(STEP), value(-STEP), strict=True)
    )
    _, pullback = model.vjp(*wide)
    gradients = pullback(*weights)
    found = sum(
        float(np.sum(gradients[n] * d)) for n, d in zip(model.inputs, moved, strict=True) if gradients[n] is not None
    )
    return abs(found - wanted) / max(abs(wanted), 1e-12), ""
