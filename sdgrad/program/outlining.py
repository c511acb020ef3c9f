"""Outline runs of nodes as C++ functions, each of which one tasklet calls.

Whatever is neither a call of a library nor a transfer is loops and memory, and becomes C++
(:mod:`sdgrad.program.cpp_code`). What is left for DaCe is to make arrays, to call libraries, and the frame.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial

import dace
from dace import data as dt

from sdgrad.program.cpp_code import REDUCED, UPDATED, Writer
from sdgrad.program.interrupts import POLL, polls
from sdgrad.program.symbols import assigned_symbols, defined_symbols, mentions, unbound_symbols, view_symbols
from sdgrad.program.tree import (
    Block,
    Container,
    Leaf,
    Loop,
    Node,
    NodeCall,
    Program,
    Scope,
    SymbolAssign,
    reads,
    walk,
    writes,
)

NAME = re.compile(r"\b[A-Za-z_]\w*\b")
STACK = 1 << 12
"""Bytes of a scope's array at most that is on the stack."""
NOT_INLINED = " __attribute__((noinline))"
SCHEDULES = (dace.ScheduleType.Default, dace.ScheduleType.Sequential, dace.ScheduleType.CPU_Multicore)


@dataclass(frozen=True)
class Outlined:
    """Nodes as a function.

    :param prefix: how names begin that no container has: of the function, and of what belongs to the call.
    :param arrays: containers that it takes by their addresses; True for those that it writes.
    :param numbers: scalars that it takes by their addresses; True for those that it writes.
    :param symbols: symbols that it takes by value.
    """

    name: str
    text: str
    prefix: str
    arrays: Mapping[str, bool]
    numbers: Mapping[str, bool]
    symbols: tuple[str, ...]


LARGE, PIECE = 400, 120
"""Statements of a function from which it is divided, and those of a piece at least: pieces compile side by side."""


@dataclass
class Outliner:
    """Find the nodes of a program that become functions, and write these.

    :param functions: the functions, each behind those that it calls.
    """

    program: Program
    functions: list[str] = field(default_factory=list)

    def runs(self, block: Block, is_whole: bool) -> Iterator[tuple[bool, Block]]:
        """Yield a block in runs of nodes that become a function together, and of others.

        :param is_whole: the block is that of the program.
        """
        found = [(self.is_outlined(n, block[k + 1 :] if is_whole else None), n) for k, n in enumerate(block)]
        for which, run in itertools.groupby(found, lambda f: f[0]):
            yield which, tuple(n for _, n in run)

    def is_outlined(self, node: Node, after: Block | None = None) -> bool:
        """True if a node becomes C++.

        :param after: what follows, if nothing else does; None if nobody knows.
        """
        if isinstance(node, SymbolAssign) or not all(map(self._is_plain, walk((node,)))):
            return False
        containers = [self.program.containers[n] for n in reads(node) | writes(node)]
        inner = defined_symbols((node,))
        if any(type(c.desc) not in PLAIN or c.name in self.program.constants for c in containers):
            return False
        if any(c.view_of is not None and view_symbols(c.name, self.program) & inner for c in containers):
            return False
        return all(self._stays(s, node, after) for s in assigned_symbols((node,)))

    def _is_plain(self, node: Node) -> bool:
        """True if a node is loops and memory, apart from what is in it."""
        if isinstance(node, NodeCall) or (isinstance(node, Loop) and node.symbol in self._left):
            return False
        if not isinstance(node, (Leaf, Scope)):
            return True
        if node.schedule not in SCHEDULES or not all(p.step.is_number for p in node.params):
            return False
        if isinstance(node, Scope):
            outer = assigned_symbols(node.body) & unbound_symbols(node.body, self.program)
            return not outer and all(map(_is_on_stack, node.locals))
        return all(s.mode in ("set", *REDUCED, *UPDATED) for s in node.stores)

    def _stays(self, symbol: str, node: Node, after: Block | None) -> bool:
        """True if nobody asks for what a node leaves in a symbol."""
        if symbol in self._of_shapes:
            return False
        if after is not None:
            return symbol not in unbound_symbols(after, self.program)
        return self._mentions[symbol] == mentions((node,))[symbol]

    @cached_property
    def _mentions(self) -> Counter[str]:
        return mentions(self.program.body)

    @cached_property
    def _polls(self) -> bool:
        """True if functions ask for interrupts: DaCe may write long loops around them."""
        return any(isinstance(n, Loop) and polls(n) for n in walk(self.program.body))

    @cached_property
    def _left(self) -> set[str]:
        """Symbols that have a value outside of loops: what a loop leaves in its variable, perhaps."""
        body = self.program.body
        return unbound_symbols(body, self.program) | assigned_symbols(body)

    @cached_property
    def _of_shapes(self) -> frozenset[str]:
        """Symbols of which the sizes of arrays are made."""
        return frozenset().union(*(c.symbols for c in self.program.containers.values()))

    @cached_property
    def _prefix(self) -> str:
        """How names begin that no container has."""
        found, local = "part_", {c.name for n in walk(self.program.body) if isinstance(n, Scope) for c in n.locals}
        while any(n.startswith(found) for n in self.program.containers.keys() | local):
            found += "_"
        return found

    @cached_property
    def _known(self) -> frozenset[str]:
        """Names of numbers: symbols, and variables of loops and scopes."""
        nodes = list(walk(self.program.body))
        variables = {n.symbol for n in nodes if isinstance(n, (Loop, SymbolAssign))}
        params = {p.name for n in nodes if isinstance(n, Scope) for p in n.params}
        return frozenset(self.program.symbols.keys() | variables | params) - self.program.containers.keys()

    def outlined(self, nodes: Block, inline: bool = False, piece: bool = False, asks: bool = True) -> Outlined:
        """Return nodes as a function.

        :param inline: each instance of a map calls it.
        :param piece: it is a part of one.
        :param asks: it may end the program where the user interrupts it: no exception leaves threads that share work.
        """
        program = self.program
        touched = set[str]().union(*(reads(n) | writes(n) for n in nodes))
        written = {program.root(n) for node in nodes for n in writes(node)}
        roots = {n: n in written for n in sorted({program.root(n) for n in touched})}
        numbers = {n: w for n, w in roots.items() if isinstance(program.containers[n].desc, dt.Scalar)}
        arrays = {n: w for n, w in roots.items() if n not in numbers}
        divided = not piece and _size(nodes) > LARGE
        pieces = partial(self._pieces, asks=asks) if divided else iter
        writer = Writer(program, set(numbers), pieces, shared=inline, asks=asks)
        if self._polls and asks:
            writer.put(POLL)
        for name in numbers:
            writer.put(f"{self._type(name)} {name} = *{self._prefix}{name};")
        for view in _views(touched, program):
            writer.view(view)
        writer.symbols(nodes)
        writer.block(nodes)
        for name in (n for n, w in numbers.items() if w):
            writer.put(f"*{self._prefix}{name} = {name};")
        text = "\n".join(writer.lines)
        symbols = tuple(sorted(set(NAME.findall(text)) & self._known - _bound(nodes, program)))
        taken = [
            *(f"{'' if w else 'const '}{self._type(n)}* __restrict__ {n}" for n, w in arrays.items()),
            *(f"{'' if w else 'const '}{self._type(n)}* {self._prefix}{n}" for n, w in numbers.items()),
            *(f"{program.symbols.get(s, dace.int64).ctype} {s}" for s in symbols),
        ]
        how = "static __attribute__((always_inline)) inline" if inline else f"static{NOT_INLINED if piece else ''}"
        body = f"({', '.join(taken)})\n{{\n{text}\n}}\n"
        name = f"{self._prefix}{hashlib.sha256(body.encode()).hexdigest()[:12]}"
        guard = name.upper()  # programs that are compiled together may share a part
        whole = f"#ifndef {guard}\n#define {guard}\n{how} void {name}{body}#endif\n"
        self.functions.append(whole)
        return Outlined(name, whole, self._prefix, arrays, numbers, symbols)

    def _pieces(self, block: Block, asks: bool) -> Iterator[str | Node]:
        """Yield a block of a large function: calls of its pieces, and nodes that are too large or too small for one."""
        for alone, run in itertools.groupby(block, lambda n: _size((n,)) > LARGE or not self.is_outlined(n)):
            nodes = tuple(run)
            begin = size = 0
            for k, node in enumerate(nodes):
                size += _size((node,))
                if not alone and size > PIECE:
                    yield self._call(nodes[begin : k + 1], asks)
                    begin, size = k + 1, 0
            yield from nodes[begin:]

    def _call(self, nodes: Block, asks: bool) -> str:
        """Write nodes as a function of its own, and return the call."""
        made = self.outlined(nodes, piece=True, asks=asks)
        return f"{made.name}({', '.join([*made.arrays, *(f'&{n}' for n in made.numbers), *made.symbols])});"

    def _type(self, name: str) -> str:
        return self.program.containers[name].dtype.ctype


PLAIN = (dt.Scalar, dt.Array, dt.ArrayView)


def _size(nodes: Block) -> int:
    """Return how many statements there are, and loops."""
    return sum(1 + (len(n.body) + len(n.params) if isinstance(n, Leaf) else 0) for n in walk(nodes))


def _is_on_stack(container: Container) -> bool:
    """True if an instance of a scope has an array or a number on the stack."""
    desc = container.desc
    if container.view_of is not None or container.symbols or type(desc) not in PLAIN:
        return False
    return isinstance(desc, dt.Scalar) or desc.storage == dace.StorageType.Register or _bytes(container) <= STACK


def _bytes(container: Container) -> int:
    return int(container.desc.total_size) * container.dtype.bytes


def _bound(nodes: Block, program: Program) -> frozenset[str]:
    """Return the variables and symbols that nodes define before they use them."""
    return defined_symbols(nodes) - (assigned_symbols(nodes) & unbound_symbols(nodes, program))


def _views(names: set[str], program: Program) -> list[Container]:
    """Return the views among some containers, each after that of which it is one."""
    found: dict[str, Container] = {}

    def add(container: Container) -> None:
        if container.view_of is not None and container.name not in found:
            add(program.containers[container.view_of])
            found[container.name] = container

    for name in sorted(names):
        add(program.containers[name])
    return list(found.values())
