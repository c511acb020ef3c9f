"""Functions of arrays that operators of ours record: as PyTorch defines them, in the terms of NumPy and SciPy."""

from sdgrad.onnx_ops.functions import algebra, selection, sequences, special  # noqa: F401
from sdgrad.onnx_ops.functions.table import FUNCTIONS

__all__ = ["FUNCTIONS"]
