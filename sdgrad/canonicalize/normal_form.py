"""The normal form: what is lifted from a graph, rewritten until every later stage has few cases."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import dace

from sdgrad.canonicalize.bounding_sizes import bound_sizes
from sdgrad.canonicalize.carried_symbols import carry_in_containers
from sdgrad.canonicalize.compound_updates import spell_out_updates
from sdgrad.canonicalize.constant_propagation import known_integers
from sdgrad.canonicalize.integer_truncation import refuse_truncation
from sdgrad.canonicalize.last_trip import remember_trips
from sdgrad.canonicalize.loop_bounds import read_bounds_once
from sdgrad.canonicalize.loop_distribution import distribute_loops
from sdgrad.canonicalize.loop_invariants import hoist_invariants
from sdgrad.canonicalize.negative_indices import within_arrays
from sdgrad.canonicalize.negative_indices_in_views import within_parts
from sdgrad.canonicalize.python_arithmetic import as_python_computes, divide_truly
from sdgrad.canonicalize.rematerialize import rematerialize
from sdgrad.canonicalize.squared_modulus import square_moduli
from sdgrad.canonicalize.stop_gradient import stop_at, stop_at_target
from sdgrad.config import config
from sdgrad.lift.control_flow import lift_sdfg
from sdgrad.lift.custom_regions import close_calls
from sdgrad.lift.elementary import elementary
from sdgrad.lift.prepare import prepare
from sdgrad.program.passes import Pass, Phase, Plain, Target, run_passes
from sdgrad.program.recorded import recorded_program
from sdgrad.program.tree import Program
from sdgrad.rewrite.fusion import fuse
from sdgrad.rewrite.reduction_init import start_fresh

UNORDERED = Phase.UNORDERED


def is_python(target: Target) -> bool:
    """True if the program is that of a Python function."""
    return target.python


def custom_calls(program: Program, target: Target) -> Program:
    """Bring the statements of custom calls into normal form, each call for itself."""
    return close_calls(program, lambda inner: in_normal_form(inner, replace(target, stop=())))


CUSTOM_CALLS = Pass(
    "custom-calls",
    custom_calls,
    UNORDERED,
    "Bring the statements of a custom rule into normal form by themselves.",
    optional=False,
)

CARRIED_SYMBOLS = Pass(
    "carried-symbols",
    Plain(carry_in_containers),
    UNORDERED,
    "Give memory to symbols that loops carry from one iteration to the next.",
    optional=False,
)

FUSION = Pass(
    "fusion",
    Plain(fuse),
    UNORDERED,
    "Merge neighbouring nests over the same ranges, and replace arrays between them by scalars (Allen & "
    "Kennedy 2001, 6.2).",
    optional=False,
)
LAST_TRIP = Pass(
    "last-trip",
    Plain(remember_trips),
    UNORDERED,
    "Note the last iteration of a loop that may stop early: its reversal starts there.",
    optional=False,
)
REDUCTION_INIT = Pass(
    "reduction-init",
    Plain(start_fresh),
    UNORDERED,
    "Let a reduction define its elements if they were just set to its identity.",
    optional=False,
)

LIFTED: tuple[Pass, ...] = (
    Pass(
        "integer-truncation",
        Plain(refuse_truncation),
        UNORDERED,
        "Refuse a name whose type cannot hold a number that is bound to it: Python would rebind it.",
        when=is_python,
        optional=False,
    ),
    Pass(
        "python-arithmetic",
        Plain(as_python_computes),
        UNORDERED,
        "Round quotients of subscripts down, and make powers with a real exponent real, as Python does.",
        when=is_python,
        optional=False,
    ),
    CUSTOM_CALLS,
    Pass(
        "stop-gradient",
        stop_at_target,
        UNORDERED,
        "Read the containers in ``stop`` as constants, before fusion does away with them.",
        optional=False,
    ),
)
"""What is done once to a program that was read from a graph."""

NORMAL_FORM: tuple[Pass, ...] = (
    Pass(
        "negative-indices-in-views",
        Plain(within_parts),
        UNORDERED,
        "Translate positions in slices into positions in their arrays.",
        when=is_python,
        optional=False,
    ),
    CUSTOM_CALLS,
    CARRIED_SYMBOLS,
    Pass(
        "true-division",
        Plain(divide_truly),
        UNORDERED,
        "Make a quotient of integers real: C++ would round it.",
        optional=False,
    ),
    Pass(
        "compound-updates",
        Plain(spell_out_updates),
        UNORDERED,
        "Write products, maxima and minima in place as a load and a store where no two instances meet.",
        optional=False,
    ),
    Pass(
        "loop-bounds",
        Plain(read_bounds_once),
        UNORDERED,
        "Read bounds before a loop if its body may change them.",
        optional=False,
    ),
    Pass(
        "constant-propagation",
        Plain(known_integers),
        UNORDERED,
        "Replace integer scalars with known values by expressions over parameters and symbols (Wegman & Zadeck 1991).",
        after=("loop-bounds",),
        optional=False,
    ),
    LAST_TRIP,
    FUSION,
    Pass(
        "bounding-sizes",
        Plain(bound_sizes),
        UNORDERED,
        "Give an array whose size varies with a loop the maximal size.",
        after=("constant-propagation",),
        optional=False,
    ),
    REDUCTION_INIT,
    FUSION,
    Pass(
        "squared-moduli",
        Plain(square_moduli),
        UNORDERED,
        "Compute even powers of the modulus of a complex number from its parts, without a root.",
    ),
    Pass(
        "negative-indices",
        Plain(within_arrays),
        UNORDERED,
        "Count negative subscripts from the end, and refuse those that leave the array.",
        when=is_python,
        after=("constant-propagation", "bounding-sizes"),
        optional=False,
    ),
    Pass(
        "loop-invariants",
        Plain(hoist_invariants),
        UNORDERED,
        "Compute common factors of several iterations once, before them.",
        after=("negative-indices",),
    ),
    Pass(
        "loop-distribution",
        Plain(distribute_loops),
        UNORDERED,
        "Turn loops without dependences between iterations into parallel nests (Allen & Kennedy 2001, 2.3).",
        after=("loop-invariants",),
    ),
    Pass(
        "rematerialization",
        Plain(rematerialize),
        UNORDERED,
        "Compute a temporary where it is read if that is cheaper than a load (Briggs et al. 1992).",
        after=("loop-distribution",),
    ),
)
"""The form that is differentiated, read top down."""

AGAIN: tuple[Pass, ...] = (
    Pass(
        "elementary-operations",
        Plain(elementary),
        UNORDERED,
        "Take expressions apart into elementary functions, polynomials and choices.",
        optional=False,
    ),
    CARRIED_SYMBOLS,
    LAST_TRIP,
    FUSION,
    REDUCTION_INIT,
)
"""What brings a program that differentiation made back into normal form, for the next derivative."""


def normalize(sdfg: dace.SDFG, own: bool = False, stop: Collection[str] = ()) -> Program:
    """Read a graph as a program in normal form.

    :param own: the graph is that of a Python function, made for this: it may be changed on the way, its loops read
        their bounds once, and its indices count from the end where they are negative.
    :param stop: containers that are read as constants.
    :raises NameNotFound: ``stop`` names no container.
    """
    target = Target(python=own, stop=tuple(stop))
    if (known := recorded_program(sdfg)) is not None:
        return stop_at(known, stop)
    lifted = lift_sdfg(prepare(sdfg, own), own)
    return in_normal_form(run_passes(lifted, LIFTED, target), target)


def in_normal_form(program: Program, target: Target) -> Program:
    """Rewrite a program into the form that is differentiated."""
    return run_passes(program, NORMAL_FORM, target, config.without)


def normal_form(program: Program) -> Program:
    """Rewrite a program that no Python function stands behind into the form that is differentiated."""
    return in_normal_form(program, Target())


def normalize_again(program: Program) -> Program:
    """Rewrite a program that differentiation made into the form that is differentiated."""
    return run_passes(program, AGAIN, Target())
