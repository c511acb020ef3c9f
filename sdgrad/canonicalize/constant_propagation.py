"""Propagate integer constants and copies into bounds and subscripts (Wegman & Zadeck 1991).

``n = A.shape[0]; for i in range(n - 1): k = i + 1; ...`` reaches the tree as one-element containers that bounds and
subscripts are read from. Their values become expressions over constants, loop variables and symbols with a single
assignment, so that dependence analysis sees affine loops and accesses. A value that a loop or branch changes stays in
memory; at the top level it gets a symbol.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from functools import cached_property

import dace
from dace import data as dt

from sdgrad.program.leaves import rename_instr, value_of_scalar
from sdgrad.program.names import Names
from sdgrad.program.naming import all_names
from sdgrad.program.symbols import assigned_once, assigned_symbols, used_symbols
from sdgrad.program.tree import (
    Block,
    Branch,
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
    children,
    map_blocks,
    values,
    walk,
    with_children,
    writes,
)
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import substitute, substitute_range, sym, to_ast, to_expr

AFFINE = (ast.Add, ast.Sub, ast.Mult)
EXTREMES = {"min", "max"}


def known_integers(program: Program) -> Program:
    """Replace the integer scalars in bounds, conditions and subscripts by expressions, where these are known."""
    tracked = _integer_scalars(program)
    if not tracked and not any(isinstance(n, SymbolAssign) for n in walk(program.body)):
        return program
    used = {x.container for n in walk(program.body) for v in values(n) for x in v.loads} & tracked
    written = {w for n in program.body for w in writes(n)}
    once = assigned_once(program.body)
    walker = _Walker(program, tracked, used, once, all_names(program), dict(program.symbols))
    start = tuple(walker.promote(name) for name in sorted(used & set(program.arguments) - written))
    body = walker.block(program.body)
    containers = {**program.containers, **_substituted_views(program, walker.means)}
    program = replace(program, containers=containers, symbols=walker.symbols)
    return replace(program, body=drop_unused_symbols(start + body, program))


def _integer_scalars(program: Program) -> set[str]:
    """Return the integer containers of one element that no view shares."""
    viewed = {r for c in program.containers.values() if c.view_of for r in (c.name, c.view_of)}
    return {n for n, c in program.containers.items() if _is_integer_scalar(c)} - viewed


def _is_integer_scalar(container: Container) -> bool:
    """True if a container holds one integer."""
    plain = container.shape in ((), (1,)) and isinstance(container.desc, (dt.Array, dt.Scalar))
    return plain and container.dtype in dace.dtypes.INTEGER_TYPES


def _substituted_views(program: Program, means: Mapping[str, Expr]) -> dict[str, Container]:
    """Return the views with symbols replaced by their values."""
    views = {n: c for n, c in program.containers.items() if c.view_subset is not None and means}
    return {n: replace(c, view_subset=substitute_range(c.view_subset, means)) for n, c in views.items()}


def drop_unused_symbols(block: Block, program: Program) -> Block:
    """Remove assignments of symbols that nothing uses, to a fixpoint."""
    while assigned := assigned_symbols(block):
        used = {s for node in block for s in used_symbols(node, program)}
        used |= {s for c in program.containers.values() for s in c.symbols}
        used |= {str(s) for c in program.containers.values() if c.view_subset for s in c.view_subset.free_symbols}
        kept = _without(block, assigned - used)
        if kept == block:
            break
        block = kept
    return block


def _without(block: Block, symbols: Set[str]) -> Block:
    """Remove the assignments of some symbols."""
    return tuple(
        map_blocks(n, lambda b: _without(b, symbols)) if children(n) else n
        for n in block
        if not (isinstance(n, SymbolAssign) and n.symbol in symbols)
    )


@dataclass
class _Walker:
    """The forward walk over a program, with what is known at each point.

    :param tracked: integer scalars.
    :param used: those that bounds, conditions and symbols are read from.
    :param once: symbols with a single assignment.
    """

    program: Program
    tracked: set[str]
    used: set[str]
    once: frozenset[str]
    names: Names
    symbols: dict[str, dace.typeclass]
    held: dict[str, Expr] = field(default_factory=dict)  # known contents of containers
    means: dict[str, Expr] = field(default_factory=dict)  # symbols with a known value
    equal: dict[tuple[str, str], str] = field(
        default_factory=dict
    )  # available expressions: the first symbol with each value and type
    inside: int = 0  # depth of loops, maps and branches

    @cached_property
    def changing(self) -> set[str]:
        """Return the symbols with several assignments."""
        return assigned_symbols(self.program.body) - self.once

    def promote(self, container: str) -> SymbolAssign:
        """Assign the current content of a container to a fresh symbol."""
        symbol, v = self.names.fresh(f"{container}_value"), self.names.fresh("v")
        dtype = self.program.containers[container].dtype
        self.symbols[symbol] = dtype
        self.held[container] = sym(symbol)
        return SymbolAssign(symbol, value_of_scalar(container, v), dtype)

    def block(self, block: Block) -> Block:
        """Propagate through a block. At the top level, an unknown value gets a symbol right after it is written."""
        out: list[Node] = []
        for node in block:
            out.append(self.node(node))
            if not self.inside:
                lost = sorted(writes(node) & self.used - self.held.keys())
                out += [self.promote(name) for name in lost]
        return tuple(out)

    def node(self, node: Node) -> Node:
        """Propagate through a node."""
        if isinstance(node, Leaf):
            return self.leaf(node)
        if isinstance(node, SymbolAssign):
            return self.assign(node)
        if isinstance(node, NodeCall):
            self.forget(node)
            inputs, outputs = ({c: self.region(r) for c, r in x.items()} for x in (node.inputs, node.outputs))
            return replace(node, inputs=inputs, outputs=outputs)
        if isinstance(node, Branch):
            return self.branch(node)
        return self.repeated(node)

    def forget(self, node: Node) -> None:
        """Forget the containers that a node writes."""
        for name in writes(node):
            self.held.pop(name, None)

    # -- expressions in terms of known values
    def expr(self, expr: Expr) -> Expr:
        """Return an expression with known symbols replaced."""
        return substitute(expr, self.means)

    def region(self, region: Region) -> Region:
        """Return a region with known symbols replaced."""
        return replace(region, subset=substitute_range(region.subset, self.means)) if self.means else region

    def param(self, p: Param) -> Param:
        """Return a parameter with known symbols replaced."""
        return Param(p.name, self.expr(p.start), self.expr(p.stop), self.expr(p.step)) if self.means else p

    def value(self, value: Value) -> Value:
        """Return a condition, bound or right-hand side with known containers and symbols replaced."""
        env = {x.name: to_ast(self.held[x.container]) for x in value.loads if x.container in self.held}
        env |= {s: to_ast(e) for s, e in self.means.items() if s in code.names_in(value.expr)}
        index = {n: to_expr(ast.unparse(e)) for n, e in env.items()}
        loads = tuple(
            replace(x, index=tuple(substitute(i, {**self.means, **index}) for i in x.index))
            for x in value.loads
            if x.container not in self.held
        )
        return Value(loads, code.rename(value.expr, env))

    # -- nodes
    def assign(self, node: SymbolAssign) -> Node:
        """Propagate through an assignment: record an affine value, or an equal symbol assigned before."""
        value = self.value(node.value)
        expr = None if value.loads else integer_expression(value.expr, {}, set())
        if expr is not None and node.symbol in self.once:
            self.means[node.symbol] = expr
        elif node.symbol in self.once and not value.loads and not code.names_in(value.expr) & self.changing:
            first = self.equal.setdefault((ast.unparse(value.expr), node.dtype.to_string()), node.symbol)
            if first != node.symbol:
                self.means[node.symbol] = sym(first)
        return replace(node, value=value)

    def leaf(self, leaf: Leaf) -> Leaf:
        """Propagate through a leaf: loads of known containers become expressions, and so do subscripts with them."""
        body: list[Instr] = []
        local: dict[str, Expr] = {}
        unknown: set[str] = set()  # names whose value is known only when the leaf runs
        params = tuple(self.param(p) for p in leaf.params)
        for instr in leaf.body:
            instr = rename_instr(instr, {}, self.means) if self.means else instr
            if isinstance(instr, Load) and instr.container in self.held and instr.guard is None:
                local[instr.name] = self.held[instr.container]
                instr = Let(instr.name, to_ast(local[instr.name]))
            elif isinstance(instr, Let):
                known = integer_expression(instr.expr, local, unknown)
                if known is not None:
                    local[instr.name] = known
            else:
                instr = replace(instr, index=tuple(substitute(i, local) for i in instr.index))
                if isinstance(instr, Store):
                    self.store(instr, local, leaf)
            if not isinstance(instr, Store) and instr.name not in local:
                unknown.add(instr.name)
            body.append(instr)
        return replace(leaf, params=params, body=tuple(body))

    def store(self, store: Store, local: Mapping[str, Expr], leaf: Leaf) -> None:
        """Record the integer that a scalar holds after an unconditional store; forget it after any other."""
        self.held.pop(store.container, None)
        plain = not leaf.params and store.mode == "set" and store.guard is None
        if plain and store.container in self.tracked and store.value in local:
            self.held[store.container] = local[store.value]

    def branch(self, node: Branch) -> Branch:
        """Propagate through the arms of a branch; afterwards, only what all arms agree on is known."""
        arms, ends = [], []
        before, means, equal = dict(self.held), dict(self.means), dict(self.equal)
        for condition, body in node.arms:
            test = self.value(condition) if condition is not None else None
            self.held = dict(before)
            self.inside += 1
            arms.append((test, self.block(body)))
            self.inside -= 1
            ends.append(self.held)
            self.means, self.equal = dict(means), dict(equal)
        if all(c is not None for c, _ in node.arms):
            ends.append(before)
        self.held = {k: v for k, v in ends[0].items() if all(e.get(k) == v for e in ends[1:])}
        return replace(node, arms=tuple(arms))

    def repeated(self, node: Loop | Scope) -> Node:
        """Propagate through a loop or scope: what its body writes is known neither inside nor after it."""
        if isinstance(node, Loop):
            stop = self.value(node.stop) if node.stop is not None else None
            node = replace(node, start=self.value(node.start), stop=stop, step=self.value(node.step))
        if isinstance(node, Scope):
            node = replace(node, params=tuple(self.param(p) for p in node.params))
        self.forget(node)
        if isinstance(node, Loop) and node.also is not None:
            node = replace(node, also=self.value(node.also))
        self.inside += 1
        before, means, equal = dict(self.held), dict(self.means), dict(self.equal)
        node = with_children(node, (self.block(node.body),))  # type: ignore[assignment]
        self.held, self.means, self.equal = before, means, equal
        self.inside -= 1
        return node


def integer_expression(expr: ast.expr, local: Mapping[str, Expr], unknown: Set[str]) -> Expr | None:
    """Return an affine expression, ``min`` and ``max`` included, as a subscript. None for any other expression.

    :param local: the meaning of local names.
    :param unknown: names whose value is not known before the leaf runs.
    """
    if code.names_in(expr) & unknown or not all(_is_affine(part) for part in code.walk_values(expr)):
        return None
    return substitute(to_expr(ast.unparse(expr)), local)


def _is_affine(part: ast.AST) -> bool:
    """True if a part of an expression may stand in a subscript."""
    if isinstance(part, ast.Constant):
        return type(part.value) is int
    if isinstance(part, ast.BinOp):
        return isinstance(part.op, AFFINE)
    if isinstance(part, ast.UnaryOp):
        return isinstance(part.op, (ast.USub, ast.UAdd))
    if isinstance(part, ast.Call):
        return code.callee(part) in EXTREMES
    return isinstance(part, ast.Name)
