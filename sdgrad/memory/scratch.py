"""Say how much memory library calls take while they run, beside their operands: copies, and workspace of LAPACK's.

oneDNN tells what its convolutions take. The other numbers are upper bounds of what was measured, in multiples of the
largest operand: of a square matrix with its longest side, or of all elements where the call is no function of matrices.
Direct solvers of sparse systems are left out: how much they take depends on the values.
"""

from __future__ import annotations

import math
import os

from sdgrad.program.tree import NodeCall, Program, Region, walk
from sdgrad.runtime.libraries import convolution_memory
from sdgrad.runtime.libraries.onednn import Convolution

OF_MATRICES = {
    "eigh": 6,
    "eigvalsh": 6,
    "eig": 8,
    "svd": 10,
    "svd_full": 12,
    "svdvals": 10,
    "qr": 4,
    "qr_full": 6,
    "pivots": 3,
    "lu": 2,
    "ldl": 3,
    "banded": 2,
    "positive_banded": 2,
    "sylvester": 10,
    "care": 26,
    "dare": 26,
    "expm": 26,
    "expm_kept": 26,
    "expm_adjoint": 40,
    "schur": 5,
    "hessenberg": 5,
    "sqrtm": 14,
    "logm": 32,
    "det": 3,
    "slogdet": 3,
    "adjugate": 5,
    "Inv": 2,
    "Cholesky": 1,
    "CholeskyAdjoint": 1,
    "Factorization": 4,
    "FactoredSolve": 2,
    "Solve": 2,
}
"""Square matrices, by the kind of a LAPACK call or the class of another call."""

OF_OPERAND = {"svd", "svdvals", "qr", "pivots"}
"""Calls whose matrices have as many elements as the operand, also where that is not square."""
BLOCK = 64  # rows that algorithms take at once

OF_ELEMENTS = {"Argsort": 5, "Select": 3, "SearchSorted": 1, "FourierTransform": 3}
"""Copies of all elements of the largest operand, of eight bytes at least."""
BY_CONVOLUTION = 8
"""Copies of lines by which pocketfft transforms those whose length has a large prime factor (Bluestein 1970)."""
LANES = 8  # lines at once


ANY = 1 << 13
"""Bytes that any call may take: what libraries keep of threads, plans and queues."""


def scratch(program: Program) -> int:
    """Return the most bytes that a call of the program takes while it runs."""
    return max((ANY + _of_call(n, program) for n in walk(program.body) if isinstance(n, NodeCall)), default=0)


def _of_call(call: NodeCall, program: Program) -> int:
    """Return the bytes of one call, each thread with memory of its own if it is one for several matrices."""
    kind = getattr(call.node, "kind", call.kind)
    regions = list(call.regions.values())
    if not regions or any(r.subset.free_symbols for r in regions):
        return 0
    if isinstance(call.node, Convolution):
        return convolution_memory.bytes_of(call.node.computed, tuple(map(int, call.node.extents)))
    width = max(program.containers[r.container].dtype.bytes for r in regions)
    if kind in OF_MATRICES:
        return _of_matrices(kind, call) * width * min(_batch(regions), os.cpu_count() or 1)
    if call.kind in OF_ELEMENTS:
        elements = max(int(r.subset.num_elements()) for r in regions)
        lines = _of_lines(call, elements) if call.kind == "FourierTransform" else 0
        return (OF_ELEMENTS[call.kind] * elements + lines) * max(8, width)
    return 0


def _of_matrices(kind: str, call: NodeCall) -> int:
    """Return the elements that a call for one matrix takes: some matrices, or for small ones blocks of rows."""
    operands = [call.regions["_a"]] if "_a" in call.regions else list(call.regions.values())
    shapes = [[int(n) for n in list(r.subset.size())[-2:]] for r in operands if len(r.subset.size()) > 1]
    if not shapes:
        return 0
    if kind in OF_OPERAND:
        area, side = max(map(math.prod, shapes)), max(map(min, shapes))
    else:
        side = max(map(max, shapes))
        area = side * side
    return max(OF_MATRICES[kind] * area, area + BLOCK * (BLOCK + side))


def _of_lines(call: NodeCall, elements: int) -> int:
    """Return the elements for lines of a length with a prime factor above its square root; 0 for other lengths."""
    length = rest = max(int(r.subset.size()[call.node.axis]) for r in call.regions.values())
    for factor in range(2, math.isqrt(length) + 1):
        while rest % factor == 0:
            rest //= factor
    return BY_CONVOLUTION * length * min(LANES, -(-elements // length)) if rest > 1 else 0


def _batch(regions: list[Region]) -> int:
    """Return how many matrices the largest operand holds."""
    largest = max(regions, key=lambda r: int(r.subset.num_elements()))
    count = 1
    for n in list(largest.subset.size())[:-2]:
        count *= int(n)
    return count
