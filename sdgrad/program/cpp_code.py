"""Write nodes that need nothing but loops and memory as C++, one line a statement.

The code is what DaCe writes for states and maps, so that compilers find the same loops in it; it takes a part of the
time, for DaCe makes a state, a tasklet and edges of each statement.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import dace
import sympy
from dace import data as dt
from dace import symbolic
from dace.codegen import cppunparse
from dace.codegen.targets.cpp import DaCeKeywordRemover

from sdgrad.config import config
from sdgrad.program.integer_powers import integer_powers
from sdgrad.program.interrupts import POLL, polls
from sdgrad.program.invariant_calls import invariant_calls, without
from sdgrad.program.leaf_tasklet import written_index
from sdgrad.program.naming import STREAMED
from sdgrad.program.prelude import is_vectorized
from sdgrad.program.symbols import unbound_symbols
from sdgrad.program.tree import (
    Block,
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
    Scope,
    Store,
    SymbolAssign,
    Value,
    children,
)

REDUCED = {"sum": "Sum", "prod": "Product", "max": "Max", "min": "Min"}
"""Reductions by functions of DaCe's runtime, which :mod:`sdgrad.runtime.compile.simd` knows."""
UPDATED = {"and": "&&", "or": "||", "bitand": "&", "bitor": "|", "bitxor": "^", "xor": "!="}
"""Reductions by operators of C++."""
COMPLEX = (dace.complex64, dace.complex128)
IVDEP = "#pragma GCC ivdep"
PARALLEL = "#pragma omp parallel for"
INDENT = "    "
INT = 2**31 - 1  # numbers up to which a variable is an int


@dataclass
class Writer:
    """Write blocks of one program.

    :param numbers: containers that are variables here, and not arrays.
    :param shared: True inside of a map: its instances run in one thread each.
    :param asks: long loops ask for interrupts.
    :param pieces: divides a block into nodes that become functions of their own, whose calls it returns, and others.
    """

    program: Program
    numbers: set[str]
    pieces: Callable[[Block], Iterator[str | Node]] = iter
    lines: list[str] = field(default_factory=list)
    depth: int = 1
    shared: bool = False
    asks: bool = True

    def put(self, line: str) -> None:
        """Append a line."""
        self.lines.append(INDENT * self.depth + line)

    def inside(self, head: str, write: Callable[[], None]) -> None:
        """Write something between braces."""
        self.put(f"{head} {{".lstrip())
        self.depth += 1
        write()
        self.depth -= 1
        self.put("}")

    # -- declarations
    def declare(self, container: Container) -> None:
        """Declare memory of a scope."""
        kind = container.dtype.ctype
        if isinstance(container.desc, dt.Scalar):
            self.numbers.add(container.name)
            self.put(f"{kind} {container.name};")
        else:
            self.put(f"alignas(64) {kind} {container.name}[{int(container.desc.total_size)}];")

    def symbols(self, block: Block) -> None:
        """Declare the symbols that a block assigns before it uses them."""
        for name in sorted(_assigned(block) - unbound_symbols(block, self.program)):
            self.put(f"{self.program.symbols.get(name, dace.int64).ctype} {name};")

    def view(self, view: Container) -> None:
        """Declare the address of a view."""
        assert view.view_of is not None and view.view_subset is not None
        base, kind = self.program.containers[view.view_of], view.dtype.ctype
        place = flat([first for first, _, _ in view.view_subset.ranges], base)
        self.put(f"{kind}* {view.name} = ({kind}*)({view.view_of} + {place});")

    # -- nodes
    def block(self, block: Block) -> None:
        """Write nodes one after the other."""
        for piece in iter(block) if self.shared else self.pieces(block):
            if isinstance(piece, str):
                self.put(piece)
            else:
                self.node(piece)

    def node(self, node: Node) -> None:
        """Write a node."""
        assert not isinstance(node, NodeCall)
        if isinstance(node, Leaf):
            self.leaf(node)
        elif isinstance(node, Scope):
            self.scope(node)
        elif isinstance(node, Loop):
            self.loop(node)
        elif isinstance(node, Branch):
            self.branch(node)
        else:
            self.put(f"{node.symbol} = {self.value(node.value)};")

    def leaf(self, leaf: Leaf) -> None:
        """Write a nest around straight-line code."""
        inner = IVDEP if leaf.params and not leaf.sequential else ""
        outer = self.of_threads(leaf)
        if outer and len(leaf.params) == 1:
            objects = any(self.program.containers[x.container].dtype in COMPLEX for x in leaf.accesses)
            outer += "" if objects else " simd"  # GCC keeps an array of objects in memory, one for each lane
            if is_vectorized(leaf):
                outer += f" schedule(static, {config.machine.vector_chunk})"
        early = invariant_calls(leaf, self.program)
        rest = replace(leaf, body=without(leaf, early)) if early else leaf
        self.nest(leaf.params, lambda: self.body(rest), outer, inner, early)

    def scope(self, scope: Scope) -> None:
        """Write a nest around a block with memory of its own."""

        def write() -> None:
            for container in scope.locals:
                self.declare(container)
            self.symbols(scope.body)  # each instance has its own
            self.block(scope.body)

        outer, before = self.of_threads(scope), self.shared
        self.shared = before or bool(scope.params)
        self.nest(scope.params, write, outer)
        self.shared = before

    def of_threads(self, node: Leaf | Scope) -> str:
        """Return the pragma by which threads share the iterations of a map; empty if they do not."""
        alone = node.sequential or node.schedule == dace.ScheduleType.Sequential or self.shared
        return PARALLEL if node.params and not alone else ""

    def nest(
        self,
        params: Sequence[Param],
        write: Callable[[], None],
        outer: str = "",
        inner: str = "",
        early: Sequence[Instr] = (),
    ) -> None:
        """Write loops over parameters around something.

        :param outer: the pragma of the first loop.
        :param inner: the pragma of the last one, if that is another one, or the first has none.
        :param early: what is done before the last one.
        """
        if not params:
            self.inside("", write)
            return
        if len(params) == 1:
            for instr in early:
                self.statement(instr)
        (first, *rest), forward = params, params[0].step.is_positive
        if pragma := outer or ("" if rest else inner):
            self.put(pragma)
        end = cpp(first.stop + 1 if forward else first.stop - 1)
        kind = "int" if _is_short(first.start) and _is_short(first.stop) else "int64_t"
        name, sign = first.name, "<" if forward else ">"
        head = f"for ({kind} {name} = {cpp(first.start)}; {name} {sign} {end}; {name} += {cpp(first.step)})"
        self.inside(head, (lambda: self.nest(rest, write, "", inner, early)) if rest else write)

    def loop(self, loop: Loop) -> None:
        """Write a loop, whose end is computed before each iteration."""
        symbol, step = loop.symbol, self.value(loop.step)
        tests = [] if loop.stop is None else [_bound(symbol, self.value(loop.stop), step)]
        tests += [] if loop.also is None else [f"({self.value(loop.also)})"]
        start = f"int64_t {symbol} = {self.value(loop.start)}"
        asks = self.asks and not self.shared and polls(loop)

        def write() -> None:
            if asks:
                self.put(POLL)
            self.block(loop.body)

        self.inside(f"for ({start}; {' && '.join(tests)}; {symbol} = {symbol} + ({step}))", write)

    def branch(self, branch: Branch) -> None:
        """Write the arms of a branch."""
        for k, (condition, body) in enumerate(branch.arms):
            test = f"if ({self.value(condition)})" if condition is not None else ""
            self.inside(f"else {test}".rstrip() if k else test, lambda body=body: self.block(body))  # type: ignore[misc]

    # -- statements
    def body(self, leaf: Leaf) -> None:
        """Write straight-line code."""
        for k, instr in enumerate(leaf.body):
            if isinstance(instr, Store) and instr.streamed:
                name = f"{STREAMED}{k}"
                self.put(f"{self.kind(instr)} {name};")
                self.put(f"{name} = {instr.value};")
                instr = replace(instr, value=name)
            self.statement(instr)

    def statement(self, instr: Instr) -> None:
        """Write an instruction."""
        if isinstance(instr, Let):
            self.put(f"auto {instr.name} = {expression(instr.expr)};")
        elif isinstance(instr, Load):
            read = self.element(instr)
            guarded = f"{instr.guard} ? {read} : {self.kind(instr)}(0)" if instr.guard else read
            self.put(f"{self.kind(instr)} {instr.name} = {guarded};")
        elif instr.guard:
            self.inside(f"if ({instr.guard})", lambda: self.put(self.stored(instr)))
        else:
            self.put(self.stored(instr))

    def stored(self, store: Store) -> str:
        """Return a store as a statement."""
        target = self.element(store)
        if store.mode == "set":
            return f"{target} = {store.value};"
        if store.mode in UPDATED:
            return f"{target} = {target} {UPDATED[store.mode]} {store.value};"
        address = f"&{target}" if store.container in self.numbers else f"{store.container} + {self.place(store)}"
        kind = f"dace::ReductionType::{REDUCED[store.mode]}, {self.kind(store)}"
        return f"dace::wcr_fixed<{kind}>::reduce({address}, {store.value});"

    # -- expressions
    def kind(self, access: Load | Store) -> str:
        """Return the type of an element."""
        return self.program.containers[access.container].dtype.ctype

    def element(self, access: Load | Store) -> str:
        """Return an element."""
        return access.container if access.container in self.numbers else f"{access.container}[{self.place(access)}]"

    def place(self, access: Load | Store) -> str:
        """Return where an element is in its array."""
        return flat(written_index(access, self.program), self.program.containers[access.container])

    def value(self, value: Value) -> str:
        """Return a value of a control node."""
        return expression(value.expr, {x.name: self.element(x) for x in value.loads})


def flat(index: Sequence[sympy.Expr], container: Container) -> str:
    """Return the place of an element of an array, as an expression."""
    desc = container.desc
    terms = (sympy.sympify(i) * s for i, s in zip(index, desc.strides, strict=True))
    return cpp(sum(terms, sympy.sympify(desc.start_offset)))


@lru_cache(maxsize=1 << 16)
def cpp(expr: sympy.Expr) -> str:
    """Return an integer expression as C++."""
    return symbolic.symstr(integer_powers(expr), cpp_mode=True)


def expression(expr: ast.expr, known: Mapping[str, str] | None = None) -> str:
    """Return an expression as C++.

    :param known: what stands for some of its names.
    """
    tree = ast.parse(ast.unparse(expr), mode="eval").body  # a copy, which DaCe changes
    for node in ast.walk(tree) if known else ():
        if isinstance(node, ast.Name):
            node.id = (known or {}).get(node.id, node.id)
    return cppunparse.cppunparse(_WORDS.visit(tree), expr_semicolon=False).strip()


_WORDS = DaCeKeywordRemover(dace.SDFG("words"), {}, {}, None)
"""Replaces words of tasklets that are others in C++."""


def _assigned(block: Block) -> set[str]:
    """Return the symbols that a block assigns, without those of its scopes."""
    inner = (() if isinstance(n, Scope) else children(n) for n in block)
    own = {n.symbol for n in block if isinstance(n, SymbolAssign)}
    return own.union(*(_assigned(b) for blocks in inner for b in blocks))


def _bound(symbol: str, stop: str, step: str) -> str:
    """Return the condition under which a loop goes on; it depends on the sign of the step."""
    up, down = f"{symbol} <= {stop}", f"{symbol} >= {stop}"
    try:
        return f"({up if int(step.strip('()')) > 0 else down})"
    except ValueError:
        return f"((({step}) > 0 && {up}) || (({step}) < 0 && {down}))"


def _is_short(expr: sympy.Expr) -> bool:
    """True if an end of a range is a number for which an int is enough."""
    return bool(expr.is_number) and abs(int(expr)) < INT
