"""Define what a backward implementation sees of the call that it reverses, or whose tangent it computes."""

from __future__ import annotations

from dataclasses import dataclass

from dace import subsets

from sdgrad.analysis.paths import Path
from sdgrad.autodiff.adjoints import Adjoints
from sdgrad.autodiff.shadows import Tangents
from sdgrad.program.names import Names
from sdgrad.program.tree import Container, Node, NodeCall, Program, Region
from sdgrad.tape.plan import TapePlan


@dataclass(frozen=True)
class CallContext:
    """Present to a rule the call it reverses: primal values, cotangents of results, adjoints of operands."""

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
        """Return the containers that the reversal has made, by name; a rule may add to them."""
        return self.adjoints.made

    def container(self, name: str) -> Container:
        """Return a container of the primal program, of the tape, or of those made."""
        return (
            self.adjoints.made.get(name)
            or self.program.containers.get(name)
            or next(c for c in self.plan.containers if c.name == name)
        )

    def primal(self, connector: str) -> Region:
        """Return the primal value of an operand or result, as it was at the call."""
        region = self.call.regions[connector]
        kept = self.plan.regions.get((self.path, connector))
        if kept is None:
            return region
        return Region(kept.scratch.name, subsets.Range([(0, n - 1, 1) for n in kept.scratch.shape]))

    def cotangent(self, connector: str) -> Region:
        """Return the adjoint of a result."""
        region = self.call.outputs[connector]
        return Region(self.adjoints.read(region.container).name, region.subset)

    def target(self, connector: str) -> tuple[list[Node], Region]:
        """Return the nodes that make an operand's adjoint ready to be added to, and the adjoint."""
        region = self.call.inputs[connector]
        before = self.adjoints.writable(region.container)
        return before, Region(self.adjoints.container(region.container).name, region.subset)


@dataclass(frozen=True)
class TangentContext:
    """Present to a rule the call whose tangent it computes."""

    call: NodeCall
    path: Path
    program: Program
    tangents: Tangents
    names: Names
    given: tuple[str, ...]  # input connectors that carry a tangent
    wanted: tuple[str, ...]  # output connectors whose tangent is asked for

    @property
    def made(self) -> dict[str, Container]:
        """Return the containers that forward mode has made, by name; a rule may add to them."""
        return self.tangents.made

    def container(self, name: str) -> Container:
        """Return a container of the primal program, or of those made."""
        return self.tangents.made.get(name) or self.program.containers[name]

    def primal(self, connector: str) -> Region:
        """Return the operand or result itself."""
        return self.call.regions[connector]

    def tangent(self, connector: str) -> Region:
        """Return the tangent of an operand or result."""
        region = self.primal(connector)
        return Region(self.tangents.container(region.container).name, region.subset)
