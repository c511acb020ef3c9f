"""Hash what a program computes: programs with the same fingerprint become the same code."""

from __future__ import annotations

import ast
import enum
import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import dace
import numpy as np
import sympy
from dace import data as dt
from dace import serialize

from sdgrad.program.custom_call import CustomCall
from sdgrad.program.instructions import Instr, Let, Load
from sdgrad.program.tree import (
    Block,
    Branch,
    Container,
    Leaf,
    Loop,
    Node,
    NodeCall,
    Param,
    Program,
    Region,
    Scope,
    SymbolAssign,
    Value,
    walk,
)

UNIMPORTANT = frozenset(
    {
        *("guid", "debuginfo", "instrument", "orig_sdfg", "transformation_hist"),
        *("_debuginfo", "_packed_c_strides", "_packed_fortran_strides"),
    }
)
"""Properties of DaCe's objects that do not change what they compute."""


def fingerprint(program: Program) -> str:
    """Return a hash of a program; its name, and the user's lines, are no part of it."""
    found = hashlib.sha256()
    for part in _parts(program):
        found.update(part.encode())
        found.update(b"\0")
    return found.hexdigest()


def _parts(program: Program) -> Iterator[str]:
    yield repr((program.arguments, sorted(program.callback_mapping.items())))
    yield repr(sorted((n, d.to_string()) for n, d in program.symbols.items()))
    for name, (desc, value) in sorted(program.constants.items()):
        content = np.asarray(value)
        yield f"{name} {_of_memory(desc)} {content.dtype} {content.shape} {content.tobytes().hex()}"
    local = {c.name for node in walk(program.body) if isinstance(node, Scope) for c in node.locals}
    for container in program.containers.values():
        if container.name not in local:
            yield _of_container(container)
    yield from _of_block(program.body)


def _of_container(container: Container) -> str:
    return f"{container.name} {_of_memory(container.desc)} {container.view_of} {container.view_subset}"


def _of_memory(desc: dt.Data) -> str:
    """Return all that a descriptor of memory says."""
    told = {n: _plain(v) for n, v in vars(desc).items() if n not in UNIMPORTANT}
    return f"{type(desc).__name__} {sorted(told.items())}"


def _plain(value: Any) -> str:
    """Return a property's value as text; of types and enumerations without their addresses."""
    if isinstance(value, dace.typeclass):
        return value.to_string()
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, sympy.Basic):
        return _of_expr(value)
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(_plain, value))}]"
    return str(value)


def _of_block(block: Block) -> Iterator[str]:
    """Yield a block, with its beginning and its end."""
    yield "{"
    for node in block:
        yield from _of_node(node)
    yield "}"


def _of_node(node: Node) -> Iterator[str]:
    if isinstance(node, (Leaf, Scope)):
        params = ", ".join(map(_of_param, node.params))
        yield f"{type(node).__name__} {params} {node.sequential} {node.schedule.name}"
        if isinstance(node, Leaf):
            yield from map(_of_instruction, node.body)
        else:
            yield from map(_of_container, node.locals)
            yield from _of_block(node.body)
    elif isinstance(node, NodeCall):
        yield _of_code(node.node)
        if isinstance(node, CustomCall):
            yield from _of_custom_call(node)
        yield from (f"{n} {_of_region(r)}" for n, r in node.inputs.items())
        yield from (f"-> {n} {_of_region(r)}" for n, r in node.outputs.items())
    elif isinstance(node, SymbolAssign):
        yield f"{node.symbol} {node.dtype.to_string()} := {_of_value(node.value)}"
    elif isinstance(node, Branch):
        for condition, body in node.arms:
            yield f"if {_of_value(condition)}"
            yield from _of_block(body)
    else:
        yield from _of_loop(node)


def _of_custom_call(call: CustomCall) -> Iterator[str]:
    """Yield what a call computes, and the program that is its derivative; rules that are functions have no text."""
    yield repr((call.applied, sorted(call.mentioned), sorted((n, _of_expr(s)) for n, s in call.symbols.items())))
    for name, operand in call.variables.items():
        yield f"{name} {operand.region} {_plain(operand.shape)} {operand.scalar}"
    yield from map(_of_container, call.containers.values())
    yield from _of_block(call.block)
    if call.rule is not None:
        yield repr((call.rule.name, call.rule.parameters, call.rule.results, call.rule.rough))
        if call.rule.adjoint is not None:
            yield repr(sorted(call.rule.adjoint.gradients.items()))
            yield from _parts(call.rule.adjoint.program)


def _of_loop(loop: Loop) -> Iterator[str]:
    ends = " ".join(map(_of_value, (loop.start, loop.stop, loop.step, loop.also)))
    yield f"loop {loop.symbol} {ends} {loop.last}"
    yield from _of_block(loop.body)


def _of_param(param: Param) -> str:
    return f"{param.name}={':'.join(map(_of_expr, (param.start, param.stop, param.step)))}"


def _of_instruction(instruction: Instr) -> str:
    if isinstance(instruction, Let):
        return f"{instruction.name} = {instruction.text}"
    index = ", ".join(map(_of_expr, instruction.index))
    if isinstance(instruction, Load):
        return f"{instruction.name} = {instruction.container}[{index}] if {instruction.guard}"
    how = (instruction.mode, instruction.value, instruction.guard, instruction.fresh, instruction.streamed)
    return f"{instruction.container}[{index}] {how}"


def _of_value(value: Value | None) -> str:
    if value is None:
        return "-"
    return f"{'; '.join(map(_of_instruction, value.loads))}: {ast.unparse(value.expr)}"


def _of_region(region: Region) -> str:
    return f"{region.container}[{region.subset}] {region.wcr}"


def _of_code(node: dace.nodes.CodeNode) -> str:
    """Return the properties of a node that the engine does not look into."""
    told: Mapping[str, Any] = serialize.all_properties_to_json(node)
    own = {n: v for n, v in told.items() if n not in UNIMPORTANT and n != "sdfg"}
    inside = node.sdfg.hash_sdfg() if isinstance(node, dace.nodes.NestedSDFG) else ""
    return f"{type(node).__module__}.{type(node).__qualname__} {json.dumps(own, sort_keys=True, default=str)} {inside}"


@lru_cache(maxsize=1 << 16)
def _of_expr(expr: sympy.Expr) -> str:
    """Return an expression, with what is assumed of its symbols."""
    return f"{expr}{sorted(map(_of_symbol, expr.free_symbols)) if expr.free_symbols else ''}"


@lru_cache(maxsize=1 << 12)
def _of_symbol(symbol: sympy.Symbol) -> str:
    told = f"{symbol} {type(symbol).__name__} {sorted(symbol.assumptions0.items())}"
    return hashlib.sha256(told.encode()).hexdigest()[:8]
