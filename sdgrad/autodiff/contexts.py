"""The registry of backward implementations: how a node that is called as a whole is reversed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from dace import nodes as nd
from dace import subsets

from sdgrad.analysis.paths import Path
from sdgrad.autodiff.adjoints import Adjoints
from sdgrad.autodiff.shadows import Tangents
from sdgrad.errors import DifferentiationError, Problem
from sdgrad.program.names import Names
from sdgrad.program.tree import Container, Node, NodeCall, Program, Region
from sdgrad.tape.plan import TapePlan


@dataclass(frozen=True)
class CallContext:
    """What a rule sees of the call it reverses."""

    call: NodeCall
    path: Path
    program: Program
    adjoints: Adjoints
    plan: TapePlan
    names: Names
    given: tuple[str, ...]  # output connectors whose cotangent arrives
    wanted: tuple[str, ...]  # input connectors whose gradient is asked for

    @property
    def made(self) -> dict[str, Container]:
        return self.adjoints.made

    def container(self, name: str) -> Container:
        return (
            self.adjoints.made.get(name)
            or self.program.containers.get(name)
            or next(c for c in self.plan.containers if c.name == name)
        )

    def primal(self, connector: str) -> Region:
        """The primal value of an operand or result, as it was at the call."""
        region = self.call.regions[connector]
        kept = self.plan.regions.get((self.path, connector))
        if kept is None:
            return region
        return Region(kept.scratch.name, subsets.Range([(0, n - 1, 1) for n in kept.scratch.shape]))

    def cotangent(self, connector: str) -> Region:
        """The adjoint of a result."""
        region = self.call.outputs[connector]
        return Region(self.adjoints.read(region.container).name, region.subset)

    def target(self, connector: str) -> tuple[list[Node], Region]:
        """The adjoint of an operand, ready to be added to, and the nodes that make it ready."""
        region = self.call.inputs[connector]
        before = self.adjoints.writable(region.container)
        return before, Region(self.adjoints.container(region.container).name, region.subset)


@dataclass(frozen=True)
class TangentContext:
    """What a rule sees of the call whose tangent it computes."""

    call: NodeCall
    path: Path
    program: Program
    tangents: Tangents
    names: Names
    given: tuple[str, ...]  # input connectors that carry a tangent
    wanted: tuple[str, ...]  # output connectors whose tangent is asked for

    @property
    def made(self) -> dict[str, Container]:
        return self.tangents.made

    def container(self, name: str) -> Container:
        return self.tangents.made.get(name) or self.program.containers[name]

    def primal(self, connector: str) -> Region:
        """The operand or result itself."""
        return self.call.regions[connector]

    def tangent(self, connector: str) -> Region:
        """The tangent of an operand or result."""
        region = self.primal(connector)
        return Region(self.tangents.container(region.container).name, region.subset)


@dataclass(frozen=True)
class Rule:
    """A backward implementation of built-in form: it answers in nodes of the program tree."""

    name: str
    needs: Callable[[NodeCall, Program, tuple[str, ...]], Iterable[str] | Mapping[str, Region]]  # or parts of them
    reverse: Callable[[CallContext], list[Node]]
    applies: Callable[[NodeCall, Program], str | None] = lambda call, program: None
    forward: Callable[[TangentContext], list[Node]] | None = None  # the call, and the tangents of its results
    registry: ClassVar[dict[str, list[Rule]]] = {}


RULES: Mapping[str, list[Rule]] = Rule.registry


def register_rule(node_type: str, rule: Rule) -> None:
    """Put a rule first in line for a node type (a later registration outranks an earlier one)."""
    Rule.registry.setdefault(node_type, []).insert(0, rule)


def find_rule(call: NodeCall, program: Program) -> Rule:
    """The first rule that applies; the reasons of those that decline are in the error if none does."""
    declined = []
    for rule in RULES.get(call.kind, ()):
        reason = rule.applies(call, program)
        if reason is None:
            return rule
        declined.append(f"{rule.name}: {reason}")
    raise DifferentiationError([no_rule(call, declined)])


def find_tangent_rule(call: NodeCall, program: Program) -> Callable[[TangentContext], list[Node]]:
    """The forward half of the first rule that has one and applies."""
    declined = []
    for rule in RULES.get(call.kind, ()):
        reason = rule.applies(call, program)
        if reason is None and rule.forward is not None:
            return rule.forward
        declined.append(f"{rule.name}: {reason or 'has no forward rule'}")
    raise DifferentiationError([no_rule(call, declined)])


def no_rule(call: NodeCall, declined: list[str]) -> Problem:
    what = "tasklet" if isinstance(call.node, nd.Tasklet) else "node"
    reasons = ([call.reason] if call.reason else []) + declined
    message = "; ".join(reasons) or "has no backward implementation"
    return Problem(
        f"{call.kind} {what} '{call.node.label}'",
        message,
        str(call.source),
        "register a BackwardImplementation for it, or keep it out of what is differentiated",
    )
