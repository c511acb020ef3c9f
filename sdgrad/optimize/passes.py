"""The optimiser: its passes in order."""

from __future__ import annotations

from dataclasses import replace

from sdgrad.canonicalize.normal_form import FUSION, REDUCTION_INIT
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
from sdgrad.program.passes import CPU, GPU, Named, Pass, Phase, Plain, Target, run_passes
from sdgrad.program.tree import Program
from sdgrad.rewrite.solve_factorization import factor_first
from sdgrad.runtime.libraries import cublas

UNORDERED, SCHEDULED, PLACED = Phase


def products_as_calls(program: Program, target: Target) -> Program:
    """Replace contractions by calls of BLAS; dot products stay loops on a GPU."""
    return use_blas(program, all_names(program), dots=target.device == "cpu")


def kernels(program: Program, target: Target) -> Program:
    """Place a program on a GPU: kernels, and copies of arguments that are not resident."""
    return run_on_device(program, all_names(program), target.resident)


def calls_blas(target: Target) -> bool:
    """True if products become calls where the program runs."""
    return target.blas


def has_blas(target: Target) -> bool:
    """True if the host has a BLAS library."""
    return target.host_blas


PASSES: tuple[Pass, ...] = (
    Pass(
        "custom-calls",
        Plain(expanded),
        UNORDERED,
        "The statements of a custom rule take the place of its call, so that they are fused with what is around them.",
        optional=False,
    ),
    Pass(
        "solve-factorization",
        Named(factor_first),
        UNORDERED,
        "A linear system that is not differentiated is factorised once and solved twice as well.",
        optional=False,
    ),
    replace(FUSION, optional=True, after=("custom-calls",)),
    Pass(
        "dead-clears",
        Plain(drop_clears),
        UNORDERED,
        "Adjoints that nobody reads before they are written again are not set to zero: neither those of a reversed "
        "overwrite, nor fills at the begin of a loop's iteration.",
        after=("fusion",),
    ),
    Pass(
        "initialization-sinking",
        Plain(fill_late),
        UNORDERED,
        "A large array is set to zero in the iteration that first adds to it, where it is in the cache.",
        on=CPU,
        after=("dead-clears",),
    ),
    replace(REDUCTION_INIT, after=("initialization-sinking",)),
    Pass(
        "copy-propagation",
        Plain(read_originals),
        UNORDERED,
        "Readers of a copy read the original, and the copy is not made.",
    ),
    Pass(
        "broadcast-elimination",
        Plain(compute_once),
        UNORDERED,
        "What does not depend on a dimension is computed without it: the cotangent of a sum is one number, and a "
        "product with equal rows is a sum.",
    ),
    Pass(
        "destination-forwarding",
        Plain(write_results),
        UNORDERED,
        "A temporary that is copied, or added, to another array is computed there.",
    ),
    Pass(
        "split-sums",
        Named(sum_beside),
        UNORDERED,
        "If a nest adds both to single elements and to whole rows or columns of an array, the row and column sums get "
        "temporaries that are added after the nest.",
    ),
    Pass(
        "unrolled-sums",
        Plain(write_out_short_sums),
        UNORDERED,
        "A sum over two to four terms is an assignment, and no contraction for BLAS.",
    ),
    replace(FUSION, optional=True),
    Pass(
        "dead-stores",
        Plain(drop_unread),
        UNORDERED,
        "Temporaries that nobody reads any more are not stored.",
        after=("fusion",),
    ),
    Pass(
        "scatter-to-gather",
        Plain(gather_neighbours),
        UNORDERED,
        "The adjoint of a stencil gathers from its neighbours instead of adding to them: one pass over the interior, "
        "slabs around it (Hückelheim et al., ICPP 2019).",
        after=("fusion", "dead-stores"),
    ),
    Pass(
        "loop-contraction",
        Named(sums_behind_loops),
        UNORDERED,
        "A product that every iteration of a loop adds to one matrix is a single product after the loop.",
        when=calls_blas,
    ),
    Pass(
        "strip-mining",
        Named(strips_of_products),
        UNORDERED,
        "Iterations that share nothing but sums run in strips: products of a matrix and a vector become products of "
        "matrices (Wolfe 1989).",
        on=CPU,
        after=("loop-contraction",),
        when=has_blas,
    ),
    Pass(
        "triangular-tiling",
        Named(split_triangles),
        UNORDERED,
        "Contractions over triangles are cut into rectangles and tiles on the diagonal.",
        on=CPU,
        when=has_blas,
    ),
    Pass(
        "sweep-fusion",
        Named(sweep_matrices),
        UNORDERED,
        "Products that walk along the same large matrix share one sweep over blocks of its rows.",
        on=CPU,
        when=has_blas,
    ),
    Pass(
        "blas-calls",
        products_as_calls,
        UNORDERED,
        "A sum over a product of two elements is a call of BLAS, however it was written (Goto & van de Geijn 2008).",
        after=("loop-contraction", "strip-mining", "triangular-tiling", "sweep-fusion", "unrolled-sums"),
        when=calls_blas,
    ),
    Pass(
        "row-fusion",
        Plain(fuse_rows),
        UNORDERED,
        "Nests over the same rows, as of a softmax, become one map over the rows with buffers of one row.",
        on=CPU,
        after=("blas-calls",),
    ),
    Pass(
        "partial-sums",
        Named(share_sums),
        UNORDERED,
        "A sum with too few results to fill a GPU is split into partial sums.",
        on=GPU,
        after=("blas-calls",),
        optional=False,
    ),
    Pass(
        "reduction-schedule",
        Plain(schedule_accumulations),
        SCHEDULED,
        "Every other reduction gets an order: a register, a row, private copies, or a sequential nest. No atomics are "
        "used, so that sums do not depend on timing.",
        after=("scatter-to-gather", "blas-calls", "row-fusion", "partial-sums"),
        optional=False,
    ),
    Pass(
        "transposed-arguments",
        Named(turn_arguments),
        SCHEDULED,
        "An argument that loops walk across is copied in their order first, and written back last.",
        on=CPU,
        after=("reduction-schedule",),
    ),
    Pass(
        "data-layout",
        Plain(arrange_temporaries),
        SCHEDULED,
        "A temporary lies in memory along the dimension that the nests walk through.",
        on=CPU,
        after=("transposed-arguments",),
    ),
    Pass(
        "loop-interchange",
        Plain(walk_memory),
        SCHEDULED,
        "The innermost loop walks memory (Allen & Kennedy 2001, 5.2).",
        after=("data-layout", "blas-calls"),
    ),
    Pass(
        "reshape-views",
        Plain(view_reshaped),
        SCHEDULED,
        "A reshaped copy is a view of the original.",
        after=("data-layout",),
    ),
    Pass(
        "half-powers",
        Plain(take_roots),
        SCHEDULED,
        "Powers of a half, of one and a half, .. are roots and products.",
        optional=False,
    ),
    Pass(
        "sines-apart",
        Plain(part_sines),
        SCHEDULED,
        "A sine and a cosine of one number get names of their own: compilers would join them into a call that computes "
        "one number at a time.",
        on=CPU,
        optional=False,
    ),
    Pass(
        "complex-pairs",
        Plain(complex_as_pairs),
        SCHEDULED,
        "Complex sums, products and choices are spelled out for their two parts, in two arrays.",
    ),
    Pass(
        "half-precision",
        Plain(compute_in_single),
        SCHEDULED,
        "Half precision is for memory: what is read is made single before anything is computed with it.",
        after=("complex-pairs",),
        optional=False,
    ),
    Pass(
        "threads",
        Plain(choose_threads),
        PLACED,
        "Maps that are too small to share run in one thread.",
        on=CPU,
        after=("reduction-schedule", "loop-interchange"),
    ),
    Pass(
        "triangular-packing",
        Plain(pack_triangles),
        PLACED,
        "A tape of shrinking or growing parts keeps the elements that are used only, row behind row.",
        on=CPU,
        after=("data-layout",),
    ),
    Pass(
        "buffer-sharing",
        Plain(share_memory),
        PLACED,
        "Arrays of one size that are never live together share memory.",
        on=CPU,
        after=("triangular-packing", "reshape-views"),
    ),
    Pass(
        "nontemporal-stores",
        Plain(stream_results),
        PLACED,
        "A large result that is only written goes around the cache.",
        on=CPU,
        after=("buffer-sharing",),
    ),
    Pass(
        "gpu-kernels",
        kernels,
        PLACED,
        "Parallel maps become kernels, and arrays move to the memory of the GPU.",
        on=GPU,
        after=("reduction-schedule", "loop-interchange"),
        optional=False,
    ),
)
"""What makes a differentiated program fast, read top down."""


def current_target(resident: bool = False) -> Target:
    """The target that the settings name.

    :param resident: on a GPU: the arguments are in its memory already.
    """
    where, host = device(), config.blas != "none"
    blas = host and (where == "cpu" or cublas.library_path() is not None)
    return Target(where, blas, host, resident)


def optimize(program: Program, resident: bool = False) -> Program:
    """Optimise a program for the target that the settings name."""
    return run_passes(program, PASSES, current_target(resident), config.without)
