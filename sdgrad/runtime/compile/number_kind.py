"""Check that nothing of a number is lost where a program takes it."""

from __future__ import annotations

from typing import Any

import numpy as np

from sdgrad.errors import ArgumentError


def check_kind(name: str, number: Any, wanted: np.dtype) -> None:
    """Check that a type holds a number of this kind.

    :raises ArgumentError: a fraction or an imaginary part would be lost.
    """
    found = np.asarray(number).dtype
    if found.kind in "fc" and not np.can_cast(found, wanted, "same_kind"):
        kind = {"f": "a floating-point number", "c": "a complex number"}[found.kind]
        raise ArgumentError(f"argument '{name}': the program takes {wanted} there, found {kind}: {number}")
