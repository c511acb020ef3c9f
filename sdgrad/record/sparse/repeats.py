"""See to it that no two elements of a sparse matrix are at one place, as functions that are not linear need it.

SciPy adds such elements up before. So does a recording that knows the places; else the call looks for them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sdgrad.record.functions.parts import tensor_of
from sdgrad.record.functions.table import array, content
from sdgrad.record.outside import shown_line
from sdgrad.record.sparse.matrix import Sparse
from sdgrad.record.sparse.patterns import without_repeats
from sdgrad.record.values import RULES
from sdgrad.runtime.libraries.sparse import KINDS, SparseProduct


def single(a: Sparse, what: str) -> Sparse:
    """Return the matrix with one element at a place.

    :param what: needs that.
    :raises ValueError: at the call: elements are at one place, of a matrix whose places the recording does not know.
    """
    first, second = array(a.first), array(a.second)
    if content(first) is not None and content(second) is not None:
        return without_repeats(a, what)
    if a.nnz:
        recorder: Any = first.recorder
        kind, parts = ("repeats_listed", (first, second)) if a.kind.format == "coo" else ("repeats", (second, first))
        found = recorder.declare("repeated", (1,), np.int64)
        given = {f"_{n}": tensor_of(p) for n, p in zip(KINDS[kind].given, parts, strict=True)}
        recorder.call_into(SparseProduct(kind), given, {"_r": found})
        told = "needs one element at a place, and a sparse matrix has several: call its sum_duplicates() before"
        line = shown_line(recorder.where())
        RULES.require(recorder, recorder.array(found)[0] == 0, ValueError(f"{line}{what} {told}"))
    return a
