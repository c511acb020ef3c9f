"""The engine on one page: every door calls :func:`differentiate`."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import dace

from sdgrad.analysis.activity import Activity, activity
from sdgrad.autodiff import fence, seeds
from sdgrad.autodiff.contexts import find_tangent_rule
from sdgrad.autodiff.forward import with_tangents
from sdgrad.autodiff.request import Request
from sdgrad.autodiff.reverse import Reversal
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
from sdgrad.lift import elementary, prepare
from sdgrad.lift.control_flow import lift_sdfg
from sdgrad.lift.custom_regions import close_calls
from sdgrad.optimize import optimize
from sdgrad.program.emit import emit
from sdgrad.program.naming import all_names
from sdgrad.program.tree import Block, Program
from sdgrad.rewrite import fusion
from sdgrad.rewrite.reduction_init import start_fresh
from sdgrad.rewrite.solve_factorization import factor_first
from sdgrad.tape.guards import with_conditions, with_kept
from sdgrad.tape.plan import TapePlan
from sdgrad.tape.recorder import Recorder
from sdgrad.tape.search import plan_tape
from sdgrad.tape.split import split

DEEPEST = 6
"""Levels of loops that become nests, one after the other: what is fused in between is handed on by nobody."""


@dataclass(frozen=True)
class Differentiated:
    """The result: the primal program that keeps what is needed, and the program that runs backwards."""

    request: Request
    normalized: Program
    activity: Activity
    plan: TapePlan
    program: Program  # containers and symbols of both halves; its body is the two, one after the other
    forward: Block
    backward: Block

    def halves(self) -> tuple[Program, Program]:
        """Forward and backward as programs of their own; what the one leaves for the other is an argument of both.

        :raises DifferentiationError: the size of what is left is known only when the forward one has run.
        """
        fence.check_halves(self.normalized, self.plan)
        return split(self.program, self.forward, self.backward).programs

    def sdfg(self) -> dace.SDFG:
        """Forward and backward in one graph."""
        return emit(optimize(self.program))


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
    return fusion(start_fresh(bound_sizes(fusion(remember_trips(known_integers(program))))))


def with_nests(program: Program) -> Program:
    """Loops as nests where that can be, and fused with what is beside them."""
    if "hoist" not in config.without:
        hoisted = hoist_common(program, all_names(program))
        program = program if hoisted is program else fusion(hoisted)
    for _ in range(DEEPEST if "nests" not in config.without else 0):
        nested = loops_as_nests(program, all_names(program))
        if nested.body == program.body:
            break
        program = fusion(start_fresh(fusion(nested)))
    if "sink" in config.without:
        return program
    sunk = sink_shadows(program, all_names(program))
    return program if sunk is program else fusion(sunk)


def normalize_again(program: Program) -> Program:
    """A program that differentiation made, in the form that is differentiated."""
    return start_fresh(fusion(remember_trips(elementary(program))))


def differentiate(sdfg: dace.SDFG, request: Request, stop: Collection[str] = ()) -> Differentiated:
    """A graph, differentiated."""
    return differentiate_program(normalize(sdfg, stop=stop), request)


def differentiate_program(program: Program, request: Request) -> Differentiated:
    """fence -> analyse -> plan the tape -> reverse."""
    fence.check_request(program, request)
    names = all_names(program)
    program = factor_first(program, names)
    found = activity(program, request.inputs, request.outputs)
    fence.check_program(program, request, found)
    program, named = with_conditions(program, found, names)
    plan = plan_tape(program, named, fence.operand_needs(program, found), names, request.rerun)
    found = with_kept(named, found, plan)
    adjoints = seeds.seed(program, request, names)
    recorder = Recorder(program, plan, names)
    reversal = Reversal(program, found, plan, adjoints, names, recorder, request.strong_zero)
    forward = recorder.record(program.body)
    first, last = reversal.spare_arguments()
    backward = (*first, *reversal.block(program.body), *last, *seeds.deliver(program, request, adjoints, names))
    whole = seeds.assemble(program, request, adjoints, plan, recorder.scratch, (*forward, *backward))
    return Differentiated(request, program, found, plan, whole, forward, backward)


def push_tangents(program: Program, request: Request) -> Program:
    """A program with its tangents: fence -> analyse -> forward."""
    fence.check_request(program, request)
    names = all_names(program)
    program = factor_first(program, names)
    found = activity(program, request.inputs, request.outputs)
    fence.check_program(program, request, found, find_tangent_rule)
    return with_tangents(program, request, found, names)
