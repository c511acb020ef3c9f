"""Take functions apart whose own derivative does not cover something they compute, where that carries a derivative.

The adjoint of layer normalization takes the cotangent of what it returns, not those of the mean and of the deviation;
a rule of the user takes none of the function's local variables. Nothing differentiates by these at first. But adjoints
and rules read them: in derivatives of derivatives they are active, and then the function is differentiated as it
stands, as ``jax.custom_vjp`` does it with what its forward function keeps.
"""

from __future__ import annotations

from sdgrad.analysis.activity import Activity, activity
from sdgrad.analysis.paths import nodes_with_paths
from sdgrad.autodiff.request import Request
from sdgrad.program.custom_call import CustomCall, expanded
from sdgrad.program.custom_rule import COTANGENT, TANGENT, names_of
from sdgrad.program.tree import Program


def taken_apart(program: Program, request: Request) -> tuple[Program, Activity]:
    """Return the program, with the nodes of such functions in their places, and what is active in it."""
    found = activity(program, request.inputs, request.outputs)
    calls = ((path, node) for path, node in nodes_with_paths(program.body) if isinstance(node, CustomCall))
    rules = {id(call.rule) for path, call in calls if any(found.active(path, c) for c in _uncovered(call))}
    if not rules:
        return program, found
    return taken_apart(expanded(program, lambda call: id(call.rule) in rules), request)


def _uncovered(call: CustomCall) -> set[str]:
    """Return the containers that a call defines, and whose cotangents its rule does not take."""
    rule = call.rule
    if rule is None:
        return set()
    if rule.parameters is None:  # of a region: its rule is asked about all, and refuses what it does not name
        read = {p for f in rule.functions for p in names_of(f)} if call.applied else set()
        unsaid = [n for n in call.variables if n in read and not read & {COTANGENT + n, TANGENT + n}]
        return {call.variables[n].window.container for n in unsaid} & call.outputs.keys()
    if rule.adjoint is not None:
        taken = rule.adjoint.program.containers
        covered = {n for n in call.variables if COTANGENT + n in taken}
    else:
        covered = {*rule.parameters, *rule.results}  # all but local variables
    return {r.container for r in call.outputs.values()} - {
        o.window.container for n, o in call.variables.items() if n in covered
    }
