"""PyTorch: functions that torch's autograd differentiates with generated code."""

from sdgrad.torch.function import function

__all__ = ["function"]
