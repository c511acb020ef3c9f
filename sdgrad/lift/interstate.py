"""Read symbols between the states of an SDFG: interstate assignments, conditions, and symbols that loops carry.

A symbol gets a fresh name at each assignment (static single assignment). Branches join the names of their arms; loops
carry a symbol from one iteration to the next in a container.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Set

import dace
import sympy
from dace import data as dt

from sdgrad.lift.views import Env, resolve_symbols
from sdgrad.program.leaves import set_scalar, value_of_scalar
from sdgrad.program.tree import (
    SCALAR,
    Block,
    Container,
    Load,
    Node,
    Source,
    SymbolAssign,
    Value,
)
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import Expr, sym, to_ast, to_expr

FLOATS = {dace.float16, dace.float32, dace.float64, dace.complex64, dace.complex128}


def lift_assignment(symbol: str, text: str, sdfg: dace.SDFG, env: Env) -> list[Node]:
    """Read ``symbol := text``: an integer stays a symbol, a real number becomes a scalar container."""
    dtype = env.symbols.get(symbol) or sdfg.symbols.get(symbol) or dace.int64
    value = lift_value(text, env)
    sized = [n for n, d in sdfg.arrays.items() if symbol in map(str, d.free_symbols)]
    if dtype in FLOATS:
        if symbol not in env.float_symbols:
            env.float_symbols[symbol] = env.declare(f"{symbol}_value", dt.Scalar(dtype, transient=True)).name
        return [set_scalar(env.float_symbols[symbol], value, env.names.fresh("v"), Source(label=symbol))]
    if symbol in env.carried:
        put = set_scalar(env.carried[symbol], value, env.names.fresh("v"), Source(label=symbol))
        again = reload({symbol}, env)
        resize(sized, sdfg, env)
        return [put, *again]
    fresh = env.names.fresh(symbol)
    env.values[symbol] = sym(fresh)
    env.symbols[fresh] = dtype
    resize(sized, sdfg, env)
    return [SymbolAssign(fresh, value, dtype)]


def lift_value(text: str | ast.expr, env: Env, carried: Set[str] = frozenset()) -> Value:
    """Read an expression of an interstate edge or a condition: elements of containers become loads.

    :param carried: symbols to read from the containers that loops carry them in.
    """
    in_containers = {**env.float_symbols, **{s: env.carried[s] for s in carried}}
    tree = code.parse(text) if isinstance(text, str) else text
    loads: list[Load] = []

    def element(name: str, index: tuple) -> ast.expr:
        target = env.names.fresh(f"v_{name}")
        window = env.windows[name]
        loads.append(Load(target, window.container, window.index(index)))
        return code.name(target)

    class Elements(ast.NodeTransformer):
        """Replace elements of containers by loads, and symbols by their values."""

        def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            index = tuple(to_expr(ast.unparse(self.visit(p))) for p in parts)
            return element(ast.unparse(node.value), tuple(env.expr(i) for i in index))

        def visit_Name(self, node: ast.Name) -> ast.expr:
            if node.id in in_containers:
                target = env.names.fresh(f"v_{node.id}")
                loads.append(Load(target, in_containers[node.id], SCALAR))
                return code.name(target)
            if node.id in env.windows:
                return element(node.id, SCALAR)
            return to_ast(env.values[node.id]) if node.id in env.values else node

        def visit_Call(self, node: ast.Call) -> ast.expr:
            node.args = [self.visit(a) for a in node.args]
            return node

    result = Elements().visit(copy.deepcopy(tree))
    return Value(tuple(loads), result)


def joins(joined: dict[str, str], end: dict[str, Expr], env: Env) -> Block:
    """Assign the common names of an arm's symbols at its end."""
    out = []
    for symbol, name in joined.items():
        dtype = env.symbols[name] = env.symbols.get(symbol, dace.int64)
        out.append(SymbolAssign(name, Value((), to_ast(end.get(symbol, unassigned(symbol, env)))), dtype))
    return tuple(out)


def unassigned(symbol: str, env: Env) -> Expr:
    """Return the value of a symbol before its first assignment: the caller's, or 0, which nothing reads."""
    return sym(symbol) if symbol in env.free else sympy.Integer(0)


def resize(names: list[str], sdfg: dace.SDFG, env: Env) -> None:
    """Express the shapes of arrays by the current values of their symbols.

    Views are left alone: they are bound anew at each use.
    """
    for name in names:
        if name in env.windows and sdfg.arrays[name].transient and not isinstance(sdfg.arrays[name], dt.View):
            container = env.windows[name].container
            env.containers[container] = Container(container, resolve_symbols(sdfg.arrays[name], env))


def carry(symbol: str, env: Env) -> list[Node]:
    """Move a symbol to a container, which its assignments update from here on."""
    name = env.declare(f"{symbol}_value", dt.Scalar(env.symbols.get(symbol, dace.int64), transient=True)).name
    env.carried[symbol] = name
    start = env.values.get(symbol, unassigned(symbol, env))
    return [set_scalar(name, Value((), to_ast(start)), env.names.fresh("v"), Source(label=symbol))]


def reload(symbols: set[str], env: Env) -> list[Node]:
    """Read carried symbols from their containers under fresh names."""
    out: list[Node] = []
    for symbol in sorted(symbols):
        fresh, v = env.names.fresh(symbol), env.names.fresh("v")
        dtype = env.symbols[fresh] = env.symbols.get(symbol, dace.int64)
        value = value_of_scalar(env.carried[symbol], v)
        env.values[symbol] = sym(fresh)
        out.append(SymbolAssign(fresh, value, dtype))
    return out
