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


def mlp(x: Tensor, W1: Tensor, b1: Tensor, W2: Tensor, b2: Tensor, W3: Tensor, b3: Tensor) -> Tensor:
    h = torch.relu(torch.relu(x @ W1 + b1) @ W2 + b2)
    y = torch.softmax(h @ W3 + b3, -1)
    return (y * y).sum()


def mvt(A: Tensor, x1: Tensor, x2: Tensor, y1: Tensor, y2: Tensor) -> Tensor:
    return (x1 + A @ y1).sum() + (x2 + y2 @ A).sum()


def softmax(x: Tensor) -> Tensor:
    y = torch.softmax(x, -1)
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
