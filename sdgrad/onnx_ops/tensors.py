"""Tensor expressions: NumPy-like code on tensors that records a program instead of computing.

A lowering is a Python function of :class:`Tensor` objects. Shapes are known while it runs (numbers, or SymPy
expressions over the dimensions that the model leaves open), so that Python decides what can be decided; what it
computes becomes leaves of the program tree, one for each :meth:`Builder.compute`, and fusion joins them. Slices,
transposes and broadcasts cost nothing: they change how a tensor is indexed.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import dace
import numpy as np
import sympy
from dace import data as dt
from dace import subsets

from sdgrad.names import Names
from sdgrad.normalize.elementary import elementary
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
    Param,
    Program,
    Source,
    Store,
    Value,
)
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import sym, to_ast

Dim: TypeAlias = "int | sympy.Expr"
Index: TypeAlias = "int | sympy.Expr | Element"
ZERO, ONE = sympy.Integer(0), sympy.Integer(1)
LARGEST_CONSTANT = 256  # elements; larger ones are inputs


class Declined(Exception):
    """A lowering does not cover this case; the text says which."""


class Unknown(Declined):
    """The content of an operand has to be known beforehand, and is not."""

    def __init__(self, container: str, what: str) -> None:
        super().__init__(f"{what} is computed by the model")
        self.container = container


def dim(value: Any) -> Dim:
    """An extent: a Python number where it is one."""
    value = sympy.sympify(value)
    return int(value) if value.is_Integer else value


def product(extents: Sequence[Dim]) -> Dim:
    """The number of elements of a shape."""
    result: Dim = 1
    for n in extents:
        result = result * n
    return result


def bounds(dtype: Any) -> tuple[Any, Any]:
    """The least and the largest number of a type, infinities included."""
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        return np.iinfo(dtype).min, np.iinfo(dtype).max
    return (False, True) if dtype.kind == "b" else (-np.inf, np.inf)


def typeclass(dtype: Any) -> dace.typeclass:
    return dace.dtypes.dtype_to_typeclass(np.dtype(dtype).type)


# --- scalars -----------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Element:
    """One number of a computation: its code, and its type."""

    code: ast.expr
    dtype: np.dtype

    def _with(self, op: type[ast.operator], other: Any, swapped: bool = False) -> Element:
        other = element(other, self.dtype)
        left, right = (other, self) if swapped else (self, other)
        return Element(code.binary(op, left.code, right.code), np.result_type(left.dtype, right.dtype))

    def _compared(self, op: type[ast.cmpop], other: Any) -> Element:
        expr = ast.Compare(left=self.code, ops=[op()], comparators=[element(other, self.dtype).code])
        return Element(expr, np.dtype(bool))

    def __add__(self, other: Any) -> Element:
        return self._with(ast.Add, other)

    def __radd__(self, other: Any) -> Element:
        return self._with(ast.Add, other, True)

    def __sub__(self, other: Any) -> Element:
        return self._with(ast.Sub, other)

    def __rsub__(self, other: Any) -> Element:
        return self._with(ast.Sub, other, True)

    def __mul__(self, other: Any) -> Element:
        return self._with(ast.Mult, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Element:
        return self._with(ast.Div, other)

    def __rtruediv__(self, other: Any) -> Element:
        return self._with(ast.Div, other, True)

    def __pow__(self, other: Any) -> Element:
        return self._with(ast.Pow, other)

    def __neg__(self) -> Element:
        return Element(ast.UnaryOp(op=ast.USub(), operand=self.code), self.dtype)

    def __lt__(self, other: Any) -> Element:
        return self._compared(ast.Lt, other)

    def __le__(self, other: Any) -> Element:
        return self._compared(ast.LtE, other)

    def __gt__(self, other: Any) -> Element:
        return self._compared(ast.Gt, other)

    def __ge__(self, other: Any) -> Element:
        return self._compared(ast.GtE, other)

    def equals(self, other: Any) -> Element:
        return self._compared(ast.Eq, other)

    def __and__(self, other: Element) -> Element:
        return Element(ast.BoolOp(op=ast.And(), values=[self.code, other.code]), np.dtype(bool))

    def __or__(self, other: Element) -> Element:
        return Element(ast.BoolOp(op=ast.Or(), values=[self.code, other.code]), np.dtype(bool))

    def __invert__(self) -> Element:
        return Element(ast.UnaryOp(op=ast.Not(), operand=self.code), np.dtype(bool))

    def astype(self, dtype: Any) -> Element:
        dtype = np.dtype(dtype)
        if dtype == self.dtype:
            return self
        if dtype == np.bool_:
            return self._compared(ast.NotEq, 0)
        return Element(code.call(f"dace.{typeclass(dtype).to_string()}", self.code), dtype)


def element(value: Any, dtype: Any = np.float64) -> Element:
    """A number, or an index, as code; Python's numbers take the type of what they meet."""
    if isinstance(value, Element):
        return value
    if isinstance(value, sympy.Basic) and not value.is_number:
        return Element(to_ast(value), np.dtype(np.int64))
    dtype = np.dtype(dtype)
    if isinstance(value, (bool, np.bool_)):
        return Element(code.constant(bool(value)), np.dtype(bool))
    if dtype.kind in "iub" and float(value) == int(value):
        return Element(code.constant(int(value)), dtype)
    own = dtype if dtype.kind in "fc" else np.dtype(np.float64)
    value = complex(value) if isinstance(value, (complex, np.complexfloating)) else float(value)
    if not isinstance(value, complex) and value == int(value if np.isfinite(value) else 1) and abs(value) < 2**20:
        return Element(code.constant(int(value)), own)  # which takes any type
    text = "1e309 - 1e309" if np.isnan(value) else repr(value).replace("inf", "1e309")  # beyond the largest double
    exact = own == np.float64 or own.kind == "c" or not np.isfinite(value)
    return Element(code.parse(text if exact else f"dace.{typeclass(own).to_string()}({text})"), own)


def call(function: str, *args: Any, dtype: Any = None) -> Element:
    """A function of generated code; its result has the type of the first argument unless told."""
    first = next((a for a in args if isinstance(a, Element)), None)
    own = first.dtype if first is not None else np.dtype(np.float64)
    values = [element(a, own) for a in args]
    return Element(code.call(function, *(v.code for v in values)), np.dtype(dtype) if dtype is not None else own)


def where(condition: Element, then: Any, otherwise: Any) -> Element:
    """A choice; only the value that is chosen has a derivative."""
    known = next((v.dtype for v in (then, otherwise) if isinstance(v, Element)), np.dtype(np.float64))
    a, b = element(then, known), element(otherwise, known)
    return Element(code.choose(condition.code, a.code, b.code), np.result_type(a.dtype, b.dtype))


def every(*conditions: Element | None) -> Element | None:
    """The conjunction of conditions; None where there is none."""
    given = [c for c in conditions if c is not None]
    if not given:
        return None
    result = given[0]
    for c in given[1:]:
        result = result & c
    return result


# --- tensors -----------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Tensor:
    """An array of the program being recorded, or a way to index one.

    :param place: the container's index of an element, from the tensor's own.
    :param known: the content, where the model fixes it.
    """

    builder: Builder
    container: str
    shape: tuple[Dim, ...]
    dtype: np.dtype
    place: Callable[[tuple[Index, ...]], tuple[Index, ...]] | None = None
    known: np.ndarray | None = None

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> Dim:
        return product(self.shape)

    def __getitem__(self, index: Any) -> Element:
        """The element at an index, read where this is computed."""
        return self.at(*(index if isinstance(index, tuple) else (index,)))

    def at(self, *index: Index, when: Element | None = None) -> Element:
        """The element at an index; zero where ``when`` does not hold, and nothing is read there."""
        assert len(index) == self.rank, f"{len(index)} indices for a tensor of rank {self.rank}"
        return self.builder.load(self, index, when)

    def moved(self, shape: Sequence[Dim], place: Callable[[tuple], tuple]) -> Tensor:
        """The same content under another shape: ``place`` gives this tensor's index from the new one's."""
        own = self.place
        inner = place if own is None else lambda index: own(place(index))
        return replace(self.builder.placed(self), shape=tuple(shape), place=inner, known=None)

    # -- indexing that costs nothing
    def transpose(self, order: Sequence[int] | None = None) -> Tensor:
        order = list(order) if order is not None else list(range(self.rank))[::-1]
        back = [order.index(d) for d in range(self.rank)]
        return self.moved([self.shape[d] for d in order], lambda i: tuple(i[b] for b in back))

    def unsqueeze(self, *axes: int) -> Tensor:
        """Axes of one element at these positions of the result."""
        rank = self.rank + len(axes)
        new = {a % rank for a in axes}
        old = iter(self.shape)
        shape = [1 if d in new else next(old) for d in range(rank)]
        return self.moved(shape, lambda i: tuple(i[d] for d in range(rank) if d not in new))

    def squeeze(self, *axes: int) -> Tensor:
        gone = {a % self.rank for a in axes}
        kept = [d for d in range(self.rank) if d not in gone]

        def place(index: tuple) -> tuple:
            own = iter(index)
            return tuple(ZERO if d in gone else next(own) for d in range(self.rank))

        return self.moved([self.shape[d] for d in kept], place)

    def broadcast(self, shape: Sequence[Dim]) -> Tensor:
        """NumPy's broadcast to a shape."""
        lead = len(shape) - self.rank
        one = [own == 1 for own in self.shape]
        return self.moved(shape, lambda i: tuple(ZERO if o else k for o, k in zip(one, i[lead:], strict=True)))

    def slice(self, axis: int, start: Dim, count: Dim, step: int = 1) -> Tensor:
        """``count`` elements along an axis."""
        axis %= self.rank
        shape = [count if d == axis else n for d, n in enumerate(self.shape)]
        return self.moved(shape, lambda i: tuple(start + k * step if d == axis else k for d, k in enumerate(i)))

    def select(self, axis: int, at: Dim) -> Tensor:
        """One position along an axis, which goes."""
        return self.slice(axis, at, 1).squeeze(axis)

    def reshape(self, shape: Sequence[Dim]) -> Tensor:
        """The same elements, in row-major order, under another shape."""
        shape = tuple(map(dim, shape))
        if self.known is not None and not self.container:
            return self.builder.constant(self.known.reshape(shape))
        wide, own = [n for n in shape if n != 1], [n for n in self.shape if n != 1]
        if wide == own:  # axes of one element come and go
            return self.squeeze(*_ones(self.shape)).unsqueeze(*_ones(shape))
        return self.builder.view(self, shape)

    # -- arithmetic
    def map(self, function: Callable[..., Element], *others: Any, dtype: Any = None) -> Tensor:
        """A function of this and other tensors, element by element, broadcast."""
        return self.builder.elementwise(function, self, *others, dtype=dtype)

    def __add__(self, other: Any) -> Tensor:
        return self.map(lambda a, b: a + b, other)

    def __sub__(self, other: Any) -> Tensor:
        return self.map(lambda a, b: a - b, other)

    def __mul__(self, other: Any) -> Tensor:
        return self.map(lambda a, b: a * b, other)

    def __truediv__(self, other: Any) -> Tensor:
        return self.map(lambda a, b: a / b, other)

    def astype(self, dtype: Any) -> Tensor:
        return self if np.dtype(dtype) == self.dtype else self.map(lambda x: x.astype(dtype), dtype=dtype)

    def reduce(self, mode: str, axes: Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
        """``sum``, ``prod``, ``max`` or ``min`` over axes (None: all)."""
        gone = set(range(self.rank)) if axes is None else {a % self.rank for a in axes}
        kept = [d for d in range(self.rank) if d not in gone]
        over = [d for d in range(self.rank) if d in gone]

        def read(out: tuple, inner: tuple) -> Element:
            index: dict[int, Index] = {**dict(zip(kept, out, strict=True)), **dict(zip(over, inner, strict=True))}
            return self.at(*(index[d] for d in range(self.rank)))

        shape = [self.shape[d] for d in kept]
        found = self.builder.reduction(shape, [self.shape[d] for d in over], read, mode, self.dtype)
        return found.unsqueeze(*over) if keepdims and over else found

    def sum(self, axes: Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
        return self.reduce("sum", axes, keepdims)

    def max(self, axes: Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
        return self.reduce("max", axes, keepdims)


def _ones(shape: Sequence[Dim]) -> list[int]:
    return [d for d, n in enumerate(shape) if n == 1]


def broadcast_shape(*shapes: Sequence[Dim]) -> tuple[Dim, ...]:
    """NumPy's rule. Of two unequal extents that are not numbers, the caller promises that they are equal or one."""
    rank = max(map(len, shapes), default=0)
    padded = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
    result: list[Dim] = []
    for extents in zip(*padded, strict=True):
        wide = [n for n in extents if n != 1]
        numbers = {n for n in wide if isinstance(n, int)}
        if len(numbers) > 1:
            raise ValueError(f"shapes {', '.join(str(tuple(s)) for s in shapes)} do not broadcast")
        result.append(next(iter(numbers)) if numbers else wide[0] if wide else 1)
    return tuple(result)


# --- the program being recorded ------------------------------------------------------------------------------------
@dataclass
class Builder:
    """A program being recorded: containers, and nodes in order."""

    name: str
    source: Source = Source()
    names: Names = field(default_factory=lambda: Names(()))
    containers: dict[str, Container] = field(default_factory=dict)
    blocks: list[list[Node]] = field(default_factory=lambda: [[]])
    symbols: dict[str, dace.typeclass] = field(default_factory=dict)
    body: list[Instr] = field(default_factory=list)  # of the leaf being recorded
    loaded: dict[Any, str] = field(default_factory=dict)
    first: list[Node] = field(default_factory=list)  # what writes constants
    constants: dict[Any, str] = field(default_factory=dict)

    # -- containers
    def declare(self, stem: str, shape: Sequence[Dim], dtype: Any, argument: bool = False) -> Tensor:
        """A new array; a scalar is an array of one element."""
        extents = [sympy.sympify(n) for n in shape] or [ONE]
        name = stem if argument else self.names.fresh(stem)
        self.names.add([name])
        desc = dt.Array(typeclass(dtype), extents, transient=not argument)
        self.containers[name] = Container(name, desc)
        return Tensor(self, name, tuple(map(dim, shape)), np.dtype(dtype))

    def constant(self, value: Any, dtype: Any = None) -> Tensor:
        """A tensor of known content. Memory for it is made, and written first of all, where it is read."""
        array = np.asarray(value, dtype)
        return Tensor(self, "", array.shape, array.dtype, known=array)

    def placed(self, tensor: Tensor) -> Tensor:
        """The tensor with memory, if its content was known without."""
        if tensor.container or tensor.known is None:
            return tensor
        array = tensor.known
        key = (array.tobytes(), array.shape, array.dtype)
        if key not in self.constants:
            if array.size > LARGEST_CONSTANT:
                raise Declined(f"a constant of {array.size} elements inside an operator; make it an input")
            result = self.declare("constant", array.shape, array.dtype)
            with self._apart():
                for index in np.ndindex(array.shape):
                    with self._leaf(()):
                        self._store(result, index, element(array[index], array.dtype), "set", None, False)
            self.constants[key] = result.container
        return replace(tensor, container=self.constants[key])

    @contextlib.contextmanager
    def _apart(self) -> Iterator[None]:
        """Nodes recorded inside come before all others."""
        body, loaded, blocks = self.body, self.loaded, self.blocks
        self.body, self.loaded, self.blocks = [], {}, [self.first]
        yield
        self.body, self.loaded, self.blocks = body, loaded, blocks

    def view(self, tensor: Tensor, shape: Sequence[Dim]) -> Tensor:
        """The same memory under another shape; what is not an array of its own is copied first."""
        tensor = self.placed(tensor)
        base = tensor if tensor.place is None else self.copy(tensor)
        under = self.containers[base.container]
        extents = [sympy.sympify(n) for n in shape] or [ONE]
        desc = dt.ArrayView(under.dtype, extents, transient=True)
        name = self.names.fresh(f"{base.container}_as")
        whole = subsets.Range([(ZERO, n - 1, ONE) for n in under.shape])
        self.containers[name] = Container(name, desc, base.container, whole)
        return Tensor(self, name, tuple(map(dim, shape)), tensor.dtype)

    # -- leaves
    @contextlib.contextmanager
    def _leaf(self, params: Sequence[Param], sequential: bool = False) -> Iterator[None]:
        assert not self.body, "a computation inside a computation: compute the inner one first"
        yield
        body, self.body, self.loaded = tuple(self.body), [], {}
        if all(p.count != 0 for p in params):
            self.blocks[-1].append(Leaf(tuple(params), body, self.source, sequential))

    def _params(self, shape: Sequence[Dim]) -> tuple[list[Param], tuple[sympy.Expr, ...]]:
        params, index = [], []
        for n in shape:
            if n == 1:
                index.append(ZERO)
                continue
            name = self.names.fresh("i")
            params.append(Param(name, ZERO, sympy.sympify(n) - 1, ONE))
            index.append(sym(name))
        return params, tuple(index)

    def let(self, value: Element, stem: str = "v") -> str:
        """A name for a number of the leaf being recorded."""
        if isinstance(value.code, ast.Name) and value.code.id in self.names:
            return value.code.id
        name = self.names.fresh(stem)
        self.body.append(Let(name, value.code))
        return name

    def index(self, index: Sequence[Index]) -> tuple[sympy.Expr, ...]:
        """Indices as expressions over names."""
        return tuple(sym(self.let(i, "at")) if isinstance(i, Element) else sympy.sympify(i) for i in index)

    def load(self, tensor: Tensor, index: Sequence[Index], when: Element | None) -> Element:
        if not tensor.container and tensor.known is not None:
            array = tensor.known
            if when is None and array.size and np.all(array == array.flat[0]):
                return element(array.flat[0], array.dtype)
            tensor = self.placed(tensor)
        placed = tuple(index) if tensor.place is None else tensor.place(tuple(index))
        where_ = self.index(placed) or SCALAR
        guard = self.let(when, "c") if when is not None else None
        key = (tensor.container, where_, guard)
        if key not in self.loaded:
            self.loaded[key] = self.names.fresh("v")
            self.body.append(Load(self.loaded[key], tensor.container, where_, guard))
        value = Element(code.name(self.loaded[key]), tensor.dtype)
        return value.astype(np.float32) if tensor.dtype == np.float16 else value  # half precision is for memory

    def _store(
        self, target: Tensor, index: Sequence[Index], value: Element, mode: str, when: Element | None, fresh: bool
    ) -> None:
        placed = tuple(index) if target.place is None else target.place(tuple(index))
        where_ = self.index(placed) or SCALAR
        guard = self.let(when, "c") if when is not None else None
        name = self.let(value.astype(target.dtype))
        self.body.append(Store(target.container, where_, name, mode, guard, fresh))

    def compute(self, shape: Sequence[Dim], dtype: Any, function: Callable[..., Element]) -> Tensor:
        """``result[i, j, ..] = function(i, j, ..)``."""
        result = self.declare("t", shape, dtype)
        self.assign(result, function)
        return result

    def assign(self, target: Tensor, function: Callable[..., Element], mode: str = "set") -> None:
        """``target[i, j, ..] = function(i, j, ..)`` for all of a tensor or of a slice of it (or ``+=``, ..)."""
        params, index = self._params(target.shape)
        with self._leaf(params):
            self._store(target, index, function(*index), mode, None, False)

    def fill(self, target: Tensor, value: Any) -> None:
        self.assign(target, lambda *i: element(value, target.dtype))

    def full(self, shape: Sequence[Dim], value: Any, dtype: Any) -> Tensor:
        return self.compute(shape, dtype, lambda *i: element(value, dtype))

    def copy(self, tensor: Tensor, to: Tensor | None = None) -> Tensor:
        """The content in an array of its own (or ``to``)."""
        if to is None:
            return self.compute(tensor.shape, tensor.dtype, lambda *i: tensor[i])
        self.assign(to, lambda *i: tensor[i])
        return to

    def elementwise(self, function: Callable[..., Element], *operands: Any, dtype: Any = None) -> Tensor:
        """A function of tensors (or numbers) element by element, broadcast as NumPy does."""
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
        """``result[i, ..] = sum over k, .. of function((i, ..), (k, ..))``, or ``prod``, ``max``, ``min``."""
        result = self.declare("t", shape, dtype)
        if 0 in over:
            least, largest = bounds(dtype)
            self.fill(result, {"sum": 0, "prod": 1, "max": least, "min": largest}[mode])
            return result
        outer, out = self._params(shape)
        inner, summed = self._params(over)
        with self._leaf([*outer, *inner]):
            self._store(result, out, function(out, summed), mode, None, True)
        return result

    def scatter(
        self,
        target: Tensor,
        domain: Sequence[Dim],
        function: Callable[..., tuple[Sequence[Index], Element, Element | None]],
        mode: str = "set",
    ) -> None:
        """For all of a domain: ``target[index] = value`` (or ``+=``, ..) where the condition holds, in order.

        ``function`` gives index, value and condition from a position of the domain.
        """
        params, position = self._params(domain)
        with self._leaf(params, sequential=True):
            index, value, when = function(*position)
            self._store(target, index, value, mode, when, False)

    def accumulate(
        self, target: Tensor, domain: Sequence[Dim], function: Callable[..., tuple[Sequence[Index], Element]]
    ) -> None:
        """For all of a domain, in any order: ``target[index] += value``."""
        params, position = self._params(domain)
        with self._leaf(params):
            index, value = function(*position)
            self._store(target, index, value, "sum", None, False)

    def matmul(self, a: Tensor, b: Tensor) -> Tensor:
        """NumPy's ``@``; becomes a call of BLAS where that pays."""
        left, right = a.rank == 1, b.rank == 1
        a, b = (a.unsqueeze(0) if left else a), (b.unsqueeze(1) if right else b)
        batch = broadcast_shape(a.shape[:-2], b.shape[:-2])
        rows, columns, summed = a.shape[-2], b.shape[-1], a.shape[-1]
        wide_a, wide_b = a.broadcast((*batch, rows, summed)), b.broadcast((*batch, b.shape[-2], columns))

        def term(out: tuple, k: tuple) -> Element:
            return wide_a[(*out[:-1], k[0])] * wide_b[(*out[:-2], k[0], out[-1])]

        found = self.reduction((*batch, rows, columns), (summed,), term, "sum", a.dtype)
        return found.squeeze(*[-2] * left, *[-1] * right) if left or right else found

    # -- control flow
    @contextlib.contextmanager
    def loop(self, count: Dim | Tensor, reverse: bool = False) -> Iterator[sympy.Symbol]:
        """The nodes recorded inside run once for each of ``0 .. count - 1``, in order."""
        symbol = self.names.fresh("k")
        self.symbols[symbol] = dace.int64
        self.blocks.append([])
        yield sym(symbol)
        body = tuple(self.blocks.pop())
        last = Value((), to_ast(sympy.sympify(count) - 1))
        first, step = Value((), code.constant(0)), Value((), code.constant(1))
        if reverse:
            first, last, step = last, first, Value((), code.constant(-1))
        self.blocks[-1].append(Loop(symbol, first, last, step, body, self.source))

    @contextlib.contextmanager
    def arm(self) -> Iterator[list[Node]]:
        """Records nodes apart, for a branch."""
        self.blocks.append([])
        recorded: list[Node] = []
        yield recorded
        recorded += self.blocks.pop()

    def branch(self, condition: Tensor, then: Sequence[Node], otherwise: Sequence[Node]) -> None:
        """The first nodes where the (one) element of ``condition`` holds, else the others."""
        name = self.names.fresh("c")
        test = Value((Load(name, condition.container, SCALAR),), code.name(name))
        self.blocks[-1].append(Branch(((test, tuple(then)), (None, tuple(otherwise))), self.source))

    # -- the result
    def program(self, arguments: Sequence[str]) -> Program:
        """What was recorded, in the form that is differentiated."""
        symbols: Mapping[str, dace.typeclass] = {
            str(s): dace.int64 for c in self.containers.values() for s in c.desc.free_symbols
        }
        containers = dict(self.containers)
        whole = Program(
            self.name, containers, {**symbols, **self.symbols}, {}, (*self.first, *self.blocks[0]), tuple(arguments)
        )
        return elementary(whole)
