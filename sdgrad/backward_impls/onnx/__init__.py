"""Adjoints of ONNX operators, written by hand.

Most need less memory or time than that of their lowering: they are written over the operator's results and a few
moments instead of everything that the lowering computes on the way. The others say in a few lines what comes out of the
lowering. ``benchmarks/adjoints.py`` measures what each is worth. Operators that are not here are differentiated through
their lowering: of element-wise ones, copies and loops that is what one would write.
"""

from sdgrad.backward_impls.onnx import (
    attention,
    conv,
    indexing,
    normalization,
    pool,
    products,
    recurrent,
    relu,
    softmax,
)

__all__ = ["attention", "conv", "indexing", "normalization", "pool", "products", "recurrent", "relu", "softmax"]
