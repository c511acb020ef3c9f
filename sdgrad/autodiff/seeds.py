"""Define the boundary of a differentiated program: cotangents come in, gradients go out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sdgrad.autodiff.adjoints import WIDER, Adjoints
from sdgrad.autodiff.request import Request
from sdgrad.program.arrays import assign, boundary, fill
from sdgrad.program.names import Names
from sdgrad.program.tree import Block, Container, Node, Program, walk, writes
from sdgrad.tape.plan import TapePlan


def free_name(stem: str, program: Program) -> str:
    """Return the stem, or the first name after it that no container has."""
    return Names(program.containers).fresh(stem)


def gradient_name(name: str, program: Program) -> str:
    """Return ``gradient_X``, or the first free name after it."""
    return free_name(f"gradient_{name}", program)


def seed_name(name: str, program: Program, request: Request) -> str:
    """Return the name of an output's cotangent: ``gradient_Y`` on raw graphs, ``cotangent_Y`` elsewhere."""
    stem = "gradient" if request.accumulate else "cotangent"
    return free_name(f"{stem}_{name}", program)


def seed(program: Program, request: Request, names: Names) -> Adjoints:
    """Return the adjoints before the backward pass: cotangents of the outputs given, all others known to be zero."""
    adjoints = Adjoints(program, names)
    overwritten = {program.root(c) for node in program.body for c in writes(node)}
    for name in request.outputs:
        given = boundary(seed_name(name, program, request), program.containers[name])
        names.add([given.name])
        adjoints.register(name, given)
        both = name in request.inputs and request.accumulate and given.dtype not in WIDER
        adjoints.state[name] = "live" if both else "seed"
        if program.containers[name].desc.total_size == 1:
            adjoints.note_selected(name, whole=True)  # zeros among several may stand for "not asked for"
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
    """Return the copies of working adjoints to gradients after the backward pass; zeros if nothing arrived."""
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
    """Return the program of both halves, with every container it uses."""
    containers = {**program.containers, **{c.name: c for c in plan.containers}, **adjoints.made, **scratch}
    for node in walk(body):
        for local in getattr(node, "locals", ()):
            containers[local.name] = local
    boundary = [gradient_name(n, program) for n in request.inputs]
    boundary += [seed_name(n, program, request) for n in request.outputs]
    arguments = (*program.arguments, *dict.fromkeys(boundary))
    return replace(program, name=f"{program.name}_grad", containers=containers, body=body, arguments=arguments)
