"""Convolutions, pooling, normalization, recurrent layers and other parts of networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from sdgrad.torch.aten.reductions import variance
from sdgrad.torch.aten.registry import RULES, aten
from sdgrad.torch.graph import Graph, Type, Unsupported, Value


def _each(values: Sequence[int], rank: int) -> list[int]:
    return list(values) * rank if len(values) == 1 else list(values)


@aten("convolution.default")
def _convolution(
    g: Graph,
    out: Type,
    input: Value,
    weight: Value,
    bias: Value | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Value:
    rank = weight.rank - 2
    pads = _each(padding, rank)
    shared: dict[str, Any] = {
        "strides": _each(stride, rank),
        "pads": [*pads, *pads],
        "dilations": _each(dilation, rank),
        "group": groups,
        "kernel_shape": list(weight.shape[2:]),
    }
    x = input if input.rank == rank + 2 else g.unsqueeze(input, 0)
    if transposed:
        found = g.op("ConvTranspose", x, weight, bias, output_padding=_each(output_padding, rank), **shared)
    else:
        found = g.op("Conv", x, weight, bias, **shared)
    return found if input.rank == rank + 2 else g.reshape(found, out.shape)


def _pool(
    g: Graph,
    kind: str,
    x: Value,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    batched: int,
    **more: Any,
) -> Value:
    rank = len(kernel)
    pads = _each(padding, rank)
    wide = x if x.rank == batched else g.unsqueeze(x, 0)
    found = g.op(
        kind, wide, kernel_shape=list(kernel), strides=_each(stride, rank) or list(kernel), pads=[*pads, *pads], **more
    )
    return found if x.rank == batched else g.op("Squeeze", found, g.integers([0]))


def _max_pool(rank: int, places: bool):
    def rule(
        g: Graph,
        out: Any,
        self: Value,
        kernel_size: Sequence[int],
        stride: Sequence[int] = (),
        padding: Sequence[int] = (0,),
        dilation: Sequence[int] = (1,),
        ceil_mode: bool = False,
    ) -> Any:
        kernel = _each(kernel_size, rank)
        more = {"dilations": _each(dilation, rank), "ceil_mode": int(ceil_mode)}
        found = _pool(g, "MaxPool", self, kernel, stride, padding, rank + 2, **more)
        return (found, Value("")) if places else found

    return rule


for _rank in (1, 2, 3):
    RULES[f"max_pool{_rank}d.default"] = _max_pool(_rank, False)
    RULES[f"max_pool{_rank}d_with_indices.default"] = _max_pool(_rank, True)


def _average_pool(rank: int):
    def rule(
        g: Graph,
        out: Type,
        self: Value,
        kernel_size: Sequence[int],
        stride: Sequence[int] = (),
        padding: Sequence[int] = (0,),
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Value:
        if divisor_override is not None:
            raise Unsupported("divisor_override")
        kernel = _each(kernel_size, rank)
        more = {"count_include_pad": int(count_include_pad), "ceil_mode": int(ceil_mode)}
        return _pool(g, "AveragePool", self, kernel, stride, padding, rank + 2, **more)

    return rule


for _rank in (1, 2, 3):
    RULES[f"avg_pool{_rank}d.default"] = _average_pool(_rank)


def _adaptive_average(rank: int):
    def rule(g: Graph, out: Type, self: Value, output_size: Sequence[int]) -> Value:
        """Windows ``floor(i n / m) .. ceil((i + 1) n / m)``: a product with a matrix of averages for each axis."""
        x = self
        for axis in range(self.rank - rank, self.rank):
            n, m = self.shape[axis], out.shape[axis]
            if n == m:
                continue
            first = np.arange(m) * n // m
            last = -(-(np.arange(m) + 1) * n // m)
            k = np.arange(n)[:, None]
            matrix = ((k >= first) & (k < last)) / (last - first)
            if m == 1:
                x = g.reduce("ReduceMean", Value(x.name, self.shape, self.dtype), [axis], True)
                continue
            if n % m == 0:
                wide = g.reshape(x, [*x.shape[:axis], m, n // m, *x.shape[axis + 1 :]])
                x = g.reduce("ReduceMean", wide, [axis + 1], False)
            else:
                order = [a for a in range(self.rank) if a != axis] + [axis]
                product = g.op("MatMul", g.transpose(x, order), g.constant(matrix, self.dtype))
                x = g.transpose(product, list(np.argsort(order)))
            shape = [*out.shape[: axis + 1], *self.shape[axis + 1 :]]
            x = Value(x.name, (*self.shape[: self.rank - rank], *shape[self.rank - rank :]), self.dtype)
        return x

    return rule


for _rank in (1, 2, 3):
    for _prefix in ("", "_"):
        RULES[f"{_prefix}adaptive_avg_pool{_rank}d.default"] = _adaptive_average(_rank)


def _adaptive_max(rank: int):
    def rule(g: Graph, out: Sequence[Type], self: Value, output_size: Sequence[int]) -> tuple[Value, Value]:
        """The windows of the average; those that are shorter repeat their last element."""
        x = self
        for axis in range(self.rank - rank, self.rank):
            n, m = self.shape[axis], out[0].shape[axis]
            first = np.arange(m) * n // m
            last = -(-(np.arange(m) + 1) * n // m)
            places = np.minimum(first[:, None] + np.arange((last - first).max()), last[:, None] - 1)
            wide = g.op("Gather", x, g.constant(places.astype(np.int64)), axis=axis)
            found = g.op("ReduceMax", wide, g.integers([axis + 1]), keepdims=0)
            x = Value(found.name, (*x.shape[:axis], m, *x.shape[axis + 1 :]), self.dtype)
        return x, Value("")

    return rule


for _rank in (1, 2, 3):
    RULES[f"adaptive_max_pool{_rank}d.default"] = _adaptive_max(_rank)


@aten("_softmax.default", "softmax.int")
def _softmax(g: Graph, out: Type, self: Value, dim: int, half_to_float: bool = False, dtype: Any = None) -> Value:
    return g.op("Softmax", g.cast(self, out.dtype), axis=self.axis(dim)) if self.shape else g.constant(1, out.dtype)


@aten("_log_softmax.default", "log_softmax.int")
def _log_softmax(g: Graph, out: Type, self: Value, dim: int, half_to_float: bool = False, dtype: Any = None) -> Value:
    return g.op("LogSoftmax", g.cast(self, out.dtype), axis=self.axis(dim)) if self.shape else g.constant(0, out.dtype)


def _moment(g: Graph, x: Value, wanted: Type) -> Value:
    return g.reshape(g.cast(x, wanted.dtype), wanted.shape)


@aten("native_layer_norm.default")
def _layer_norm(
    g: Graph,
    out: Sequence[Type],
    input: Value,
    normalized_shape: Sequence[int],
    weight: Value | None,
    bias: Value | None,
    eps: float,
) -> tuple[Value, ...]:
    axis = input.rank - len(normalized_shape)
    scale = weight if weight is not None else g.constant(np.ones(tuple(normalized_shape)), input.dtype)
    found = g.ops("LayerNormalization", input, scale, bias, outputs=3, axis=axis, epsilon=float(eps))
    return (found[0], *(_moment(g, x, t) for x, t in zip(found[1:], out[1:], strict=True)))


@aten("layer_norm.default")
def _whole_layer_norm(
    g: Graph,
    out: Type,
    input: Value,
    normalized_shape: Sequence[int],
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-05,
    cudnn_enable: bool = True,
) -> Value:
    axis = input.rank - len(normalized_shape)
    scale = weight if weight is not None else g.constant(np.ones(tuple(normalized_shape)), input.dtype)
    return g.op("LayerNormalization", input, scale, bias, axis=axis, epsilon=float(eps))


@aten("rms_norm.default")
def _rms_norm(
    g: Graph,
    out: Type,
    input: Value,
    normalized_shape: Sequence[int],
    weight: Value | None = None,
    eps: float | None = None,
) -> Value:
    axis = input.rank - len(normalized_shape)
    scale = weight if weight is not None else g.constant(np.ones(tuple(normalized_shape)), input.dtype)
    least = torch.finfo(input.dtype).eps if eps is None else eps
    return g.op("RMSNormalization", input, scale, axis=axis, epsilon=float(least))


def _per_channel(g: Graph, x: Value, rank: int) -> Value:
    return g.unsqueeze(x, *range(1, rank - 1)) if rank > 2 else x


@aten("group_norm.default")
def _group_norm(
    g: Graph,
    out: Type,
    input: Value,
    num_groups: int,
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-05,
    cudnn_enabled: bool = True,
) -> Value:
    channels = input.shape[1]
    scale = weight if weight is not None else g.constant(np.ones(channels), input.dtype)
    shift = bias if bias is not None else g.constant(np.zeros(channels), input.dtype)
    return g.op("GroupNormalization", input, scale, shift, num_groups=num_groups, epsilon=float(eps))


@aten("native_group_norm.default")
def _native_group_norm(
    g: Graph,
    out: Sequence[Type],
    input: Value,
    weight: Value | None,
    bias: Value | None,
    N: int,  # noqa: N803
    C: int,  # noqa: N803
    HxW: int,  # noqa: N803
    group: int,
    eps: float,
) -> tuple[Value, ...]:
    return _group_norm(g, out[0], input, group, weight, bias, eps), Value(""), Value("")


def _normalized(
    g: Graph, x: Value, weight: Value | None, bias: Value | None, mean: Value, spread: Value, eps: float
) -> Value:
    """``(x - mean) / sqrt(spread + eps) weight + bias`` by channel."""
    scale = g.op("Reciprocal", g.op("Sqrt", g.op("Add", spread, g.constant(eps, x.dtype))))
    if weight is not None:
        scale = g.op("Mul", scale, weight)
    apart = g.op("Sub", x, _per_channel(g, mean, x.rank))
    found = g.op("Mul", apart, _per_channel(g, scale, x.rank))
    return found if bias is None else g.op("Add", found, _per_channel(g, bias, x.rank))


def _batch_norm(
    g: Graph,
    out: Sequence[Type],
    input: Value,
    weight: Value | None,
    bias: Value | None,
    running_mean: Value | None,
    running_var: Value | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Value, ...]:
    """Result, mean and (where it trains) the new running moments; Ioffe and Szegedy 2015, with PyTorch's momentum."""
    if not training and running_mean is not None:
        assert running_var is not None
        return (_normalized(g, input, weight, bias, running_mean, running_var, eps), Value(""), Value(""))[
            : len(out)
        ] + (
            running_mean,
            running_var,
        )[: max(0, len(out) - 3)]
    axes = [k for k in range(input.rank) if k != 1]
    channels = input.shape[1]
    spread, level = variance(g, input, axes, 0.0, False)
    mean = g.reshape(level, [channels])
    count = float(np.prod([input.shape[k] for k in axes]))
    found = _normalized(g, input, weight, bias, mean, spread, eps)
    if len(out) <= 3 or running_mean is None or running_var is None:
        return (found, Value(""), Value(""), Value(""), Value(""))[: len(out)]
    dtype = running_mean.dtype

    def moved(old: Value, new: Value) -> Value:
        part = g.op("Mul", g.cast(new, dtype), g.constant(momentum, dtype))
        return g.op("Add", g.op("Mul", old, g.constant(1 - momentum, dtype)), part)

    unbiased = g.op("Mul", spread, g.constant(count / max(count - 1, 1), input.dtype))
    return found, Value(""), Value(""), moved(running_mean, mean), moved(running_var, unbiased)


RULES["_native_batch_norm_legit_functional.default"] = _batch_norm


@aten("_native_batch_norm_legit.no_stats")
def _batch_norm_without_stats(
    g: Graph,
    out: Sequence[Type],
    input: Value,
    weight: Value | None,
    bias: Value | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Value, ...]:
    return _batch_norm(g, out, input, weight, bias, None, None, True, momentum, eps)


@aten("_native_batch_norm_legit_no_training.default")
def _batch_norm_at_rest(
    g: Graph,
    out: Sequence[Type],
    input: Value,
    weight: Value | None,
    bias: Value | None,
    running_mean: Value,
    running_var: Value,
    momentum: float,
    eps: float,
) -> tuple[Value, ...]:
    return _batch_norm(g, out, input, weight, bias, running_mean, running_var, False, momentum, eps)


@aten("nll_loss_forward.default")
def _nll_loss(
    g: Graph,
    out: Sequence[Type],
    self: Value,
    target: Value,
    weight: Value | None,
    reduction: int,
    ignore_index: int,
) -> tuple[Value, Value]:
    x = self if self.rank > 1 else g.reshape(self, [1, *self.shape])
    at = g.cast(target, torch.int64) if self.rank > 1 else g.reshape(target, [1])
    named = {0: "none", 1: "mean", 2: "sum"}[reduction]
    loss = g.op("NegativeLogLikelihoodLoss", x, at, weight, reduction=named, ignore_index=ignore_index)
    return (g.reshape(loss, out[0].shape) if self.rank == 1 else loss), Value("")


RULES["nll_loss2d_forward.default"] = _nll_loss


def _nearest(rank: int):
    def rule(g: Graph, out: Type, input: Value | None = None, output_size: Any = None, **more: Any) -> Value:
        x = input if input is not None else more["self"]
        return g.op(
            "Resize", x, None, None, g.integers(out.shape), mode="nearest",
            coordinate_transformation_mode="asymmetric", nearest_mode="floor",
        )  # fmt: skip

    return rule


for _rank in (1, 2, 3):
    for _overload in ("default", "vec"):
        RULES[f"upsample_nearest{_rank}d.{_overload}"] = _nearest(_rank)


def _interpolated(mode: str):
    def rule(
        g: Graph,
        out: Type,
        input: Value | None = None,
        output_size: Any = None,
        align_corners: bool = False,
        **more: Any,
    ) -> Value:
        x = input if input is not None else more["self"]
        how = "align_corners" if align_corners else "pytorch_half_pixel"
        given: dict[str, Any] = {"cubic_coeff_a": -0.75} if mode == "cubic" else {}
        return g.op(
            "Resize", x, None, None, g.integers(out.shape), mode=mode, coordinate_transformation_mode=how, **given
        )

    return rule


for _name, _mode in (
    ("linear1d", "linear"),
    ("bilinear2d", "linear"),
    ("trilinear3d", "linear"),
    ("bicubic2d", "cubic"),
):
    for _overload in ("default", "vec"):
        RULES[f"upsample_{_name}.{_overload}"] = _interpolated(_mode)


@aten("pixel_shuffle.default")
def _pixel_shuffle(g: Graph, out: Type, self: Value, upscale_factor: int) -> Value:
    return g.op("DepthToSpace", self, blocksize=upscale_factor, mode="CRD")


@aten("grid_sampler_2d.default", "grid_sampler_3d.default")
def _grid_sampler(
    g: Graph, out: Type, input: Value, grid: Value, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Value:
    return g.op(
        "GridSample", input, grid, mode=("linear", "nearest", "cubic")[interpolation_mode],
        padding_mode=("zeros", "border", "reflection")[padding_mode], align_corners=int(align_corners),
    )  # fmt: skip


# Recurrent layers -----------------------------------------------------------------------------------------

# The gates of ONNX's operators, as numbers of PyTorch's.
GATES = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2), "RNN": (0,)}


def _gates(g: Graph, kind: str, x: Value, hidden: int) -> Value:
    """Rows in the order of ONNX's gates."""
    order = GATES[kind]
    if order == tuple(range(len(order))):
        return x
    return g.op("Concat", *(g.slice(x, 0, k * hidden, (k + 1) * hidden) for k in order), axis=0)


def _recurrent(
    g: Graph,
    kind: str,
    input: Value,
    states: Sequence[Value],
    params: Sequence[Value],
    has_biases: bool,
    num_layers: int,
    bidirectional: bool,
    batch_first: bool,
    masks: Sequence[Value],
    **more: Any,
) -> tuple[Value, ...]:
    """Layers one after another, each an operator for one or both directions."""
    directions = 2 if bidirectional else 1
    width = 4 if has_biases else 2
    hidden = params[1].shape[1]
    x = g.transpose(input, [1, 0, 2]) if batch_first else input
    lasts: list[list[Value]] = [[] for _ in states]
    for layer in range(num_layers):
        mine = [params[(layer * directions + d) * width :][:width] for d in range(directions)]

        def both(k: int, mine: Sequence[Sequence[Value]] = mine) -> Value:
            parts = [g.unsqueeze(_gates(g, kind, own[k], hidden), 0) for own in mine]
            return parts[0] if len(parts) == 1 else g.op("Concat", *parts, axis=0)

        bias = g.op("Concat", both(2), both(3), axis=1) if has_biases else None
        initial = [g.slice(s, 0, layer * directions, (layer + 1) * directions) for s in states]
        found = g.ops(
            kind, x, both(0), both(1), bias, None, *initial, outputs=1 + len(states), hidden_size=hidden,
            direction="bidirectional" if bidirectional else "forward", **more,
        )  # fmt: skip
        flat = g.transpose(found[0], [0, 2, 1, 3])  # time, batch, directions, hidden
        shape = (*_time_and_batch(input, batch_first), directions * hidden)
        x = Value(g.op("Reshape", flat, g.integers(shape)).name, shape, input.dtype)
        for of, last in zip(lasts, found[1:], strict=True):
            of.append(last)
        if masks and layer + 1 < num_layers:
            x = g.op("Mul", x, masks[layer], like=x)
    results = [of[0] if len(of) == 1 else g.op("Concat", *of, axis=0) for of in lasts]
    return (g.transpose(x, [1, 0, 2]) if batch_first else x, *results)


def _time_and_batch(x: Value, batch_first: bool) -> tuple[int, int]:
    return (x.shape[1], x.shape[0]) if batch_first else (x.shape[0], x.shape[1])


@aten("lstm.input")
def _lstm(
    g: Graph,
    out: Sequence[Type],
    input: Value,
    hx: Sequence[Value],
    params: Sequence[Value],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
    masks: Sequence[Value] = (),
) -> tuple[Value, ...]:
    if len(hx) != 2 or any(p.shape[-1] != params[1].shape[1] for p in params[1::4] if has_biases):
        raise Unsupported("projections (proj_size)")
    return _recurrent(g, "LSTM", input, hx, params, has_biases, num_layers, bidirectional, batch_first, masks)


def _with_one_state(kind: str, **more: Any):
    def rule(
        g: Graph,
        out: Sequence[Type],
        input: Value,
        hx: Value,
        params: Sequence[Value],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
        masks: Sequence[Value] = (),
    ) -> tuple[Value, ...]:
        given = dict(more)
        if "activations" in given:
            given["activations"] = given["activations"] * (2 if bidirectional else 1)
        return _recurrent(
            g, kind, input, [hx], params, has_biases, num_layers, bidirectional, batch_first, masks, **given
        )

    return rule


RULES["gru.input"] = _with_one_state("GRU", linear_before_reset=1)
RULES["rnn_tanh.input"] = _with_one_state("RNN", activations=["Tanh"])
RULES["rnn_relu.input"] = _with_one_state("RNN", activations=["Relu"])
