"""Rewrite nodes over other containers and symbols."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial

from dace import data as dt

from sdgrad.program.custom_call import CustomCall
from sdgrad.program.leaves import rename_instr
from sdgrad.program.names import Names
from sdgrad.program.tree import (
    Block,
    Container,
    Expr,
    Instr,
    Leaf,
    Let,
    Load,
    Loop,
    Node,
    NodeCall,
    Param,
    Program,
    Region,
    Scope,
    Store,
    SymbolAssign,
    Value,
    map_blocks,
    rewritten,
    with_values,
)
from sdgrad.program.window import Axis, Window
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import substitute, substitute_range, sym, to_ast, to_expr

Places = Mapping[str, str | Window]  # what containers become: others, or parts of others
Symbols = Mapping[str, Expr]  # what symbols become; those that are assigned become symbols


def renamed(block: Block, places: Places, symbols: Symbols | None = None) -> Block:
    """Return the block over other containers and symbols; names without an entry stay."""
    return tuple(_node(n, places, symbols or {}) for n in block)


def renamed_program(program: Program, places: Mapping[str, str]) -> Program:
    """Return the program with other names for containers, arguments included."""
    containers = [renamed_container(c, places, {}) for c in program.containers.values()]
    return replace(
        program,
        containers={c.name: c for c in containers},
        body=renamed(program.body, places),
        arguments=tuple(places.get(n, n) for n in program.arguments),
    )


def with_distinct_locals(program: Program, names: Names) -> Program:
    """Return the program with another name for each local container that bears the name of one before it."""
    seen: set[str] = set()
    made: dict[str, Container] = {}

    def distinct(node: Node) -> Block:
        """Rename the locals of a scope whose names are taken; any other node unchanged."""
        if not isinstance(node, Scope):
            return (node,)
        places = {c.name: names.fresh(c.name) for c in node.locals if c.name in seen}
        seen.update(c.name for c in node.locals)
        if not places:
            return (node,)
        made.update({places[c.name]: renamed_container(c, places, {}) for c in node.locals if c.name in places})
        return renamed((node,), places)

    body = rewritten(program.body, distinct)
    return replace(program, body=body, containers={**program.containers, **made})


def renamed_container(container: Container, places: Places, symbols: Symbols) -> Container:
    """Return a container with its size and its base in other terms; its own place must be a name."""
    name = places.get(container.name, container.name)
    assert isinstance(name, str)
    base, subset = container.view_of, container.view_subset
    if base is not None and subset is not None:
        region = _region(symbols, places, Region(base, subset))
        base, subset = region.container, region.subset
    return Container(name, sized(container.desc, symbols), base, subset)


def sized(desc: dt.Data, symbols: Symbols) -> dt.Data:
    """Return a copy of a descriptor with its sizes in other terms."""
    new = copy.copy(desc)  # sizes are set anew, never changed in place
    if symbols and isinstance(new, dt.Array):
        shape, strides = (tuple(substitute(to_expr(n), symbols) for n in x) for x in (desc.shape, desc.strides))
        new.set_shape(shape, strides, substitute(to_expr(desc.total_size), symbols))
    return new


def _node(node: Node, places: Places, symbols: Symbols) -> Node:
    """Return a node, and the nodes in it, over other containers and symbols."""
    node = map_blocks(node, lambda b: renamed(b, places, symbols))
    node = with_values(node, partial(_value, places, symbols))
    if isinstance(node, (Leaf, Scope)):
        node = replace(node, params=tuple(_param(p, symbols) for p in node.params))
    if isinstance(node, Leaf):
        symbols = _without(symbols, node.body)
        return replace(node, body=tuple(_instr(i, places, symbols) for i in node.body))
    if isinstance(node, NodeCall):
        return _call(node, places, symbols)
    if isinstance(node, Scope):
        return replace(node, locals=tuple(renamed_container(c, places, symbols) for c in node.locals))
    if isinstance(node, SymbolAssign):
        return replace(node, symbol=_symbol(node.symbol, symbols))
    if isinstance(node, Loop):
        last = places.get(node.last, node.last) if node.last is not None else None
        assert last is None or isinstance(last, str)
        return replace(node, symbol=_symbol(node.symbol, symbols), last=last)
    return node


def _call(node: NodeCall, places: Places, symbols: Symbols) -> NodeCall:
    """Return a node call on other regions."""
    if isinstance(node, CustomCall):
        node = _custom(node, places, symbols)
    region = partial(_region, symbols, places)
    inputs, outputs = (
        {_connector(c, r, region(r), node): region(r) for c, r in x.items()} for x in (node.inputs, node.outputs)
    )
    return replace(node, inputs=inputs, outputs=outputs)


def _connector(connector: str, old: Region, new: Region, node: NodeCall) -> str:
    """Return a connector's name: the operands of custom calls are called like their containers."""
    return new.container if isinstance(node, CustomCall) and connector == old.container else connector


def _custom(call: CustomCall, places: Places, symbols: Symbols) -> CustomCall:
    """Return a custom call over other containers and symbols: its block, variables and operands."""

    def moved(window: Window) -> Window:
        base = tuple(substitute(b, symbols) for b in window.base)
        to = places.get(window.container, window.container)
        if isinstance(to, str):
            return replace(window, container=to, base=base)
        return Window(to.container, to.index(base), tuple(_axis(a, to) for a in window.axes))

    variables = {
        n: replace(o, window=moved(o.window), shape=tuple(substitute(s, symbols) for s in o.shape))
        for n, o in call.variables.items()
    }
    containers = [renamed_container(c, places, symbols) for c in call.containers.values()]
    mentioned = {n for s in call.mentioned for n in map(str, symbols.get(s, sym(s)).free_symbols)}
    return replace(
        call,
        block=renamed(call.block, places, symbols),
        containers={c.name: c for c in containers},
        variables=variables,
        symbols={n: substitute(e, symbols) for n, e in call.symbols.items()},
        mentioned=frozenset(mentioned),
    )


def _axis(axis: Axis | None, window: Window) -> Axis | None:
    """Return an axis of a window on a window; None for a dimension of one element."""
    outer = window.axes[axis.axis] if axis is not None else None
    return Axis(outer.axis, outer.step * axis.step) if outer is not None and axis is not None else None


def _without(symbols: Symbols, body: Iterable[Instr]) -> Symbols:
    """Return symbols without those whose names are values here: no others are meant."""
    own = symbols.keys() & {i.name for i in body if not isinstance(i, Store)}
    return {s: e for s, e in symbols.items() if s not in own} if own else symbols


def _instr(instr: Instr, places: Places, symbols: Symbols) -> Instr:
    """Return an instruction over other containers and symbols."""
    if symbols:
        instr = rename_instr(instr, {}, symbols)
    if isinstance(instr, Let):
        return instr
    return _access(instr, places)


def _access(access: Load | Store, places: Places) -> Load | Store:
    """Return an access of another container, or of a part of one."""
    to = places.get(access.container, access.container)
    if isinstance(to, str):
        return replace(access, container=to) if to != access.container else access
    return replace(access, container=to.container, index=to.index(access.index))


def _value(places: Places, symbols: Symbols, value: Value) -> Value:
    """Return a control value over other containers and symbols."""
    symbols = _without(symbols, value.loads)
    loads = tuple(_instr(x, places, symbols) for x in value.loads)
    expr = code.rename(value.expr, {s: to_ast(e) for s, e in symbols.items()}) if symbols else value.expr
    return Value(loads, expr)  # type: ignore[arg-type]


def _region(symbols: Symbols, places: Places, region: Region) -> Region:
    """Return a region of another container, or of a part of one."""
    subset = substitute_range(region.subset, symbols) if symbols else region.subset
    to = places.get(region.container, region.container)
    if isinstance(to, str):
        return replace(region, container=to, subset=subset)
    return replace(region, container=to.container, subset=to.subset(subset))


def _param(param: Param, symbols: Symbols) -> Param:
    """Return a parameter with its name and range in other terms."""
    if not symbols:
        return param
    return Param(_symbol(param.name, symbols), *(substitute(x, symbols) for x in (param.start, param.stop, param.step)))


def _symbol(symbol: str, symbols: Symbols) -> str:
    """Return the new name of an assigned symbol."""
    return symbols[symbol].name if symbol in symbols else symbol
