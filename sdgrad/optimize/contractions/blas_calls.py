"""Contractions that BLAS takes become matrix product nodes, with transposes and strides in the operands' views."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence
from dataclasses import replace

import dace
import sympy
from dace import data as dt
from dace import subsets
from dace.libraries.blas import Gemm, Gemv, MatMul

from sdgrad.config import config
from sdgrad.optimize.contractions.recognition import Contraction, known_scale, recognise, split_stores
from sdgrad.optimize.locality.strides import known_trips, steps
from sdgrad.program.leaves import as_loops, live, params_of, rename_instr
from sdgrad.program.names import Names
from sdgrad.program.tree import (
    SCALAR,
    Block,
    Container,
    Expr,
    Instr,
    Leaf,
    Let,
    Load,
    Node,
    NodeCall,
    Param,
    Program,
    Region,
    Scope,
    Store,
    children,
    with_children,
)
from sdgrad.rewrite.identity_leaf import begin
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import free_names, sym

Line = tuple[Param, ...]
"""Parameters of which each walks over all that the next one does: together they are one."""

BLAS_TYPES = (dace.float32, dace.float64, dace.complex64, dace.complex128)


class Matcher:
    """Turns contractions into calls."""

    def __init__(self, program: Program, names: Names, dots: bool = True) -> None:
        self.program, self.names, self.dots = program, names, dots
        self.made: dict[str, Container] = {}
        self.symbols: dict[str, dace.typeclass] = {}  # of loops around calls

    def container(self, what: Load | Store | Region) -> Container:
        return self.made.get(what.container) or self.program.containers[what.container]

    def block(self, block: Block) -> Block:
        return tuple(x for node in block for x in self.node(node))

    def node(self, node: Node) -> list[Node]:
        if isinstance(node, Scope):
            return [node]  # inside a map the loops stay
        if isinstance(node, Leaf):
            return self.leaf(node)
        return [with_children(node, tuple(self.block(b) for b in children(node)))]

    def leaf(self, leaf: Leaf) -> list[Node]:
        """The products among a leaf's accumulations as calls, and the leaf with what is left."""

        def call(alone: Leaf) -> list[Node] | None:
            plain, copies = self.conjugated(alone)
            found = recognise(plain)
            calls = self.product(found) if found is not None else None
            return [*copies, *calls] if calls is not None else None

        return list(split_stores(leaf, self.program, call))

    def conjugated(self, leaf: Leaf) -> tuple[Leaf, list[Node]]:
        """A leaf that reads conjugates where it takes those of elements, and leaves that write them: BLAS has none."""
        loads = {x.name: x for x in leaf.loads if x.guard is None}
        found: dict[str, str] = {}
        copies: list[Node] = []
        reads: list[Instr] = []

        def read(expr: ast.expr) -> ast.expr:
            if not isinstance(expr, ast.Call) or code.callee(expr) != "conj" or not isinstance(expr.args[0], ast.Name):
                return expr
            load = loads.get(expr.args[0].id)
            own = params_of(load, leaf) if load is not None else ()
            if load is None or not own or len(own) == len(leaf.params):
                return expr
            if load.name not in found:
                found[load.name] = v = self.names.fresh("v")
                name = self.names.fresh(f"conj_{load.container}")
                desc = dt.Array(self.container(load).dtype, [p.count for p in own], transient=True)
                self.made[name] = Container(name, desc)
                index = tuple(sym(p.name) - p.start for p in own)
                copies.append(Leaf(own, (load, Let(v, expr), Store(name, index, v)), leaf.source))
                reads.append(Load(v, name, index))
            return code.name(found[load.name])

        body = [replace(i, expr=code.bottom_up(i.expr, read)) if isinstance(i, Let) else i for i in leaf.body]
        if not copies:
            return leaf, []
        return replace(leaf, body=live((*reads, *body), set())), copies

    def product(self, c: Contraction) -> list[Node] | None:
        roles = self.roles(c)
        if roles is None:
            return None
        batch, *others = roles
        lines = [self.lines(role, c, both) for role, both in zip(others, of_roles(c), strict=True)]
        spare = [self.spare(role, c) if line is None else [] for role, line in zip(others, lines, strict=True)]
        if outer := [*self.spare(batch, c), *(p for role in spare for p in role)]:
            return self.looped(c, outer, bool(spare[2]))
        containers = [self.container(x) for x in (c.store, c.a, c.b)]
        if (
            len({x.dtype for x in containers}) != 1
            or containers[0].dtype not in BLAS_TYPES
            or not self.worth(c.leaf.params)
        ):
            return None
        m, n, k = (line if line is not None else [(p,) for p in role] for line, role in zip(lines, others, strict=True))
        first = [(p,) for p in batch]
        if batch and not (m and n) or not self.dots and not (m or n):
            return None
        if m and not n or n and not m:
            return self.matrix_vector(c, (c.a, c.b) if m else (c.b, c.a), (m or n)[0], k[0])
        if m and n and steps(c.store, m[0][-1], self.program) == 1:  # the result as it lies in memory
            c, m, n = replace(c, a=c.b, b=c.a), n, m
        a = self.operand(c.a, (*first, *m, *k))
        b = self.operand(c.b, (*first, *k, *n))
        if a is None or b is None:
            return None
        alpha = known_scale(c.scale)
        if alpha is not None and m and not batch and not (c.store.fresh and c.scale is None):
            target = self.operand(c.store, (*m, *n))
            if target is not None:
                return [self.update(a, b, target, c, alpha)]
        if not c.store.fresh or c.scale is not None:
            return self.added(c, a, b, (*first, *m, *n))
        out = self.operand(c.store, (*first, *m, *n)) if (*first, *m, *n) else self.scalar(c.store)
        return [self.call(a, b, out, c)] if out is not None else None

    def matrix_vector(self, c: Contraction, factors: tuple[Load, Load], row: Line, column: Line) -> list[Node] | None:
        """A matrix times a vector. The matrix is passed as it lies in memory, with a flag if that is its transpose."""
        matrix, vector = (self.operand(x, p) for x, p in zip(factors, ((row, column), (column,)), strict=True))
        transposed = False
        if matrix is None or self.unit_rows(matrix) is False:
            matrix, transposed = self.operand(factors[0], (column, row)), True
        if matrix is None or vector is None or not self.unit_rows(matrix):
            return None
        alpha, out = known_scale(c.scale), self.operand(c.store, (row,))
        if alpha is None or out is None:
            return self.added(c, matrix, vector, (row,), Gemv("matvec", transA=transposed))
        given = {"_A": matrix, "_x": vector} if c.store.fresh else {"_A": matrix, "_x": vector, "_y": out}
        node = Gemv("matvec", transA=transposed, alpha=alpha, beta=0 if c.store.fresh else 1)
        return [NodeCall(node, given, {"_y": out}, c.leaf.source)]

    def unit_rows(self, region: Region) -> bool:
        """Whether the last dimension of an operand is contiguous."""
        container = self.container(region)
        return container.desc.strides[-1] == 1

    def roles(self, c: Contraction) -> tuple[list[Param], ...] | None:
        """Parameters by role: batch, rows, columns, summed; None where BLAS has no such product."""
        used = {x: free_names(*x.index) for x in (c.store, c.a, c.b)}
        batch: list[Param] = []
        m: list[Param] = []
        n: list[Param] = []
        k: list[Param] = []
        for p in c.leaf.params:
            if p.step != 1 or free_names(p.start, p.stop) & {q.name for q in c.leaf.params}:
                return None
            where = (p.name in used[c.store], p.name in used[c.a], p.name in used[c.b])
            role = {
                (True, True, True): batch,
                (True, True, False): m,
                (True, False, True): n,
                (False, True, True): k,
            }.get(where)
            if role is None:
                return None
            role.append(p)
        return (batch, m, n, k) if k else None

    def spare(self, role: list[Param], c: Contraction) -> list[Param]:
        """The parameters of a role that a call has no place for: all but the one that walks through memory best."""

        def quality(p: Param) -> tuple[int, int]:
            near = sum(steps(x, p, self.program) == 1 for x in (c.store, c.a, c.b))
            return near, known_trips(p)

        best = max(role, key=quality, default=None)
        return [p for p in role if p is not best]

    def lines(self, role: list[Param], c: Contraction, both: Sequence[Load | Store]) -> list[Line] | None:
        """The parameters of a role as one, if they walk through what mentions them as one would; else None."""

        def follows(p: Param, q: Param, x: Load | Store) -> bool:
            wide, narrow = (steps(x, r, self.program) for r in (p, q))
            return wide is not None and narrow is not None and wide == narrow * q.count

        together = all(follows(p, q, x) for p, q in itertools.pairwise(role) for x in both)
        return ([tuple(role)] if role else []) if together else None

    def looped(self, c: Contraction, outer: list[Param], summed: bool) -> list[Node] | None:
        """Calls in loops over parameters that a call has no place for."""
        leaf, begun = c.leaf, []
        if summed and c.store.fresh:
            begun = [begin(c.store, leaf, code.constant(0), self.names.fresh("v"))]
            leaf = replace(leaf, body=tuple(replace(i, fresh=False) if i is c.store else i for i in leaf.body))
        named = {p.name: sym(self.names.fresh(p.name)) for p in outer}
        inner = tuple(p for p in leaf.params if p not in outer)
        body = tuple(rename_instr(i, {}, named) for i in leaf.body)
        found = recognise(replace(leaf, params=inner, body=body))
        calls = self.product(found) if found is not None else None
        if calls is None:
            return None
        loops = [replace(p, name=str(named[p.name])) for p in outer]
        self.symbols |= {p.name: dace.int64 for p in loops}
        return [*begun, *as_loops(loops, tuple(calls), leaf.source)]

    def worth(self, params: tuple[Param, ...]) -> bool:
        work: Expr = sympy.Integer(1)
        for p in params:
            work = work * p.count
        return not work.is_number or int(work) >= config.machine.blas_multiplications

    def operand(self, access: Load | Store, grouped: Sequence[Line]) -> Region | None:
        """An access as an array over lines of parameters: the container itself, or a strided view of it."""
        params = [p for line in grouped for p in line]
        container = self.container(access)
        strides = list(container.desc.strides) if isinstance(container.desc, dt.Array) else [1]
        place = sympy.expand(sum((i * n for i, n in zip(access.index, strides, strict=True)), sympy.Integer(0)))
        steps = [place.coeff(sym(line[-1].name)) for line in grouped]
        own = [sym(p.name) for p in params]
        if params and sympy.expand(place - sum(place.coeff(x) * x for x in own)).has(*own):
            return None
        shape = [sympy.prod([p.count for p in line]) for line in grouped]
        if any(n.is_nonpositive for n in steps) or len(grouped) > 1 and 1 not in steps[-2:]:
            return None
        first = {sym(p.name): p.start for p in params}
        start = [sympy.expand(i.subs(first)) for i in access.index]
        last = {sym(p.name): p.stop for p in params}
        stop = [sympy.expand(i.subs(last)) for i in access.index]
        slanted = any(len(free_names(i) & {p.name for p in params}) > 1 for i in access.index)
        subset = subsets.Range([(b, b if slanted else e, 1) for b, e in zip(start, stop, strict=False)])
        if list(container.shape) == shape and strides == steps and all(s == 0 for s in start):
            return Region(container.name, subset)
        view = dt.ArrayView(container.dtype, shape, strides=steps, storage=container.desc.storage, transient=True)
        name = self.names.fresh(f"operand_{container.name}")
        self.made[name] = Container(name, view, container.name, subset)
        return Region(name, subsets.Range([(0, s - 1, 1) for s in shape]))

    def scalar(self, store: Store) -> Region | None:
        return Region(store.container, subsets.Range([(i, i, 1) for i in store.index]))

    def call(self, a: Region, b: Region, out: Region, c: Contraction, node: Gemv | None = None) -> NodeCall:
        if node is not None:
            return NodeCall(node, {"_A": a, "_x": b}, {"_y": out}, c.leaf.source)
        return NodeCall(MatMul("matmul"), {"_a": a, "_b": b}, {"_c": out}, c.leaf.source)

    def update(self, a: Region, b: Region, out: Region, c: Contraction, alpha: complex) -> NodeCall:
        """``out (+)= alpha * a @ b``."""
        given = {"_a": a, "_b": b} if c.store.fresh else {"_a": a, "_b": b, "_c": out}
        return NodeCall(Gemm("matmul", alpha=alpha, beta=0 if c.store.fresh else 1), given, {"_c": out}, c.leaf.source)

    def added(
        self, c: Contraction, a: Region, b: Region, lines: tuple[Line, ...], node: Gemv | None = None
    ) -> list[Node] | None:
        """A product that is added to what is there, or multiplied by what only a run knows: in two steps."""
        dtype = self.container(c.store).dtype
        shape = [sympy.prod([p.count for p in line]) for line in lines] or [sympy.Integer(1)]
        tmp = Container(self.names.fresh(f"product_{c.store.container}"), dt.Array(dtype, shape, transient=True))
        self.made[tmp.name] = tmp
        whole = Region(tmp.name, subsets.Range([(0, s - 1, 1) for s in shape]))
        v = self.names.fresh("v")
        index = tuple(_position(line) for line in lines) or SCALAR
        body: list[Instr] = [Load(v, tmp.name, index)]
        if c.scale is not None:
            v = self.names.fresh("v")
            body += [*c.constants, Let(v, code.binary(ast.Mult, c.scale, code.name(body[0].name)))]  # type: ignore[union-attr]
        body.append(Store(c.store.container, c.store.index, v, "set" if c.store.fresh else "sum"))
        return [self.call(a, b, whole, c, node), Leaf(tuple(itertools.chain(*lines)), tuple(body), c.leaf.source)]


def of_roles(c: Contraction) -> tuple[tuple[Load | Store, Load | Store], ...]:
    """What mentions the parameters of rows, of columns, and those that are summed over."""
    return (c.store, c.a), (c.store, c.b), (c.a, c.b)


def _position(line: Line) -> Expr:
    """Where an instance is among all of a line."""
    place: Expr = sympy.Integer(0)
    for p in line:
        place = place * p.count + sym(p.name) - p.start
    return place


def use_blas(program: Program, names: Names, dots: bool = True) -> Program:
    """The program with its matrix products as calls.

    :param dots: products of two vectors as well.
    """
    matcher = Matcher(program, names, dots)
    body = matcher.block(program.body)
    containers, symbols = {**program.containers, **matcher.made}, {**program.symbols, **matcher.symbols}
    return replace(program, body=body, containers=containers, symbols=symbols)
