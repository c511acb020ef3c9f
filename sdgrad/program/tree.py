"""The program tree: frozen, printable, and all that the engine knows of a program.

A program is a sequence of nodes. A :class:`Leaf` is a perfect nest of parallel parameters around straight-line
scalar code (:mod:`sdgrad.program.instructions`); everything an SDFG does element by element becomes one. Library calls,
branches, loops and maps with structured bodies are the other nodes. :mod:`sdgrad.lift` reads the tree off an SDFG and
:mod:`sdgrad.program.emit` writes it as one; in between nobody touches an SDFG. ``print(program)`` shows it as text.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from operator import is_

import dace
import sympy
from dace import data as dt

from sdgrad.program.descriptors import lasting
from sdgrad.program.instructions import Expr, Index, Instr, Let, Load, Param, Store
from sdgrad.program.kept import kept

SCALAR: Index = (sympy.Integer(0),)  # the index of a scalar's only element


@dataclass(frozen=True)
class Source:
    """Say where a node comes from in the user's file."""

    file: str | None = None
    line: int | None = None
    label: str = ""

    def __str__(self) -> str:
        where = f"{self.file or '<graph>'}:{self.line}" if self.line else (self.file or "<graph>")
        return f"{where} ({self.label})" if self.label else where


@dataclass(frozen=True)
class Container:
    """A named array or scalar. ``view_of`` names the container whose memory it reinterprets, if any."""

    name: str
    desc: dt.Data
    view_of: str | None = None
    view_subset: dace.subsets.Range | None = None

    @cached_property
    def shape(self) -> tuple[Expr, ...]:
        return tuple(sympy.sympify(s) for s in self.desc.shape)

    @cached_property
    def symbols(self) -> frozenset[str]:  # that its shape, its strides and its place mention
        return frozenset(map(str, self.desc.free_symbols))

    @cached_property
    def dtype(self) -> dace.typeclass:
        return self.desc.dtype

    @property
    def transient(self) -> bool:
        return self.desc.transient

    def local(self, name: str) -> Container:
        """Return local memory of the same type and shape: no argument, and no view."""
        return Container(name, lasting(self.desc, True))

    def __str__(self) -> str:
        kind = "local" if self.transient else "argument"
        view = f" view of {self.view_of}[{self.view_subset}]" if self.view_of else ""
        return f"{kind} {self.name}: {self.dtype.to_string()}[{', '.join(map(str, self.shape))}]{view}"


# --- nodes -----------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Leaf:
    """Run ``body`` for all values of ``params``, in any order. No instance reads what another one writes.

    The instances of a ``sequential`` leaf run in lexicographic order of ``params``, and may accumulate into one
    element.
    """

    params: tuple[Param, ...]
    body: tuple[Instr, ...]
    source: Source = Source()
    sequential: bool = False
    schedule: dace.ScheduleType = dace.ScheduleType.Default

    @cached_property
    def loads(self) -> tuple[Load, ...]:
        return tuple(i for i in self.body if isinstance(i, Load))

    @cached_property
    def stores(self) -> tuple[Store, ...]:
        return tuple(i for i in self.body if isinstance(i, Store))

    @cached_property
    def lets(self) -> tuple[Let, ...]:
        return tuple(i for i in self.body if isinstance(i, Let))

    @cached_property
    def accesses(self) -> tuple[Load | Store, ...]:
        """Return the loads and stores, in program order."""
        return tuple(i for i in self.body if not isinstance(i, Let))

    @cached_property
    def defined(self) -> frozenset[str]:
        """Return the names of the values that loads and lets define."""
        return frozenset(i.name for i in self.body if not isinstance(i, Store))

    @cached_property
    def read(self) -> frozenset[str]:
        """Return the containers of its loads, and of reductions that are not fresh."""
        targets = {s.container for s in self.stores if s.mode != "set" and not s.fresh}
        return frozenset(targets.union(load.container for load in self.loads))

    @cached_property
    def written(self) -> frozenset[str]:
        """Return the containers of its stores."""
        return frozenset(s.container for s in self.stores)


@dataclass(frozen=True)
class Region:
    """A rectangular part of a container, as an operand of a node call."""

    container: str
    subset: dace.subsets.Range
    wcr: str | None = None

    def __str__(self) -> str:
        return f"{self.container}[{self.subset}]"


def whole_region(container: str, shape: Iterable[Expr]) -> Region:
    """Return all of a container, as an operand."""
    one, zero = sympy.Integer(1), sympy.Integer(0)
    return Region(container, dace.subsets.Range([(zero, n - one, one) for n in shape]))


@dataclass(frozen=True)
class NodeCall:
    """A node the engine does not look into: a library node, a C++ tasklet, or a nested SDFG that is not lifted."""

    node: dace.nodes.CodeNode
    inputs: Mapping[str, Region]
    outputs: Mapping[str, Region]
    source: Source = Source()
    reason: str = ""

    @property
    def kind(self) -> str:
        return type(self.node).__name__

    @property
    def regions(self) -> Mapping[str, Region]:
        """Return what a rule may ask for, by name."""
        return {**self.inputs, **self.outputs}

    def is_result(self, name: str) -> bool:
        """True if a rule sees what the node left in an operand, and not what it found there."""
        return name in self.outputs and name not in self.inputs

    @property
    def free_symbols(self) -> set[str]:
        """Return the symbols that the node itself mentions."""
        return {str(s) for s in self.node.free_symbols}


@dataclass(frozen=True)
class Scope:
    """A parallel map with a structured body; ``locals`` live for one instance. Without params: a plain scope."""

    params: tuple[Param, ...]
    body: tuple[Node, ...]
    locals: tuple[Container, ...] = ()
    source: Source = Source()
    sequential: bool = False
    schedule: dace.ScheduleType = dace.ScheduleType.Default


@dataclass(frozen=True)
class Value:
    """An expression over symbols and elements of containers, for conditions and symbol assignments."""

    loads: tuple[Load, ...]
    expr: ast.expr

    def __str__(self) -> str:
        loads = "; ".join(map(str, self.loads))
        return ast.unparse(self.expr) + (f" with {loads}" if loads else "")


@dataclass(frozen=True)
class SymbolAssign:
    """``symbol = value`` for an integer symbol, as interstate edges have it."""

    symbol: str
    value: Value
    dtype: dace.typeclass
    source: Source = Source()


@dataclass(frozen=True)
class Branch:
    """Run the first arm whose condition holds; a condition of None always holds."""

    arms: tuple[tuple[Value | None, tuple[Node, ...]], ...]
    source: Source = Source()


@dataclass(frozen=True)
class Loop:
    """``for symbol = start; while symbol <= stop (>= if step < 0) and also; symbol += step``, in order.

    A ``while`` loop has no ``stop``: its symbol counts iterations. If a loop may stop early, ``last`` names the
    container that holds the symbol of the last iteration that ran.
    """

    symbol: str
    start: Value
    stop: Value | None
    step: Value
    body: tuple[Node, ...]
    source: Source = Source()
    also: Value | None = None
    last: str | None = None


Node = Leaf | NodeCall | Scope | SymbolAssign | Branch | Loop
Block = tuple[Node, ...]


@dataclass(frozen=True)
class Program:
    """A whole program: containers, symbols, and the block that runs."""

    name: str
    containers: Mapping[str, Container]
    symbols: Mapping[str, dace.typeclass]
    constants: Mapping[str, tuple]
    body: Block
    arguments: tuple[str, ...] = ()
    callback_mapping: Mapping[str, str] = field(default_factory=dict)

    def root(self, name: str) -> str:
        """Return the container whose memory ``name`` is, through any number of views."""
        while (view := self.containers.get(name)) is not None and view.view_of is not None:
            name = view.view_of
        return name

    def __str__(self) -> str:
        head = [f"program {self.name}"] + [f"  {c}" for c in self.containers.values()]
        return "\n".join(head + ["  body"] + [f"    {line}" for node in self.body for line in lines(node)])


# --- walking ---------------------------------------------------------------------------------------------------
def children(node: Node) -> tuple[Block, ...]:
    """Return the blocks a node holds, in program order."""
    if isinstance(node, (Scope, Loop)):
        return (node.body,)
    return tuple(block for _, block in node.arms) if isinstance(node, Branch) else ()


def with_children(node: Node, blocks: tuple[Block, ...]) -> Node:
    """Return the node with other blocks in place of its own; the node itself if they hold the same nodes."""
    if all(map(same_nodes, blocks, children(node))):
        return node
    if isinstance(node, (Scope, Loop)):
        return replace(node, body=blocks[0])
    if isinstance(node, Branch):
        return replace(node, arms=tuple((c, b) for (c, _), b in zip(node.arms, blocks, strict=False)))
    return node


def map_blocks(node: Node, change: Callable[[Block], Block]) -> Node:
    """Return the node with each block that it holds changed; a node without blocks stays as it is."""
    return with_children(node, tuple(change(block) for block in children(node)))


def walk(block: Block) -> Iterator[Node]:
    """Yield every node of a block, parents first."""
    for node in block:
        yield node
        for inner in children(node):
            yield from walk(inner)


def same_nodes(a: Block, b: Block) -> bool:
    """True if two blocks hold the same objects."""
    return len(a) == len(b) and all(map(is_, a, b))


def rewritten(block: Block, change: Callable[[Node], Block]) -> Block:
    """Return the block with every node replaced by what it changes to, inner blocks first; itself if all stay."""
    made = (change(map_blocks(node, partial(rewritten, change=change))) for node in block)
    new = tuple(n for nodes in made for n in nodes)
    return block if same_nodes(new, block) else new


def values(node: Node) -> tuple[Value, ...]:
    """Return the values a control node evaluates by itself."""
    if isinstance(node, Branch):
        return tuple(c for c, _ in node.arms if c is not None)
    if isinstance(node, SymbolAssign):
        return (node.value,)
    if isinstance(node, Loop):
        return tuple(v for v in (node.start, node.stop, node.step, node.also) if v is not None)
    return ()


def with_values(node: Node, change: Callable[[Value], Value]) -> Node:
    """Return the node with other values in place of those it evaluates by itself."""
    if isinstance(node, Branch):
        return replace(node, arms=tuple((change(c) if c is not None else None, b) for c, b in node.arms))
    if isinstance(node, SymbolAssign):
        return replace(node, value=change(node.value))
    if isinstance(node, Loop):
        stop = change(node.stop) if node.stop is not None else None
        also = change(node.also) if node.also is not None else None
        return replace(node, start=change(node.start), stop=stop, step=change(node.step), also=also)
    return node


def reads(node: Node) -> set[str]:
    """Return the containers that a node, or a node in it, reads; a reduction that is not fresh reads its target."""
    return set(node.read if isinstance(node, Leaf) else _reads(node))


@kept
def _reads(node: Node) -> set[str]:
    found = own_reads(node)
    if isinstance(node, NodeCall):
        found |= {r.container for r in node.inputs.values()}
        found |= {r.container for r in node.outputs.values() if r.wcr}
    return found.union(*(reads(n) for block in children(node) for n in block)) - local_names(node)


def own_reads(node: Node) -> set[str]:
    """Return the containers that a control node reads by itself: in conditions and bounds, and where it stopped."""
    last = {node.last} if isinstance(node, Loop) and node.last is not None else set()
    return last.union(load.container for value in values(node) for load in value.loads)


def writes(node: Node) -> set[str]:
    """Return the containers that a node, or a node in it, writes."""
    return set(node.written if isinstance(node, Leaf) else _writes(node))


@kept
def _writes(node: Node) -> set[str]:
    found = {r.container for r in node.outputs.values()} if isinstance(node, NodeCall) else set()
    return found.union(*(writes(n) for block in children(node) for n in block)) - local_names(node)


def local_names(node: Node) -> set[str]:
    """Return the names of a scope's local containers; none for other nodes."""
    return {c.name for c in node.locals} if isinstance(node, Scope) else set()


# --- printing --------------------------------------------------------------------------------------------------
def lines(node: Node) -> list[str]:
    """Return a node as text, one statement a line."""
    if isinstance(node, Leaf):
        return [_map_head(node, "do:"), *(f"  {i}" for i in node.body)]
    if isinstance(node, Scope):
        return [_map_head(node, "scope:"), *(f"  {c}" for c in node.locals), *_indented(node.body)]
    if isinstance(node, NodeCall):
        ins, outs = (", ".join(f"{k}={r}" for k, r in x.items()) for x in (node.inputs, node.outputs))
        return [f"call {node.kind}({ins}) -> {outs}"]
    if isinstance(node, SymbolAssign):
        return [f"{node.symbol} := {node.value}"]
    if isinstance(node, Branch):
        return [x for k, (c, block) in enumerate(node.arms) for x in (_arm_head(k, c), *_indented(block))]
    stop = f" .. {node.stop}" if node.stop is not None else " ..."
    also = f" while {node.also}" if node.also is not None else ""
    return [f"loop {node.symbol} = {node.start}{stop} step {node.step}{also}:", *_indented(node.body)]


def _map_head(node: Leaf | Scope, plain: str) -> str:
    """Return the head of a map, or ``plain`` if it has no parameters."""
    head = ", ".join(map(str, node.params))
    return f"{'for' if node.sequential else 'map'} {head}:" if head else plain


def _arm_head(position: int, condition: Value | None) -> str:
    """Return the head of an arm of a branch."""
    return f"{'elif' if position else 'if'} {condition}:" if condition is not None else "else:"


def _indented(block: Block) -> list[str]:
    return [f"  {line}" for inner in block for line in lines(inner)]
