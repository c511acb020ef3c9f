"""The ordered list of passes."""

from __future__ import annotations

from sdgrad.config import config
from sdgrad.normalize.fresh import start_fresh
from sdgrad.normalize.fuse import fuse
from sdgrad.optimize.accumulation import schedule_accumulations
from sdgrad.optimize.blas import use_blas
from sdgrad.optimize.copies import read_originals
from sdgrad.optimize.order import walk_memory
from sdgrad.optimize.parallel import choose_threads
from sdgrad.optimize.rows import fuse_rows
from sdgrad.optimize.triangles import split_triangles
from sdgrad.program.custom import expanded
from sdgrad.program.naming import all_names
from sdgrad.program.tree import Program


def optimize(program: Program) -> Program:
    """Fuse what reversal separated, call BLAS for matrix products, and give every other accumulation an order."""
    fused = fuse(read_originals(start_fresh(fuse(expanded(program)))))
    if config.blas != "none":
        names = all_names(fused)
        fused = use_blas(split_triangles(fused, names), names)
    return choose_threads(walk_memory(schedule_accumulations(fuse_rows(fused))))
