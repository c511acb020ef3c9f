"""Replace functions that look at the content of tensors, where tracing has none, by their documented formulas."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.distributions import Distribution
from torch.nn import functional as F  # noqa: N812 (PyTorch's name)
from torch.nn.modules.batchnorm import _BatchNorm
from torch.overrides import TorchFunctionMode

from sdgrad.torch.marks import CTC


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


def gaussian_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    var: Any,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> torch.Tensor:
    """Compute ``gaussian_nll_loss``: of negative variances it is no number."""
    spread = var if isinstance(var, torch.Tensor) else input.new_full(input.shape, var)
    missing = spread.dim() == input.dim() - 1 and spread.shape == input.shape[:-1]
    spread = spread.unsqueeze(-1) if missing else spread
    fixed = spread.detach()
    fixed = torch.where(fixed < 0, math.nan, fixed.clamp(min=eps))
    spread = spread + (fixed - spread.detach())  # small ones have a derivative
    loss = 0.5 * (fixed.log() + (spread - fixed) / fixed + (input - target) ** 2 / spread)
    loss = loss + 0.5 * math.log(2 * math.pi) if full else loss
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss


def alignment_loss(
    log_probs: torch.Tensor,
    targets: torch.Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> torch.Tensor:
    """Compute ``ctc_loss``, whose derivative is PyTorch's: of a softmax that follows, what sums to one."""
    scores = log_probs if log_probs.dim() == 3 else log_probs.unsqueeze(1)
    widths, counts = (torch.atleast_1d(torch.as_tensor(n)).long() for n in (input_lengths, target_lengths))
    if targets.dim() == 1:  # one behind the other
        first = (counts.cumsum(0) - counts).unsqueeze(1)
        targets = targets[(first + torch.arange(targets.numel())).clamp(max=targets.numel() - 1)]
    found = CTC(scores, targets.long(), widths, counts, blank, zero_infinity)
    steps = torch.arange(scores.size(0)).unsqueeze(1) < widths
    whole = torch.where(steps, scores.exp().sum(-1), 0).sum(0)
    loss = torch.where(found.detach().isinf() | (found.detach() == 0), found, found + (whole - whole.detach()))
    loss = loss if log_probs.dim() == 3 else loss.squeeze(0)
    if reduction == "mean":
        return (loss / counts.clamp(min=1).to(loss.dtype)).mean()
    return loss.sum() if reduction == "sum" else loss


def gradients(*args: Any, **kwargs: Any) -> Any:
    """Compute ``torch.autograd.grad``: unless it is said to be, its result is nothing that has derivatives."""
    found = torch.autograd.grad(*args, **kwargs)
    again = kwargs.get("create_graph", args[4] if len(args) > 4 else False)
    return found if again else tuple(g if g is None else g.detach() for g in found)


def averaged_moments(module: Any, input: torch.Tensor) -> torch.Tensor:
    """Compute a batch normalisation in training whose running moments are means over all batches."""
    module.num_batches_tracked.add_(1)
    share = 1 / module.num_batches_tracked.to(module.running_mean.dtype)
    axes = [k for k in range(input.dim()) if k != 1]
    variance, mean = torch.var_mean(input.detach(), axes)
    for running, moment in ((module.running_mean, mean), (module.running_var, variance)):
        running.copy_((1 - share) * running + share * moment)
    return F.batch_norm(input, None, None, module.weight, module.bias, True, 0.0, module.eps)


FORMULAS: dict[Any, Callable] = {
    torch.autograd.grad: gradients,
    F.gaussian_nll_loss: gaussian_loss,
    F.ctc_loss: alignment_loss,
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


@contextlib.contextmanager
def unchecked() -> Iterator[None]:
    """Let modules of PyTorch look at no content in the body: distributions do not check their parameters."""
    forward, checks = _BatchNorm.forward, Distribution._validate_args

    def counted(self: Any, input: torch.Tensor) -> torch.Tensor:
        if self.momentum is None and self.training and self.track_running_stats:
            self._check_input_dim(input)
            return averaged_moments(self, input)
        return forward(self, input)

    _BatchNorm.forward = counted  # type: ignore[method-assign]
    Distribution.set_default_validate_args(False)
    try:
        with Replaced():
            yield
    finally:
        _BatchNorm.forward = forward  # type: ignore[method-assign]
        Distribution.set_default_validate_args(checks)
