"""Replace contractions by calls of BLAS: matrix products, matrix-vector products and dot products.

A contraction (:mod:`sdgrad.optimize.contractions.recognition`) becomes a library node. Transpositions, strides and
offsets of its operands become views, so that nothing is copied (Goto & van de Geijn 2008 on why such calls pay)::

    map i=0:64, j=0:64, k=0:64:
      a = A[k, i]
      b = B[k, j]                      operand_A: view of A with swapped strides
      v = a * b
      C[i, j] += v (fresh)      ->     call MatMul(_a=operand_A[..], _b=B[..]) -> _c=C[..]

A call has one dimension for rows, one for columns and one for the sum, and one for batches. Further parameters become
loops around the call. The pass leaves a leaf alone if it multiplies less than ``config.machine.blas_multiplications``
times, if the element types differ or are none of BLAS, or if no operand dimension has unit stride.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import dace
import sympy
from dace import data as dt
from dace import subsets
from dace.libraries.blas import Gemm, Gemv, MatMul

from sdgrad.config import config
from sdgrad.optimize.contractions.blas_dimensions import (
    Dimensions,
    Line,
    Roles,
    are_blas_strides,
    bounding_box,
    is_affine,
    position,
    rows_may_overlap,
    strides_of,
)
from sdgrad.optimize.contractions.recognition import Contraction, known_scale, recognise, split_stores
from sdgrad.optimize.locality.strides import known_trips, steps
from sdgrad.program.leaves import as_loops, live, params_of, rename_instr
from sdgrad.program.names import Names
from sdgrad.program.naming import all_names
from sdgrad.program.passes import Target
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
    map_blocks,
)
from sdgrad.rewrite.identity_leaf import begin
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import sym

BLAS_TYPES = (dace.float32, dace.float64, dace.complex64, dace.complex128)


@dataclass
class Matcher:
    """Replace the contractions of one program by calls.

    :param dots: replace dot products, too.
    :param made: containers of operands and of temporary products.
    :param symbols: variables of loops around calls.
    """

    program: Program
    names: Names
    dots: bool = True
    made: dict[str, Container] = field(default_factory=dict)
    symbols: dict[str, dace.typeclass] = field(default_factory=dict)

    def container(self, what: Load | Store | Region) -> Container:
        """Return the container of an access or an operand."""
        return self.made.get(what.container) or self.program.containers[what.container]

    def block(self, block: Block) -> Block:
        """Return the block with calls in place of its contractions."""
        return tuple(x for node in block for x in self.node(node))

    def node(self, node: Node) -> list[Node]:
        """Return the nodes that replace one node; a parallel map keeps its loops."""
        if isinstance(node, Scope):
            return [node]
        if isinstance(node, Leaf):
            return list(split_stores(node, self.program, self.calls))
        return [map_blocks(node, self.block)]

    def calls(self, leaf: Leaf) -> list[Node] | None:
        """Return the calls that compute a leaf of one store; None if it is no contraction for BLAS."""
        plain, copies = self.conjugated(leaf)
        found = recognise(plain)
        if found is None or any(x.index_names & plain.defined for x in (found.store, found.a, found.b)):
            return None  # operands at places that the leaf loads
        calls = self.product(found)
        return [*copies, *calls] if calls is not None else None

    def conjugated(self, leaf: Leaf) -> tuple[Leaf, list[Node]]:
        """Return the leaf with conjugated operands loaded from arrays, and the leaves that compute these arrays.

        BLAS conjugates no operand by itself.
        """
        loads = {x.name: x for x in leaf.loads if x.guard is None}
        copies: dict[str, tuple[Node, Load]] = {}

        def read(expr: ast.expr) -> ast.expr:
            """Return the load that replaces a conjugated operand; other expressions unchanged."""
            load = _conjugated_load(expr, loads)
            if load is None or not (own := _operand_params(load, leaf)):
                return expr
            if load.name not in copies:
                copies[load.name] = self.conjugate(load, expr, own, leaf)
            return code.name(copies[load.name][1].name)

        body = [replace(i, expr=code.bottom_up(i.expr, read)) if isinstance(i, Let) else i for i in leaf.body]
        if not copies:
            return leaf, []
        reads = [load for _, load in copies.values()]
        return replace(leaf, body=live((*reads, *body), set())), [copy for copy, _ in copies.values()]

    def conjugate(self, load: Load, expr: ast.expr, own: Line, leaf: Leaf) -> tuple[Node, Load]:
        """Return a leaf that stores the conjugates of an operand, and the load that replaces the operand's."""
        v = self.names.fresh("v")
        name = self.names.fresh(f"conj_{load.container}")
        desc = dt.Array(self.container(load).dtype, [p.count for p in own], transient=True)
        self.made[name] = Container(name, desc)
        index = tuple(sym(p.name) - p.start for p in own)
        copy = Leaf(own, (load, Let(v, expr), Store(name, index, v)), leaf.source)
        return copy, Load(v, name, index)

    def product(self, c: Contraction) -> list[Node] | None:
        """Return the calls that compute a contraction; None if BLAS has no such product, or if loops are faster."""
        roles = Roles.of(c)
        if roles is None:
            return None
        if outer := self.outer(c, roles):
            return self.looped(c, outer, any(p in roles.summed for p in outer))
        dims = roles.dimensions()
        if not self.pays(c) or not self.has_call(dims):
            return None
        if bool(dims.rows) != bool(dims.columns):
            return self.matrix_vector(c, dims)
        return self.matrix_matrix(c, dims)

    def outer(self, c: Contraction, roles: Roles) -> list[Param]:
        """Return the parameters that a call has no dimension for: they become loops around it."""
        found = self.spare(roles.batch, c)
        for role, accesses in (
            (roles.rows, (c.store, c.a)),
            (roles.columns, (c.store, c.b)),
            (roles.summed, (c.a, c.b)),
        ):
            if not self.collapses(role, accesses):
                found += self.spare(role, c)
        return found

    def spare(self, role: Line, c: Contraction) -> list[Param]:
        """Return all parameters of a role but one: with most accesses of unit stride, then with most iterations."""

        def quality(p: Param) -> tuple[int, int]:
            near = sum(steps(x, p, self.program) == 1 for x in (c.store, c.a, c.b))
            return near, known_trips(p)

        best = max(role, key=quality, default=None)
        return [p for p in role if p is not best]

    def collapses(self, role: Line, accesses: Sequence[Load | Store]) -> bool:
        """True if accesses walk through memory along nested parameters as along a single one."""

        def follows(p: Param, q: Param, x: Load | Store) -> bool:
            wide, narrow = (steps(x, r, self.program) for r in (p, q))
            return wide is not None and narrow is not None and wide == narrow * q.count

        return all(follows(p, q, x) for p, q in itertools.pairwise(role) for x in accesses)

    def pays(self, c: Contraction) -> bool:
        """True if BLAS has the element type, and the product is large enough to pay for a call."""
        types = [self.container(x).dtype for x in (c.store, c.a, c.b)]
        if len(set(types)) != 1 or types[0] not in BLAS_TYPES:
            return False
        work: Expr = sympy.Integer(1)
        for p in c.leaf.params:
            work = work * p.count
        return not work.is_number or int(work) >= config.machine.blas_multiplications

    def has_call(self, dims: Dimensions) -> bool:
        """True if there is a call of these dimensions: batches of matrix products only, dot products if wanted."""
        if dims.batch:
            return bool(dims.rows and dims.columns)
        return self.dots or bool(dims.rows or dims.columns)

    def matrix_matrix(self, c: Contraction, dims: Dimensions) -> list[Node] | None:
        """Return a matrix product or a dot product as a call; None if an operand is no matrix for BLAS."""
        if dims.rows and dims.columns and steps(c.store, dims.rows[0][-1], self.program) == 1:
            c, dims = replace(c, a=c.b, b=c.a), dims.transposed()  # the result's rows are contiguous then
        a, b = self.operand(c.a, dims.left), self.operand(c.b, dims.right)
        if a is None or b is None:
            return None
        if (update := self.updated(c, a, b, dims)) is not None:
            return [update]
        if not c.store.fresh or c.scale is not None:
            return self.added(c, a, b, dims.result)
        out = self.operand(c.store, dims.result) if dims.result else self.scalar(c.store)
        return [self.call(a, b, out, c)] if out is not None else None

    def updated(self, c: Contraction, a: Region, b: Region, dims: Dimensions) -> NodeCall | None:
        """Return the call ``out (+)= alpha * a @ b``; None for a plain product, or if alpha is unknown or no number."""
        alpha = known_scale(c.scale)
        if alpha is None or not dims.rows or dims.batch or c.store.fresh and c.scale is None:
            return None
        out = self.operand(c.store, (*dims.rows, *dims.columns))
        if out is None:
            return None
        given = {"_a": a, "_b": b} if c.store.fresh else {"_a": a, "_b": b, "_c": out}
        return NodeCall(Gemm("matmul", alpha=alpha, beta=0 if c.store.fresh else 1), given, {"_c": out}, c.leaf.source)

    def matrix_vector(self, c: Contraction, dims: Dimensions) -> list[Node] | None:
        """Return a matrix-vector product as a call; None if no dimension of the matrix has unit stride.

        The call gets the matrix as it lies in memory, and a flag if that is its transpose.
        """
        left, right = (c.a, c.b) if dims.rows else (c.b, c.a)
        (row,), (column,) = dims.rows or dims.columns, dims.summed
        matrix, vector = self.operand(left, (row, column)), self.operand(right, (column,))
        transposed = False
        if matrix is None or not self.unit_rows(matrix):
            matrix, transposed = self.operand(left, (column, row)), True
        if matrix is None or vector is None or not self.unit_rows(matrix):
            return None
        alpha, out = known_scale(c.scale), self.operand(c.store, (row,))
        if alpha is None or out is None:
            return self.added(c, matrix, vector, (row,), Gemv("matvec", transA=transposed))
        given = {"_A": matrix, "_x": vector} if c.store.fresh else {"_A": matrix, "_x": vector, "_y": out}
        node = Gemv("matvec", transA=transposed, alpha=alpha, beta=0 if c.store.fresh else 1)
        return [NodeCall(node, given, {"_y": out}, c.leaf.source)]

    def unit_rows(self, region: Region) -> bool:
        """True if the last dimension of an operand has unit stride, and rows are not known to overlap."""
        desc = self.container(region).desc
        return bool(desc.strides[-1] == 1) and (desc.strides[-2] < desc.shape[-1]) != True  # noqa: E712 (symbolic)

    def looped(self, c: Contraction, outer: list[Param], summed: bool) -> list[Node] | None:
        """Return calls in loops over the outer parameters; None if there is no call for the other ones.

        :param summed: the sum goes over one of the outer parameters, so that several calls add to one element.
        """
        begun: list[Node] = []
        if summed and c.store.fresh:
            begun = [begin(c.store, c.leaf, code.constant(0), self.names.fresh("v"))]
            c = c.continued()
        named = {p.name: sym(self.names.fresh(p.name)) for p in outer}
        inner = tuple(p for p in c.leaf.params if p not in outer)
        body = tuple(rename_instr(i, {}, named) for i in c.leaf.body)
        found = recognise(replace(c.leaf, params=inner, body=body))
        calls = self.product(found) if found is not None else None
        if calls is None:
            return None
        loops = [replace(p, name=str(named[p.name])) for p in outer]
        self.symbols |= {p.name: dace.int64 for p in loops}
        return [*begun, *as_loops(loops, tuple(calls), c.leaf.source)]

    def operand(self, access: Load | Store, lines: Sequence[Line]) -> Region | None:
        """Return an access as an array with one dimension for each line; None if its strides are none for BLAS.

        It is the container itself, or a strided view.
        """
        container = self.container(access)
        own = strides_of(container)
        place = sympy.expand(sum((i * n for i, n in zip(access.index, own, strict=True)), sympy.Integer(0)))
        strides = [place.coeff(sym(line[-1].name)) for line in lines]
        params = [p for line in lines for p in line]
        if not is_affine(place, params) or not are_blas_strides(strides):
            return None
        shape = [sympy.prod([p.count for p in line]) for line in lines]
        if rows_may_overlap(access, lines, shape, strides):
            return None
        start, subset = bounding_box(access, params)
        if list(container.shape) == shape and own == strides and all(s == 0 for s in start):
            return Region(container.name, subset)
        view = dt.ArrayView(container.dtype, shape, strides=strides, storage=container.desc.storage, transient=True)
        name = self.names.fresh(f"operand_{container.name}")
        self.made[name] = Container(name, view, container.name, subset)
        return Region(name, subsets.Range([(0, s - 1, 1) for s in shape]))

    def scalar(self, store: Store) -> Region:
        """Return the single element of a result as an operand."""
        return Region(store.container, subsets.Range([(i, i, 1) for i in store.index]))

    def call(self, a: Region, b: Region, out: Region, c: Contraction, node: Gemv | None = None) -> NodeCall:
        """Return the call ``out = a @ b``.

        :param node: the library node of a matrix-vector product.
        """
        if node is not None:
            return NodeCall(node, {"_A": a, "_x": b}, {"_y": out}, c.leaf.source)
        return NodeCall(MatMul("matmul"), {"_a": a, "_b": b}, {"_c": out}, c.leaf.source)

    def added(
        self, c: Contraction, a: Region, b: Region, lines: tuple[Line, ...], node: Gemv | None = None
    ) -> list[Node] | None:
        """Return a call into a temporary, and the leaf that scales the temporary and adds it to the result."""
        dtype = self.container(c.store).dtype
        shape = [sympy.prod([p.count for p in line]) for line in lines] or [sympy.Integer(1)]
        tmp = Container(self.names.fresh(f"product_{c.store.container}"), dt.Array(dtype, shape, transient=True))
        self.made[tmp.name] = tmp
        whole = Region(tmp.name, subsets.Range([(0, s - 1, 1) for s in shape]))
        v = self.names.fresh("v")
        index = tuple(position(line) for line in lines) or SCALAR
        body: list[Instr] = [Load(v, tmp.name, index)]
        if c.scale is not None:
            scaled = code.binary(ast.Mult, c.scale, code.name(v))
            v = self.names.fresh("v")
            body += [*c.constants, Let(v, scaled)]
        body.append(Store(c.store.container, c.store.index, v, "set" if c.store.fresh else "sum"))
        return [self.call(a, b, whole, c, node), Leaf(tuple(itertools.chain(*lines)), tuple(body), c.leaf.source)]


def _conjugated_load(expr: ast.expr, loads: Mapping[str, Load]) -> Load | None:
    """Return the load whose value an expression conjugates; None if it is no such expression."""
    if not isinstance(expr, ast.Call) or code.callee(expr) != "conj" or not isinstance(expr.args[0], ast.Name):
        return None
    return loads.get(expr.args[0].id)


def _operand_params(load: Load, leaf: Leaf) -> Line:
    """Return the parameters of a load; () if it varies with all of the leaf's, so that a copy saves nothing."""
    own = params_of(load, leaf)
    return own if len(own) < len(leaf.params) else ()


def use_blas(program: Program, names: Names, dots: bool = True) -> Program:
    """Replace the contractions of a program by calls of BLAS.

    :param dots: replace dot products, too.
    """
    matcher = Matcher(program, names, dots)
    body = matcher.block(program.body)
    containers, symbols = {**program.containers, **matcher.made}, {**program.symbols, **matcher.symbols}
    return replace(program, body=body, containers=containers, symbols=symbols)


def use_blas_calls(program: Program, target: Target) -> Program:
    """Replace contractions by calls of BLAS; dot products stay loops on a GPU."""
    return use_blas(program, all_names(program), dots=target.device == "cpu")
