"""NumPy functions for DaCe programs, beyond and instead of DaCe's own.

Importing this package registers them all. They emit maps around single Python tasklets, reductions, library nodes of
matrix products, views and sequential loops, so that what a program computes can be differentiated.
"""

from sdgrad.frontend.replacements import (  # noqa: F401
    creation,
    einsum,
    elementwise,
    indexing,
    joining,
    lengths,
    linalg,
    reductions,
    scans,
    shaping,
    slicing,
    ufuncs,
    visiting,
)
