"""What is asked of the engine, as one frozen value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Request:
    """Differentiate ``outputs`` with respect to ``inputs``, both container names.

    ``accumulate``: gradients are added to what their containers hold (raw graphs); else they are set.
    ``strong_zero``: a cotangent of exactly zero passes nothing on, whatever the partial is.
    ``rerun``: values may be computed again, or put back where they were, instead of being kept.
    ``unused``: what an input that does not influence the outputs gets: ``zero`` or ``error``.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    accumulate: bool = True
    strong_zero: bool = True
    unused: str = "zero"
    rerun: bool = True
