"""Find a few eigenvalues, or singular values, of a sparse matrix: SciPy does so, called at run time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse.linalg as solvers

Given = Mapping[str, np.ndarray]


def eigenvalues(matrix: Any, parts: Sequence[np.ndarray], given: Given, how: Mapping[str, Any]) -> list:
    """Return eigenvalues of a Hermitian matrix, in SciPy's order, and their vectors if asked for."""
    options, vectors = dict(how["options"]), how["vectors"]
    found = solvers.eigsh(matrix, v0=given.get("x0"), return_eigenvectors=vectors, **options)
    return list(found) if vectors else [found]


def singular_values(matrix: Any, parts: Sequence[np.ndarray], given: Given, how: Mapping[str, Any]) -> list:
    """Return singular values, in SciPy's order, between their vectors."""
    return list(solvers.svds(matrix, v0=given.get("x0"), **dict(how["options"])))


METHODS: dict[str, Callable] = {"eigsh": eigenvalues, "svds": singular_values}
