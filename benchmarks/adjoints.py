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

from benchmarks.clock import limit_threads, medians


@dataclass(frozen=True)
class Case:
    """An operator at a size, and the same in PyTorch.

    :param torch: takes the operands that are real numbers, and then those of ``indices``.
    :param indices: operands that are integers below a bound, by their position: shape and bound.
    """

    operator: str
    shapes: tuple[tuple[int, ...], ...]
    torch: Callable[..., Any]
    attributes: dict[str, Any] = field(default_factory=dict)
    outputs: int = 1
    label: str = ""
    indices: dict[int, tuple[tuple[int, ...], int]] = field(default_factory=dict)

    @property
    def operands(self) -> list[str]:
        """Names in order: ``x0``, ``x1``, .. and among them ``i0``, .. for integers."""
        names = [f"x{k}" for k in range(len(self.shapes))]
        for number, position in enumerate(sorted(self.indices)):
            names.insert(position, f"i{number}")
        return names

    def integers(self) -> dict[str, Any]:
        """The operands that are integers, by name."""
        import numpy as np

        rng = np.random.default_rng(1)
        found = (self.indices[position] for position in sorted(self.indices))
        return {f"i{k}": rng.integers(0, bound, shape) for k, (shape, bound) in enumerate(found)}


def cases() -> list[Case]:
    import torch
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
        Case("Relu", (wide,), torch.relu),
        Case("LeakyRelu", (wide,), lambda x: F.leaky_relu(x, 0.1), {"alpha": 0.1}),
        Case("Elu", (wide,), F.elu),
        Case("Gelu", (wide,), F.gelu),
        Case("MatMul", ((8, 512, 512), (8, 512, 512)), torch.matmul),
        Case("Gemm", ((1024, 768), (768, 512), (512,)), lambda x, w, b: torch.addmm(b, x, w)),
        Case("Gather", ((50_000, 256),), lambda x, i: x[i], indices={1: ((4096,), 50_000)}),
        Case(
            "GatherElements",
            ((4096, 512),),
            lambda x, i: torch.gather(x, 1, i),
            {"axis": 1},
            indices={1: ((4096, 256), 512)},
        ),
        Case(
            "ScatterElements",
            ((4096, 512), (4096, 256)),
            lambda x, u, i: torch.scatter_add(x, 1, i, u),
            {"axis": 1, "reduction": "add"},
            indices={1: ((4096, 256), 512)},
        ),
        Case("Attention", ((8, 8, 256, 64),) * 3, F.scaled_dot_product_attention),
        Case("LSTM", ((64, 32, 128), (1, 512, 128), (1, 512, 128), (1, 1024)), lstm, {"hidden_size": 128}),
        Case(
            "GRU",
            ((64, 32, 128), (1, 384, 128), (1, 384, 128), (1, 768)),
            gru,
            {"hidden_size": 128, "linear_before_reset": 1},
        ),
    ]


def gates(order: Sequence[int], hidden: int, weights: Sequence[Any]) -> list[Any]:
    """ONNX's weights of a recurrent layer as PyTorch has them, which has the gates in another order."""
    import torch

    w, r, b = (x[0] for x in weights)
    parts = (w, r, *b.split(len(order) * hidden))
    return [torch.cat([p.split(hidden)[k] for k in order]) for p in parts]


def lstm(x: Any, *weights: Any) -> Any:
    import torch

    start = torch.zeros(1, x.shape[1], 128)
    own = gates((0, 2, 3, 1), 128, weights)
    return torch._VF.lstm(x, (start, start), own, True, 1, 0.0, True, False, False)[0].unsqueeze(1)


def gru(x: Any, *weights: Any) -> Any:
    import torch

    own = gates((1, 0, 2), 128, weights)
    return torch._VF.gru(x, torch.zeros(1, x.shape[1], 128), own, True, 1, 0.0, True, False, False)[0].unsqueeze(1)


def model_of(case: Case) -> Any:
    from onnx import TensorProto, helper, numpy_helper

    import sdgrad.onnx

    names = [f"x{k}" for k in range(len(case.shapes))]
    made = [f"y{k}" for k in range(case.outputs)]
    node = helper.make_node(case.operator, case.operands, made, **case.attributes)
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in zip(names, case.shapes, strict=True)]
    outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in made]
    integers = [numpy_helper.from_array(v, n) for n, v in case.integers().items()]
    graph = helper.make_graph([node], case.operator, inputs, outputs, integers)
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
    integers = [torch.tensor(v) for v in case.integers().values()]
    seed = torch.tensor(cotangent)

    def step() -> Any:
        for leaf in leaves:
            leaf.grad = None
        case.torch(*leaves, *integers).backward(seed)
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
    small = 0.1 if case.operator in ("LSTM", "GRU") else 1.0  # gates that are not shut
    values = [small * rng.standard_normal(s).astype(np.float32) for s in case.shapes]
    values = [np.abs(v) if k == 4 else v for k, v in enumerate(values)]
    with torch.no_grad():
        operands = map(torch.tensor, (*values, *case.integers().values()))
        cotangent = rng.standard_normal(case.torch(*operands).shape).astype(np.float32)
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
