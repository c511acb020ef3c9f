"""Kernels as a user of PyTorch writes them, where whole operations do all the work."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F  # noqa: N812

Tensor = torch.Tensor


def arc_distance(theta1: Tensor, phi1: Tensor, theta2: Tensor, phi2: Tensor) -> Tensor:
    h = torch.sin((theta2 - theta1) / 2) ** 2
    h = h + torch.cos(theta1) * torch.cos(theta2) * torch.sin((phi2 - phi1) / 2) ** 2
    return (2 * torch.arctan2(torch.sqrt(h), torch.sqrt(1 - h))).sum()


def atax(A: Tensor, x: Tensor) -> Tensor:
    return ((A @ x) @ A).sum()


def bicg(A: Tensor, p: Tensor, r: Tensor) -> Tensor:
    return (r @ A).sum() + (A @ p).sum()


def conv2d_bias(image: Tensor, weights: Tensor, bias: Tensor) -> Tensor:
    output = F.conv2d(image.permute(0, 3, 1, 2), weights.permute(3, 2, 0, 1))
    return (output.permute(0, 2, 3, 1) + bias).sum()


def correlation(data: Tensor) -> Tensor:
    count, size = data.shape
    deviation = data.std(0, correction=0)
    scaled = (data - data.mean(0)) / (count**0.5 * torch.where(deviation <= 0.1, 1.0, deviation))
    return torch.where(torch.eye(size, dtype=torch.bool), 1.0, scaled.T @ scaled).sum()


def covariance(data: Tensor) -> Tensor:
    centred = data - data.mean(0)
    return (centred.T @ centred / (data.shape[0] - 1.0)).sum()


def doitgen(A: Tensor, C4: Tensor) -> Tensor:
    return (A @ C4).sum()


def gat(rows: Tensor, edges: Tensor, x: Tensor, W: Tensor, source: Tensor, target: Tensor) -> Tensor:
    h = x @ W
    owner = torch.repeat_interleave(torch.arange(len(h)), torch.diff(rows), output_size=len(edges))
    scores = F.leaky_relu((h @ target)[owner] + (h @ source)[edges], 0.2)
    top = torch.full((len(h),), -torch.inf, dtype=h.dtype).scatter_reduce(0, owner, scores.detach(), "amax")
    weights = torch.exp(scores - top[owner])
    total = torch.zeros(len(h), dtype=h.dtype).index_add(0, owner, weights)
    y = torch.zeros_like(h).index_add(0, owner, weights[:, None] * h[edges]) / total[:, None]
    return (y * y).sum()


def gemm(A: Tensor, B: Tensor, C: Tensor) -> Tensor:
    return (1.5 * A @ B + 1.2 * C).sum()


def gemver(A: Tensor, u1: Any, v1: Any, u2: Any, v2: Any, w: Any, x: Any, y: Any, z: Any) -> Tensor:
    updated = A + torch.outer(u1, v1) + torch.outer(u2, v2)
    moved = x + 1.2 * (y @ updated) + z
    return (w + 1.5 * (updated @ moved)).sum()


def gesummv(A: Tensor, B: Tensor, x: Tensor) -> Tensor:
    return (1.5 * A @ x + 1.2 * B @ x).sum()


def go_fast(a: Tensor) -> Tensor:
    return (a + torch.tanh(torch.diagonal(a)).sum()).sum()


def hdiff(u: Tensor, coefficient: Tensor) -> Tensor:
    laplacian = 4.0 * u[1:-1, 1:-1] - (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    dx = laplacian[1:, 1:-1] - laplacian[:-1, 1:-1]
    flux_x = torch.where(dx * (u[2:-1, 2:-2] - u[1:-2, 2:-2]) > 0, 0.0, dx)
    dy = laplacian[1:-1, 1:] - laplacian[1:-1, :-1]
    flux_y = torch.where(dy * (u[2:-2, 2:-1] - u[2:-2, 1:-2]) > 0, 0.0, dy)
    change = flux_x[1:] - flux_x[:-1] + flux_y[:, 1:] - flux_y[:, :-1]
    return (u[2:-2, 2:-2] - coefficient * change).sum()


def k2mm(A: Tensor, B: Tensor, C: Tensor, D: Tensor) -> Tensor:
    return (1.5 * A @ B @ C + 1.2 * D).sum()


def k3mm(A: Tensor, B: Tensor, C: Tensor, D: Tensor) -> Tensor:
    return ((A @ B) @ (C @ D)).sum()


def longformer(Q: Tensor, K: Tensor, V: Tensor, w: int) -> Tensor:
    """In chunks of w tokens, each with the chunk before and the one after it, as Longformer's own code has it."""
    heads, tokens, features = Q.shape
    chunks = -(-tokens // w)
    rows = torch.arange(chunks * w).reshape(chunks, w, 1)
    columns = torch.arange(chunks)[:, None, None] * w + torch.arange(3 * w) - w
    near = ((rows - columns).abs() <= w) & (columns >= 0) & (columns < tokens)

    def windows(x: Tensor) -> Tensor:
        padded = F.pad(x, (0, 0, w, chunks * w - tokens + w)).reshape(heads, chunks + 2, w, features)
        return torch.cat([padded[:, :-2], padded[:, 1:-1], padded[:, 2:]], 2)

    chunked = F.pad(Q, (0, 0, 0, chunks * w - tokens)).reshape(heads, chunks, w, features)
    scores = (chunked @ windows(K).transpose(-1, -2)) / features**0.5
    y = torch.softmax(scores.masked_fill(~near, -torch.inf), -1) @ windows(V)
    y = y.reshape(heads, chunks * w, features)[:, :tokens]
    return (y * y).sum()


def mlp(x: Tensor, W1: Tensor, b1: Tensor, W2: Tensor, b2: Tensor, W3: Tensor, b3: Tensor) -> Tensor:
    h = torch.relu(torch.relu(x @ W1 + b1) @ W2 + b2)
    y = torch.softmax(h @ W3 + b3, -1)
    return (y * y).sum()


def mvt(A: Tensor, x1: Tensor, x2: Tensor, y1: Tensor, y2: Tensor) -> Tensor:
    return (x1 + A @ y1).sum() + (x2 + y2 @ A).sum()


def softmax(x: Tensor) -> Tensor:
    y = torch.softmax(x, -1)
    return (y * y).sum()


def softras(vertices: Tensor, corners: Tensor, pixels: int, sigma: float) -> Tensor:
    centres = (2 * torch.arange(pixels, dtype=vertices.dtype) + 1) / pixels - 1
    points = torch.stack(torch.meshgrid(centres, centres, indexing="xy"), -1)
    a = vertices[corners][:, :, None, None]
    edge, to = a.roll(-1, 1) - a, points - a
    along = ((to * edge).sum(-1) / (edge * edge).sum(-1)).clamp(0, 1)
    distance = ((to - along[..., None] * edge) ** 2).sum(-1).amin(1)
    side = edge[..., 0] * to[..., 1] - edge[..., 1] * to[..., 0]
    inside = (side > 0).all(1) | (side < 0).all(1)
    covered = torch.sigmoid(torch.where(inside, distance, -distance) / sigma)
    return (1 - (1 - covered).prod(0)).sum()


def subdivnet(adjacent: Tensor, x: Tensor, w0: Tensor, w1: Tensor, w2: Tensor, w3: Tensor) -> Tensor:
    neighbours = x[adjacent]
    ring = (neighbours.roll(-1, 1) - neighbours).abs().sum(1)
    apart = (neighbours - x[:, None]).abs().sum(1)
    y = x @ w0 + neighbours.sum(1) @ w1 + ring @ w2 + apart @ w3
    return (y * y).sum()


def symm(alpha: float, beta: float, C: Tensor, A: Tensor, B: Tensor) -> Tensor:
    whole = torch.tril(A) + torch.tril(A, -1).T
    return (alpha * whole @ B + beta * C).sum()


def syr2k(alpha: float, beta: float, C: Tensor, A: Tensor, B: Tensor) -> Tensor:
    product = A @ B.T
    return (torch.tril(alpha * (product + product.T) + beta * C) + torch.triu(C, 1)).sum()


def syrk(alpha: float, beta: float, C: Tensor, A: Tensor) -> Tensor:
    return (torch.tril(alpha * A @ A.T + beta * C) + torch.triu(C, 1)).sum()


def trmm(alpha: float, A: Tensor, B: Tensor) -> Tensor:
    return (alpha * (B + torch.tril(A, -1).T @ B)).sum()
