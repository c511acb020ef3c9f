"""Say what to differentiate, as one frozen value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Request:
    """Differentiate ``outputs`` with respect to ``inputs``, both container names.

    ``accumulate``: gradients are added to the contents of their containers (raw graphs); else they are set.
    ``strong_zero``: a cotangent of exactly zero passes nothing on, whatever the partial is.
    ``rerun``: values may be recomputed, or restored in place, instead of being kept.
    ``unused``: an input without influence on the outputs gets a gradient of zero (``zero``) or is an error (``error``).
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    accumulate: bool = True
    strong_zero: bool = True
    unused: str = "zero"
    rerun: bool = True
