"""Explain to a person what differentiation decided: the values each statement's adjoint needs, and their origin."""

from __future__ import annotations

import html
import linecache
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Any

import sympy

from sdgrad.analysis.needs import leaf_needs
from sdgrad.analysis.paths import Path, nodes_with_paths
from sdgrad.api.gradient import DiskLimit, GradFunction, MemoryLimit, value_and_grad
from sdgrad.api.memory_picture import svg, table
from sdgrad.autodiff.differentiate import Differentiated
from sdgrad.autodiff.request import Request
from sdgrad.config import in_memory_of
from sdgrad.errors import ArgumentError
from sdgrad.machine.limits import shown
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
STORED, UNDONE, AGAIN, FREE = "stored", "put back", "computed again", "still there"


@dataclass(frozen=True)
class Value:
    """A value that an adjoint needs: where it comes from, and what that costs."""

    what: str
    how: str  # stored, put back, computed again, still there
    where: str = ""
    formula: str = ""  # bytes
    size: int | None = None  # bytes, where the sizes are known

    def __str__(self) -> str:
        size = f" ({self.size:,} bytes)" if self.size is not None else ""
        where = f" in {self.where}" if self.where else ""
        return f"{self.what}: {self.how}{where}" + (f", {self.formula}{size}" if self.formula else "")


@dataclass(frozen=True)
class Statement:
    """A node of the primal program with its adjoint."""

    path: Path
    source: Source
    primal: tuple[str, ...]
    adjoint: tuple[str, ...]
    active: bool
    values: tuple[Value, ...]
    schedule: str  # of the adjoint: how its instances run, and why

    @property
    def line(self) -> str:
        """Return the text of the source line."""
        return (
            linecache.getline(self.source.file, self.source.line).strip()
            if self.source.file and self.source.line
            else ""
        )


@dataclass(frozen=True)
class Explanation:
    """Explain how a program is differentiated: its statements in order, and the tape as a whole."""

    name: str
    wrt: tuple[str, ...]
    statements: tuple[Statement, ...]
    tape: tuple[Value, ...]
    memory: Timeline | None = None  # None: of sizes that are known when the program runs
    limit: int | None = None  # bytes

    @property
    def bytes_kept(self) -> int | None:
        """Return the size of the tape; None if it depends on what is known only at run time."""
        sizes = [v.size for v in self.tape]
        return None if None in sizes else sum(s for s in sizes if s is not None)

    def __str__(self) -> str:
        out = self.head()
        out += table(self.memory) if self.memory is not None else ()
        for s in self.statements:
            place = (
                f"{FilePath(s.source.file).name}:{s.source.line}" if s.source.file and s.source.line else s.source.label
            )
            out += ["", f"{place}: {s.line}" if s.line else place]
            out += [f"    {text}" for text in s.primal]
            if not s.active:
                out.append("  no derivative passes")
                continue
            out += [f"  needs {value}" for value in s.values] or ["  needs no value"]
            out.append(f"  adjoint: {s.schedule}")
            out += [f"    {text}" for text in s.adjoint]
        return "\n".join(out)

    def head(self) -> list[str]:
        """Return lines about the whole: the tape, or the limit, within which sizes of tapes are those of a plan."""
        what = f"gradient of {self.name} by {', '.join(self.wrt)}"
        if self.limit is not None:
            return [f"{what}, within {shown(self.limit)}"]
        kept = f"{self.bytes_kept:,} bytes" if self.bytes_kept is not None else "a size known at run time"
        return [f"{what}; the tape takes {kept}", *(f"  {value}" for value in self.tape)]

    def to_html(self, path: str | FilePath) -> FilePath:
        """Write one self-contained page with primal and adjoint side by side, and return its path."""
        FilePath(path).write_text(page(self), encoding="utf-8")
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
        returned, which is explained with its own arguments and limits.
    :param memory_limit: as for :func:`~sdgrad.value_and_grad`: the plan is that within the limit.
    :param disk_limit: as for :func:`~sdgrad.value_and_grad`.
    """
    question = (
        f if isinstance(f, GradFunction) else value_and_grad(f, wrt, memory_limit=memory_limit, disk_limit=disk_limit)
    )
    assert isinstance(question, GradFunction)
    call = Call.of(question.f, args, kwargs)
    with in_memory_of(question.memory_limit):
        signature, names, _, request = question.of_leaves(call).question(call.arguments)
        if request.memory_limit is not None:
            result, plan = within(signature.program, request)
            limit = request.memory_limit.bytes or plan.bytes
            return replace(explanation(result, tuple(names)), memory=Timeline.of(plan), limit=limit)
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
    return Explanation(result.normalized.name, wrt, tuple(statements), tape)


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
    schedule = "; ".join(dict.fromkeys(_schedule(n) for n in mine)) or "nothing to do"
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


def _schedule(node: Node) -> str:
    """Say in which order the instances of an adjoint run."""
    if isinstance(node, NodeCall):
        return f"one call of {node.kind}"
    assert isinstance(node, Leaf)
    if not node.params:
        return "once"
    if node.sequential:
        return "one instance after another: several may add to one element"
    few = "Sequential" in str(node.schedule)
    return "instances are independent" + (", in one thread: they are few" if few else ", in threads")


# --- as a page
STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 78rem; padding: 0 1rem; color: #1c2430; }
h1 { font-size: 1.4rem; }
code, pre { font: 13px/1.4 ui-monospace, monospace; }
pre { margin: 0; white-space: pre-wrap; }
table { border-collapse: collapse; width: 100%; table-layout: fixed; }
td, th { border-top: 1px solid #d4dae3; padding: .5rem; text-align: left; vertical-align: top; width: 50%; }
.line { font-weight: 600; }
.where { color: #66707f; font-size: .85rem; }
ul { margin: .3rem 0; padding-left: 1.2rem; }
.stored { color: #a8320c; }
.free { color: #1c7a3f; }
.again { color: #8a6100; }
.idle td { color: #8a93a1; }
@media (prefers-color-scheme: dark) {
  body { background: #14181f; color: #dde3ec; }
  td, th { border-color: #333c49; }
  .stored { color: #ff9a76; } .free { color: #7fd49b; } .again { color: #e2bd5c; }
}
"""
CLASSES = {STORED: "stored", FREE: "free", AGAIN: "again", UNDONE: "again"}


def page(what: Explanation) -> str:
    """Return the explanation as one HTML page without anything from outside."""
    kept = f"{what.bytes_kept:,} bytes" if what.bytes_kept is not None else "a size known at run time"
    rows = "\n".join(_row(s) for s in what.statements)
    tape = "".join(f"<li class='stored'>{html.escape(str(v))}</li>" for v in what.tape) or "<li>nothing</li>"
    title = html.escape(f"Gradient of {what.name} by {', '.join(what.wrt)}")
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        f"<title>{title}</title><style>{STYLE}</style></head>"
        f"<body><h1>{title}</h1>{_bytes(what)}<p>The tape takes {kept}:</p><ul>{tape}</ul>"
        "<p>Statements run down on the left; their adjoints run up on the right.</p>"
        f"<table><tr><th>program</th><th>its adjoint</th></tr>\n{rows}\n</table></body></html>\n"
    )


def _bytes(what: Explanation) -> str:
    """Return the picture of the bytes over the program, if they are known."""
    if what.memory is None:
        return ""
    most = what.memory.always + int(what.memory.live.max(initial=0))
    limit = f", of a limit of {what.limit:,}" if what.limit is not None else ""
    head = f"<p>Memory beside the arguments, at most {most:,} bytes{limit}; forward, then backward:</p>"
    return head + svg(what.memory, what.limit)


def _row(s: Statement) -> str:
    """Return a statement and its adjoint as a row of the page's table."""
    place = f"{FilePath(s.source.file).name}:{s.source.line}" if s.source.file and s.source.line else s.source.label
    needs = "".join(f"<li class='{CLASSES[v.how]}'>{html.escape(str(v))}</li>" for v in s.values)
    left = (
        f"<div class='line'><code>{html.escape(s.line)}</code></div><div class='where'>{html.escape(place)}</div>"
        f"<pre>{html.escape(chr(10).join(s.primal))}</pre>"
    )
    if not s.active:
        return f"<tr class='idle'><td>{left}</td><td>no derivative passes</td></tr>"
    right = f"<ul>{needs or '<li>needs no value</li>'}</ul><div class='where'>{html.escape(s.schedule)}</div>"
    return f"<tr><td>{left}</td><td>{right}<pre>{html.escape(chr(10).join(s.adjoint))}</pre></td></tr>"
