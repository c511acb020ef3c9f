"""Regions of a graph that have a derivative of their own, as nodes that count as one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import dace
from dace import data as dt
from dace import nodes as nd

from sdgrad.analysis.access_relations import covers
from sdgrad.analysis.footprint import box, reads_of, writes_of
from sdgrad.errors import DifferentiationError, NameNotFound, Problem, UnsupportedNode
from sdgrad.lift.jumps import Jump
from sdgrad.lift.views import Env
from sdgrad.program.custom_call import CustomCall, Operand
from sdgrad.program.custom_rule import CustomRule, names_of, stem
from sdgrad.program.naming import names_in
from sdgrad.program.symbols import used_symbols
from sdgrad.program.tree import (
    Block,
    Container,
    Leaf,
    Loop,
    Node,
    Program,
    Region,
    Source,
    SymbolAssign,
    children,
    lasting,
    local_names,
    own_reads,
    reads,
    rewritten,
    walk,
    whole_region,
    with_children,
    writes,
)
from sdgrad.symbolic.expr import Expr, sym


def custom_call(rule: CustomRule, body: Block, sdfg: dace.SDFG, env: Env, source: Source) -> CustomCall:
    """The call of a rule, with the variables its functions ask for; :func:`close_calls` finds its operands."""
    if any(isinstance(n, Jump) for n in walk(body)):
        raise UnsupportedNode(f"a jump out of the region of {rule.name}, at {source}")
    wanted = {rule.spelled(stem(p)[1]) for f in rule.functions for p in names_of(f)}
    wanted |= {*(rule.parameters or ()), *rule.results}
    variables: dict[str, Operand] = {}
    symbols: dict[str, Expr] = {}
    for name in sorted(wanted):
        if name in env.windows:
            desc = sdfg.arrays[name]
            shape = tuple(env.expr(n) for n in desc.shape)
            window = replace(env.windows[name], shape=None)  # rules have arrays of their own for these parts
            variables[name] = Operand(window, shape, isinstance(desc, dt.Scalar))
        elif name in env.values or name in sdfg.symbols:
            symbols[name] = env.values.get(name, sym(name))
        elif name not in (rule.parameters or ()):  # arguments with a constant value are not there
            known = sorted(n for n in {*env.windows, *env.values} if not n.startswith("__"))
            raise NameNotFound(f"variable of '{rule.name}'", name, known)
    label = nd.Tasklet(rule.name)
    return CustomCall(label, {}, {}, source, block=body, rule=rule, variables=variables, symbols=symbols)


def close_calls(program: Program, finish: Callable[[Program], Program]) -> Program:
    """The program with the operands of its custom calls, and these in normal form (``finish``), each for itself."""
    if not any(isinstance(n, CustomCall) for n in walk(program.body)):
        return program
    containers = dict(program.containers)

    def close(node: Node) -> Block:
        nonlocal program
        if not isinstance(node, CustomCall) or node.outputs:
            return (node,)
        closed, made = _closed(node, program, containers, finish)
        containers.update(made)
        program = replace(program, containers=containers)
        return (closed,)

    body = rewritten(program.body, close)
    return replace(program, body=body, containers=containers)


def _closed(
    call: CustomCall, program: Program, containers: Mapping[str, Container], finish: Callable[[Program], Program]
) -> tuple[CustomCall, dict[str, Container]]:
    """A call with its operands and its block in normal form, and the containers that are new."""
    root = program.root
    shown = {root(o.window.container) for o in call.variables.values()}
    outside = {root(n) for node in program.body for n in _touched(node, call)} | shown | set(program.arguments)
    inside = {root(n) for node in call.block for n in reads(node) | writes(node)}
    maps = {c for n in walk(call.block) for c in local_names(n)}
    given = inside & outside
    free = {n: replace(c, desc=lasting(c.desc, False)) if n in given else c for n, c in containers.items()}
    own = finish(replace(program, containers=free, body=call.block, arguments=tuple(sorted(given))))
    touched = writes_of(own.body, own), reads_of(own.body, own)
    inputs: dict[str, Region] = {}
    outputs: dict[str, Region] = {n: whole_region(n, program.containers[n].shape) for n in _made(call) & inside}
    for name in sorted((inside & outside) - maps - outputs.keys()):
        container = program.containers[name]
        written, read = ([t for t in found if t.container == name] for found in touched)
        if written:
            outputs[name], exact = box(written, container)
            if not exact:
                outputs[name] = whole_region(name, container.shape)
                inputs[name] = outputs[name]
        if read and name not in inputs and not _defined_first(name, own):
            inputs[name], _ = box(read, container)
    used = {n for node in own.body for n in reads(node) | writes(node)} | maps
    made = {n: c for n, c in own.containers.items() if n in used and (own.root(n) not in outside or c.view_of)}
    assigned = {n.symbol for n in walk(own.body) if isinstance(n, (Loop, SymbolAssign))}
    symbols = {s for node in own.body for s in used_symbols(node, own)} - assigned - names_in(own.body)
    later = {s for node in program.body for s in _symbols_outside(node, call, program)}
    if lost := sorted(later & {n.symbol for n in walk(own.body) if isinstance(n, SymbolAssign)}):
        name = call.rule.name if call.rule is not None else ""
        message = f"assigns {', '.join(lost)}, which is used after it"
        hint = "put what uses it into the region, or the assignment before it"
        raise DifferentiationError([Problem(f"region '{name}'", message, str(call.source), hint)])
    closed = replace(
        call,
        inputs=inputs,
        outputs=outputs,
        block=own.body,
        containers=made,
        mentioned=frozenset(symbols),
    )
    return closed, {n: c for n, c in own.containers.items() if n not in program.containers}


def _made(call: CustomCall) -> set[str]:
    """Containers that are there for what an operator computes: whatever they held before counts for nothing."""
    if call.rule is None or call.rule.adjoint is None:
        return set()
    return {call.variables[n].window.container for n in call.rule.results if n in call.variables}


def _touched(node: Node, call: CustomCall) -> set[str]:
    """Containers that a node, or one in it, reads or writes, but for one call; those of other calls included."""
    found: set[str] = set()
    for n in walk((node,)):
        if isinstance(n, CustomCall):
            found |= {c for inner in n.block for c in reads(inner) | writes(inner)} if n is not call else set()
        else:
            found |= own_reads(n) if children(n) else reads(n) | writes(n)
    return found


def _symbols_outside(node: Node, call: CustomCall, program: Program) -> set[str]:
    """Symbols that a node uses, but for one call in it."""
    if node is call:
        return set()
    inner = {s for b in children(node) for n in b for s in _symbols_outside(n, call, program)}
    return inner | used_symbols(with_children(node, tuple(() for _ in children(node))), program)


def _defined_first(name: str, program: Program) -> bool:
    """Whether a block sets all of a container before it reads any of it."""
    for node in program.body:
        if not isinstance(node, Leaf) and name in reads(node) | writes(node):
            return False
        if isinstance(node, Leaf):
            if name in reads(node):
                return False
            stores = [s for s in node.stores if s.container == name]
            if any(s.guard is None and covers(s, node, program.containers[name].shape) for s in stores):
                return True
            if stores:
                return False
    return False
