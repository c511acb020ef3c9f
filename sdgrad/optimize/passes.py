"""The ordered list of passes."""

from __future__ import annotations

from collections.abc import Callable

from sdgrad.config import config, device
from sdgrad.optimize.contractions.blas_calls import use_blas
from sdgrad.optimize.contractions.loop_contraction import sums_behind_loops
from sdgrad.optimize.contractions.strip_mining import strips_of_products
from sdgrad.optimize.contractions.sweep_fusion import sweep_matrices
from sdgrad.optimize.contractions.triangular_tiling import split_triangles
from sdgrad.optimize.dataflow.broadcast_elimination import compute_once
from sdgrad.optimize.dataflow.buffer_sharing import share_memory
from sdgrad.optimize.dataflow.copy_propagation import read_originals
from sdgrad.optimize.dataflow.dead_clears import drop_clears
from sdgrad.optimize.dataflow.dead_stores import drop_unread
from sdgrad.optimize.dataflow.destination_forwarding import write_results
from sdgrad.optimize.dataflow.initialization_sinking import fill_late
from sdgrad.optimize.dataflow.reshape_views import view_reshaped
from sdgrad.optimize.gpu.kernels import run_on_device
from sdgrad.optimize.gpu.partial_sums import share_sums
from sdgrad.optimize.locality.data_layout import arrange_temporaries
from sdgrad.optimize.locality.loop_interchange import walk_memory
from sdgrad.optimize.locality.nontemporal_stores import stream_results
from sdgrad.optimize.locality.row_fusion import fuse_rows
from sdgrad.optimize.locality.threads import choose_threads
from sdgrad.optimize.locality.transposed_arguments import turn_arguments
from sdgrad.optimize.locality.triangular_packing import pack_triangles
from sdgrad.optimize.reductions.scatter_to_gather import gather_neighbours
from sdgrad.optimize.reductions.schedule import schedule_accumulations
from sdgrad.optimize.reductions.split_sums import sum_beside
from sdgrad.optimize.reductions.unrolled_sums import write_out_short_sums
from sdgrad.optimize.scalars.complex_pairs import complex_as_pairs
from sdgrad.optimize.scalars.half_precision import compute_in_single
from sdgrad.optimize.scalars.strength_reduction import part_sines, take_roots
from sdgrad.program.custom_call import expanded
from sdgrad.program.naming import all_names
from sdgrad.program.tree import Program
from sdgrad.rewrite.fusion import fuse
from sdgrad.rewrite.reduction_init import start_fresh
from sdgrad.rewrite.solve_factorization import factor_first
from sdgrad.runtime.libraries import cublas


def _beside(program: Program) -> Program:
    return sum_beside(program, all_names(program))


def _calls_blas() -> bool:
    """Whether products are calls of a library, where the program runs."""
    return config.blas != "none" and (device() == "cpu" or cublas.library_path() is not None)


def _sums(program: Program) -> Program:
    return sums_behind_loops(program, all_names(program)) if _calls_blas() else program


def _strips(program: Program) -> Program:
    return strips_of_products(program, all_names(program)) if config.blas != "none" else program


def _triangles(program: Program) -> Program:
    return split_triangles(program, all_names(program)) if config.blas != "none" else program


def _sweeps(program: Program) -> Program:
    return sweep_matrices(program, all_names(program)) if config.blas != "none" else program


def _products(program: Program) -> Program:
    return use_blas(program, all_names(program), dots=device() == "cpu") if _calls_blas() else program


def _turned(program: Program) -> Program:
    return turn_arguments(program, all_names(program))


def _sines(program: Program) -> Program:
    return part_sines(program) if device() == "cpu" else program


def _shared(program: Program) -> Program:
    return share_sums(program, all_names(program)) if device() == "gpu" else program


def _factored(program: Program) -> Program:
    return factor_first(program, all_names(program))


PASSES: tuple[tuple[str | None, Callable[[Program], Program]], ...] = (
    (None, expanded),
    (None, _factored),  # of what is not differentiated
    ("fusion", fuse),  # what reversal separated
    ("clears", drop_clears),
    ("fills", fill_late),
    (None, start_fresh),
    ("originals", read_originals),
    ("uniform", compute_once),
    ("results", write_results),
    ("beside", _beside),
    ("short", write_out_short_sums),
    ("fusion", fuse),
    ("unread", drop_unread),
    ("gather", gather_neighbours),
    ("sums", _sums),
    ("strips", _strips),
    ("triangles", _triangles),
    ("sweeps", _sweeps),
    ("blas", _products),
    ("rows", fuse_rows),
    (None, _shared),
    (None, schedule_accumulations),  # every other accumulation gets an order
    ("turned", _turned),
    ("layout", arrange_temporaries),
    ("order", walk_memory),
    ("reshaped", view_reshaped),
    (None, take_roots),
    (None, _sines),
    ("pairs", complex_as_pairs),
    (None, compute_in_single),
    ("threads", choose_threads),
    ("packed", pack_triangles),
    ("memory", share_memory),
    ("streams", stream_results),
)
"""Passes in order; those with a name can be left out (``config.without``)."""


OF_HOSTS = frozenset(
    {"fills", "strips", "triangles", "sweeps", "rows", "turned", "layout", "threads", "packed", "memory", "streams"}
)
"""Passes about libraries, caches and threads of a CPU."""


def optimize(program: Program, resident: bool = False) -> Program:
    """The program as it is compiled: fused, with calls of BLAS, every sum in an order, and threads where they pay.

    :param resident: on a GPU: arguments are in its memory already.
    """
    left_out = OF_HOSTS.union(config.without) if device() == "gpu" else config.without
    for name, step in PASSES:
        if name not in left_out:
            program = step(program)
    return run_on_device(program, all_names(program), resident) if device() == "gpu" else program
