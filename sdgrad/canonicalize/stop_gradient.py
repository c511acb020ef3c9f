"""Detach containers: no derivative passes through what is read from them.

``v = x[i]`` becomes ``w = x[i]; v = detached(w)``, and a node call reads a detached copy.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from sdgrad.errors import NameNotFound
from sdgrad.program.arrays import over
from sdgrad.program.names import Names
from sdgrad.program.naming import all_names
from sdgrad.program.passes import Target
from sdgrad.program.tree import Block, Container, Instr, Leaf, Let, Load, Node, NodeCall, Program, Store, rewritten
from sdgrad.symbolic import code

DETACHED = "sdgrad_detached"


def stop_at(program: Program, names: Collection[str]) -> Program:
    """Detach every read of some containers. Fusion comes later: it may remove the containers.

    :raises NameNotFound: there is no such container.
    """
    for name in names:
        if name not in program.containers:
            raise NameNotFound("container to stop at", name, list(program.containers))
    if not names:
        return program
    fresh, copies = all_names(program), dict[str, Container]()
    roots = {program.root(n) for n in names}

    def detached(n: Node) -> Block:
        """Detach the reads of a node."""
        if isinstance(n, Leaf):
            return (replace(n, body=tuple(x for i in n.body for x in _detached(i, roots, program, fresh))),)
        return _with_copies(n, roots, program, fresh, copies) if isinstance(n, NodeCall) else (n,)

    body = rewritten(program.body, detached)
    return replace(program, body=body, containers={**program.containers, **copies})


def _detached(instr: Instr, roots: Collection[str], program: Program, names: Names) -> list[Instr]:
    """Return a load as a detached one; any other instruction unchanged."""
    if not isinstance(instr, Load) or program.root(instr.container) not in roots:
        return [instr]
    read = names.fresh(instr.name)
    return [replace(instr, name=read), Let(instr.name, code.call(DETACHED, code.name(read)))]


def _with_copies(
    call: NodeCall, roots: Collection[str], program: Program, names: Names, copies: dict[str, Container]
) -> Block:
    """Let a call read detached copies of the operands in such containers."""
    before: list[Node] = []
    inputs = dict(call.inputs)
    for connector, region in call.inputs.items():
        if program.root(region.container) not in roots:
            continue
        original = program.containers[region.container]
        copied = original.local(names.fresh(f"detached_{region.container}"))
        copies[copied.name] = copied
        params, index = over(original, names)
        v, w = names.fresh("v"), names.fresh("v")
        body = (Load(v, original.name, index), Let(w, code.call(DETACHED, code.name(v))), Store(copied.name, index, w))
        before.append(Leaf(params, body, call.source))
        inputs[connector] = replace(region, container=copied.name)
    return (*before, replace(call, inputs=inputs))


def stop_at_target(program: Program, target: Target) -> Program:
    """Detach every read of the containers that a target names."""
    return stop_at(program, target.stop)
