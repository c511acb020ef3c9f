"""The ordered list of passes."""
from __future__ import annotations

from sdgrad.normalize.fuse import fuse
from sdgrad.optimize.accumulation import schedule_accumulations
from sdgrad.program.tree import Program


def optimize(program: Program) -> Program:
    """Fuse what reversal separated, and give every accumulation an order."""
    return schedule_accumulations(fuse(program))
