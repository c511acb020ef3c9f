"""NumPy's type promotion, asked of NumPy itself.

An operand's *kind* is a ``numpy.dtype``, or one of the Python types ``int``, ``float`` and ``complex``, which promote
weakly (NEP 50): a float32 array times ``2.0`` stays float32. Loop indices and size symbols count as Python integers,
because that is what they are when the same program runs in Python.
"""

from typing import Any, TypeAlias

import numpy as np
from dace import dtypes

Kind: TypeAlias = np.dtype | type[int] | type[float] | type[complex]

_SAMPLE_OF_WEAK = {int: 1, float: 1.0, complex: 1j}


def numpy_dtype(dtype) -> np.dtype:
    """The ``numpy.dtype`` of whatever a program may write where a type is expected."""
    if isinstance(dtype, dtypes.typeclass):
        dtype = dtype.type
    # Going through the string folds platform duplicates (``longlong`` and ``int64``) into one
    return np.dtype(np.dtype(dtype).str)


def dace_dtype(dtype: np.dtype) -> dtypes.typeclass:
    return dtypes.dtype_to_typeclass(numpy_dtype(dtype).type)


def common_type(kinds) -> np.dtype:
    """The type that ``numpy.concatenate`` or ``numpy.where`` gives for operands of these kinds."""
    return numpy_dtype(np.result_type(*(_SAMPLE_OF_WEAK.get(kind, kind) for kind in kinds)))


def loop_types(ufunc: np.ufunc, kinds, dtype=None) -> tuple[list[np.dtype], list[np.dtype]]:
    """The types in which ``ufunc`` computes on operands of these kinds, and the types of its results."""
    wanted: dict[str, Any] = {}
    if dtype is not None:
        wanted["signature"] = (None,) * ufunc.nin + (numpy_dtype(dtype),) * ufunc.nout
    found = [numpy_dtype(t) for t in ufunc.resolve_dtypes((*kinds, *(None,) * ufunc.nout), **wanted)]
    return found[: ufunc.nin], found[ufunc.nin :]


def sum_type(dtype: np.dtype) -> np.dtype:
    """The type in which ``numpy.sum``, ``prod`` and their scans accumulate: small integers and booleans widen."""
    return numpy_dtype(np.add.reduce(np.empty(0, dtype)).dtype) if dtype.kind in "biu" else dtype


def inexact_type(dtype: np.dtype) -> np.dtype:
    """``dtype`` if it can hold a mean, else float64."""
    return dtype if dtype.kind in "fc" else np.dtype("float64")


def real_type(dtype: np.dtype) -> np.dtype:
    """The type of the absolute value of ``dtype``."""
    return numpy_dtype(np.empty(0, dtype).real.dtype)
