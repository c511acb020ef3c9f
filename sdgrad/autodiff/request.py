"""Say what to differentiate, as one frozen value."""

from __future__ import annotations

from dataclasses import dataclass

from sdgrad.machine.limits import Limit


@dataclass(frozen=True)
class Request:
    """Differentiate ``outputs`` with respect to ``inputs``, both container names.

    ``accumulate``: gradients are added to the contents of their containers (raw graphs); else they are set.
    ``strong_zero``: a cotangent of exactly zero passes nothing on, whatever the partial is.
    ``rerun``: values may be recomputed, or restored in place, instead of being kept.
    ``least``: loops have checkpoints wherever they can, in as little room as there can be.
    ``nested``: loops inside of these have checkpoints, too.
    ``part``: the program becomes a part of another one, which may be differentiated: loops that do not know their trips
    keep tapes for as many as they have, and not places for any number, which a tape of a tape would have to hold.
    ``disk``: loops with checkpoints may keep states on the disk.
    ``memory_limit``: what the program may take.
    ``unused``: an input without influence on the outputs gets a gradient of zero (``zero``) or is an error (``error``).
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    accumulate: bool = True
    strong_zero: bool = True
    unused: str = "zero"
    rerun: bool = True
    least: bool = False
    nested: bool = False
    part: bool = False
    disk: bool = False
    memory_limit: Limit | None = None
