"""Say in a few lines what a gradient costs: its time, what is parallel, which libraries run, what takes longest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from sdgrad.memory.durations import seconds
from sdgrad.program.source_lines import file_and_line, text_of
from sdgrad.program.tree import Leaf, Loop, Node, NodeCall, Program, Scope, Source, walk

IN_THREADS = "instances are independent, in threads"
IN_ONE_THREAD = "instances are independent, in one thread: they are few"
IN_ORDER = "one instance after another: several may add to one element"
ONCE = "once"
ORDERS = {IN_THREADS: "shared by threads", IN_ONE_THREAD: "too small to share", IN_ORDER: "in order"}
"""How nests run, in short."""
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "microseconds"))


@dataclass(frozen=True)
class Slowest:
    """The part of a program that takes most of its time."""

    share: float
    source: Source
    what: str  # a loop, a call, a nest: and how it runs


@dataclass(frozen=True)
class Summary:
    """What the whole program of value and gradient costs, by estimate, as it runs after optimization.

    :param seconds: on this machine, if its rates have been measured (``sdgrad prepare``).
    :param nests: how many nests run in which order.
    :param calls: how often it calls which kind of library function, as it is written (in loops: once).
    """

    seconds: float
    nests: Counter[str]
    calls: Counter[str]
    slowest: Slowest | None

    @staticmethod
    def of(program: Program) -> Summary:
        """Look at an optimized program."""
        nodes = list(walk(program.body))
        nests = Counter(order_of(n) for n in nodes if isinstance(n, Leaf) and n.params)
        calls = Counter(n.kind for n in nodes if isinstance(n, NodeCall))
        times = [seconds((node,), program) for node in program.body]
        whole = sum(times)
        slowest = None
        if whole:
            time, node = max(zip(times, program.body, strict=True), key=lambda pair: pair[0])
            slowest = Slowest(time / whole, _source(node), _what(node))
        return Summary(whole, nests, calls, slowest)

    def lines(self) -> Iterator[str]:
        """Yield the summary as text."""
        yield f"time: about {_time(self.seconds)}, by estimate"
        if self.nests:
            yield "nests: " + ", ".join(f"{n} {ORDERS[order]}" for order, n in self.nests.most_common())
        if self.calls:
            yield "library calls: " + ", ".join(f"{n} {kind}" for kind, n in sorted(self.calls.items()))
        if self.slowest is not None:
            yield f"most of the time: {self.slowest.share:.0%} in {self.slowest.what}"
            yield f"  {file_and_line(self.slowest.source)}: {text_of(self.slowest.source)}"


def order_of(node: Node) -> str:
    """Say in which order the instances of a node run."""
    if isinstance(node, NodeCall):
        return f"one call of {node.kind}"
    assert isinstance(node, Leaf)
    if not node.params:
        return ONCE
    if node.sequential:
        return IN_ORDER
    return IN_ONE_THREAD if "Sequential" in str(node.schedule) else IN_THREADS


def _what(node: Node) -> str:
    """Say what a part of a program is, and how it runs."""
    if isinstance(node, Loop):
        return "a loop, one trip after another"
    if isinstance(node, (Leaf, NodeCall)):
        return order_of(node)
    return "a map over parts of arrays" if isinstance(node, Scope) else "a branch"


def _source(node: Node) -> Source:
    """Return where a node comes from: its own line, or the first line of what is in it."""
    sources = [getattr(n, "source", Source()) for n in walk((node,))]
    return next((s for s in sources if s.file), Source())


def _time(time: float) -> str:
    unit, name = next((x for x in UNITS if time >= x[0]), UNITS[-1])
    return f"{time / unit:.2g} {name}"
