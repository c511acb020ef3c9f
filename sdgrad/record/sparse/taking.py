"""Find what a function does with a sparse matrix among its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from sdgrad.errors import ParseError
from sdgrad.record.compound import Compound
from sdgrad.record.sparse.dense import INSTEAD, NumpyMatrix
from sdgrad.record.sparse.matrix import FORMATS

TAKES: dict[Callable, Callable] = {}
"""Rules for sparse matrices of functions that have others for arrays."""
FLAT = (np.asarray, np.array, np.asanyarray)


def rule_of_compound(of: Callable, args: tuple, kwargs: Mapping[str, Any]) -> Callable | None:
    """Return what computes a function of sparse matrices; None if its rule takes all that there is.

    :raises ParseError: there is no rule.
    """
    own = [x for x in (*args, *kwargs.values()) if isinstance(x, Compound)]
    if not own:
        return None
    if (found := next((r for x in own if (r := x.rule_of(of)) is not None), None)) is not None:
        return found
    if all(isinstance(x, NumpyMatrix) for x in own):
        if of in FLAT and len(args) == 1 and not kwargs:
            return lambda x: x.array
        raise ParseError(f"a function of a numpy.matrix is not recorded: {INSTEAD}")
    if of in TAKES:
        return TAKES[of]
    if (getattr(of, "__module__", None) or "").startswith("scipy.sparse"):
        return None
    name = getattr(of, "__name__", repr(of))
    raise ParseError(f"{name} of a sparse matrix is not recorded: use its methods and operators, or .toarray()")


def method_of(name: str) -> Callable:
    """Return a function that is a method of matrices."""
    return lambda a, *args, **kwargs: getattr(a, name)(*args, **kwargs)


TAKES |= {np.max: method_of("max"), np.min: method_of("min")}
TAKES |= {np.sum: method_of("sum"), np.mean: method_of("mean"), np.transpose: method_of("transpose")}
KINDS: dict[Callable, Callable] = {sp.issparse: lambda a: True, sp.isspmatrix: lambda a: not a.kind.is_array}
for _format in FORMATS:
    KINDS[getattr(sp, f"isspmatrix_{_format}")] = lambda a, own=_format: not a.kind.is_array and a.kind.format == own
TAKES |= KINDS
TAKES |= {np.shape: lambda a: a.shape, np.ndim: lambda a: 2}
