"""Replace functions that look at the content of tensors, where tracing has none, by their documented formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


def covariance(
    input: torch.Tensor,
    *,
    correction: int = 1,
    fweights: torch.Tensor | None = None,
    aweights: torch.Tensor | None = None,
) -> torch.Tensor:
    """Compute ``torch.cov``: its weights are not looked at."""
    rows = input if input.dim() == 2 else input.reshape(1, -1)
    if not rows.is_floating_point() and not rows.is_complex():
        rows = rows.to(torch.get_default_dtype())
    weights = fweights if aweights is None else aweights if fweights is None else fweights * aweights
    whole: Any = rows.size(1) if weights is None else weights.sum()
    middle = (rows if weights is None else rows * weights).sum(1, keepdim=True) / whole
    free = whole - correction
    if aweights is not None and correction != 0:
        free = whole - correction * (weights * aweights).sum() / whole  # type: ignore[operator]
    free = free.clamp(min=0) if isinstance(free, torch.Tensor) else max(free, 0)
    apart = rows - middle
    found = apart @ (apart if weights is None else apart * weights).mH / free
    return found if found.size(0) > 1 else found.reshape(())


def correlation(input: torch.Tensor) -> torch.Tensor:
    """Compute ``torch.corrcoef``."""
    found = covariance(input)
    if found.dim() == 0:
        return found / found
    spread = found.diagonal().real.sqrt()
    found = found / spread[:, None] / spread[None, :]
    if found.is_complex():
        return torch.complex(found.real.clip(-1, 1), found.imag.clip(-1, 1))
    return found.clip(-1, 1)


def least_squares(
    A: torch.Tensor,  # noqa: N803 (PyTorch's names)
    B: torch.Tensor,  # noqa: N803
    *,
    rcond: float | None = None,
    driver: str | None = None,
) -> Any:
    """Compute ``torch.linalg.lstsq`` by the pseudoinverse, as PyTorch's own derivative does.

    Residuals and singular values are there with the drivers that have them, for matrices of full rank.
    """
    is_vector = A.dim() - 1 == B.dim() and A.shape[:-1] == B.shape
    right = B.unsqueeze(-1) if is_vector else B
    solution = torch.ops.aten.linalg_pinv.atol_rtol_float(A, rtol=rcond) @ right
    empty = A.new_empty(0, dtype=A.real.dtype)
    has_residuals = driver not in (None, "gelsy") and A.size(-2) > A.size(-1)
    residuals = (A @ solution - right).abs().square().sum(-2) if has_residuals else empty
    values = torch.linalg.svdvals(A.detach()) if driver in ("gelsd", "gelss") else empty
    rank = torch.empty(0, dtype=torch.int64) if driver == "gels" else torch.linalg.matrix_rank(A, rtol=rcond)
    solution = solution.squeeze(-1) if is_vector else solution
    results: Any = torch.return_types
    return results.linalg_lstsq((solution, residuals, rank, values))


FORMULAS: dict[Any, Callable] = {
    torch.cov: covariance,
    torch.Tensor.cov: covariance,
    torch.corrcoef: correlation,
    torch.Tensor.corrcoef: correlation,
    torch.linalg.lstsq: least_squares,
}


class Replaced(TorchFunctionMode):
    """Call formulas in place of functions."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return FORMULAS.get(func, func)(*args, **(kwargs or {}))
