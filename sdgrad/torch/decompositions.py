"""Decompose operations of PyTorch before they are translated: PyTorch's own tables, and a few of ours."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from sdgrad.torch.marks import STOP

aten = torch.ops.aten

KEPT = (
    aten.lstm.input,
    aten.gru.input,
    aten.rnn_tanh.input,
    aten.rnn_relu.input,
    aten.dropout.default,
    aten.bernoulli.default,
    aten.linear.default,
    aten.matmul.default,
    aten.linalg_inv.default,
    aten.linalg_pinv.atol_rtol_float,
    aten.linalg_solve.default,
    aten.linalg_cholesky.default,
    aten.linalg_lu_factor.default,
    aten.einsum.default,
    aten.layer_norm.default,
    aten.group_norm.default,
    aten.rms_norm.default,
    aten.silu.default,
    aten.mish.default,
    aten.hardsigmoid.default,
    aten.hardswish.default,
    aten.softplus.default,
    aten.gelu.default,
    aten.elu.default,
    *(aten.xlogy.Tensor, aten.xlogy.Scalar_Self, aten.xlogy.Scalar_Other),
    *(aten.special_xlog1py.default, aten.special_xlog1py.self_scalar, aten.special_xlog1py.other_scalar),
    aten.logit.default,
    aten.leaky_relu.default,
    aten.hardtanh.default,
    aten.one_hot.default,
    aten.pixel_shuffle.default,
    aten.max_pool1d.default,
    aten.max_pool2d.default,
    aten.max_pool3d.default,
    aten.adaptive_avg_pool1d.default,
    aten.adaptive_avg_pool2d.default,
    aten.adaptive_avg_pool3d.default,
    aten._adaptive_avg_pool2d.default,
    aten._adaptive_avg_pool3d.default,
    aten.logsumexp.default,
    aten.std.correction,
    aten.var.correction,
    aten.var_mean.correction,
    aten.softmax.int,
    aten.log_softmax.int,
    aten.index_add.default,
    aten.index_copy.default,
    aten.scatter_add.default,
    aten.masked_fill.Scalar,
    aten.masked_fill.Tensor,
    aten.stack.default,
    aten.triu.default,
    aten.tril.default,
    aten.roll.default,
    aten.linspace.default,
    aten.upsample_nearest1d.vec,
    aten.upsample_nearest2d.vec,
    aten.upsample_nearest3d.vec,
    aten._upsample_nearest_exact1d.vec,
    aten._upsample_nearest_exact2d.vec,
    aten._upsample_nearest_exact3d.vec,
    aten.upsample_linear1d.vec,
    aten.upsample_bilinear2d.vec,
    aten.upsample_trilinear3d.vec,
    aten.upsample_bicubic2d.vec,
    aten.grid_sampler_2d.default,
    aten.grid_sampler_3d.default,
)
"""Operations that have a rule as a whole, and that PyTorch's table would take apart."""
LEAST_SPREAD = 9.999999960041972e-13
"""What PyTorch's derivative of the binary cross entropy takes for any smaller ``x (1 - x)``."""


def attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """Compute ``scaled_dot_product_attention`` by its documented definition; a row without keys gives zeros."""
    if enable_gqa:
        key = key.repeat_interleave(query.size(-3) // key.size(-3), -3)
        value = value.repeat_interleave(query.size(-3) // value.size(-3), -3)
    factor = 1 / math.sqrt(query.size(-1)) if scale is None else scale
    scores = torch.matmul(query * factor, key.transpose(-2, -1))
    if is_causal:
        seen = torch.ones(query.size(-2), key.size(-2), dtype=torch.bool).tril()
        scores = scores.masked_fill(~seen, -math.inf)
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -math.inf) if attn_mask.dtype == torch.bool else scores + attn_mask
    weights = torch.softmax(scores, -1)
    if attn_mask is not None:
        nothing = (scores == -math.inf).all(-1, keepdim=True)
        weights = weights.masked_fill(nothing, 0.0)
    if dropout_p > 0:
        weights = torch.dropout(weights, dropout_p, True)
    return torch.matmul(weights, value)


def multilabel_margin(input: torch.Tensor, target: torch.Tensor, reduction: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute ``multilabel_margin_loss`` as documented; in PyTorch's own form, what follows the first -1 counts."""
    x, t = torch.atleast_2d(input), torch.atleast_2d(target)
    count = x.size(-1)
    places = torch.arange(count)
    end = torch.where(t < 0, places, count).amin(-1, keepdim=True)
    there = places < end
    labels = torch.where(there, t, 0)
    named = ((labels.unsqueeze(-1) == places) & there.unsqueeze(-1)).any(-2)
    margins = (1 - x.gather(-1, labels).unsqueeze(-1) + x.unsqueeze(-2)).clamp(min=0)
    counted = there.unsqueeze(-1) & ~named.unsqueeze(-2)
    loss = torch.where(counted, margins, 0).sum((-2, -1)) / count
    shown = named.to(input.dtype).reshape(target.shape)
    if reduction == 0:
        return (loss if input.dim() > 1 else loss.reshape(())), shown
    return (loss.mean() if reduction == 1 else loss.sum()), shown


def binary_cross_entropy(
    input: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None = None, reduction: int = 1
) -> torch.Tensor:
    """Compute ``binary_cross_entropy``: at 0 and 1, its derivative is not that of its bounded logarithms."""
    within = input * (1 - input) >= LEAST_SPREAD
    x = torch.where(within, input, 0.5)
    inner = (target - 1) * torch.log1p(-x) - target * torch.log(x)
    fixed, aim = STOP(input), STOP(target)
    slope = ((input + fixed) / 2 - aim) / LEAST_SPREAD
    bounded = (target - 1) * torch.log1p(-fixed).clamp(min=-100) - target * torch.log(fixed).clamp(min=-100)
    loss = torch.where(within, inner, bounded + (input - fixed) * slope)
    loss = loss if weight is None else loss * weight
    return loss if reduction == 0 else loss.mean() if reduction == 1 else loss.sum()


OURS: dict[Any, Callable] = {
    aten.binary_cross_entropy.default: binary_cross_entropy,
    aten.scaled_dot_product_attention.default: attention,
    aten.multilabel_margin_loss_forward.default: multilabel_margin,
}


def table() -> dict[Any, Callable]:
    """Return what is taken apart, and into what."""
    known: Any = torch.export.default_decompositions()
    for op in KEPT:
        known.pop(op, None)
    known.update(OURS)
    return known
