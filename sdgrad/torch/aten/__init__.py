"""Operations of PyTorch's core set (ATen) as ONNX operators: one rule each, by the name of the overload.

A rule takes the graph, the type of the result, and the operation's arguments by the names of its schema.
"""

from sdgrad.torch.aten import (  # noqa: F401
    elementwise,
    images,
    indexing,
    networks,
    normalization,
    products,
    random,
    recorded,
    recurrent,
    reductions,
    scattering,
    shapes,
)
from sdgrad.torch.aten.registry import RULES, aten

__all__ = ["RULES", "aten"]
