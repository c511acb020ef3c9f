"""Represent a part of a program that has a derivative of its own as one node."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from sdgrad.program.custom_rule import CustomRule
from sdgrad.program.tree import (
    Block,
    Container,
    Expr,
    Node,
    NodeCall,
    Program,
    Region,
    Scope,
    children,
    local_names,
    rewritten,
    walk,
    whole_region,
)
from sdgrad.program.window import Window


@dataclass(frozen=True)
class Operand:
    """A variable that a rule may ask for: its window, and the shape it has in the source."""

    window: Window
    shape: tuple[Expr, ...]
    scalar: bool

    @property
    def region(self) -> Region:
        """Return the part of the container that the variable is."""
        whole = whole_region(self.window.container, self.shape)
        return replace(whole, subset=self.window.subset(whole.subset))


@dataclass(frozen=True)
class CustomCall(NodeCall):
    """Nodes that count as one: a rule gives their derivative.

    Operands are by container, variables by their names. ``others`` are variables that are neither arrays nor numbers,
    and what they are; no rule can ask for them. ``containers`` are used by nothing but ``block``, which takes the place
    of the call when everything is differentiated.
    """

    block: Block = ()
    containers: Mapping[str, Container] = field(default_factory=dict)
    rule: CustomRule | None = None
    variables: Mapping[str, Operand] = field(default_factory=dict)
    symbols: Mapping[str, Expr] = field(default_factory=dict)
    others: Mapping[str, str] = field(default_factory=dict)
    mentioned: frozenset[str] = frozenset()  # symbols in the block
    applied: bool = False  # its rule is a part of the program, and reads what the block defines

    @property
    def kind(self) -> str:
        return "CustomCall"

    @property
    def regions(self) -> Mapping[str, Region]:
        """Return what a rule may ask for, by the variables' names."""
        return {name: operand.region for name, operand in self.variables.items()}

    def is_result(self, name: str) -> bool:
        """True if a variable's container is written by the block."""
        return self.variables[name].window.container in {r.container for r in self.outputs.values()}

    @property
    def free_symbols(self) -> set[str]:
        """Return the symbols that the block mentions."""
        return set(self.mentioned)


def walk_into_calls(block: Block) -> Iterator[Node]:
    """Yield every node of a block, and those of the blocks of custom calls."""
    for node in walk(block):
        yield node
        if isinstance(node, CustomCall):
            yield from walk_into_calls(node.block)


def with_rules_applied(program: Program) -> Program:
    """Return a derivative, in which the rules of all custom calls are applied."""
    body = rewritten(program.body, lambda n: (replace(n, applied=True) if isinstance(n, CustomCall) else n,))
    return replace(program, body=body)


def expanded(program: Program, chosen: Callable[[CustomCall], bool] = lambda call: True) -> Program:
    """Return the program with the nodes of custom calls, or of some of them, in their place."""
    containers = dict(program.containers)

    def expand(block: Block) -> Block:
        return rewritten(rewritten(block, with_locals), splice)

    def splice(node: Node) -> Block:
        if not isinstance(node, CustomCall) or not chosen(node):
            return (node,)
        containers.update(node.containers)
        return expand(node.block)

    def with_locals(node: Node) -> Block:
        """A map, with what its calls need as its own."""
        if not isinstance(node, Scope) or not node.params:
            return (node,)
        known = {c for n in walk((node,)) for c in local_names(n)}
        made = {n: c for call in filter(chosen, _calls(node.body)) for n, c in call.containers.items()}
        own = [c for n, c in made.items() if n not in known and c.view_of is None]
        return (replace(node, locals=(*node.locals, *own)),)

    body = expand(program.body)
    return replace(program, body=body, containers=containers)


def _calls(block: Block) -> list[CustomCall]:
    """Return the custom calls in a block, also those inside other calls, but not those inside maps."""
    found = []
    for node in block:
        if isinstance(node, CustomCall):
            found += [node, *_calls(node.block)]
        elif not (isinstance(node, Scope) and node.params):
            found += [c for b in children(node) for c in _calls(b)]
    return found
