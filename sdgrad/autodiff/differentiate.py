"""Differentiate a program tree: fence, analyse, plan the tape, reverse; or push tangents forward."""

from __future__ import annotations

from dataclasses import dataclass

from sdgrad.analysis.activity import Activity
from sdgrad.autodiff import fence, seeds
from sdgrad.autodiff.forward import with_tangents
from sdgrad.autodiff.request import Request
from sdgrad.autodiff.reverse import Reversal
from sdgrad.autodiff.uncovered_results import taken_apart
from sdgrad.program.custom_call import with_rules_applied
from sdgrad.program.naming import all_names
from sdgrad.program.registry import find_tangent_rule
from sdgrad.program.tree import Block, Program
from sdgrad.rewrite.solve_factorization import factor_first
from sdgrad.tape.guards import with_conditions, with_kept
from sdgrad.tape.plan import TapePlan
from sdgrad.tape.recorder import Recorder
from sdgrad.tape.scheduled_loops import settled
from sdgrad.tape.search import plan_tape
from sdgrad.tape.split import split


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


def differentiate_program(program: Program, request: Request) -> Differentiated:
    """fence -> analyse -> plan the tape -> reverse."""
    fence.check_request(program, request)
    names = all_names(program)
    program = factor_first(settled(program), names)
    program, found = taken_apart(program, request)
    fence.check_program(program, request, found)
    program, named = with_conditions(program, found, names)
    needs = fence.operand_needs(program, found)
    asked = {"nested": request.nested, "part": request.part, "disk": request.disk}
    plan = plan_tape(program, named, needs, names, request.rerun, request.least, **asked)
    found = with_kept(named, found, plan)
    adjoints = seeds.seed(program, request, names)
    recorder = Recorder(program, plan, names)
    reversal = Reversal(program, found, plan, adjoints, names, recorder, request.strong_zero)
    forward = recorder.record(program.body)
    first, last = reversal.spare_arguments()
    backward = (*first, *reversal.block(program.body), *last, *seeds.deliver(program, request, adjoints, names))
    whole = seeds.assemble(program, request, adjoints, plan, recorder.scratch, (*forward, *backward))
    return Differentiated(request, program, found, plan, with_rules_applied(whole), forward, backward)


def push_tangents(program: Program, request: Request) -> Program:
    """A program with its tangents: fence -> analyse -> forward."""
    fence.check_request(program, request)
    names = all_names(program)
    program = factor_first(program, names)
    program, found = taken_apart(program, request)
    fence.check_program(program, request, found, find_tangent_rule)
    return with_rules_applied(with_tangents(program, request, found, names))
