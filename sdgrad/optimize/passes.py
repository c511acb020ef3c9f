"""The optimiser: its passes in order."""

from __future__ import annotations

from dataclasses import replace

from sdgrad.canonicalize.normal_form import FUSION, REDUCTION_INIT
from sdgrad.canonicalize.python_arithmetic import divide_truly
from sdgrad.config import config, device
from sdgrad.optimize.contractions.blas_calls import use_blas_calls
from sdgrad.optimize.contractions.loop_contraction import sums_behind_loops
from sdgrad.optimize.contractions.strip_mining import strips_of_products
from sdgrad.optimize.contractions.sweep_fusion import sweep_matrices
from sdgrad.optimize.contractions.triangular_tiling import split_triangles
from sdgrad.optimize.dataflow.broadcast_elimination import compute_once
from sdgrad.optimize.dataflow.buffer_sharing import share_memory
from sdgrad.optimize.dataflow.checkpoint_memory import share_room
from sdgrad.optimize.dataflow.copy_propagation import read_originals
from sdgrad.optimize.dataflow.dead_clears import drop_clears
from sdgrad.optimize.dataflow.dead_stores import drop_unread
from sdgrad.optimize.dataflow.destination_forwarding import write_results
from sdgrad.optimize.dataflow.early_release import release_early
from sdgrad.optimize.dataflow.function_reuse import reuse_functions
from sdgrad.optimize.dataflow.initialization_sinking import fill_late
from sdgrad.optimize.dataflow.kept_functions import keep_functions
from sdgrad.optimize.dataflow.own_temporaries import own_temporaries
from sdgrad.optimize.dataflow.reshape_views import view_reshaped
from sdgrad.optimize.dataflow.turned_layout import turn_layouts
from sdgrad.optimize.dataflow.unread_results import compute_less
from sdgrad.optimize.gpu.kernels import place_on_device
from sdgrad.optimize.gpu.partial_sums import share_sums
from sdgrad.optimize.locality.data_layout import arrange_temporaries
from sdgrad.optimize.locality.loop_interchange import walk_memory
from sdgrad.optimize.locality.nontemporal_stores import stream_results
from sdgrad.optimize.locality.ring_splitting import split_rings
from sdgrad.optimize.locality.row_fusion import fuse_rows
from sdgrad.optimize.locality.threads import choose_threads
from sdgrad.optimize.locality.transposed_arguments import turn_arguments
from sdgrad.optimize.locality.triangular_packing import pack_triangles
from sdgrad.optimize.reductions.loop_skewing import skew_windows
from sdgrad.optimize.reductions.scatter_to_gather import gather_neighbours
from sdgrad.optimize.reductions.schedule import schedule_accumulations
from sdgrad.optimize.reductions.split_sums import sum_beside
from sdgrad.optimize.reductions.unrolled_sums import write_out_short_sums
from sdgrad.optimize.scalars.complex_pairs import complex_as_pairs
from sdgrad.optimize.scalars.half_precision import compute_in_single
from sdgrad.optimize.scalars.strength_reduction import part_sines, take_roots
from sdgrad.program.custom_call import expanded
from sdgrad.program.passes import CPU, GPU, Named, Pass, Phase, Plain, Target, run_passes
from sdgrad.program.tree import Program
from sdgrad.rewrite.solve_factorization import factor_first
from sdgrad.runtime.libraries import cublas

UNORDERED, SCHEDULED, PLACED = Phase


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
        "Put the statements of a custom rule in the place of its call, so that fusion reaches them.",
        optional=False,
    ),
    Pass(
        "own-temporaries",
        Named(own_temporaries),
        UNORDERED,
        "Give each loop temporaries of its own, if it sets what it reads of them.",
        after=("custom-calls",),
    ),
    Pass(
        "solve-factorization",
        Named(factor_first),
        UNORDERED,
        "Factorise the matrix of a linear system once, and solve with the factors.",
        optional=False,
    ),
    Pass(
        "unread-results",
        Plain(compute_less),
        UNORDERED,
        "Compute the singular values alone where nobody reads the vectors, and the like.",
        after=("custom-calls",),
    ),
    Pass(
        "turned-layouts",
        Plain(turn_layouts),
        UNORDERED,
        "Store a temporary as it is computed where it is stored turned, as in the adjoint of a periodic grid.",
        after=("custom-calls", "own-temporaries"),
    ),
    replace(FUSION, optional=True, after=("custom-calls", "turned-layouts")),
    Pass(
        "dead-clears",
        Plain(drop_clears),
        UNORDERED,
        "Drop the zeroing of adjoints that are written again before anybody reads them.",
        after=("fusion",),
    ),
    Pass(
        "initialization-sinking",
        Plain(fill_late),
        UNORDERED,
        "Zero a large array in the iteration that first adds to it, while it is in the cache.",
        on=CPU,
        after=("dead-clears",),
    ),
    replace(REDUCTION_INIT, after=("initialization-sinking",)),
    Pass(
        "copy-propagation",
        Plain(read_originals),
        UNORDERED,
        "Read the original of a copy, and drop the copy.",
    ),
    Pass(
        "broadcast-elimination",
        Plain(compute_once),
        UNORDERED,
        "Compute a value once that is invariant along a dimension: the cotangent of a sum is one number, "
        "and a product with equal rows is a sum.",
    ),
    Pass(
        "destination-forwarding",
        Plain(write_results),
        UNORDERED,
        "Compute a temporary in the array that it is copied, or added, to.",
    ),
    Pass(
        "split-sums",
        Named(sum_beside),
        UNORDERED,
        "If a nest adds both to single elements and to whole rows or columns of an array, give the row "
        "and column sums temporaries and add them after the nest.",
    ),
    Pass(
        "unrolled-sums",
        Plain(write_out_short_sums),
        UNORDERED,
        "Write a sum over two to four terms as an assignment.",
    ),
    replace(FUSION, optional=True),
    Pass(
        "dead-stores",
        Plain(drop_unread),
        UNORDERED,
        "Drop stores to temporaries that nobody reads.",
        after=("fusion",),
    ),
    Pass(
        "scatter-to-gather",
        Plain(gather_neighbours),
        UNORDERED,
        "Gather from the neighbours in the adjoint of a stencil instead of adding to them: one pass over "
        "the interior, and slabs around it (Hückelheim et al., ICPP 2019); one pass over all of a periodic grid.",
        after=("fusion", "dead-stores"),
    ),
    Pass(
        "loop-skewing",
        Plain(skew_windows),
        UNORDERED,
        "Sum up for each element what overlapping windows add to it, as in the adjoint of a long convolution "
        "(Wolfe 1986).",
        after=("fusion", "scatter-to-gather"),
    ),
    Pass(
        "kept-functions",
        Named(keep_functions),
        UNORDERED,
        "Keep the values of powers, and of functions of SciPy's, in an array if two nests compute the same ones.",
        on=CPU,
        after=("fusion", "dead-stores"),
    ),
    Pass(
        "loop-contraction",
        Named(sums_behind_loops),
        UNORDERED,
        "Replace a matrix product that every iteration of a loop adds to one matrix by one product after the loop.",
        when=calls_blas,
    ),
    Pass(
        "strip-mining",
        Named(strips_of_products),
        UNORDERED,
        "Run iterations that share only sums in strips: products of a matrix and a vector become products "
        "of matrices (Wolfe 1989).",
        on=CPU,
        after=("loop-contraction",),
        when=has_blas,
    ),
    Pass(
        "triangular-tiling",
        Named(split_triangles),
        UNORDERED,
        "Cut contractions over triangles into rectangles and tiles on the diagonal.",
        on=CPU,
        when=has_blas,
    ),
    Pass(
        "sweep-fusion",
        Named(sweep_matrices),
        UNORDERED,
        "Compute all products with a large matrix in one sweep over blocks of its rows.",
        on=CPU,
        when=has_blas,
    ),
    Pass(
        "blas-calls",
        use_blas_calls,
        UNORDERED,
        "Call BLAS for a sum over a product of two elements, however it was written (Goto & van de Geijn 2008).",
        after=("loop-contraction", "strip-mining", "triangular-tiling", "sweep-fusion", "unrolled-sums"),
        when=calls_blas,
    ),
    Pass(
        "function-reuse",
        Plain(reuse_functions),
        UNORDERED,
        "Keep the value of a function, as an exponential, where a later nest writes its result: it is computed once.",
        on=CPU,
        after=("fusion", "scatter-to-gather", "blas-calls"),
    ),
    Pass(
        "row-fusion",
        Plain(fuse_rows),
        UNORDERED,
        "Merge nests over the same rows, as of a softmax, into one map over the rows with buffers of one row.",
        on=CPU,
        after=("blas-calls", "function-reuse"),
    ),
    Pass(
        "partial-sums",
        Named(share_sums),
        UNORDERED,
        "Split a sum with few results into partial sums, to fill a GPU.",
        on=GPU,
        after=("blas-calls",),
        optional=False,
    ),
    Pass(
        "reduction-schedule",
        Plain(schedule_accumulations),
        SCHEDULED,
        "Give every other reduction an order: a register, a row, private copies, or a sequential nest. "
        "There are no atomics, so sums do not depend on timing.",
        after=("scatter-to-gather", "blas-calls", "row-fusion", "partial-sums"),
        optional=False,
    ),
    Pass(
        "transposed-arguments",
        Named(turn_arguments),
        SCHEDULED,
        "Copy an argument that loops walk across into their order first, and copy it back last.",
        on=CPU,
        after=("reduction-schedule",),
    ),
    Pass(
        "data-layout",
        Plain(arrange_temporaries),
        SCHEDULED,
        "Store a temporary along the dimension that the nests walk through.",
        on=CPU,
        after=("transposed-arguments",),
    ),
    Pass(
        "loop-interchange",
        Plain(walk_memory),
        SCHEDULED,
        "Make the innermost loop walk memory (Allen & Kennedy 2001, 5.2).",
        after=("data-layout", "blas-calls"),
    ),
    Pass(
        "ring-splitting",
        Plain(split_rings),
        SCHEDULED,
        "Split innermost loops where a subscript begins again, as of a periodic grid (Allen & Kennedy 2001, 5.3).",
        on=CPU,
        after=("loop-interchange",),
    ),
    Pass(
        "reshape-views",
        Plain(view_reshaped),
        SCHEDULED,
        "Make a reshaped copy a view of the original.",
        after=("data-layout",),
    ),
    Pass(
        "half-powers",
        Plain(take_roots),
        SCHEDULED,
        "Write powers of multiples of a half as roots and products.",
        optional=False,
    ),
    Pass(
        "sines-apart",
        Plain(part_sines),
        SCHEDULED,
        "Give a sine and a cosine of one number separate names: compilers would join them into a call for "
        "one number at a time.",
        on=CPU,
        optional=False,
    ),
    Pass(
        "complex-pairs",
        Plain(complex_as_pairs),
        SCHEDULED,
        "Spell out complex sums, products and choices for the real and the imaginary part, in two arrays.",
    ),
    Pass(
        "half-precision",
        Plain(compute_in_single),
        SCHEDULED,
        "Compute in single precision on values that are stored in half precision.",
        after=("complex-pairs",),
        optional=False,
    ),
    Pass(
        "early-release",
        Plain(release_early),
        SCHEDULED,
        "Move a node up to where the large arrays that it is the last to read were read before, which frees them.",
        on=CPU,
        after=("row-fusion", "reduction-schedule", "reshape-views"),
    ),
    Pass(
        "threads",
        Plain(choose_threads),
        PLACED,
        "Run maps in one thread if they are too small to share.",
        on=CPU,
        after=("reduction-schedule", "loop-interchange"),
    ),
    Pass(
        "triangular-packing",
        Plain(pack_triangles),
        PLACED,
        "Store only the used elements of a tape of shrinking or growing parts, row behind row.",
        on=CPU,
        after=("data-layout",),
    ),
    Pass(
        "checkpoint-memory",
        Plain(share_room),
        PLACED,
        "Lay the states and the tapes that a loop with checkpoints keeps over each other, in one array.",
        after=("triangular-packing", "reshape-views"),
    ),
    Pass(
        "buffer-sharing",
        Plain(share_memory),
        PLACED,
        "Give arrays of one size that are never live together the same memory.",
        on=CPU,
        after=("triangular-packing", "reshape-views", "checkpoint-memory"),
    ),
    Pass(
        "nontemporal-stores",
        Plain(stream_results),
        PLACED,
        "Write a large result around the cache if nobody reads it back.",
        on=CPU,
        after=("buffer-sharing",),
    ),
    Pass(
        "gpu-kernels",
        place_on_device,
        PLACED,
        "Turn parallel maps into kernels, and move arrays to the memory of the GPU.",
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


def optimize(program: Program, resident: bool = False, changed: set[str] | None = None) -> Program:
    """Optimise a program for the target that the settings name; ``changed`` takes the passes that find something."""
    made = run_passes(program, PASSES, current_target(resident), config.without, changed)
    return divide_truly(made)  # whatever a pass has put in the place of a real number
