"""Edit leaves and their straight-line code: rename, slice, remove dead and repeated instructions."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from dace.symbolic import int_floor

from sdgrad.program.tree import (
    SCALAR,
    Block,
    Expr,
    Instr,
    Leaf,
    Let,
    Load,
    Loop,
    Param,
    Source,
    Store,
    Value,
)
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import free_names, substitute, sym, to_ast


def set_scalar(container: str, value: Value, name: str, source: Source) -> Leaf:
    """Return a leaf that stores a value into a scalar, under a local name."""
    return Leaf((), (*value.loads, Let(name, value.expr), Store(container, SCALAR, name)), source)


def value_of_scalar(container: str, name: str) -> Value:
    """Return the value that a scalar holds, under a local name."""
    return Value((Load(name, container, SCALAR),), code.name(name))


def defined_name(value: ast.expr, body: Sequence[Instr]) -> str | None:
    """Return the name that a value is among the definitions of a body; None of symbols, parameters and expressions."""
    if not isinstance(value, ast.Name):
        return None
    return next((value.id for i in reversed(body) if not isinstance(i, Store) and i.name == value.id), None)


def rename_instr(instr: Instr, names: Mapping[str, str], symbols: Mapping[str, Expr]) -> Instr:
    """Return an instruction with local names renamed and symbols (parameters) replaced by expressions."""
    if isinstance(instr, Let):  # it mentions few of many names: an environment of all would take longer than the rest
        env: dict[str, ast.expr] = {n: code.name(names[n]) for n in instr.names if n in names}
        env |= {n: to_ast(symbols[n]) for n in instr.names if n in symbols}
        own = names.get(instr.name, instr.name)
        return Let(own, code.rename(instr.expr, env)) if env or own != instr.name else instr
    used = instr.index_names
    values = {n: symbols[n] if n in symbols else sym(names[n]) for n in used if n in symbols or n in names}
    index = tuple(substitute(i, values) for i in instr.index) if values else instr.index
    guard = names.get(instr.guard, instr.guard) if instr.guard else None
    if isinstance(instr, Load):
        return Load(names.get(instr.name, instr.name), instr.container, index, guard)
    return replace(instr, index=index, value=names.get(instr.value, instr.value), guard=guard)


def rename_params(leaf: Leaf, params: tuple[Param, ...]) -> tuple[Instr, ...]:
    """Return the leaf's body over other parameters, position by position."""
    env = {old.name: sym(new.name) for old, new in zip(leaf.params, params, strict=False) if old.name != new.name}
    return tuple(rename_instr(i, {}, env) for i in leaf.body) if env else leaf.body


def params_of(access: Load | Store, leaf: Leaf) -> tuple[Param, ...]:
    """Return the parameters an access varies with; all of the leaf's if the ranges of these depend on others."""
    used = access.index_names
    own = tuple(p for p in leaf.params if p.name in used)
    bounds = {n for p in own for n in free_names(p.start, p.stop, p.step)}
    return leaf.params if bounds & {p.name for p in leaf.params} - {p.name for p in own} else own


def backwards(leaf: Leaf) -> Leaf:
    """Return the leaf with its instances in sequence and in reverse order: ``i`` becomes ``start + last - i``."""
    env: dict[str, Expr] = {}
    params = []
    for p in leaf.params:
        start, stop, step = (substitute(x, env) for x in (p.start, p.stop, p.step))
        last = start + int_floor(stop - start, step) * step if step != 1 else stop
        params.append(Param(p.name, start, stop, step))
        env[p.name] = start + last - sym(p.name)
    return replace(leaf, params=tuple(params), body=tuple(rename_instr(i, {}, env) for i in leaf.body), sequential=True)


def as_loops(params: Iterable[Param], block: Block, source: Source) -> Block:
    """Return a block in sequential loops over some parameters."""
    for p in reversed(tuple(params)):
        start, stop, step = (Value((), to_ast(x)) for x in (p.start, p.stop, p.step))
        block = (Loop(p.name, start, stop, step, block, source),)
    return block


def live(body: Iterable[Instr], wanted: set[str]) -> tuple[Instr, ...]:
    """Return the straight-line code that the wanted names and the stores need (dead code elimination)."""
    needed, kept = set(wanted), []
    for instr in reversed(tuple(body)):
        if isinstance(instr, Store) or instr.name in needed:
            needed |= instr.names
            kept.append(instr)
    return tuple(reversed(kept))


def slice_for(body: Iterable[Instr], wanted: set[str]) -> tuple[Instr, ...]:
    """Return the loads and lets that the wanted names need, without any store."""
    return live((i for i in body if not isinstance(i, Store)), wanted)


def same_values(body: Iterable[Instr]) -> dict[str, str]:
    """Return names whose value an earlier name has: the same element, the same expression, or a copy of it."""
    known: dict[tuple, str] = {}
    same: dict[str, str] = {}
    for instr in body:
        instr = rename_instr(instr, same, {}) if instr.names & same.keys() else instr
        if isinstance(instr, Store):
            known = {k: v for k, v in known.items() if k[0] != instr.container}
        elif isinstance(instr, Let) and isinstance(instr.expr, ast.Name):
            same[instr.name] = instr.expr.id
        else:
            key = (
                ("", ast.unparse(instr.expr)) if isinstance(instr, Let) else (instr.container, instr.index, instr.guard)
            )
            if known.setdefault(key, instr.name) != instr.name:
                same[instr.name] = known[key]
    return same


def dedupe(body: Iterable[Instr]) -> tuple[Instr, ...]:
    """Merge loads of one element without a store to its container in between (redundant load elimination)."""
    known: dict[str, dict[tuple, str]] = {}
    names: dict[str, str] = {}
    out: list[Instr] = []
    for instr in body:
        if names:
            instr = rename_instr(instr, names, {}) if instr.names & names.keys() else instr
        if isinstance(instr, Load):
            found = known.setdefault(instr.container, {}).setdefault((instr.index, instr.guard), instr.name)
            if found != instr.name:
                names[instr.name] = found
                continue
        elif isinstance(instr, Store):
            known.pop(instr.container, None)
        out.append(instr)
    return tuple(out)
