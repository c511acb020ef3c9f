"""``python -m tests.conformance.architectures``: the real networks that onnx ships, and the table of docs/onnx.md.

Their files make weights that are all alike, which hides most errors; here they get random ones. Forward is compared
with onnxruntime in single precision. The derivative of the outputs with respect to the image is compared, in double
precision, with differences of the forward pass along a random direction: those of the step that comes closest, since
long ones cross kinks and short ones drown in rounding. Times are medians of forward calls in single precision, both
sides in turn, on one thread.
"""

from __future__ import annotations

import os

os.environ.update({n: "1" for n in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")})

import argparse
import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

import sdgrad.onnx
from sdgrad.onnx.model import Model
from sdgrad.onnx.precision import in_double

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
PAGE = Path(__file__).parent.parent.parent / "docs" / "onnx.md"
START, END = "<!-- networks: written by tests.conformance.architectures -->", "<!-- end of the networks -->"
STEPS = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4)


@dataclass
class Outcome:
    """Errors are relative to the largest output, and to the derivative; times are in seconds."""

    name: str
    nodes: int
    forward_error: float
    gradient_error: float
    ours: float
    onnxruntime: float
    gradient: float
    first_call: float


def with_random_weights(proto: onnx.ModelProto, rng: np.random.Generator) -> onnx.ModelProto:
    """The model with initializers for the constants that it makes for itself, of a size that keeps signals alive."""
    result = onnx.ModelProto()
    result.CopyFrom(proto)
    graph = result.graph
    shapes = {t.name: onnx.numpy_helper.to_array(t) for t in graph.initializer}
    role = {n: k for node in graph.node if node.op_type == "BatchNormalization" for k, n in enumerate(node.input) if k}
    scales = {n for node in graph.node if node.op_type == "Mul" for n in node.input}
    scales |= {node.input[0] for node in graph.node if node.op_type == "Unsqueeze" and node.output[0] in scales}
    kept = [n for n in graph.node if n.op_type != "ConstantOfShape" or n.input[0] not in shapes]
    made = [n for n in graph.node if n.op_type == "ConstantOfShape" and n.input[0] in shapes]
    for node in made:
        shape = tuple(int(k) for k in shapes[node.input[0]])
        name = node.output[0]
        array = rng.standard_normal(shape) * (np.sqrt(2 / np.prod(shape[1:])) if len(shape) > 1 else 0.1)
        if role.get(name) in (1, 4) or name in scales:  # scale and variance
            array = rng.uniform(0.5, 1.5, shape)
        graph.initializer.append(onnx.numpy_helper.from_array(array.astype(np.float32), name))
    del graph.node[:]
    graph.node.extend(kept)
    if graph.node[-1].op_type == "Softmax":  # which saturates: its derivative would be lost in rounding
        last = graph.node.pop()
        del graph.output[:]
        graph.output.append(onnx.ValueInfoProto(name=last.input[0]))
    return result


def run(path: Path, repetitions: int) -> Outcome:
    rng = np.random.default_rng(0)
    proto = with_random_weights(onnx.load(path), rng)
    model = sdgrad.onnx.load(proto)
    (entry,) = model.inputs
    shape = [d.dim_value for d in next(i for i in proto.graph.input if i.name == entry).type.tensor_type.shape.dim]
    image, direction = rng.random(shape).astype(np.float32), rng.standard_normal(shape)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options)
    start = time.perf_counter()
    found = model(image)
    first = time.perf_counter() - start
    (wanted,) = session.run(None, {entry: image})
    forward = float(np.max(np.abs(found - wanted)) / np.max(np.abs(wanted)))

    wide, precise = sdgrad.onnx.load(in_double(proto)), image.astype(np.float64)
    outputs, pullback = wide.vjp(precise)
    cotangent = rng.standard_normal(outputs.shape)
    slope = float(np.sum(pullback(cotangent)[entry] * direction))
    gradient = min(abs(slope / difference(wide, precise, direction, cotangent, step) - 1) for step in STEPS)

    _, backward = model.vjp(image)
    backward(cotangent.astype(np.float32))

    def both() -> None:
        model.vjp(image)[1](cotangent.astype(np.float32))

    times = timed([lambda: model(image), lambda: session.run(None, {entry: image}), both], repetitions)
    name = path.stem.removeprefix("light_")
    return Outcome(name, len(proto.graph.node), forward, gradient, *times, first)


def difference(model: Model, image: np.ndarray, direction: np.ndarray, cotangent: np.ndarray, step: float) -> float:
    """The slope of the outputs, by two calls."""
    ends = [model(image + s * step * direction) for s in (1, -1)]
    return float(np.sum((ends[0] - ends[1]) * cotangent)) / (2 * step)


def timed(calls: list[Callable[[], object]], repetitions: int) -> list[float]:
    samples: list[list[float]] = [[] for _ in calls]
    for _ in range(repetitions):
        for call, mine in zip(calls, samples, strict=True):
            start = time.perf_counter()
            call()
            mine.append(time.perf_counter() - start)
    return [statistics.median(s) for s in samples]


def row(r: Outcome) -> str:
    errors = f"{r.forward_error:.0e} | {r.gradient_error:.0e}"
    ratios = f"{r.ours / r.onnxruntime:.1f} | {r.gradient / r.ours:.1f}"
    times = f"{1e3 * r.ours:.0f} | {1e3 * r.onnxruntime:.0f}"
    return f"| {r.name} | {r.nodes} | {errors} | {times} | {ratios} | {r.first_call:.0f} |"


HEAD = [
    "| network | nodes | error forward | error of the gradient | forward, ms | onnxruntime, ms | ratio "
    "| gradient / forward | first call, s |",
    "|---|---|---|---|---|---|---|---|---|",
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a part of a network's name")
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("conformance_architectures.jsonl"))
    parser.add_argument("--write", action="store_true", help="write the table into docs/onnx.md")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = options.out.read_text().splitlines() if options.out.exists() else []
    done = {r.name: r for r in (Outcome(**json.loads(line)) for line in lines)}
    print("\n".join(HEAD))
    for path in sorted(LIGHT.glob("light_*.onnx")):
        name = path.stem.removeprefix("light_")
        if options.only not in name:
            continue
        if name not in done:
            done[name] = run(path, options.reps)
            with options.out.open("a") as file:
                file.write(json.dumps(asdict(done[name])) + "\n")
        print(row(done[name]), flush=True)
    if options.write:
        text = PAGE.read_text()
        head, tail = text.split(START)[0], text.split(END)[1]
        table = "\n".join([*HEAD, *(row(done[n]) for n in sorted(done))])
        PAGE.write_text(f"{head}{START}\n{table}\n{END}{tail}")
    return int(any(r.forward_error > 1e-3 or r.gradient_error > 1e-3 for r in done.values()))


if __name__ == "__main__":
    sys.exit(main())
