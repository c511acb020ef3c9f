"""PyTorch: modules that run on generated code, and NumPy-style functions as part of autograd's graph."""

from sdgrad.torch.function import function
from sdgrad.torch.module import Module, module

__all__ = ["Module", "function", "module"]
