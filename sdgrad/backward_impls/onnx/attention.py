"""Reverse attention: recompute the probabilities head by head, in memory for one head (Dao et al. 2022)."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import numpy as np
import sympy

from sdgrad.onnx_ops.registry import Reversed, adjoint
from sdgrad.record.builder import Builder
from sdgrad.record.elements import Declined, Dim, Element, call, element, where
from sdgrad.record.tensors import Tensor

MASK, CACHES = 3, (4, 5, 6)


def by_head(x: Tensor, heads: int | None) -> Tensor:
    """Return a tensor by batch, head, position, feature; a tensor of rank 3 has all heads in its last dimension."""
    if x.rank == 4:
        return x
    if heads is None:
        raise Declined("a number of heads that is not given")
    batch, length, width = x.shape
    return x.reshape([batch, length, heads, width // heads]).transpose([0, 2, 1, 3])


def one(x: Tensor, n: sympy.Expr, head: sympy.Expr) -> Tensor:
    """Return one head of one element of the batch."""
    return x.select(0, n).select(0, head)


@dataclass(frozen=True)
class Scores:
    """Map a product ``q k`` to a score: a factor, a mask, and minus infinity for the future."""

    scale: float
    causal: bool
    mask: Tensor | None

    def at(self, product: Element, n: sympy.Expr, head: sympy.Expr, i: sympy.Expr, j: sympy.Expr) -> Element:
        value = product * self.scale
        if self.mask is not None:
            own = self.mask[n, head, i, j]
            value = where(own, value, -np.inf) if own.dtype == np.bool_ else value + own
        return where(element(j, np.int64) <= element(i, np.int64), value, -np.inf) if self.causal else value


def probabilities(scores: Tensor) -> Tensor:
    """Return the softmax of rows; zero where a row is masked everywhere."""
    largest = scores.max([1], keepdims=True)
    powers = scores.map(lambda s, m: where(m > -np.inf, call("exp", s - m), 0), largest)
    total = powers.sum([1], keepdims=True).map(lambda t: where(t > 0, 1 / t, 0))
    return powers * total


@adjoint("Attention", since=23)
def attention(
    b: Builder,
    reversal: Reversed,
    *,
    is_causal: int,
    kv_num_heads: int | None = None,
    q_num_heads: int | None = None,
    qk_matmul_output_mode: int = 0,
    scale: float | None = None,
    softcap: float = 0.0,
    softmax_precision: int | None = None,
) -> list[Tensor | None]:
    """With ``P = softmax(s Q K^T + mask)``: ``V' = P^T Y'``, ``S' = P (Y' V^T - rows(Y Y'))``, ``Q' = s S' K``."""
    _decline(reversal, softcap, softmax_precision)
    given = [reversal.operand(j) for j in range(3)]
    counts = (q_num_heads, kv_num_heads, kv_num_heads)
    q, k, v = (by_head(x, n) for x, n in zip(given, counts, strict=True))
    y, seed = (by_head(x, q_num_heads) for x in (reversal.result(0), reversal.seed))
    made = [b.full(x.shape, 0, x.dtype) for x in given]
    to_q, to_k, to_v = (by_head(x, n) for x, n in zip(made, counts, strict=True))
    shared = groups(q.shape[1], k.shape[1])
    mask = reversal.operand(MASK) if reversal.has(MASK) else None
    to_mask = b.full(mask.shape, 0, mask.dtype) if mask is not None and mask.dtype.kind == "f" else None
    score = Scores(factor(scale, q.shape[3]), bool(is_causal), over_heads(mask, q, k.shape[2]))
    with b.loop(q.shape[0]) as n, b.loop(k.shape[1]) as own, repeated(b, shared) as g:
        head = own * shared + g
        mine, keys, values = one(q, n, head), one(k, n, own), one(v, n, own)
        product = b.matmul(mine, keys.transpose())
        scores = b.compute(product.shape, product.dtype, lambda i, j: score.at(product[i, j], n, head, i, j))
        p = probabilities(scores)
        d, rows = one(seed, n, head), (one(seed, n, head) * one(y, n, head)).sum([1], keepdims=True)
        to_p = b.matmul(d, values.transpose())
        to_scores = p.map(lambda p, g, r: p * (g - r), to_p, rows)
        if to_mask is not None:
            add_to(b, to_mask, to_scores, n, head)
        scaled = to_scores.map(lambda s: s * score.scale)
        b.copy(b.matmul(scaled, keys), one(to_q, n, head))
        for into, found in ((to_k, b.matmul(scaled.transpose(), mine)), (to_v, b.matmul(p.transpose(), d))):
            b.assign(one(into, n, own), lambda *i, f=found: f[i], mode="sum")
    return [*made, to_mask]


def _decline(reversal: Reversed, softcap: float, softmax_precision: int | None) -> None:
    """Decline what the adjoint does not cover.

    :raises Declined: there are caches, a cap, another precision, or cotangents of other results.
    """
    if any(reversal.has(k) for k in CACHES) or any(c is not None for c in reversal.cotangents[1:]):
        raise Declined("a cache, or derivatives of more than the result")
    if softcap or softmax_precision is not None:
        raise Declined("a cap, or probabilities in another precision")


def factor(scale: float | None, width: Dim) -> float:
    """Return the factor of products, rounded as in the standard's definition: both operands, in single precision."""
    if not isinstance(width, int):
        raise Declined("an open width of heads")
    whole = np.float32(scale) if scale is not None else 1 / np.sqrt(np.float32(width))
    return float(np.sqrt(whole)) ** 2


def groups(heads: Dim, shared: Dim) -> int:
    """Return how many heads of queries share one head of keys."""
    if not isinstance(heads, int) or not isinstance(shared, int):
        raise Declined("an open number of heads")
    return heads // shared


def repeated(b: Builder, count: int) -> contextlib.AbstractContextManager[sympy.Expr]:
    """Return a loop if there is more than one iteration, else a context of index zero."""
    return b.loop(count) if count > 1 else contextlib.nullcontext(sympy.Integer(0))


def over_heads(mask: Tensor | None, q: Tensor, positions: Dim) -> Tensor | None:
    """Return the mask for every batch, head, query and key."""
    if mask is None:
        return None
    if mask.shape[-1] not in (1, positions):
        raise Declined("a mask of fewer positions")
    return mask.broadcast((*q.shape[:3], positions))


def add_to(b: Builder, mask: Tensor, found: Tensor, n: sympy.Expr, head: sympy.Expr) -> None:
    """Add a head's share to the gradient of the mask, which several heads may share."""

    def place(i: sympy.Expr, j: sympy.Expr) -> tuple:
        index = (n, head, i, j)[4 - mask.rank :]
        at = tuple(sympy.Integer(0) if extent == 1 else k for extent, k in zip(mask.shape, index, strict=True))
        return at, found[i, j]

    b.accumulate(mask, found.shape, place)
