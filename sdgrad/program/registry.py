"""Register rules: which library nodes have a derivative, and by which rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from dace import nodes as nd

from sdgrad.errors import DifferentiationError, Problem
from sdgrad.program.tree import Node, NodeCall, Program, Region


@dataclass(frozen=True)
class Rule:
    """A backward implementation of built-in form: it answers in nodes of the program tree."""

    name: str
    needs: Callable[[NodeCall, Program, tuple[str, ...]], Iterable[str] | Mapping[str, Region]]  # or parts of them
    reverse: Callable[[Any], list[Node]]
    applies: Callable[[NodeCall, Program], str | None] = lambda call, program: None
    forward: Callable[[Any], list[Node]] | None = None  # the call, and the tangents of its results
    registry: ClassVar[dict[str, list[Rule]]] = {}


RULES: Mapping[str, list[Rule]] = Rule.registry


OF_USERS: set[str] = set()
"""Node types for which users have chosen rules."""


def register_rule(node_type: str, rule: Rule) -> None:
    """Put a rule first in line for a node type: a later registration outranks an earlier one."""
    Rule.registry.setdefault(node_type, []).insert(0, rule)


def find_rule(call: NodeCall, program: Program) -> Rule:
    """Return the first rule that applies; if none does, raise an error with the reasons of those that decline."""
    declined = []
    for rule in RULES.get(call.kind, ()):
        reason = rule.applies(call, program)
        if reason is None:
            return rule
        declined.append(f"{rule.name}: {reason}")
    raise DifferentiationError([no_rule(call, declined)])


def find_tangent_rule(call: NodeCall, program: Program) -> Callable[[Any], list[Node]]:
    """Return the forward half of the first rule that has one and applies; else raise an error."""
    declined = []
    for rule in RULES.get(call.kind, ()):
        reason = rule.applies(call, program)
        if reason is None and rule.forward is not None:
            return rule.forward
        declined.append(f"{rule.name}: {reason or 'has no forward rule'}")
    raise DifferentiationError([no_rule(call, declined)])


def no_rule(call: NodeCall, declined: list[str]) -> Problem:
    """Return the problem of a call without a rule, with the reasons of those that decline."""
    what = "tasklet" if isinstance(call.node, nd.Tasklet) else "node"
    reasons = ([call.reason] if call.reason else []) + declined
    message = "; ".join(reasons) or "has no backward implementation"
    return Problem(
        f"{call.kind} {what} '{call.node.label}'",
        message,
        str(call.source),
        "keep it out of what is differentiated, as sdgrad.stop_gradient does, or register a BackwardImplementation",
    )
