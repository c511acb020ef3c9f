"""Count negative subscripts from the end of the array, as NumPy does.

The ranges of subscripts follow from loop bounds, as integer sets (Verdoolaege, isl, 2010). A subscript that is always
negative gets the size added. One that only a run knows is tested there. What certainly reaches beyond the array is
refused, because NumPy would cut a slice off there. In a loop
over ``i`` in ``0 .. 2``, ``x[i - 3]`` becomes ``x[Mod(n + i - 3, n)]``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

import dace
import islpy as isl
import sympy

from sdgrad.analysis.access_relations import NotAffine, access_relation, value_expr
from sdgrad.analysis.enclosing import Place, dims_of, places
from sdgrad.analysis.paths import Path
from sdgrad.errors import ParseError
from sdgrad.program.names import Names
from sdgrad.program.naming import all_names
from sdgrad.program.symbols import assigned_symbols
from sdgrad.program.tree import (
    Block,
    Branch,
    Instr,
    Leaf,
    Let,
    Load,
    Loop,
    Node,
    Param,
    Program,
    Scope,
    Store,
    SymbolAssign,
    Value,
    children,
    rewritten,
    walk,
    with_children,
)
from sdgrad.runtime.libraries.checkpoint_schedule import schedule_calls
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import Expr, free_names, sym

MOST = 1 << 60


def within_arrays(program: Program) -> Program:
    """Rewrite negative subscripts to count from the end of the array.

    :raises ParseError: a slice certainly begins before its array or ends beyond it, or an index is out of range.
    """
    wrapped: dict[Path, Leaf] = {}
    names = all_names(program)
    chosen = _of_places(program)
    for place, node in places(program.body):
        if not isinstance(node, Leaf):
            continue
        body = tuple(
            _within(i, node, place, program) if isinstance(i, (Load, Store)) and i.container not in chosen else i
            for i in node.body
        )
        leaf = _from_the_end(replace(node, body=body), program, names)
        if leaf != node:
            wrapped[place.path] = leaf
    if wrapped:
        program = replace(program, body=replaced_at(program.body, (), wrapped))
    return _symbols_from_the_end(program, names)


def _of_places(program: Program) -> set[str]:
    """Return what loops with checkpoints keep: a schedule chooses its places, of which there may be others later."""
    starts = (n for n in schedule_calls(walk(program.body)) if n.node.is_start)
    return {r.container for n in starts for r in n.outputs.values()}


def _symbols_from_the_end(program: Program, names: Names) -> Program:
    """Give symbols that are read from data, and used as subscripts, a nonnegative counterpart for each size."""
    data = assigned_symbols(program.body)
    made: dict[str, dict[Expr, str]] = {}

    def from_the_end(node: Node) -> Block:
        """Use the counterparts in a leaf; any other node unchanged."""
        if not isinstance(node, Leaf):
            return (node,)
        body = (i if isinstance(i, Let) else _with_counterparts(i, data, made, names, program) for i in node.body)
        return (replace(node, body=tuple(body)),)

    body = rewritten(program.body, from_the_end)
    if not made:
        return program
    symbols = {n: program.symbols.get(s, dace.int64) for s, own in made.items() for n in own.values()}
    body = rewritten(body, lambda node: _assigned(node, made))
    return replace(program, body=body, symbols={**program.symbols, **symbols})


def _with_counterparts(
    access: Load | Store, data: set[str], made: dict[str, dict[Expr, str]], names: Names, program: Program
) -> Load | Store:
    """Return an access with the symbols in its subscript replaced by counterparts, which ``made`` collects by size."""
    found = list(access.index)
    for k, (expr, size) in enumerate(zip(found, program.containers[access.container].shape, strict=True)):
        name = getattr(expr, "name", "")
        if name in data:
            own = made.setdefault(name, {})
            if size not in own:
                own[size] = names.fresh(f"{name}_at")
            found[k] = sym(own[size])
    return replace(access, index=tuple(found))


def _assigned(node: Node, made: Mapping[str, Mapping[Expr, str]]) -> Block:
    """Return a symbol assignment followed by those of its counterparts; any other node unchanged."""
    if not isinstance(node, SymbolAssign) or node.symbol not in made:
        return (node,)
    # arithmetic instead of a choice: symbol assignments hold no conditions
    below = f"min(1, max(0, -{node.symbol}))"
    found = ((n, code.parse(f"{node.symbol} + ({size}) * {below}")) for size, n in made[node.symbol].items())
    return (node, *(SymbolAssign(n, Value((), expr), node.dtype) for n, expr in found))


def _from_the_end(leaf: Leaf, program: Program, names: Names) -> Leaf:
    """Add the size to subscripts that a leaf loads from data, where they are negative."""
    known = {i.name for i in leaf.loads if i.guard is None}
    out: list[Instr] = []
    made: dict[tuple[str, Expr], str] = {}
    for instr in leaf.body:
        if isinstance(instr, (Load, Store)):
            shape = program.containers[instr.container].shape
            index = []
            for expr, size in zip(instr.index, shape, strict=True):
                name = getattr(expr, "name", "")
                if name not in known:
                    index.append(expr)
                    continue
                if (name, size) not in made:
                    made[name, size] = names.fresh(f"{name}_at")
                    out.append(Let(made[name, size], code.parse(f"{name} + ({size}) if {name} < 0 else {name}")))
                index.append(sym(made[name, size]))
            instr = replace(instr, index=tuple(index)) if tuple(index) != instr.index else instr
        out.append(instr)
    return replace(leaf, body=tuple(out)) if made else leaf


def replaced_at(block: Block, path: Path, by: Mapping[Path, Node]) -> Block:
    """Replace the nodes at some paths of a block, which itself is at a path of the program."""
    out: list[Node] = []
    for k, node in enumerate(block):
        here = (*path, k)
        inner = tuple(replaced_at(b, (*here, arm), by) for arm, b in enumerate(children(node)))
        out.append(by.get(here) or with_children(node, inner))
    return tuple(out)


def _within(access: Load | Store, leaf: Leaf, place: Place, program: Program) -> Load | Store:
    """Rewrite the subscripts of an access; the access unchanged under a guard."""
    shape = program.containers[access.container].shape
    if access.guard is not None:
        return access
    index = [_index(e, n, access, leaf, place) for e, n in zip(access.index, shape, strict=True)]
    return replace(access, index=tuple(index)) if index != list(access.index) else access


def _index(expr: Expr, size: Expr, access: Load | Store, leaf: Leaf, place: Place) -> Expr:
    """Rewrite one subscript, as far as the bounds of the loops around tell its range.

    :raises ParseError: the subscript is out of range in an iteration that certainly runs.
    """
    certain = _runs_in_every_iteration(place)
    if certain:
        _refuse_negative_end(expr, access, leaf, place)
    parallel = _parallel_params(leaf, place)
    used = free_names(expr)
    if not _is_computed_by_loops(used, parallel, leaf):
        return expr
    expr = _without_remainders(expr, leaf, place)
    found = _values(expr, leaf, place, True) if size.is_number else None
    if found is None:  # bounds are known only at run time: loop variables are taken to be nonnegative
        plain = isinstance(expr, sympy.Symbol) or used & parallel or is_positive(expr, leaf, place)
        return expr if plain else sympy.Mod(expr + size, size)
    if found.is_subset(_interval(0, int(size))):
        return expr
    if not used & parallel and found.is_subset(_interval(-int(size), int(size))):
        return sympy.Mod(expr + size, size)
    if not certain:
        return expr
    raise ParseError(
        f"{leaf.source}: a slice or an index of '{access.container}' reaches beyond its array, of {size} elements, "
        "in some trip of a loop. Slices are not cut off there: write min(.., the array's size) for their end"
    )


def _runs_in_every_iteration(place: Place) -> bool:
    """True if no branch and no early exit of a loop can keep the node from running."""
    return not any(isinstance(n, Branch) or isinstance(n, Loop) and n.also is not None for _, n in place.outer)


def _parallel_params(leaf: Leaf, place: Place) -> set[str]:
    """Return the parameters of a leaf and of the maps around it."""
    return {p.name for p in leaf.params} | {d.name for _, n in place.outer if isinstance(n, Scope) for d in dims_of(n)}


def _is_computed_by_loops(used: set[str], parallel: set[str], leaf: Leaf) -> bool:
    """True if a subscript varies with sequential loops or symbols, and not with data.

    The range of a parameter in the subscript counts as well.
    """
    ranges = {n for p in leaf.params if p.name in used for n in free_names(p.start, p.stop)}
    return bool((used | ranges) - parallel) and not used & leaf.defined


def _without_remainders(expr: Expr, leaf: Leaf, place: Place) -> Expr:
    """Simplify ``Mod(k, n)`` to ``k`` where ``k`` is known to be in range."""
    for found in expr.atoms(sympy.Mod):
        inner, size = found.args
        values = _values(inner, leaf, place, True) if size.is_Integer and size > 0 else None
        if values is not None and values.is_subset(_interval(0, int(size))):
            expr = expr.subs(found, inner)
    return expr


def is_positive(expr: Expr, leaf: Leaf, place: Place) -> bool:
    """True if an expression is never negative, as far as the lower bounds of loops tell."""
    dims: list[tuple[str, Param | None]] = []
    for _, node in place.outer:
        for d in dims_of(node):
            dims.append((d.name, d.param or _from_below(node)))
    dims += [(p.name, p) for p in leaf.params]
    try:
        found = access_relation((expr,), dims, frozenset(), 1)
    except NotAffine:
        return False
    return bool(found.elements.intersect(_interval(-MOST, 0)).is_empty())


def _from_below(node: Node) -> Param | None:
    """Return the iterations of a loop of which only the lower bound is known. None if that is not known either."""
    if not isinstance(node, Loop):
        return None
    start, step = value_expr(node.start), value_expr(node.step)
    stop = value_expr(node.stop) if node.stop is not None else None
    if step is None or not step.is_number:
        return None
    least = start if step > 0 else stop
    return Param(node.symbol, least, sympy.Integer(MOST), sympy.Integer(1)) if least is not None else None


def _refuse_negative_end(expr: Expr, access: Load | Store, leaf: Leaf, place: Place) -> None:
    """Refuse a slice such as ``x[: k - 3]`` with an end that a loop makes negative.

    :raises ParseError: the end is negative in some iteration.
    """
    for p in leaf.params:
        if p.step == 1 and expr.coeff(_symbol(expr, p.name)) == 1:
            end = expr.subs(_symbol(expr, p.name), p.stop + 1)
            found = _values(end, leaf, place, False)
            if found is not None and not found.is_subset(_interval(0, MOST)):
                raise ParseError(
                    f"{leaf.source}: a slice of '{access.container}' has a negative end in some trip of a loop. Bounds "
                    "that a loop computes are not counted from the array's end: add its size"
                )


def _symbol(expr: Expr, name: str) -> sympy.Symbol:
    """Return the symbol of a name in an expression, with its assumptions."""
    return next((s for s in expr.free_symbols if s.name == name), sympy.Symbol(name))


def _values(expr: Expr, leaf: Leaf, place: Place, own: bool) -> isl.Set | None:
    """Return the values of an expression over all iterations. None if they are not known exactly."""
    local = leaf.defined
    params = leaf.params if own else ()
    dims = [(d.name, d.param) for d in place.dims] + [(p.name, p) for p in params]
    found = access_relation((expr,), dims, local, 1)
    return found.elements if found.exact and found.map.dim(isl.dim_type.param) == 0 else None


@lru_cache(maxsize=1 << 12)
def _interval(first: int, end: int) -> isl.Set:
    """Return the integers from ``first`` up to ``end``, excluded."""
    return isl.Set(f"{{ [e0] : {first} <= e0 < {end} }}")
