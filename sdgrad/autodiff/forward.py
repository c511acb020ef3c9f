"""Forward mode: compute tangents beside the primal values, in the same order and without a tape.

Each statement is followed by its tangent (Griewank & Walther 2008, chapter 3)::

    v = x[i]                    v = x[i]
    w = sin(v)                  d_v = tangent_x[i]
    y[i] = w                    w = sin(v)
                                d_w = cos(v) * d_v
                                y[i] = w
                                tangent_y[i] = d_w
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace
from functools import partial

from sdgrad.analysis.access_relations import covers
from sdgrad.analysis.activity import Activity
from sdgrad.analysis.paths import Path
from sdgrad.autodiff.contexts import TangentContext
from sdgrad.autodiff.leaf_tangent import LeafTangent
from sdgrad.autodiff.request import Request
from sdgrad.autodiff.rule_builder import Builder
from sdgrad.autodiff.seeds import free_name
from sdgrad.autodiff.shadows import Tangents
from sdgrad.errors import DifferentiationError, Problem
from sdgrad.program.arrays import boundary, fill
from sdgrad.program.custom_call import CustomCall
from sdgrad.program.names import Names
from sdgrad.program.registry import find_tangent_rule
from sdgrad.program.symbols import assigned_symbols
from sdgrad.program.tree import (
    Block,
    Container,
    Leaf,
    Node,
    NodeCall,
    Program,
    Scope,
    SymbolAssign,
    children,
    local_names,
    reads,
    rewritten,
    walk,
    whole_region,
    with_children,
    writes,
)
from sdgrad.runtime.libraries.checkpoint_schedule import CheckpointSchedule
from sdgrad.runtime.libraries.communication import is_communication


def tangent_name(name: str, program: Program) -> str:
    """Return ``tangent_X``, or the first free name after it."""
    return free_name(f"tangent_{name}", program)


def with_tangents(program: Program, request: Request, activity: Activity, names: Names) -> Program:
    """Return the program with tangents: those of the inputs come in, those of the outputs go out."""
    tangents = Tangents(program, names)
    given: dict[str, Container] = {}
    for name in dict.fromkeys((*request.inputs, *request.outputs)):
        given[name] = boundary(tangent_name(name, program), program.containers[name])
        names.add([given[name].name])
        tangents.register(name, given[name])
    forward = Forward(program, activity, tangents)
    body = rewritten(forward.block(program.body, ()), partial(with_kept_tangents, tangents=tangents))
    set_before = {given[n].name for n in request.inputs}
    inside = {c for node in walk(body) for c in local_names(node)}
    start = [c for c in tangents.made.values() if c.view_of is None and c.name not in set_before | inside]
    body = zeroed_before_use(start, body, tangents)
    containers = {**program.containers, **tangents.made}
    arguments = (*program.arguments, *(c.name for c in given.values()))
    return replace(program, name=f"{program.name}_jvp", containers=containers, body=body, arguments=arguments)


@dataclass
class Forward:
    """Put tangents beside the primal nodes, in program order."""

    program: Program
    activity: Activity
    tangents: Tangents

    def block(self, block: Block, path: Path) -> Block:
        """Return a block with the tangents of its nodes."""
        return tuple(n for k, node in enumerate(block) for n in self.node(node, (*path, k)))

    def node(self, node: Node, path: Path) -> list[Node]:
        """Return a node with its tangent."""
        if isinstance(node, Leaf):
            return LeafTangent(node, path, self.activity, self.tangents).build()
        if isinstance(node, NodeCall):
            return self.call(node, path)
        arms = tuple(self.block(b, (*path, k)) for k, b in enumerate(children(node)))
        if isinstance(node, Scope):
            return [self.scope(node, arms[0])]
        return [with_children(node, arms) if arms else node]

    def scope(self, node: Scope, body: Block) -> Scope:
        """Return a scope with tangents; the tangents of its local containers are local, too."""
        mine = [self.tangents.made[self.tangents.of[c.name]] for c in node.locals if c.name in self.tangents.of]
        known = {c.name for c in node.locals}
        mine += [self.tangents.made[h] for h, served in self.tangents.helpers.items() if served in known]
        roots = [c for c in mine if c.view_of is None]
        body = zeroed_before_use(roots, body, self.tangents)
        return replace(node, body=body, locals=(*node.locals, *mine))

    def call(self, node: NodeCall, path: Path) -> list[Node]:
        """Return a node call with its tangent by the call's rule, or with the clearing of what it overwrites."""
        given = tuple(c for c, r in node.inputs.items() if self.activity.active(path, r.container))
        wanted = tuple(c for c, r in node.outputs.items() if self.activity.active(path, r.container))
        context = TangentContext(node, path, self.program, self.tangents, self.tangents.names, given, wanted)
        if given and wanted or is_communication(node):
            if not (isinstance(node, CustomCall) or is_communication(node)):  # whose rules read what it leaves
                self.refuse_in_place(node)
            return find_tangent_rule(node, self.program)(context)
        gone = self.activity.overwritten.get(path, frozenset())
        lost = [c for c, r in node.outputs.items() if self.program.root(r.container) in gone]
        build = Builder(context, [node])
        for connector in lost:
            build.elementwise(context.tangent(connector), "0")
        return build.nodes

    def refuse_in_place(self, node: NodeCall) -> None:
        """Raise an error if a call overwrites an operand: its tangent reads operands after the call."""
        inputs, outputs = ({self.program.root(r.container) for r in x.values()} for x in (node.inputs, node.outputs))
        if both := sorted(inputs & outputs):
            message = f"works in place on {', '.join(both)}, and its tangent needs what was there"
            hint = "give it an array of its own for the result"
            raise DifferentiationError([Problem(f"{node.kind} '{node.node.label}'", message, str(node.source), hint)])


def with_kept_tangents(node: Node, tangents: Tangents) -> Block:
    """Give the start of a schedule of checkpoints the tangents of what its loop keeps: they have the same places."""
    if not isinstance(node, NodeCall) or not isinstance(node.node, CheckpointSchedule) or not node.node.is_start:
        return (node,)
    made = {c: tangents.of.get(r.container) for c, r in node.outputs.items()}
    found = {f"{c}_tangent": tangents.made[t] for c, t in made.items() if t is not None}
    outputs = {**node.outputs, **{c: whole_region(t.name, t.shape) for c, t in found.items()}}
    kept = [c for c in outputs if c != "_numbers"]
    return (replace(node, node=CheckpointSchedule(node.node.kind, node.node.given, kept), outputs=outputs),)


def zeroed_before_use(containers: list[Container], body: Block, tangents: Tangents) -> Block:
    """Return the body with every tangent set to zero before its first use, unless that use defines all of it."""
    assigned = assigned_symbols(body)
    out = list(body)
    for container in containers:
        same = {container.name} | {n for n in tangents.made if _root(n, tangents) == container.name}
        first = next((k for k, n in enumerate(out) if same & (reads(n) | writes(n))), None)
        if first is not None and _defines(out[first], container, same):
            continue
        position = 0
        needed = container.symbols & assigned
        for k, n in enumerate(out):
            if needed & {x.symbol for x in walk((n,)) if isinstance(x, SymbolAssign)}:
                position = k + 1
        out.insert(position, fill(container, "0", tangents.names, f"zero_{container.name}"))
    return tuple(out)


def _root(name: str, tangents: Tangents) -> str:
    """Return the container whose memory a tangent is, through any number of views."""
    while (base := tangents.made[name].view_of) is not None:
        name = base
    return name


def _defines(node: Node, container: Container, same: Set[str]) -> bool:
    """True if a node assigns every element of a container, and reads none under any of its names.

    A loop with checkpoints writes what it keeps before it reads it.
    """
    if isinstance(node, NodeCall) and isinstance(node.node, CheckpointSchedule):
        return container.name in {r.container for r in node.outputs.values()}
    if not isinstance(node, Leaf) or any(x.container in same for x in node.loads):
        return False
    stores = [s for s in node.stores if s.container == container.name]
    return any((s.mode == "set" or s.fresh) and covers(s, node, container.shape) for s in stores)
