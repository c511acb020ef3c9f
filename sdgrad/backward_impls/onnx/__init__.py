"""Adjoints of ONNX operators, where there is a better one than that of their lowering.

Better means less memory or time: most are written over the operator's results and a few moments instead of everything
that its lowering computes on the way. ``benchmarks/adjoints.py`` measures what each is worth. Operators that are not
here are differentiated through their lowering: of element-wise ones, products, copies and loops that is what one would
write.
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
