"""Explain to a person what differentiation decided: the values each statement's adjoint needs, and their origin."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Any

import sympy

from sdgrad.analysis.needs import leaf_needs
from sdgrad.analysis.paths import Path, nodes_with_paths
from sdgrad.api.explain_page import page, picture
from sdgrad.api.explain_statements import AGAIN, FREE, STORED, UNDONE, Statement, Value
from sdgrad.api.explain_summary import Summary, order_of
from sdgrad.api.gradient import DiskLimit, GradFunction, MemoryLimit, value_and_grad
from sdgrad.api.memory_picture import table
from sdgrad.autodiff.differentiate import Differentiated
from sdgrad.autodiff.request import Request
from sdgrad.config import in_memory_of
from sdgrad.errors import ArgumentError
from sdgrad.machine.limits import Limit, shown
from sdgrad.memory.limited import Alternatives, within
from sdgrad.memory.report import Timeline
from sdgrad.optimize import optimize
from sdgrad.program.tree import (
    Block,
    Branch,
    Container,
    Leaf,
    Load,
    Loop,
    Node,
    NodeCall,
    Program,
    Scope,
    Source,
    Store,
    SymbolAssign,
    lines,
    map_blocks,
    walk,
)
from sdgrad.record.shown import short
from sdgrad.specialize.argnums import Wrt
from sdgrad.specialize.arguments import Call
from sdgrad.tape.plan import Kept

AGAIN_FROM_STATES = "a loop that keeps some states, runs again from these, and backwards a few trips at a time"
LARGEST = 3
"""Tapes in the summary."""


@dataclass(frozen=True)
class Explanation:
    """Explain how a program is differentiated: its statements in order, and the tape as a whole."""

    name: str
    wrt: tuple[str, ...]
    statements: tuple[Statement, ...]
    tape: tuple[Value, ...]
    summary: Summary
    memory: Timeline | None = None  # None: of sizes that are known when the program runs
    limit: int | None = None  # bytes

    @property
    def bytes_kept(self) -> int | None:
        """Return the size of the tape; None if it depends on what is known only at run time."""
        sizes = [v.size for v in self.tape]
        return None if None in sizes else sum(s for s in sizes if s is not None)

    @property
    def kept(self) -> str:
        """Return the size of the tape as text."""
        return f"{self.bytes_kept:,} bytes" if self.bytes_kept is not None else "a size known at run time"

    def __str__(self) -> str:
        out = self.head()
        out += table(self.memory) if self.memory is not None else ()
        seen: set[tuple[str, ...]] = set()
        for s in self.statements:
            out += ["", f"{s.place}: {s.line}" if s.line else s.place]
            out += [f"    {text}" for text in s.primal]
            if not s.active:
                out.append("  no derivative passes")
                continue
            out += [f"  needs {value}" for value in s.values] or ["  needs no value"]
            out.append(f"  adjoint: {s.schedule}")
            out += [f"    {text}" for text in s.adjoint] if s.adjoint not in seen else ["    as above"]
            seen |= {s.adjoint} if s.adjoint else set()
        return "\n".join(out)

    def head(self) -> list[str]:
        """Return lines about the whole: what it costs, and the tape, or the limit that it keeps."""
        what = f"gradient of {self.name} by {', '.join(self.wrt)}"
        summary = [f"  {line}" for line in self.summary.lines()]
        if self.limit is not None:
            return [f"{what}, within {shown(self.limit)}", *summary]
        largest = sorted(self.tape, key=lambda v: -(v.size or 0))[:LARGEST]
        more = [f"  and {len(self.tape) - LARGEST} more"] if len(self.tape) > LARGEST else []
        return [f"{what}; the tape takes {self.kept}", *(f"  {value}" for value in largest), *more, *summary]

    def to_html(self, path: str | FilePath) -> FilePath:
        """Write one self-contained page with primal and adjoint side by side, and return its path."""
        title = f"Gradient of {self.name} by {', '.join(self.wrt)}"
        kept = f"The tape takes {self.kept}"
        drawn = picture(self.memory, self.limit) if self.memory is not None else ""
        text = page(title, (*self.summary.lines(), kept), drawn, self.tape, self.statements)
        FilePath(path).write_text(text, encoding="utf-8")
        return FilePath(path)


@short
def explain(
    f: Callable,
    *args: Any,
    wrt: Wrt = 0,
    memory_limit: MemoryLimit = None,
    disk_limit: DiskLimit = None,
    **kwargs: Any,
) -> Explanation:
    """Explain how ``f`` is differentiated for arguments like these: print it, or write it with ``.to_html(path)``.

    :param f: a function that returns one scalar, as for :func:`~sdgrad.value_and_grad`; or what that (or ``grad``) has
        returned, which is explained with its own arguments, and limits if none is given here.
    :param memory_limit: as for :func:`~sdgrad.value_and_grad`: the plan is that within the limit.
    :param disk_limit: as for :func:`~sdgrad.value_and_grad`.
    """
    limit = Limit.of(memory_limit, disk_limit)
    question = f if isinstance(f, GradFunction) else value_and_grad(f, wrt)
    assert isinstance(question, GradFunction)
    question = question if limit is None else replace(question, memory_limit=limit)
    call = Call.of(question.f, args, kwargs)
    with in_memory_of(question.memory_limit):
        signature, names, _, request = question.of_leaves(call).question(call.arguments)
        if request.memory_limit is not None:
            result, plan = within(signature.program, request)
            allowed = request.memory_limit.bytes or plan.bytes
            return replace(explanation(result, tuple(names)), memory=Timeline.of(plan), limit=allowed)
    found = explanation(signature.differentiated(request), tuple(names))
    return replace(found, memory=_memory(signature.program, request))


def _memory(program: Program, request: Request) -> Timeline | None:
    """Return the bytes of the gradient's program; None if sizes are known only when it runs."""
    try:
        return Timeline.of(Alternatives.of(program, request).unlimited)
    except ArgumentError:
        return None


def explanation(result: Differentiated, wrt: tuple[str, ...]) -> Explanation:
    """Explain a program that has been differentiated."""
    backward = optimize(replace(result.program, body=result.backward))
    by_source: dict[Source, list[Node]] = {}
    for node in _plain(backward.body):
        by_source.setdefault(_source(node), []).append(node)
    statements = [
        _statement(path, node, result, by_source)
        for path, node in nodes_with_paths(result.normalized.body)
        if not isinstance(node, (Scope, SymbolAssign))
    ]
    tape = tuple(_kept(c, result) for c in result.plan.tape_containers)
    summary = Summary.of(optimize(result.program))
    return Explanation(result.normalized.name, wrt, tuple(statements), tape, summary)


def _plain(block: Block) -> Iterator[Node]:
    """Yield the nodes without other nodes inside."""
    return (n for n in walk(block) if isinstance(n, (Leaf, NodeCall)))


def _source(node: Node) -> Source:
    return node.source if not isinstance(node, SymbolAssign) else Source()


def _statement(path: Path, node: Node, result: Differentiated, adjoints: dict[Source, list[Node]]) -> Statement:
    """Return a node of the primal program with its adjoint."""
    if isinstance(node, (Branch, Loop)):
        head = tuple(lines(map_blocks(node, lambda _: ())))
        active = any(p[: len(path)] == path and names for p, names in result.activity.names.items())
        turned = AGAIN_FROM_STATES if path in result.plan.checkpoints else _turned(node)
        return Statement(path, node.source, head, (), active, _control(path, node, result), turned)
    mine = adjoints.get(node.source, []) if _is_active(path, result) else []
    text = tuple(line for n in mine for line in lines(n))
    values = _values(path, node, result) if isinstance(node, Leaf) else _operands(path, result)
    schedule = "; ".join(dict.fromkeys(order_of(n) for n in mine)) or "nothing to do"
    return Statement(
        path, node.source, tuple(lines(node)), text, bool(result.activity.names.get(path)), values, schedule
    )


def _is_active(path: Path, result: Differentiated) -> bool:
    return bool(result.activity.names.get(path) or result.activity.overwritten.get(path))


def _turned(node: Branch | Loop) -> str:
    if isinstance(node, Branch):
        return "a branch on the same decision"
    return "a loop that runs backwards, one trip after another: each reads what the one after it has added"


def _control(path: Path, node: Branch | Loop, result: Differentiated) -> tuple[Value, ...]:
    """Return the values that a branch or loop keeps for its way back."""
    plan = result.plan
    found = [_kept(k.tape, result, str(k.load)) for k in plan.values.get(path, ())]
    if path in plan.decisions:
        found.append(_kept(plan.decisions[path].tape, result, "which arm was taken"))
    if path in plan.lasts:
        found.append(_kept(plan.lasts[path].tape, result, "the last trip"))
    if path in plan.counters:
        found.append(Value("how many trips there are", AGAIN, "a run of what decides about them, before"))
    return tuple(found)


def _operands(path: Path, result: Differentiated) -> tuple[Value, ...]:
    return tuple(_kept(r.kept.tape, result, name) for (where, name), r in result.plan.regions.items() if where == path)


def _values(path: Path, leaf: Leaf, result: Differentiated) -> tuple[Value, ...]:
    """Return where the values come from that the adjoint of a leaf needs."""
    plan = result.plan.leaves.get(path)
    if plan is None or not leaf_needs(leaf, path, result.activity):
        return ()
    tapes = {k.tape.name: k for k in (*plan.kept, *plan.after)}
    loads = [i for i in plan.replay if isinstance(i, Load)]
    loaded = {i.name for i in loads}
    computed = [i.name for i in plan.replay if not isinstance(i, (Load, Store)) and i.name not in loaded]
    registers = [Value(name, AGAIN, "registers") for name in computed]
    return (*(_loaded(i, tapes.get(i.container), result) for i in loads), *registers)


def _loaded(load: Load, kept: Kept | None, result: Differentiated) -> Value:
    """Return where a loaded value comes from: the tape, or its container, perhaps restored or computed again."""
    if kept is not None:
        return _kept(kept.tape, result, str(kept.load.container if kept.load is not None else kept.name))
    again = {s.container for leaves in result.plan.reruns.values() for x in leaves for s in x.stores}
    how = UNDONE if load.container in result.plan.undone else AGAIN if load.container in again else FREE
    index = ", ".join(map(str, load.index))
    return Value(load.name, how, f"{load.container}[{index}]")


def _kept(tape: Container, result: Differentiated, what: str = "") -> Value:
    """Return a value on the tape, with its size."""
    size = sympy.Mul(*tape.shape) * tape.dtype.bytes
    shape = " * ".join(map(str, tape.shape)) or "1"
    number = int(size) if size.is_number else None
    return Value(what or tape.name, STORED, tape.name, f"{shape} * {tape.dtype.bytes} bytes", number)
