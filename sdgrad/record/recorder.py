"""Record a function: numbers in one open scalar leaf, arrays in leaves of their own, control flow in blocks."""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dace
import numpy as np
import sympy
from dace import data as dt

from sdgrad.errors import ParseError
from sdgrad.program.leaves import defined_name
from sdgrad.program.tree import (
    SCALAR,
    Container,
    Instr,
    Leaf,
    Let,
    Load,
    Node,
    Source,
    Store,
    SymbolAssign,
    Value,
    writes,
)
from sdgrad.record.builder import Builder, is_uniform
from sdgrad.record.complex_parts import as_read, as_stored, whole_of
from sdgrad.record.elements import Dim, Element, Index, element, typeclass
from sdgrad.record.frames import call_chain, converted_frames
from sdgrad.record.index_ranges import IndexRanges
from sdgrad.record.outside import WRITTEN, Outside
from sdgrad.record.reads import Content, Reads, special_kind
from sdgrad.record.restart import Hints, Restart, of_around
from sdgrad.record.runs import Assigned, Run, element_of
from sdgrad.record.tensors import Tensor
from sdgrad.record.values import DATA, Array, Number, Origin, Storage, is_positive
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import sym, to_ast

WEAK = {int: np.dtype(np.int64), float: np.dtype(np.float64), complex: np.dtype(np.complex128), bool: np.dtype(bool)}
ONLY_DATA: Origin = frozenset({DATA})


@dataclass
class Recorder(Builder):
    """Record one function for arguments of certain kinds."""

    hints: Hints = field(default_factory=Hints)
    run: Run = field(default_factory=Run)
    inputs: dict[str, Any] = field(default_factory=dict)  # what the program takes besides the arguments, by container
    outer: dict[int, tuple[Any, Any]] = field(default_factory=dict)  # what was taken from outside: it, and its input
    reads: Reads = field(default_factory=Reads)
    trip_ends: dict[str, tuple[Any, Any]] = field(default_factory=dict)  # where loops start and stop
    outside_places: Outside = field(default_factory=Outside)
    sites: dict[Any, int] = field(default_factory=dict)
    within: tuple[int, ...] = ()  # which of our algorithms, of those recorded from a place
    sizes: Mapping[str, int] = field(default_factory=dict)  # what DaCe's symbols are, by the shapes of arguments
    loops: set[str] = field(default_factory=set)  # indices of recorded loops
    ranges: IndexRanges = field(default_factory=IndexRanges)  # of loop indices
    checks: tuple[Tensor, list[BaseException]] | None = None  # where the number of a failed check is, and their errors
    arms: int = 0  # of branches that are being recorded
    assigned: dict[Any, Assigned] = field(default_factory=dict)  # symbols that elements of arrays were assigned to
    versions: Counter[str] = field(default_factory=Counter)  # how often containers were written
    labels: dict[str, str] = field(default_factory=dict)  # names of variables, by container
    listed: dict[int, Any] = field(default_factory=dict)  # parts of arrays that lists have, by identity
    limits: dict[Any, Any] = field(default_factory=dict)  # of index arrays among the inputs
    written: set[Any] = field(default_factory=set)  # sites of arrays that had known content and got memory
    ends: list[Callable[[], None]] = field(default_factory=list)  # what has to hold when it comes to its end
    kept: Any = None  # results that a policy of checkpoints keeps (kept_results.py)
    over: bool = False  # what it recorded is a program by now, or is none
    recording_leaf: bool = False  # a leaf of an array is, whose code cannot use names of the scalar one

    def where(self) -> Source:
        """Return the line of the innermost converted frame."""
        frame = next(converted_frames(sys._getframe(1)), None)
        return Source(frame.f_code.co_filename, frame.f_lineno) if frame is not None else self.source

    def site(self) -> Any:
        """Return a key of the place that is being recorded: the same in each recording, another for each call chain."""
        return (*call_chain(sys._getframe(1)), *self.within)

    # -- the open scalar leaf
    def append(self, *nodes: Node) -> None:
        self.flush()
        super().append(*nodes)
        self.versions.update(self.root(c) for node in nodes for c in writes(node))

    def flush(self) -> None:
        """Close the open scalar leaf; numbers that are alive get memory."""
        run, self.run = self.run, Run()
        for reference in run.numbers:
            number = reference()
            if number is not None and number.name is not None:
                container = self.scalar(number.dtype)
                if number.label is not None:
                    self.labels[container] = number.label
                run.body.append(Store(container, SCALAR, number.name))
                number.tensor, number.name = Tensor(self, container, (), number.dtype), None
        if any(isinstance(i, Store) for i in run.body):
            super().append(Leaf((), tuple(run.body), run.source))

    def scalar(self, dtype: Any) -> str:
        """Declare memory for one number."""
        return self.declare("s", (), dtype).container

    @contextlib.contextmanager
    def _leaf(self, params: Sequence, sequential: bool = False) -> Iterator[None]:
        self.flush()
        self.recording_leaf = True
        try:
            with super()._leaf(params, sequential):
                yield
        finally:
            self.recording_leaf = False

    @contextlib.contextmanager
    def _apart(self) -> Iterator[None]:
        self.flush()  # it belongs to the block that is being recorded
        with super()._apart():
            yield
            self.flush()

    def add(self, instr: Instr) -> None:
        """Add an instruction to the open scalar leaf."""
        if not self.run.body:
            self.run.source = self.where()
        self.run.body.append(instr)

    def named(self, value: Element) -> str:
        """Name a value of the open scalar leaf."""
        if (own := defined_name(value.code, self.run.body)) is not None:
            return own
        name = self.names.fresh("v")
        self.add(Let(name, value.code))
        return name

    def number(self, value: Element, weak: bool, origin: Origin) -> Number:
        """Return a value of the open scalar leaf as a number."""
        found = Number(self, value.dtype, weak, origin, name=self.named(value))
        self.run.numbers.append(weakref.ref(found))
        return found

    def symbolic(self, expr: sympy.Expr, origin: Origin) -> Any:
        """Return an integer expression over symbols as a number; Python's own where it is one."""
        expr = sympy.expand(expr)
        return int(expr) if expr.is_Integer else Number(self, np.int64, True, origin, expr=expr)

    def size(self, extent: Dim) -> Any:
        """Return an extent as Python sees it."""
        return int(extent) if isinstance(extent, (int, sympy.Integer)) else self.symbolic(extent, ONLY_DATA)

    def read(self, tensor: Tensor, index: Sequence[Any], origin: Origin = ONLY_DATA) -> Number:
        """Return an element of an array, as it is now."""
        read, place = self._read(tensor, index)
        found = self.number(read, False, origin)
        found.loaded = (self.root(tensor.container), tensor.container + tensor.part, place)
        return found

    def _read(self, tensor: Tensor, index: Sequence[Any]) -> tuple[Element, tuple[sympy.Expr, ...]]:
        """Return an element of an array as code of the open scalar leaf, and its subscripts."""
        place = self._placed(tensor, index)
        if self.root(tensor.container) in self.run.stored:
            self.flush()
            place = self._placed(tensor, index)
        key = (tensor.container, place)
        if key not in self.run.loaded:
            self.run.loaded[key] = self.names.fresh("v")
            self.add(Load(self.run.loaded[key], tensor.container, place))
        return as_read(Element(code.name(self.run.loaded[key]), whole_of(tensor).dtype), tensor), place

    def write(self, tensor: Tensor, index: Sequence[Any], value: Any) -> None:
        """Write an element of an array."""
        root = self.root(tensor.container)
        if root in self.run.stored:
            self.flush()
        stored = as_stored(self.element(value, tensor.dtype), tensor, lambda: self._read(whole_of(tensor), index)[0])
        self.add(Store(tensor.container, self._placed(tensor, index), self.named(stored)))
        self.run.stored.add(root)
        self.versions[root] += 1
        self.run.loaded = {k: v for k, v in self.run.loaded.items() if self.root(k[0]) != root}
        self.run.wrapped = {k: v for k, v in self.run.wrapped.items() if k[0] != root}

    def root(self, container: str) -> str:
        """Return the container whose memory a container is, or is a view of."""
        while (found := self.containers.get(container)) is not None and found.view_of is not None:
            container = found.view_of
        return container

    def _placed(self, tensor: Tensor, index: Sequence[Any]) -> tuple[sympy.Expr, ...]:
        """Return subscripts of a container, as expressions over names of the open scalar leaf."""
        own = [self.position(i) for i in index]
        placed = own if tensor.place is None else tensor.place(tuple(own))
        found = [sym(self.named(i)) if isinstance(i, Element) else sympy.sympify(i) for i in placed]
        return tuple(found) or SCALAR

    def position(self, index: Any) -> Index:
        """Return one subscript: an expression, or the code of an integer that only a run knows."""
        if isinstance(index, Number):
            return index.expr if index.expr is not None else self.element(index)
        return index if isinstance(index, (sympy.Basic, Element)) else int(index)

    def element(self, value: Any, dtype: Any = np.float64) -> Element:
        """Return a number as code of the leaf that is being recorded; one of Python's takes a type."""
        if not isinstance(value, Number):
            return element(value, dtype)
        if value.expr is not None:
            return Element(to_ast(value.expr), np.dtype(np.int64))
        if value.name is not None:
            return Element(code.name(value.name), value.dtype)
        assert value.tensor is not None
        return self.load(value.tensor, (), None) if self.recording_leaf else self._read(value.tensor, ())[0]

    def stored(self, value: Any, dtype: Any) -> Tensor:
        """Return a number as a tensor without axes."""
        if isinstance(value, Number) and value.dtype == dtype:
            if value.name is not None:
                self.flush()
            if value.tensor is not None:
                return value.tensor
        container = self.scalar(dtype)
        self.write(Tensor(self, container, (), np.dtype(dtype)), (), value)
        return Tensor(self, container, (), np.dtype(dtype))

    def value(self, number: Any) -> Value:
        """Return an integer or a condition for a control node; the open scalar leaf is closed."""
        if isinstance(number, Number) and number.condition is not None:
            self.flush()
            return Value((), number.condition)
        if isinstance(number, Number) and number.expr is None:
            self.flush()
            assert number.tensor is not None
            return self._number(number.tensor)
        if isinstance(number, Number):
            return Value((), to_ast(number.expr))
        return Value((), code.constant(number.item() if isinstance(number, np.generic) else number))

    def symbol(self, number: Number, stem: str = "n") -> sympy.Expr:
        """Return an integer as an expression over symbols; one that only a run knows is assigned to a new one."""
        if number.expr is not None:
            return number.expr
        self.hints.needs_integers(number.origin)
        if number.moved is not None:
            return self.symbol(number.moved[0], stem) + number.moved[1]
        if number.assigned is not None and any(b is number.assigned[1] for b in self.blocks):
            return sym(number.assigned[0])
        if (known := self.assigned.get(number.loaded)) is not None and known.holds(self):
            return sym(known.symbol)
        name = self.names.fresh(stem)
        self.symbols[name] = dace.int64
        self.append(SymbolAssign(name, element_of(self, number) or self.value(number), dace.int64, self.where()))
        number.assigned = (name, self.blocks[-1])
        if number.loaded is not None:
            self.assigned[number.loaded] = Assigned.now(self, name, number.loaded[0])
        return sym(name)

    @contextlib.contextmanager
    def inside(self, block: list[Node]) -> Iterator[None]:
        """Record at the end of a block of its own."""
        self.flush()
        depth = len(self.blocks)
        self.blocks.append(block)
        yield
        self.flush()
        del self.blocks[depth:]  # an arm may end inside of a loop

    def scatter_where(self, target: Tensor, function: Callable[..., tuple[Sequence[Index], Element, Element]]) -> None:
        """For all of a tensor in any order, store a value where a condition holds."""
        params, position = self._params(target.shape)
        with self._leaf(params):
            index, value, when = function(*position)
            self._store(target, index, value, "set", when, False)

    def array(self, tensor: Tensor) -> Array:
        """Return a tensor that was just computed as an array of its own."""
        return Array(self, Storage(tensor.container, None, self.blocks[-1], None), tensor)

    def known(self, content: np.ndarray) -> Array:
        """Return an array of known content."""
        site = self.site()
        count = self.sites[site] = self.sites.get(site, -1) + 1
        storage = Storage(self.names.fresh("a"), content, self.blocks[-1], (site, count), constant=True)
        tensor = Tensor(self, storage.name, content.shape, np.dtype(content.dtype.str))
        found = Array(self, storage, tensor, content)
        if storage.site in self.hints.materialized:
            self.materialize(storage)
        return found

    def content(self, array: Array) -> Any:
        """Return a tensor with the content of an array, or the number that all its elements are."""
        if array.storage.stale:
            raise ParseError(array.storage.stale)
        content = array.read_known()
        if content is None:
            return array.tensor
        if content.size == 1 or is_uniform(content):
            return content.flat[0].item() if content.dtype.kind != "c" else complex(content.flat[0])
        return self.fixed(content)

    def fixed(self, content: np.ndarray) -> Tensor:
        """Return a tensor of constant content: written by the program if it is small, else an input of it."""
        if content.size <= 16:
            return self.placed(self.constant(content.copy()))
        for name, other in self.inputs.items():
            if name.startswith("constant") and other.dtype == content.dtype and np.array_equal(other, content):
                return Tensor(self, name, content.shape, content.dtype)
        return self.input("constant", np.ascontiguousarray(content).copy())

    def input(self, stem: str, content: np.ndarray) -> Tensor:
        """Declare an input besides the arguments."""
        name = self.names.fresh(stem)
        self.inputs[name] = content
        return self.declare(name, content.shape, content.dtype, argument=True)

    def outside(self, array: np.ndarray) -> Array:
        """Return an array that the function did not make: an input, read again at each call.

        If its content has to be known, it is part of what the program is made for.
        """
        if id(array) in self.outer:
            return self.outer[id(array)][1]
        read = self.reads.path(array)
        if told := special_kind(array):
            raise ParseError(f"an array outside of the function {told}")
        if id(array) in self.hints.frozen:
            content = array.copy()
            self.reads.contents.append(Content(read or array, content))
            found = self.known(content)
            found.storage.readonly = WRITTEN
        else:
            name = read.key if read is not None else None
            tensor = self.input(name if isinstance(name, str) and name.isidentifier() else "hidden", array)
            self.inputs[tensor.container] = read or array
            storage = Storage(tensor.container, None, self.blocks[0], None, readonly=WRITTEN, outside=array)
            found = Array(self, storage, tensor)
        self.outer[id(array)] = (array, found)
        return found

    def adopt(self, value: Any) -> Any:
        """Return a value of the recording around this one as an input."""
        if value.recorder is self:
            return value
        if id(value) in self.outer:
            return self.outer[id(value)][1]
        if isinstance(value, Number):
            found: Any = self._adopted_number(value)
        elif value.known is not None:
            found = self.known(value.known.copy())
            found.storage.readonly = WRITTEN
        else:
            if any(not isinstance(n, int) for n in value.tensor.shape):
                raise ParseError("a function that is differentiated inside uses an array whose size a loop changes")
            tensor = self.declare(self.names.fresh("outer"), value.tensor.shape, value.dtype, argument=True)
            self.inputs[tensor.container] = value
            found = Array(self, Storage(tensor.container, None, self.blocks[0], None, readonly=WRITTEN), tensor)
        self.outer[id(value)] = (value, found)
        return found

    def _adopted_number(self, value: Number) -> Number:
        name, origin = self.names.fresh("outer"), of_around(value.recorder.hints, value.origin)
        self.inputs[name] = value
        if value.dtype.kind in "iub":
            self.symbols[name] = dace.int64
            found = Number(self, value.dtype, value.weak, origin, expr=sym(name))
            self.ranges.add(name, 0 if is_positive(value) else None)
        else:
            self.containers[name] = Container(name, dt.Scalar(typeclass(value.dtype), transient=False))
            found = Number(self, value.dtype, value.weak, origin, tensor=Tensor(self, name, (), value.dtype))
        return found

    def materialize(self, storage: Storage) -> None:
        """Give known content memory, written at the end of the block in which the array was made."""
        content = storage.known
        assert content is not None
        if storage.read_inside:  # what a loop read as a constant is no constant
            self.hints.materialized.add(storage.site)
            raise Restart(self.hints)
        storage.known = None
        self.written.add(storage.site)
        self.flush()
        block = storage.block if any(storage.block is b for b in self.blocks) else self.blocks[-1]
        desc = dt.Array(typeclass(content.dtype), [sympy.Integer(n) for n in content.shape] or [1], transient=True)
        self.containers[storage.name] = Container(storage.name, desc)
        target = Tensor(self, storage.name, content.shape, np.dtype(content.dtype.str))
        held, self.blocks = self.blocks, [block]
        try:
            if content.size:
                uniform = content.size == 1 or is_uniform(content)
                value = content.flat[0] if uniform else self.fixed(content)
                self.assign(target, lambda *i: value[i] if isinstance(value, Tensor) else element(value, target.dtype))
        finally:
            self.blocks = held
