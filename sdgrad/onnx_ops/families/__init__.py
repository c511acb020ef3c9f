"""The lowerings, one file for each family of operators."""

from sdgrad.onnx_ops.families import (  # noqa: F401
    control,
    conv,
    elementwise,
    extra,
    gradient,
    indexing,
    matmul,
    normalization,
    older,
    pool,
    random,
    recorded,
    recurrent,
    reduction,
    resize,
    sampling,
    shape,
    signal,
    training,
)
