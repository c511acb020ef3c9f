"""The normal form of programs: what is differentiated."""

from __future__ import annotations

from collections.abc import Callable, Collection

import dace

from sdgrad.canonicalize.bounding_sizes import bound_sizes
from sdgrad.canonicalize.compound_updates import spell_out_updates
from sdgrad.canonicalize.constant_propagation import known_integers
from sdgrad.canonicalize.integer_truncation import refuse_truncation
from sdgrad.canonicalize.last_trip import remember_trips
from sdgrad.canonicalize.loop_bounds import read_bounds_once
from sdgrad.canonicalize.loop_distribution import loops_as_nests
from sdgrad.canonicalize.loop_invariants import hoist_common
from sdgrad.canonicalize.negative_indices import within_arrays
from sdgrad.canonicalize.negative_indices_in_views import within_parts
from sdgrad.canonicalize.python_arithmetic import as_python_computes, divide_truly
from sdgrad.canonicalize.rematerialize import sink_shadows
from sdgrad.canonicalize.stop_gradient import stop_at
from sdgrad.config import config
from sdgrad.lift.control_flow import lift_sdfg
from sdgrad.lift.custom_regions import close_calls
from sdgrad.lift.elementary import elementary
from sdgrad.lift.prepare import prepare
from sdgrad.program.naming import all_names
from sdgrad.program.tree import Program
from sdgrad.rewrite.fusion import fuse
from sdgrad.rewrite.reduction_init import start_fresh

DEEPEST = 6
"""Levels of loops that become nests, one after the other: what is fused in between is handed on by nobody."""


def normalize(sdfg: dace.SDFG, own: bool = False, stop: Collection[str] = ()) -> Program:
    """A graph as a fused program tree.

    :param own: the graph is that of a Python function, made for this: it may be changed on the way, its loops read
        their bounds once, and its indices count from the end where they are negative.
    :param stop: see ``stop_at``.
    """
    lifted = lift_sdfg(prepare(sdfg, own), own)
    if own:
        refuse_truncation(lifted)
        lifted = as_python_computes(lifted)
    form = own_form if own else normal_form
    return form(stop_at(close_calls(lifted, form), stop))


def normal_form(program: Program) -> Program:
    """A program as it was read, in the form that is differentiated; custom calls each for itself."""
    return with_nests(plain_form(program, normal_form))


def own_form(program: Program) -> Program:
    """The same for a Python function, whose indices count from the end where they are negative."""
    return with_nests(within_arrays(plain_form(within_parts(program), own_form)))


def plain_form(program: Program, form: Callable[[Program], Program]) -> Program:
    """The normal form with the loops that the program has."""
    program = read_bounds_once(spell_out_updates(divide_truly(close_calls(program, form))))
    return fuse(start_fresh(bound_sizes(fuse(remember_trips(known_integers(program))))))


def with_nests(program: Program) -> Program:
    """Loops as nests where that can be, and fused with what is beside them."""
    if "hoist" not in config.without:
        hoisted = hoist_common(program, all_names(program))
        program = program if hoisted is program else fuse(hoisted)
    for _ in range(DEEPEST if "nests" not in config.without else 0):
        nested = loops_as_nests(program, all_names(program))
        if nested.body == program.body:
            break
        program = fuse(start_fresh(fuse(nested)))
    if "sink" in config.without:
        return program
    sunk = sink_shadows(program, all_names(program))
    return program if sunk is program else fuse(sunk)


def normalize_again(program: Program) -> Program:
    """A program that differentiation made, in the form that is differentiated."""
    return start_fresh(fuse(remember_trips(elementary(program))))
