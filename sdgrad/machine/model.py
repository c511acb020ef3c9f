"""The numbers that decide whether a rewrite pays, in one value that describes a machine."""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields
from functools import cached_property


@dataclass(frozen=True, repr=False)
class Machine:
    """Thresholds of the analyses and passes, for a core of an x86-64 server of today.

    Replace single ones: ``sdgrad.config.machine = dataclasses.replace(sdgrad.config.machine, blas_multiplications=0)``.
    Programs that are differentiated afterwards follow the new numbers; only the rounding of sums depends on them.

    ``benchmarks/results/thresholds.md`` shows what gradients of 51 kernels take with a quarter and with four times of
    each number (``python -m benchmarks.thresholds`` measures again). What a pass is worth stands beside its threshold,
    where it was measured.
    """

    # -- cost model
    unknown_size: int = 64
    """Value that the cost model assumes for sizes and trip counts that only a run knows."""

    function_cost: int = 20
    """Instructions that a call of an elementary function (sine, root, ..) counts as."""

    # -- fusion
    fusion_window: int = 24
    """Leaves that fusion looks back for a partner. Bounds fusion to linear time in the length of the program."""

    fusion_rounds: int = 3
    """Rounds of fusion: a store that one round finds dead may have kept two neighbours apart."""

    fused_instructions: int = 300
    """Instructions of a fused leaf at most. Beyond, compilers spill registers and compile times grow."""

    expanded_elements: int = 1 << 16
    """Elements that scalar expansion may always use, however small the arguments are."""

    # -- normal form
    distributed_statements: int = 12
    """Statements of a loop body at most for loop distribution to search."""

    distribution_rounds: int = 6
    """Rounds of loop distribution, one for each level of loops."""

    hoisting_gain: float = 1.5
    """Factor by which the hoisted computation must be smaller than the repeated one."""

    rematerialized_instructions: int = 2
    """Instructions at most that are recomputed at a use instead of loaded."""

    # -- tape
    open_loop_trips: int = 1 << 20
    """Iterations up to which a loop that may stop early gets tape for its full range."""

    recomputed_terms: int = 32
    """Terms of a sum at most for which recomputation beats a store and a load."""

    checkpointed_bytes: int = 4 << 20
    """Bytes of a loop's tape from which checkpoints pay; less stays in a cache by itself. durbin's tape has 0.9
    instead of 18 MB."""

    instructions_per_taped_value: int = 10
    """Instructions per taped number up to which a loop is rerun instead: a round trip to memory costs about as
    much."""

    checkpointed_trips: int = 16
    """Iterations at least of a loop with checkpoints."""

    tape_share: float = 0.6
    """Share of the free memory that the tape of a loop may take: longer ones get checkpoints, whatever they cost."""

    open_loop_states: int = 64
    """States that a loop with checkpoints keeps that does not know its trips, if there is memory for them."""

    open_loop_bytes: int = 256 << 20
    """Bytes of states up to which such a loop keeps more: with more places it runs fewer trips again."""

    checkpoint_level_share: float = 1 / 2
    """Share of the memory that one more level of checkpoints may leave; for less the loop is not rerun again."""

    # -- directions
    direction_bytes: int = 1 << 20
    """Bytes up to which directions of a Jacobian are computed at once: what they share is computed once for them."""

    # -- memory plans
    instructions_per_second: float = 4e9
    """Numbers that simple instructions of a loop make in a second: what it costs to run a loop again."""

    flops_per_second: float = 25e9
    """Operations of matrix products in a second."""

    bytes_per_second: float = 8e9
    """Bytes that a loop reads and writes in a second, of arrays that are in no cache."""

    disk_bytes_per_second: float = 1e9
    """Bytes that go to files, or come from there, in a second."""

    seconds_per_call: float = 1e-6
    """Time that a node takes to start."""

    # -- dataflow
    broadcast_rounds: int = 4
    """Rounds of broadcast elimination."""

    sunk_initialization_bytes: int = 2**20
    """Bytes from which an array leaves a core's own cache between its initialization and its first use. The
    gradient of trisolv takes 3.4 instead of 4.2 ms."""

    largest_half_power: float = 4.5
    """Largest exponent that is written as roots and products."""

    # -- reductions
    joint_nest_gain: float = 1.5
    """Factor by which separate nests must compute more than a joint one for the joint one to pay."""

    register_row: int = 32
    """Elements of a row that stay in registers."""

    unrolled_terms: int = 4
    """Terms of a sum at most that is unrolled."""

    unrolled_instructions: int = 12
    """Instructions of a term at most that is unrolled."""

    private_copies: int = 16
    """Chunks of a privatized sum, each with a copy of the result. On two threads softras' adjoint takes 4.3 instead
    of 7.4 times its forward pass."""

    private_trips: int = 2
    """Iterations of a chunk at least."""

    private_merge_share: int = 8
    """Factor by which merging the copies must be cheaper than the sum itself."""

    private_elements: int = 2**20
    """Elements of a privatized result at most."""

    scatter_block: int = 256
    """Iterations of a blocked scatter whose values stay in the first-level cache."""

    scatter_instructions: int = 4
    """Instructions of an iteration at least that pay for a second loop."""

    stencil_loads: int = 4
    """Loads at most of a value that is recomputed for every neighbour."""

    stencil_cuts: int = 4
    """Cuts of a stencil's range in one dimension at most."""

    stencil_width: int = 16
    """Elements between the outermost neighbours in one dimension at most."""

    stencil_terms: int = 32
    """Terms of a gathered stencil at most."""

    skewed_taps: int = 16
    """Taps of a convolution from which its adjoint sums them up for each element, instead of adding whole windows: the
    gradient of one of 64 taps over 100,000 numbers takes 0.7 instead of 1.3 ms."""

    stencil_core: int = 1000
    """Elements of the interior box at least. With interior boxes heat_3d's gradient takes two thirds of the
    time."""

    # -- contractions
    contraction_constants: int = 3
    """Constant factors of a contraction at most."""

    blas_multiplications: int = 4096
    """Multiplications from which a BLAS call beats loops."""

    triangle_rows: int = 64
    """Rows of a tile of a triangle: enough for BLAS, few enough that little is computed in vain."""

    swept_bytes: int = 2**22
    """Bytes from which a matrix leaves a core's cache between two products. With sweeps the gradients of atax, bicg
    and mvt take less than half of the time."""

    sweep_block_bytes: int = 2**19
    """Bytes of the rows that stay in a core's cache for all products of a sweep."""

    swept_row: int = 256
    """Rows, and elements of a row, at least, of a matrix in a sweep."""

    strip_multiplications: int = 1024
    """Multiplications of one iteration's product at least, for strip mining. Sliding-window attention runs at 1.14
    to 1.4 times JAX's speed with strips, at 0.95 without."""

    window_share: int = 4
    """Iterations of a strip as a share (1/n) of a sliding window's rows: the same share is computed in vain."""

    strip_trips: int = 1 << 20
    """Iterations of a strip-mined loop at most."""

    # -- locality
    fused_rows: int = 16
    """Rows at least: fewer leave threads without work."""

    fused_row: int = 64
    """Elements of a row at least: shorter loops are better off as one long loop."""

    longest_fused_row: int = 65536
    """Elements at most of an array that is reduced to one row."""

    stack_row: int = 2048
    """Elements at most of a row on the stack."""

    cache_line_cost: int = 8
    """Cost of an access that takes a new cache line, relative to an access with stride one."""

    layout_gain: float = 1.05
    """Factor by which a new layout must make the accesses of an array cheaper."""

    layout_trips: int = 16
    """Iterations assumed for a loop where arrays compete for a layout."""

    transposed_bytes: int = 2**17
    """Bytes from which strided reads of an argument miss the cache. With copies vadv's gradient takes half of the
    time."""

    transposing_bytes: int = 2**18
    """Bytes at most that a transposing copy walks through at once, to stay in a core's cache."""

    copy_cost: int = 6
    """Cost of copying an element, in accesses with stride one."""

    last_level_cache: int = 2**25
    """Bytes of the cache that cores share."""

    streamed_bytes: int = 2**24
    """Bytes of a result at least that is written around the cache. With nontemporal stores compute's gradient takes
    10 % less, hdiff's and gesummv's 5 % less."""

    streamed_row: int = 256
    """Contiguous elements at least that one loop writes around the cache."""

    cleared_bytes: int = 2**20
    """Bytes of a constant fill from which processors skip the read by themselves."""

    streamed_reuse: int = 64
    """A streamed result may be read again for at most one in so many elements."""

    packed_share: float = 0.8
    """Share of the rectangle's memory that a packed triangle may take: above, plain subscripts are worth more.
    Packed tapes of triangles take half of the memory."""

    parallel_instructions: int = 400_000
    """Instructions from which a second thread pays for its start and for fetching what it wrote. At half of it
    floyd_warshall took three times as long with two threads."""

    parallel_trips: int = 16
    """Iterations assumed for ranges that depend on other parameters."""

    # -- gpu
    gpu_local_elements: int = 64
    """Elements at most of an array that each GPU thread holds."""

    gpu_busy_elements: int = 4096
    """Elements of a result that keep a GPU busy without partial sums."""

    gpu_partial_sums: int = 1024
    """Partial sums of an element at most."""

    gpu_split_terms: int = 4096
    """Terms at least of a sum that is split."""

    gpu_block: int = 128
    """Threads of a GPU block along the innermost parameter: neighbours read adjacent elements."""

    # -- code generation
    vector_chunk: int = 512
    """Iterations of a vectorized loop that a thread takes at once, so that remainders are the same for all thread
    counts."""

    simd_trips: int = 8
    """Iterations of a reduction at least that is split into lanes."""

    streamed_part: int = 128
    """Elements that a nontemporal loop computes before it stores them: they stay in the first-level cache."""

    def __repr__(self) -> str:
        """Name the fields that are not what they are by default."""
        changed = {f.name: v for f in fields(self) if (v := getattr(self, f.name)) != f.default}
        return f"Machine({', '.join(f'{name}={value}' for name, value in changed.items())})"

    @cached_property
    def _hash(self) -> int:
        return hash(astuple(self))

    def __hash__(self) -> int:
        """Hash once: the value is part of the key of every call."""
        return self._hash
