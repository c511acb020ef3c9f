"""Record the program of tensor expressions."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import dace
import numpy as np
import sympy
from dace import data as dt
from dace import nodes as nd

from sdgrad.lift.elementary import elementary
from sdgrad.program.arrays import over_shape
from sdgrad.program.custom_call import walk_into_calls
from sdgrad.program.descriptors import dense
from sdgrad.program.inline import inline
from sdgrad.program.leaves import as_loops, defined_name
from sdgrad.program.names import Names
from sdgrad.program.tree import (
    SCALAR,
    Branch,
    Container,
    Instr,
    Leaf,
    Let,
    Load,
    Loop,
    Node,
    NodeCall,
    Param,
    Program,
    Source,
    Store,
    SymbolAssign,
    Value,
    whole_region,
)
from sdgrad.record.complex_parts import as_read, as_stored, whole_of
from sdgrad.record.elements import Declined, Dim, Element, Index, bounds, dim, element, typeclass
from sdgrad.record.tensors import Tensor, broadcast_shape
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import sym, to_ast

ZERO, ONE = sympy.Integer(0), sympy.Integer(1)
LARGEST_CONSTANT = 256  # elements that are written one by one; larger ones are inputs


def is_uniform(array: np.ndarray) -> bool:
    """True if all elements are the same."""
    return array.size > 0 and bool(np.all(array == array.flat[0]))


@dataclass
class Builder:
    """Record a program: containers, and nodes in order."""

    name: str
    source: Source = Source()
    names: Names = field(default_factory=lambda: Names(()))
    containers: dict[str, Container] = field(default_factory=dict)
    blocks: list[list[Node]] = field(default_factory=lambda: [[]])
    symbols: dict[str, dace.typeclass] = field(default_factory=dict)
    around: set[str] = field(default_factory=set)  # symbols of loops around what is recorded: no name is one of these
    body: list[Instr] = field(default_factory=list)  # of the leaf being recorded
    loaded: dict[Any, str] = field(default_factory=dict)
    first: list[Node] = field(default_factory=list)  # what writes constants
    constants: dict[Any, str] = field(default_factory=dict)

    def append(self, *nodes: Node) -> None:
        """Record nodes after those of the block that is being recorded."""
        self.blocks[-1] += nodes

    def where(self) -> Source:
        """Return the place in the user's file that nodes come from."""
        return self.source

    # -- containers
    def declare(self, stem: str, shape: Sequence[Dim], dtype: Any, argument: bool = False) -> Tensor:
        """Declare a new array; a scalar is an array of one element."""
        extents = [sympy.sympify(n) for n in shape] or [ONE]
        name = stem if argument else self.names.fresh(stem)
        self.names.add([name])
        self.containers[name] = Container(name, dense(typeclass(dtype), extents, transient=not argument))
        return Tensor(self, name, tuple(map(dim, shape)), np.dtype(dtype))

    def constant(self, value: Any, dtype: Any = None) -> Tensor:
        """Return a tensor of known content; it gets memory, written first of all, where it is read."""
        array = np.asarray(value, dtype)
        own = np.dtype(np.int64) if array.dtype == object else array.dtype  # expressions over open dimensions
        return Tensor(self, "", array.shape, own, known=array)

    def placed(self, tensor: Tensor) -> Tensor:
        """Return the tensor with memory, if its content was known without."""
        if tensor.container or tensor.known is None:
            return tensor
        array = tensor.known
        key = (str(array.tolist()) if array.dtype == object else array.tobytes(), array.shape, array.dtype)
        if key not in self.constants:
            uniform = array.size > 1 and is_uniform(array)
            if array.size > LARGEST_CONSTANT and not uniform:
                raise Declined(f"a constant of {array.size} elements inside an operator; make it an input")
            result = self.declare("constant", array.shape, tensor.dtype)
            with self._apart():
                if uniform:
                    self.fill(result, array.flat[0])
                for index in np.ndindex(array.shape) if not uniform else ():
                    with self._leaf(()):
                        self._store(result, index, element(array[index], tensor.dtype), "set", None, False)
            self.constants[key] = result.container
        return replace(tensor, container=self.constants[key])

    @contextlib.contextmanager
    def _apart(self) -> Iterator[None]:
        """Put the nodes recorded inside before all others."""
        body, loaded, blocks = self.body, self.loaded, self.blocks
        self.body, self.loaded, self.blocks = [], {}, [self.first]
        yield
        self.body, self.loaded, self.blocks = body, loaded, blocks

    def view(self, tensor: Tensor, shape: Sequence[Dim]) -> Tensor:
        """Return the same memory under another shape; what is not an array of its own is copied first."""
        tensor = self.placed(tensor)
        base = tensor if tensor.place is None else self.copy(tensor)
        under = self.containers[base.container]
        extents = [sympy.sympify(n) for n in shape] or [ONE]
        desc = dt.ArrayView(under.dtype, extents, transient=True)
        name = self.names.fresh(f"{base.container}_as")
        self.containers[name] = Container(name, desc, base.container, whole_region(under.name, under.shape).subset)
        return Tensor(self, name, tuple(map(dim, shape)), tensor.dtype, part=base.part)

    def whole(self, tensor: Tensor, own: bool = False) -> Tensor:
        """Return the tensor as all of an array (``own``: and one that is made here); constants stay as they are."""
        return tensor if self.is_whole(tensor, own) else self.copy(tensor)

    def is_whole(self, tensor: Tensor, own: bool = False) -> bool:
        """True if :meth:`whole` makes no copy."""
        if not tensor.container and not own:
            return True
        container = self.containers.get(tensor.container)
        mine = container is not None and container.view_of is None and (container.transient or not own)
        return mine and tensor.is_plain

    def splice(
        self, program: Program, bound: Mapping[str, str], symbols: Mapping[str, sympy.Expr] | None = None
    ) -> None:
        """Record what a program does.

        :param bound: the arrays here for its arguments.
        :param symbols: what its integer arguments are here.
        """
        nodes, brought = inline(program, bound, self.names, symbols, self.symbols.keys() | self.around)
        self.containers.update({c.name: c for c in brought.values()})
        self.symbols |= {n.symbol: dace.int64 for n in walk_into_calls(nodes) if isinstance(n, (Loop, SymbolAssign))}
        self.append(*nodes)

    def call(
        self, node: nd.CodeNode, operands: Mapping[str, Tensor], result: str, shape: Sequence[Dim], dtype: Any
    ) -> Tensor:
        """Record a node that the engine does not look into, and return what it leaves at the connector ``result``.

        :param operands: what it reads, by connector; contiguous copies are made where they are needed.
        """
        found = self.declare("t", shape, dtype)
        self.call_into(node, operands, {result: found})
        return found

    def call_into(
        self, node: nd.CodeNode, operands: Mapping[str, Tensor], results: Mapping[str, Tensor], reason: str = ""
    ) -> None:
        """Record a node that the engine does not look into.

        :param operands: what it reads, by connector; contiguous copies are made where they are needed.
        :param results: what it writes all of, by connector.
        :param reason: why it has no derivative.
        """
        memory = {c: self.placed(x) for c, x in operands.items()}
        memory = {c: x if x.is_plain else self.copy(x) for c, x in memory.items()}
        inputs, outputs = (
            {c: whole_region(x.container, self.containers[x.container].shape) for c, x in at.items()}
            for at in (memory, results)
        )
        self.append(NodeCall(node, inputs, outputs, self.where(), reason))

    # -- leaves
    @contextlib.contextmanager
    def _leaf(self, params: Sequence[Param], sequential: bool = False) -> Iterator[None]:
        """Record a leaf around the instructions of ``body``."""
        assert not self.body, "a computation inside a computation: compute the inner one first"
        yield
        body, self.body, self.loaded = tuple(self.body), [], {}
        if all(p.count != 0 for p in params):
            self.append(Leaf(tuple(params), body, self.where(), sequential))

    def _params(self, shape: Sequence[Dim]) -> tuple[list[Param], tuple[sympy.Expr, ...]]:
        params, index = over_shape([sympy.sympify(n) for n in shape], self.names)
        return list(params), index

    def let(self, value: Element, stem: str = "v") -> str:
        """Name a number of the leaf being recorded."""
        if (own := defined_name(value.code, self.body)) is not None:
            return own
        name = self.names.fresh(stem)
        self.body.append(Let(name, value.code))
        return name

    def index(self, index: Sequence[Index]) -> tuple[sympy.Expr, ...]:
        """Return subscripts as expressions over names."""
        return tuple(sym(self.let(i, "at")) if isinstance(i, Element) else sympy.sympify(i) for i in index)

    def load(self, tensor: Tensor, index: Sequence[Index], when: Element | None) -> Element:
        """Load an element in the leaf being recorded, once for each subscript and guard."""
        if not tensor.container and tensor.known is not None:
            array = tensor.known
            if when is None and array.size and np.all(array == array.flat[0]):
                return element(array.flat[0], tensor.dtype)
            tensor = self.placed(tensor)
        placed = tuple(index) if tensor.place is None else tensor.place(tuple(index))
        where_ = self.index(placed) or SCALAR
        guard = self.let(when, "c") if when is not None else None
        key = (tensor.container, where_, guard)
        if key not in self.loaded:
            self.loaded[key] = self.names.fresh("v")
            self.body.append(Load(self.loaded[key], tensor.container, where_, guard))
        return as_read(Element(code.name(self.loaded[key]), whole_of(tensor).dtype), tensor)

    def _store(
        self, target: Tensor, index: Sequence[Index], value: Element, mode: str, when: Element | None, fresh: bool
    ) -> None:
        """Store a number in the leaf being recorded."""
        placed = tuple(index) if target.place is None else target.place(tuple(index))
        where_ = self.index(placed) or SCALAR
        guard = self.let(when, "c") if when is not None else None
        name = self.let(as_stored(value, target, lambda: self.load(whole_of(target), index, when), mode))
        self.body.append(Store(target.container, where_, name, mode, guard, fresh))

    def compute(self, shape: Sequence[Dim], dtype: Any, function: Callable[..., Element]) -> Tensor:
        """Record ``result[i, j, ..] = function(i, j, ..)``."""
        result = self.declare("t", shape, dtype)
        self.assign(result, function)
        return result

    def assign(self, target: Tensor, function: Callable[..., Element], mode: str = "set") -> None:
        """Record ``target[i, j, ..] = function(i, j, ..)`` (or ``+=``, ..) for all of a tensor or of a slice."""
        params, index = self._params(target.shape)
        with self._leaf(params):
            self._store(target, index, function(*index), mode, None, False)

    def fill(self, target: Tensor, value: Any) -> None:
        self.assign(target, lambda *i: element(value, target.dtype))

    def full(self, shape: Sequence[Dim], value: Any, dtype: Any) -> Tensor:
        return self.compute(shape, dtype, lambda *i: element(value, dtype))

    def copy(self, tensor: Tensor, to: Tensor | None = None) -> Tensor:
        """Copy the content to an array of its own, or to ``to``."""
        if to is None:
            return self.compute(tensor.shape, tensor.dtype, lambda *i: tensor[i])
        self.assign(to, lambda *i: tensor[i])
        return to

    def elementwise(self, function: Callable[..., Element], *operands: Any, dtype: Any = None) -> Tensor:
        """Apply a function to tensors or numbers element by element, broadcast as NumPy does."""
        given = [x for x in operands if isinstance(x, Tensor)]
        shape = broadcast_shape(*(x.shape for x in given))
        wide = [x.broadcast(shape) if isinstance(x, Tensor) else x for x in operands]
        result = given[0].dtype if dtype is None else np.dtype(dtype)

        def compute(*i: sympy.Expr) -> Element:
            return function(*(x[i] if isinstance(x, Tensor) else element(x, result) for x in wide))

        return self.compute(shape, result, compute)

    def reduction(
        self,
        shape: Sequence[Dim],
        over: Sequence[Dim],
        function: Callable[[tuple, tuple], Element],
        mode: str,
        dtype: Any,
    ) -> Tensor:
        """Record ``result[i, ..] = sum over k, .. of function((i, ..), (k, ..))``, or another reduction."""
        first = len(shape)
        axes = range(first, first + len(over))
        return self.reduction_over((*shape, *over), axes, lambda at: function(at[:first], at[first:]), mode, dtype)

    def reduction_over(
        self, shape: Sequence[Dim], axes: Collection[int], function: Callable[[tuple], Element], mode: str, dtype: Any
    ) -> Tensor:
        """Record the sum of ``function((i, j, ..))`` over some axes, or another reduction; loops are in their order."""
        kept = [d for d in range(len(shape)) if d not in axes]
        result = self.declare("t", [shape[d] for d in kept], dtype)
        if any(shape[d] == 0 for d in axes):
            least, largest = bounds(dtype)
            self.fill(result, {"sum": 0, "prod": 1, "max": least, "min": largest}[mode])
            return result
        params, index = self._params(shape)
        with self._leaf(params):
            self._store(result, [index[d] for d in kept], function(index), mode, None, True)
        return result

    def scatter(
        self,
        target: Tensor,
        domain: Sequence[Dim],
        function: Callable[..., tuple[Sequence[Index], Element, Element | None]],
        mode: str = "set",
    ) -> None:
        """For all of a domain in order, store ``target[index] = value`` (or ``+=``, ..) if the condition holds.

        ``function`` gives index, value and condition from a position of the domain.
        """
        params, position = self._params(domain)
        with self._leaf(params, sequential=True):
            index, value, when = function(*position)
            self._store(target, index, value, mode, when, False)

    def accumulate(
        self, target: Tensor, domain: Sequence[Dim], function: Callable[..., tuple[Sequence[Index], Element]]
    ) -> None:
        """For all of a domain in any order, add ``target[index] += value``."""
        params, position = self._params(domain)
        with self._leaf(params):
            index, value = function(*position)
            self._store(target, index, value, "sum", None, False)

    def matmul(self, a: Tensor, b: Tensor) -> Tensor:
        """Return NumPy's ``@``; it becomes a call of BLAS if that pays."""
        rows, columns = a.shape[-2:-1], b.shape[-1:] if b.rank > 1 else ()  # none of a vector
        summed, below = a.shape[-1], b.shape[-2] if b.rank > 1 else b.shape[0]
        batch = broadcast_shape(a.shape[:-2], b.shape[:-2])
        wide_a, wide_b = a.broadcast((*batch, *rows, summed)), b.broadcast((*batch, below, *columns))

        def term(out: tuple, k: tuple) -> Element:
            many, row = out[: len(batch)], out[len(batch) : len(batch) + len(rows)]
            return wide_a[(*many, *row, k[0])] * wide_b[(*many, k[0], *out[len(batch) + len(rows) :])]

        return self.reduction((*batch, *rows, *columns), (summed,), term, "sum", a.dtype)

    # -- control flow
    @contextlib.contextmanager
    def loop(self, count: Dim, reverse: bool = False) -> Iterator[sympy.Symbol]:
        """Run the nodes recorded inside once for each of ``0 .. count - 1``, in order."""
        symbol = self.names.fresh("k")
        self.symbols[symbol] = dace.int64
        self.blocks.append([])
        yield sym(symbol)
        body = tuple(self.blocks.pop())
        last = sympy.sympify(count) - 1
        trips = Param(symbol, last, ZERO, -ONE) if reverse else Param(symbol, ZERO, last, ONE)
        self.append(*as_loops([trips], body, self.where()))

    @contextlib.contextmanager
    def loop_while(self, going: Tensor, count: Tensor | None) -> Iterator[sympy.Symbol]:
        """Run the nodes recorded inside while the element of ``going`` holds, at most ``count`` times."""
        symbol, stop = self.names.fresh("k"), None
        self.symbols[symbol] = dace.int64
        if count is not None:
            trips = self.names.fresh("trips")
            self.symbols[trips] = dace.int64
            self.append(SymbolAssign(trips, self._number(count), dace.int64))
            stop = Value((), to_ast(sym(trips) - 1))
        self.blocks.append([])
        yield sym(symbol)
        body = tuple(self.blocks.pop())
        first, step = (Value((), to_ast(n)) for n in (ZERO, ONE))
        self.append(Loop(symbol, first, stop, step, body, self.where(), also=self._number(going)))

    def _number(self, tensor: Tensor) -> Value:
        """Return the only element of an array of its own."""
        name = self.names.fresh("c")
        return Value((Load(name, tensor.container, SCALAR),), code.name(name))

    @contextlib.contextmanager
    def arm(self) -> Iterator[list[Node]]:
        """Record nodes apart, for a branch."""
        self.blocks.append([])
        recorded: list[Node] = []
        yield recorded
        recorded += self.blocks.pop()

    def branch(self, condition: Tensor, then: Sequence[Node], otherwise: Sequence[Node]) -> None:
        """Run the first nodes if the only element of ``condition`` holds, else the others."""
        arms = ((self._number(condition), tuple(then)), (None, tuple(otherwise)))
        self.append(Branch(arms, self.where()))

    # -- the result
    def program(self, arguments: Sequence[str]) -> Program:
        """Return what was recorded, in the form that is differentiated."""
        symbols: Mapping[str, dace.typeclass] = {
            s: dace.int64 for c in self.containers.values() for s in c.symbols
        } | dict.fromkeys(self.around, dace.int64)
        containers = dict(self.containers)
        whole = Program(
            self.name, containers, {**symbols, **self.symbols}, {}, (*self.first, *self.blocks[0]), tuple(arguments)
        )
        return elementary(whole)
