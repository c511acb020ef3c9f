"""Put the program of a user's rule between the nodes of an adjoint or a tangent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sdgrad.autodiff.rule_builder import Builder
from sdgrad.backward_impls.custom_programs import rule_of, shared_window
from sdgrad.program.arrays import cleared, moved
from sdgrad.program.custom_call import CustomCall
from sdgrad.program.custom_rule import names_of, stem
from sdgrad.program.inline import inline
from sdgrad.program.names import Names
from sdgrad.program.naming import is_shared
from sdgrad.program.tree import Container, Node, Program
from sdgrad.program.window import Window, whole_window


@dataclass(frozen=True)
class Linear:
    """Hold a rule's program as a linear map between containers of its own, given the primal values it takes.

    ``sources`` and ``results`` are by the names that the variables have in the source. ``defined`` are the variables
    whose derivative a rule defines: of others that the call writes it is zero. In a region, whose rule works in place,
    they are those of the user's function also where this is its transpose.
    """

    program: Program
    sources: Mapping[str, str]
    results: Mapping[str, str]
    defined: frozenset[str]


def primal_values(call: CustomCall) -> dict[str, str]:
    """Return the parameters of a call's rules that are primal values, with their variables."""
    rule = rule_of(call)
    if rule.adjoint is not None:
        return {n: n for n in call.variables if n in rule.adjoint.program.containers}
    parts = [(p, *stem(p)) for function in rule.functions for p in names_of(function)]
    named = {p: rule.spelled(name) for p, prefix, name in parts if not prefix}
    return {p: name for p, name in named.items() if name in call.variables}


@dataclass
class Splice:
    """Put a rule's program between other nodes."""

    build: Builder
    call: CustomCall
    rule: Linear
    places: dict[str, Window] = field(default_factory=dict)
    after: list[Node] = field(default_factory=list)

    @property
    def names(self) -> Names:
        return self.build.context.names

    def bind(self, parameter: str, place: Window, written: bool = False) -> None:
        """Let a container of the rule's program be a part of a container around it."""
        if parameter not in self.rule.program.arguments:  # of the same name there may be a container of its own
            return
        own = self.rule.program.containers[parameter]
        if not any(c.view_of == parameter for c in self.rule.program.containers.values()):
            self.places[parameter] = place
            return
        # views reinterpret memory, so that the rule needs the layout it was made for
        copy = own.local(self.names.fresh(parameter))
        self.build.context.made[copy.name] = copy
        whole = whole_window(copy.name, copy.desc)
        self.places[parameter] = whole
        self.build.nodes.append(moved(whole, place, copy.shape, "set", self.names))
        if written:
            self.after.append(moved(place, whole, copy.shape, "set", self.names))

    def zeros(self, parameter: str) -> None:
        """Let a container of the rule's program be zero."""
        own = self.rule.program.containers[parameter]
        zero = own.local(self.names.fresh(parameter))
        self.build.context.made[zero.name] = zero
        self.places[parameter] = whole_window(zero.name, zero.desc)
        self.build.nodes.append(cleared(self.places[parameter], zero.shape, self.names))

    def run(self) -> dict[str, Container]:
        """Add the rule's nodes, and return what its program brings, by the names in it."""
        for name in filter(is_shared, self.rule.program.arguments):
            self.places[name] = shared_window(self.call, name, self.build.context.program)
        body, brought = inline(self.rule.program, self.places, self.names)
        self.build.context.made.update({c.name: c for c in brought.values()})
        self.build.nodes += [*body, *self.after]
        return brought

    def primals(self, values: Mapping[str, Window]) -> None:
        """Bind the primal values that the rule takes."""
        for parameter, name in primal_values(self.call).items():
            self.bind(parameter, values[name])
