"""The boundary of a differentiated program: where cotangents come in and gradients go out."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace

from dace import data as dt

from sdgrad.adjoints import WIDER, Adjoints, assign, fill
from sdgrad.names import Names
from sdgrad.program.leaves import set_scalar
from sdgrad.program.symbols import used_symbols
from sdgrad.program.tree import (
    SCALAR,
    Block,
    Container,
    Load,
    Node,
    Program,
    SymbolAssign,
    Value,
    reads,
    walk,
    writes,
)
from sdgrad.request import Request
from sdgrad.symbolic import code
from sdgrad.tape.plan import TapePlan


def free_name(stem: str, program: Program) -> str:
    """The name, or the first one after it that no container has."""
    return Names(program.containers).fresh(stem)


def gradient_name(name: str, program: Program) -> str:
    """``gradient_X``, or the first free name after it."""
    return free_name(f"gradient_{name}", program)


def seed_name(name: str, program: Program, request: Request) -> str:
    """Where the cotangent of an output comes in: ``gradient_Y`` on raw graphs, ``cotangent_Y`` elsewhere."""
    stem = "gradient" if request.accumulate else "cotangent"
    return free_name(f"{stem}_{name}", program)


def boundary(name: str, primal: Container) -> Container:
    """An argument of the same shape as a container; scalars become arrays of one element."""
    desc = copy.deepcopy(primal.desc)
    if isinstance(desc, dt.Scalar):
        desc = dt.Array(desc.dtype, (1,), storage=desc.storage)
    desc.transient = False
    return Container(name, desc)


def seed(program: Program, request: Request, names: Names) -> Adjoints:
    """Adjoints before the backward pass: cotangents of the outputs given, everything else known to be zero."""
    adjoints = Adjoints(program, names)
    overwritten = {program.root(c) for node in program.body for c in writes(node)}
    for name in request.outputs:
        given = boundary(seed_name(name, program, request), program.containers[name])
        names.add([given.name])
        adjoints.register(name, given)
        both = name in request.inputs and request.accumulate and given.dtype not in WIDER
        adjoints.state[name] = "live" if both else "seed"
    for name in request.inputs:
        target = boundary(gradient_name(name, program), program.containers[name])
        names.add([target.name])
        adjoints.made[target.name] = target
        if name in request.outputs or target.dtype in WIDER:
            continue
        if not request.accumulate:
            adjoints.register(name, target)
        elif name not in overwritten:
            adjoints.register(name, target)
            adjoints.state[name] = "live"
    return adjoints


def deliver(program: Program, request: Request, adjoints: Adjoints, names: Names) -> list[Node]:
    """After the backward pass: working adjoints go to the gradients of the inputs, zeros where nothing arrived."""
    out: list[Node] = []
    for name in request.inputs:
        target = adjoints.made[gradient_name(name, program)]
        both = request.accumulate and name in request.outputs
        if adjoints.is_zero(name):
            if both or not request.accumulate:
                out.append(fill(target, "0", names, f"zero_{target.name}"))
        elif adjoints.of.get(name) != target.name:
            mode = "sum" if request.accumulate and not both else "set"
            out.append(assign(target, adjoints.container(name), mode, names, target.name))
    return out


def assemble(
    program: Program,
    request: Request,
    adjoints: Adjoints,
    plan: TapePlan,
    scratch: Mapping[str, Container],
    body: Block,
) -> Program:
    """The program of both halves, with every container it uses."""
    containers = {**program.containers, **{c.name: c for c in plan.containers}, **adjoints.made, **scratch}
    for node in walk(body):
        for local in getattr(node, "locals", ()):
            containers[local.name] = local
    boundary = [gradient_name(n, program) for n in request.inputs]
    boundary += [seed_name(n, program, request) for n in request.outputs]
    arguments = (*program.arguments, *dict.fromkeys(boundary))
    return replace(program, name=f"{program.name}_grad", containers=containers, body=body, arguments=arguments)


def split(program: Program, forward: Block, backward: Block) -> tuple[Program, Program]:
    """The two halves as programs; what both use becomes an argument of each."""

    forward, backward, carried = carry_symbols(program, forward, backward)
    program = replace(program, containers={**program.containers, **carried})

    def used(block: Block) -> set[str]:
        return {program.root(n) for node in block for n in reads(node) | writes(node)}

    written = {program.root(n) for node in forward for n in writes(node)}
    shared = {n for n in used(forward) & used(backward) if program.containers[n].transient and n in written}
    containers = dict(program.containers)
    for name in shared:
        containers[name] = boundary(name, program.containers[name])

    def half(block: Block, suffix: str) -> Program:
        names = [n for n in (*program.arguments, *sorted(shared)) if n in used(block)]
        return replace(
            program, name=f"{program.name}_{suffix}", containers=containers, body=block, arguments=tuple(names)
        )

    return half(forward, "forward"), half(backward, "backward")


def carry_symbols(program: Program, forward: Block, backward: Block) -> tuple[Block, Block, dict[str, Container]]:
    """Integer symbols that the forward half assigns and the backward half uses, carried over in containers."""
    needed = {s for node in backward for s in used_symbols(node, program)}
    needed -= {n.symbol for n in walk(backward) if isinstance(n, SymbolAssign)}
    assigned = {n.symbol: n for n in walk(forward) if isinstance(n, SymbolAssign) and n.symbol in needed}
    names, made = Names(program.containers), {}
    stores: list[Node] = []
    loads: list[Node] = []
    for symbol, node in sorted(assigned.items()):
        kept = Container(names.fresh(f"symbol_{symbol}"), dt.Array(node.dtype, (1,), transient=True))
        made[kept.name] = kept
        v = names.fresh(f"v_{symbol}")
        stores.append(set_scalar(kept.name, Value((), code.name(symbol)), v, node.source))
        loads.append(replace(node, value=Value((Load(v, kept.name, SCALAR),), code.name(v))))
    return (*forward, *stores), (*loads, *backward), made
