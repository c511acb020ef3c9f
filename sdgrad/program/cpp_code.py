"""Write nodes that need nothing but loops and memory as C++.

DaCe takes longer to write a statement than a compiler to compile it, as each becomes a state with a tasklet and edges.
The code is what DaCe would write: compilers find the same loops in it.
"""

from __future__ import annotations

import ast
import hashlib
import re
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
from sdgrad.program.leaf_tasklet import written_index
from sdgrad.program.naming import STREAMED
from sdgrad.program.prelude import is_vectorized
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
    reads,
    walk,
    writes,
)
from sdgrad.symbolic.expr import free_names

REDUCED = {"sum": "Sum", "prod": "Product", "max": "Max", "min": "Min"}
UPDATES = {
    "and": "{0} && {1}",
    "or": "{0} || {1}",
    "bitand": "{0} & {1}",
    "bitor": "{0} | {1}",
    "bitxor": "{0} ^ {1}",
    "xor": "{0} != {1}",
}
INDENT = "    "
ON_THE_STACK = 1 << 12
COMPLEX = (dace.complex64, dace.complex128)
SERIAL = (dace.ScheduleType.Sequential,)


@dataclass
class Writer:
    """Write blocks of one program.

    :param scalars: containers that are single values in C++.
    """

    program: Program
    scalars: set[str]
    lines: list[str] = field(default_factory=list)
    depth: int = 1
    threaded: bool = False  # inside of a loop whose iterations threads share

    def put(self, line: str) -> None:
        self.lines.append(INDENT * self.depth + line)

    def block(self, block: Block) -> None:
        for node in block:
            self.node(node)

    def node(self, node: Node) -> None:
        if isinstance(node, Leaf):
            self.leaf(node)
        elif isinstance(node, Scope):
            self.scope(node)
        elif isinstance(node, Loop):
            self.loop(node)
        elif isinstance(node, Branch):
            self.branch(node)
        elif isinstance(node, SymbolAssign):
            self.put(f"{node.symbol} = {self.value(node.value)};")
        else:
            raise TypeError(type(node).__name__)

    def inside(self, head: str, write: Callable[[], None]) -> None:
        """Write something between braces."""
        self.put(f"{head} {{" if head else "{")
        self.depth += 1
        write()
        self.depth -= 1
        self.put("}")

    def nest(self, params: Sequence[Param], write: Callable[[], None], pragma: str = "", last: str = "") -> None:
        """Write loops over parameters.

        :param pragma: of the first one.
        :param last: of the last one, if it is another one.
        """
        if not params:
            self.inside("", write)
            return
        first, rest = params[0], params[1:]
        if pragma or not rest and last:
            self.put(pragma or last)
        forward = first.step.is_positive
        end = first.stop + 1 if forward else first.stop - 1
        kind = "int" if _is_int(first.start) and _is_int(first.stop) else "int64_t"
        steps = f"{first.name} += {_cpp(first.step)}"
        head = f"for ({kind} {first.name} = {_cpp(first.start)}; {first.name} {'<' if forward else '>'} {_cpp(end)}; {steps})"
        self.inside(head, write if not rest else lambda: self.nest(rest, write, "", last))

    def leaf(self, leaf: Leaf) -> None:
        last = "#pragma GCC ivdep" if leaf.params and not leaf.sequential else ""
        if not self.is_shared(leaf):
            self.nest(leaf.params, lambda: self.body(leaf), last=last)
            return
        how = "#pragma omp parallel for"
        if len(leaf.params) == 1:
            objects = any(self.program.containers[x.container].dtype in COMPLEX for x in leaf.accesses)
            how += "" if objects else " simd"
            if is_vectorized(leaf):
                how += f" schedule(static, {config.machine.vector_chunk})"
        self.nest(leaf.params, lambda: self.body(leaf), how, last)

    def is_shared(self, node: Leaf | Scope) -> bool:
        """True if threads share the iterations of a map."""
        return bool(node.params) and not node.sequential and not self.threaded and node.schedule not in SERIAL

    def body(self, leaf: Leaf) -> None:
        for k, instr in enumerate(leaf.body):
            if isinstance(instr, Store) and instr.streamed:
                name = f"{STREAMED}{k}"
                self.put(f"{self.kind(instr)} {name};")
                self.put(f"{name} = {instr.value};")
                instr = replace(instr, value=name)
            self.instruction(instr)

    def instruction(self, instr: Instr) -> None:
        if isinstance(instr, Load):
            read = self.element(instr)
            if instr.guard:
                self.put(f"auto {instr.name} = ({instr.guard} ? {read} : {self.kind(instr)}(0));")
            else:
                self.put(f"{self.kind(instr)} {instr.name} = {read};")
        elif isinstance(instr, Let):
            self.put(f"auto {instr.name} = {expression(instr.expr)};")
        elif instr.guard:
            self.inside(f"if ({instr.guard})", lambda: self.put(self.stored(instr)))
        else:
            self.put(self.stored(instr))

    def stored(self, store: Store) -> str:
        target = self.element(store)
        if store.mode == "set":
            return f"{target} = {store.value};"
        if store.mode in REDUCED:
            kind = f"dace::ReductionType::{REDUCED[store.mode]}, {self.kind(store)}"
            return f"dace::wcr_fixed<{kind}>::reduce({self.address(store)}, {store.value});"
        return f"{target} = {UPDATES[store.mode].format(target, store.value)};"

    def kind(self, access: Load | Store) -> str:
        return self.program.containers[access.container].dtype.ctype

    def element(self, access: Load | Store) -> str:
        if access.container in self.scalars:
            return access.container
        return f"{access.container}[{self.place(access)}]"

    def address(self, access: Load | Store) -> str:
        if access.container in self.scalars:
            return f"&{access.container}"
        return f"{access.container} + {self.place(access)}"

    def place(self, access: Load | Store) -> str:
        desc = self.program.containers[access.container].desc
        index = written_index(access, self.program)
        flat = sum((i * s for i, s in zip(index, desc.strides, strict=True)), sympy.sympify(desc.start_offset))
        return _cpp(flat)

    def value(self, value: Value) -> str:
        env = {x.name: self.element(x) for x in value.loads}
        return expression(value.expr, env)

    def scope(self, scope: Scope) -> None:
        def write() -> None:
            for c in scope.locals:
                self.declare(c)
            self.block(scope.body)

        shared, before = self.is_shared(scope), self.threaded
        self.threaded |= shared
        self.nest(scope.params, write, "#pragma omp parallel for" if shared else "")
        self.threaded = before

    def declare(self, container: Container) -> None:
        if isinstance(container.desc, dt.Scalar):
            self.scalars.add(container.name)
            self.put(f"{container.dtype.ctype} {container.name};")
        else:
            size = int(container.desc.total_size)
            self.put(f"alignas(64) {container.dtype.ctype} {container.name}[{size}];")

    def view(self, view: Container) -> None:
        assert view.view_of is not None and view.view_subset is not None
        base = self.program.containers[view.view_of]
        start = (r[0] for r in view.view_subset.ranges)
        flat = sum((sympy.sympify(i) * s for i, s in zip(start, base.desc.strides, strict=True)), sympy.Integer(0))
        self.put(f"auto* __restrict__ {view.name} = (const_cast<{view.dtype.ctype}*>(reinterpret_cast<const {view.dtype.ctype}*>({base.name} + {_cpp(flat)})));")

    def loop(self, loop: Loop) -> None:
        s, step = loop.symbol, self.value(loop.step)
        tests = []
        if loop.stop is not None:
            tests.append(_bound(s, self.value(loop.stop), step))
        if loop.also is not None:
            tests.append(f"({self.value(loop.also)})")
        head = f"for (int64_t {s} = {self.value(loop.start)}; {' && '.join(tests)}; {s} = {s} + ({step}))"
        self.inside(head, lambda: self.block(loop.body))

    def branch(self, branch: Branch) -> None:
        for k, (condition, body) in enumerate(branch.arms):
            head = f"if ({self.value(condition)})" if condition is not None else ""
            self.inside(f"else {head}" if k else head, lambda body=body: self.block(body))


def _bound(symbol: str, stop: str, step: str) -> str:
    try:
        return f"({symbol} {'<=' if int(step.strip('()')) > 0 else '>='} {stop})"
    except ValueError:
        return f"((({step}) > 0 && {symbol} <= {stop}) || (({step}) < 0 && {symbol} >= {stop}))"


def _is_int(expr: sympy.Expr) -> bool:
    return bool(expr.is_number) and abs(int(expr)) < 2**31 - 1


@lru_cache(maxsize=1 << 16)
def _cpp(expr: sympy.Expr) -> str:
    return symbolic.symstr(expr, cpp_mode=True)


class _Nothing:
    arrays: dict = {}
    symbols: dict = {}
    constants: dict = {}


_remover = DaCeKeywordRemover(_Nothing(), {}, {}, None)


def expression(expr: ast.expr, env: Mapping[str, str] | None = None) -> str:
    """Return an expression as C++."""
    tree = ast.parse(ast.unparse(expr), mode="eval").body
    if env:
        for n in ast.walk(tree):
            if isinstance(n, ast.Name) and n.id in env:
                n.id = env[n.id]
    found = _remover.visit(tree)
    return cppunparse.cppunparse(found, expr_semicolon=False).strip()


# -- what can be written
def is_plain(node: Node, program: Program) -> bool:
    """True if a node can be written as C++ that runs in one thread."""
    return all(_is_plain(n, program) for n in walk((node,)))


def _is_plain(node: Node, program: Program, top: bool = True) -> bool:
    if isinstance(node, NodeCall):
        return False
    if isinstance(node, (Leaf, Scope)) and node.schedule not in (*SERIAL, dace.ScheduleType.Default, dace.ScheduleType.CPU_Multicore):
        return False
    if isinstance(node, Leaf):
        if any(isinstance(i, Store) and (i.mode not in ("set", *REDUCED, *UPDATES)) for i in node.body):
            return False
        if any(not p.step.is_number for p in node.params):
            return False
    if isinstance(node, Scope):
        return all(_is_local(c) for c in node.locals) and all(p.step.is_number for p in node.params)
    return True


def _is_local(container: Container) -> bool:
    desc = container.desc
    if container.view_of is not None:
        return False
    if isinstance(desc, dt.Scalar):
        return True
    small = not container.symbols and (
        desc.storage == dace.StorageType.Register or desc.total_size * desc.dtype.bytes <= ON_THE_STACK
    )
    return type(desc) is dt.Array and small


@dataclass(frozen=True)
class Function:
    """A block as a C++ function.

    :param arrays: containers that it takes by their addresses, and whether it writes them.
    :param numbers: scalars that it takes by their addresses, and whether it writes them.
    :param symbols: symbols that it takes by value.
    """

    name: str
    text: str
    arrays: dict[str, bool]
    numbers: dict[str, bool]
    symbols: tuple[str, ...]


NAME = re.compile(r"\b[A-Za-z_]\w*\b")


def function(nodes: Block, program: Program, local: set[str], inline: bool, spelled: Callable[[str], str]) -> Function:
    """Write nodes as a function."""
    touched = set().union(*(reads(n) | writes(n) for n in nodes))
    written = set().union(*(writes(n) for n in nodes))
    roots = {program.root(n) for n in touched}
    changed = {program.root(n) for n in written}
    numbers = {n: n in changed for n in sorted(roots) if isinstance(program.containers[n].desc, dt.Scalar)}
    arrays = {n: n in changed for n in sorted(roots - numbers.keys())}
    own = set(numbers)
    writer = Writer(program, own)
    for n in numbers:
        kind = program.containers[n].dtype.ctype
        if n in local:
            writer.put(f"{kind} {n};")
        else:
            writer.put(f"{kind} {n} = *at_{n};")
    for v in _views(touched, program):
        writer.view(v)
    assigned = sorted({n.symbol for n in walk(nodes) if isinstance(n, SymbolAssign)})
    for symbol in assigned:
        writer.put(f"{program.symbols.get(symbol, dace.int64).ctype} {symbol};")
    writer.block(nodes)
    for n, w in numbers.items():
        if w and n not in local:
            writer.put(f"*at_{n} = {n};")
    text = "\n".join(writer.lines)
    defined = set(assigned) | {n.symbol for n in walk(nodes) if isinstance(n, Loop)}
    defined |= {p.name for n in walk(nodes) if isinstance(n, (Leaf, Scope)) for p in n.params}
    mentioned = set(NAME.findall(text)) - defined
    symbols = tuple(sorted(mentioned & _symbols(program)))
    numbers = {n: w for n, w in numbers.items() if n not in local}
    taken = [
        f"{'' if w else 'const '}{program.containers[n].dtype.ctype}* __restrict__ {n}" for n, w in arrays.items()
    ]
    taken += [f"{'' if w else 'const '}{program.containers[n].dtype.ctype}* at_{n}" for n, w in numbers.items()]
    taken += [f"{program.symbols.get(s, dace.int64).ctype} {s}" for s in symbols]
    how = "static __attribute__((always_inline)) inline" if inline else "static"
    body = f"({', '.join(taken)})\n{{\n{text}\n}}\n"
    name = f"part_{hashlib.sha256(body.encode()).hexdigest()[:12]}"
    whole = f"#ifndef {name.upper()}\n#define {name.upper()}\n{how} void {name}{body}#endif\n"
    return Function(name, whole, arrays, numbers, symbols)


def _symbols(program: Program) -> set[str]:
    """Return names of numbers: symbols, variables of loops, parameters."""
    loops = {n.symbol for n in walk(program.body) if isinstance(n, (Loop, SymbolAssign))}
    params = {p.name for n in walk(program.body) if isinstance(n, Scope) for p in n.params}
    return set(program.symbols) | loops | params


def _views(names: set[str], program: Program) -> list[Container]:
    """Return the views among some containers, and those that they are views of, these first."""
    found: dict[str, Container] = {}

    def add(name: str) -> None:
        c = program.containers[name]
        if c.view_of is not None and name not in found:
            add(c.view_of)
            found[name] = c

    for n in sorted(names):
        add(n)
    return list(found.values())
