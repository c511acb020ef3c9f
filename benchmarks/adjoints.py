"""What the adjoints that are written down for ONNX operators are worth.

``python -m benchmarks.adjoints --threads 1 --reps 9``

Each operator is differentiated by its adjoint, and by that of its lowering; PyTorch's eager mode runs beside them. All
compute in float32, forward and backward together; gradients are compared first.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.run import limit_threads
from benchmarks.run import measure as medians


@dataclass(frozen=True)
class Case:
    """An operator at a size, and the same in PyTorch."""

    operator: str
    shapes: tuple[tuple[int, ...], ...]
    torch: Callable[..., Any]
    attributes: dict[str, Any] = field(default_factory=dict)
    outputs: int = 1
    label: str = ""


def cases() -> list[Case]:
    from torch.nn import functional as F  # noqa: N812

    image, c = (8, 64, 56, 56), (64,)
    wide = (4096, 1024)

    def batch_norm(x, s, b, m, v):
        return F.batch_norm(x, m.detach().clone(), v.detach().abs(), s, b, training=True)

    conv = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    return [
        Case("Softmax", (wide,), lambda x: F.softmax(x, -1), {"axis": -1}),
        Case("LogSoftmax", (wide,), lambda x: F.log_softmax(x, -1), {"axis": -1}),
        Case("LayerNormalization", (wide, wide[1:], wide[1:]), lambda x, s, b: F.layer_norm(x, wide[1:], s, b)),
        Case("RMSNormalization", (wide, wide[1:]), lambda x, s: F.rms_norm(x, wide[1:], s, 1e-5)),
        Case("InstanceNormalization", (image, c, c), lambda x, s, b: F.instance_norm(x, weight=s, bias=b)),
        Case("GroupNormalization", (image, c, c), lambda x, s, b: F.group_norm(x, 8, s, b), {"num_groups": 8}),
        Case("BatchNormalization", (image, c, c, c, c), batch_norm, {"training_mode": 1}, 3),
        Case("MaxPool", (image,), lambda x: F.max_pool2d(x, 2), {"kernel_shape": [2, 2], "strides": [2, 2]}),
        Case(
            "MaxPool",
            (image,),
            lambda x: F.max_pool2d(x, 3, 2, 1),
            {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]},
            label="MaxPool, overlapping",
        ),
        Case("Conv", (image, (64, 64, 3, 3), c), lambda x, w, b: F.conv2d(x, w, b, 1, 1), conv),
        Case("Conv", (image, (64, 64, 1, 1)), F.conv2d, {"kernel_shape": [1, 1]}, label="Conv, 1x1"),
        Case(
            "Conv",
            (image, (64, 1, 3, 3)),
            lambda x, w: F.conv2d(x, w, None, 1, 1, 1, 64),
            {**conv, "group": 64},
            label="Conv, each channel",
        ),
        Case(
            "ConvTranspose",
            ((8, 64, 28, 28), (64, 32, 2, 2)),
            lambda x, w: F.conv_transpose2d(x, w, None, 2),
            {"kernel_shape": [2, 2], "strides": [2, 2]},
        ),
    ]


def model_of(case: Case) -> Any:
    from onnx import TensorProto, helper

    import sdgrad.onnx

    names = [f"x{k}" for k in range(len(case.shapes))]
    made = [f"y{k}" for k in range(case.outputs)]
    node = helper.make_node(case.operator, names, made, **case.attributes)
    inputs = [
        helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in zip(names, case.shapes, strict=True)
    ]
    outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in made]
    graph = helper.make_graph([node], case.operator, inputs, outputs)
    return sdgrad.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)]))


def by_sdgrad(case: Case, values: Sequence[Any], cotangent: Any) -> Callable[[], Any]:
    import numpy as np

    model = model_of(case)

    def step() -> Any:
        results, pullback = model.vjp(*values)
        rest = [np.zeros_like(r) for r in results[1:]] if isinstance(results, tuple) else []
        return list(pullback(cotangent, *rest).values())

    step()
    return step


def by_torch(case: Case, values: Sequence[Any], cotangent: Any) -> Callable[[], Any]:
    import torch

    leaves = [torch.tensor(v, requires_grad=True) for v in values]
    seed = torch.tensor(cotangent)

    def step() -> Any:
        for leaf in leaves:
            leaf.grad = None
        case.torch(*leaves).backward(seed)
        return [leaf.grad for leaf in leaves]

    step()
    return step


def measure(case: Case, repetitions: int) -> dict[str, float]:
    """Seconds by the adjoint, by that of the lowering, and by PyTorch."""
    import numpy as np
    import torch

    from sdgrad.onnx_ops import nodes
    from sdgrad.onnx_ops.registry import ADJOINTS

    rng = np.random.default_rng(0)
    values = [rng.standard_normal(s).astype(np.float32) for s in case.shapes]
    values = [np.abs(v) if k == 4 else v for k, v in enumerate(values)]
    with torch.no_grad():
        cotangent = rng.standard_normal(case.torch(*map(torch.tensor, values)).shape).astype(np.float32)
    written = by_sdgrad(case, values, cotangent)
    kept = ADJOINTS.pop(("", case.operator), [])
    nodes._recorded.cache_clear()
    derived = by_sdgrad(case, values, cotangent)
    ADJOINTS["", case.operator] = kept
    nodes._recorded.cache_clear()
    steps = {"written": written, "derived": derived, "torch": by_torch(case, values, cotangent)}
    reference = steps["torch"]()
    for name in ("written", "derived"):
        for k, (found, wanted) in enumerate(zip(steps[name](), reference, strict=True)):
            if wanted is not None:
                scale = float(np.max(np.abs(wanted.numpy()))) or 1.0
                np.testing.assert_allclose(found / scale, wanted.numpy() / scale, atol=2e-4, err_msg=f"{case} {k}")
    return medians(steps, repetitions)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--reps", type=int, default=9)
    parser.add_argument("--only", default="", help="a part of an operator's name")
    options = parser.parse_args()
    limit_threads(options.threads)
    import torch

    torch.set_num_threads(options.threads)
    print("| Operator | adjoint, ms | of the lowering | adjoint / lowering | PyTorch, ms | adjoint / PyTorch |")
    print("|---|---|---|---|---|---|")
    for case in cases():
        if options.only not in (case.label or case.operator):
            continue
        found = measure(case, options.reps)
        own, derived, torchs = found["written"], found["derived"], found["torch"]
        ms = [f"{1e3 * seconds:.2f}" for seconds in (own, derived, torchs)]
        cells = [case.label or case.operator, *ms[:2], f"{own / derived:.2f}", ms[2], f"{own / torchs:.2f}"]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
