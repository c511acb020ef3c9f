"""Compute values again instead of keeping them: cut the nodes before the peak into segments that run a second time.

At the peak most of what is live waits for its use far behind it: tapes and values that adjoints read. A segment drops
those that its nodes have made, and its nodes run again just before the first one is needed. Only the slice runs that
makes them (Chen et al. 2016 for chains of layers; Jain et al. 2020 choose by a mixed-integer program, as here)::

    k      a = f(x)                       a = f(x)
    k + 1  b = g(a)                       b = g(a)
    ..                                    ..                      a and b are dead here
    r                                     a' = f(x); b' = g(a')
    r      y += h(a, b)                   y += h(a', b')

What the slice reads stays until then. What is overwritten before is copied where the segment begins. Values that
another segment starts from are not dropped.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from dace import nodes as nd

from sdgrad.analysis.live_ranges import LiveRanges, Span
from sdgrad.analysis.loop_private import defined_first
from sdgrad.config import config
from sdgrad.memory.arena import placeable, size_in_arena
from sdgrad.memory.durations import seconds
from sdgrad.memory.offsets import Block as Piece
from sdgrad.memory.offsets import most_live
from sdgrad.program.arrays import assign
from sdgrad.program.custom_call import CustomCall
from sdgrad.program.naming import all_names
from sdgrad.program.rename import renamed, renamed_container
from sdgrad.program.symbols import assigned_symbols, used_symbols
from sdgrad.program.tree import (
    Block,
    Container,
    Leaf,
    Node,
    NodeCall,
    Program,
    SymbolAssign,
    reads,
    walk,
    writes,
)
from sdgrad.rewrite.dead_code import drop_dead, drop_stores
from sdgrad.tape.checkpoints import is_declined


@dataclass(frozen=True)
class Segment:
    """Nodes that run a second time.

    :param first: the node before which copies are taken.
    :param nodes: the slice.
    :param at: the node before which it runs again.
    :param dropped: containers whose content it makes again.
    :param copied: containers that it starts from, and that change before it runs again.
    :param read: other containers that it starts from.
    """

    first: int
    nodes: tuple[int, ...]
    at: int
    dropped: frozenset[str]
    copied: tuple[str, ...]
    read: frozenset[str]


@dataclass
class Flow:
    """Which nodes of the body read and write which containers with memory of their own.

    :param second: the node where the second half of a pullback begins: what it uses of the first one stays until the
        end. None in a program that runs as one.
    """

    program: Program
    ranges: LiveRanges
    second: int | None = None
    reads: list[set[str]] = field(default_factory=list)
    writes: list[set[str]] = field(default_factory=list)
    writers: dict[str, list[int]] = field(default_factory=dict)
    users: dict[str, list[int]] = field(default_factory=dict)
    again: dict[int, bool] = field(default_factory=dict)

    @staticmethod
    def of(program: Program, ranges: LiveRanges, second: int | None = None) -> Flow:
        """Look at every node of the body once."""
        own = Flow(program, ranges, second)
        for k, node in enumerate(program.body):
            own.reads.append({program.root(n) for n in reads(node)})
            own.writes.append({program.root(n) for n in writes(node)})
            for n in own.writes[k]:
                own.writers.setdefault(n, []).append(k)
            for n in own.reads[k] | own.writes[k]:
                own.users.setdefault(n, []).append(k)
        return own

    @cached_property
    def size(self) -> dict[str, int]:
        """Return the bytes of the arrays that may be dropped."""
        return {n: size_in_arena(self.program.containers[n]) for n in placeable(self.program) if n in self.users}

    @cached_property
    def unstable(self) -> set[str]:
        """Return the symbols that are assigned in a loop or a branch, or several times."""
        body = self.program.body
        inner = {
            n.symbol for x in body if not isinstance(x, SymbolAssign) for n in walk((x,)) if isinstance(n, SymbolAssign)
        }
        once: set[str] = set()
        for n in body:
            if isinstance(n, SymbolAssign):
                (inner if n.symbol in once else once).add(n.symbol)
        return inner

    def runs_again(self, k: int) -> bool:
        """True if a node does the same whenever it runs on the same content."""
        if k not in self.again:
            self.again[k] = self._is_pure(k)
        return self.again[k]

    def _is_pure(self, k: int) -> bool:
        node = self.program.body[k]
        if (
            isinstance(node, SymbolAssign)
            or assigned_symbols((node,))
            or self.unstable & used_symbols(node, self.program)
        ):
            return False
        return all(_is_pure_call(n) for n in walk((node,)) if isinstance(n, NodeCall))

    def changes(self, name: str, first: int, last: int) -> bool:
        """True if a node from the first to the last, exclusive, writes a container."""
        return any(first <= k < last for k in self.writers.get(name, ()))

    def is_between(self, first: int, last: int) -> bool:
        """True if what is made at one node and used at another one is kept between the halves of a pullback."""
        return self.second is not None and first < self.second <= last

    def begins(self, name: str, first: int) -> bool:
        """True if a temporary has no content yet before some node: what is read of it is written from there on."""
        return self.program.containers[name].transient and not self.changes(name, 0, first)


def _is_pure_call(call: NodeCall) -> bool:
    if is_declined(call):
        return False
    return isinstance(call, CustomCall) or isinstance(call.node, nd.LibraryNode)


def segments(flow: Flow, peak: int, count: int, kept: Collection[str]) -> list[Segment]:
    """Cut the nodes up to the peak into segments of about equal bytes that could be dropped.

    :param peak: the node where most is live.
    :param kept: containers that are not dropped.
    """
    waiting = _waiting(flow, peak, kept)
    if not waiting:
        return []
    cuts = _cuts(flow, waiting, count)
    pairs = list(zip(cuts, cuts[1:], strict=False))
    dropped = [{n for n in waiting if a <= flow.writers[n][0] and flow.writers[n][-1] < b} for a, b in pairs]
    while True:
        made = [
            _segment(flow, peak, a, b, frozenset(d)) if d else None for (a, b), d in zip(pairs, dropped, strict=True)
        ]
        starts = [set(s.read) | set(s.copied) if s is not None else set() for s in made]
        fewer = []
        for k, s in enumerate(made):
            others = set().union(*(x for j, x in enumerate(starts) if j != k))
            fewer.append((set(s.dropped) if s is not None else set()) - others)
        if fewer == dropped:
            return [s for s in made if s is not None]
        dropped = fewer


def _waiting(flow: Flow, peak: int, kept: Collection[str]) -> list[str]:
    """Return the arrays that are made before the peak and used behind it, but not there, in the order they are made."""

    def waits(name: str) -> bool:
        users, writers = flow.users[name], flow.writers.get(name, [])
        is_idle = bool(writers) and writers[-1] < peak < users[-1] and peak not in users
        return is_idle and all(flow.runs_again(w) for w in writers)

    return sorted(filter(waits, flow.size.keys() - set(kept)), key=lambda n: (flow.writers[n][-1], n))


def _cuts(flow: Flow, waiting: Sequence[str], count: int) -> list[int]:
    """Return the nodes where segments begin, and behind the last one."""
    total = sum(flow.size[n] for n in waiting)
    cuts, done = [min(flow.writers[n][0] for n in waiting)], 0
    for name in waiting:
        if done >= total * len(cuts) / count and flow.writers[name][-1] > cuts[-1]:
            cuts.append(flow.writers[name][0])
        done += flow.size[name]
    last = max(flow.writers[n][-1] for n in waiting) + 1
    return sorted({*cuts, last})


def _segment(flow: Flow, peak: int, first: int, end: int, dropped: frozenset[str]) -> Segment | None:
    """Return the slice of some nodes that makes what is dropped; None if it cannot run again."""
    nodes, needed = _slice(flow, first, end, dropped)
    if not all(flow.runs_again(k) for k in nodes):
        return None
    at = min(u for n in dropped for u in flow.users[n] if u > peak)
    body = tuple(flow.program.body[k] for k in nodes)
    written = set().union(*(flow.writes[k] for k in nodes)) & needed
    read = set().union(*(flow.reads[k] for k in nodes))
    fresh = defined_first(body, flow.program, written)
    starts = {n for n in (read | written) - fresh if n not in written or not flow.begins(n, first)}
    copied = {n for n in starts if flow.changes(n, first, at)}
    if any(n not in flow.size and n not in flow.program.arguments for n in copied):
        return None
    return Segment(first, nodes, at, dropped, tuple(sorted(copied)), frozenset(starts - copied))


def _slice(flow: Flow, first: int, end: int, dropped: frozenset[str]) -> tuple[tuple[int, ...], set[str]]:
    """Return the nodes that make some containers, from what there is where the segment begins; and what they make."""
    needed, nodes = set(dropped), []
    for k in range(end - 1, first - 1, -1):
        if flow.writes[k] & needed:
            nodes.append(k)
            needed |= flow.reads[k]
    return tuple(reversed(nodes)), needed


# -- what it costs
def seconds_of(segment: Segment, program: Program) -> float:
    """Estimate the time that a segment takes beside what runs anyway."""
    copies = sum(size_in_arena(program.containers[n]) for n in segment.copied)
    return (
        seconds(tuple(program.body[k] for k in segment.nodes), program) + 4 * copies / config.machine.bytes_per_second
    )


def changes_by(segment: Segment, flow: Flow) -> list[tuple[Span, int]]:
    """Return the bytes that a segment adds to each point of the program, from one to another; less than 0: frees."""
    nodes, ends = flow.ranges.nodes, flow.ranges.points - 1
    at = nodes[segment.at][0]
    found = []
    for n in segment.dropped:
        users = flow.users[n]
        last = max(u for u in users if u < segment.at)
        if not flow.is_between(users[0], users[-1]):
            found.append(((nodes[last][1] + 1, at - 1), -flow.size[n]))
            continue
        found.append(((at, ends if flow.is_between(segment.at, users[-1]) else nodes[users[-1]][1]), flow.size[n]))
        if not flow.is_between(users[0], last):
            found.append(((nodes[last][1] + 1, ends), -flow.size[n]))
    kept = flow.is_between(segment.first, segment.at)
    for n in segment.copied:
        found.append(((nodes[segment.first][0], ends if kept else at), size_in_arena(flow.program.containers[n])))
    for n in segment.read:
        end = flow.ranges.spans.get(n, (0, at))[1]
        if n in flow.size and end < at:
            found.append(((end + 1, ends if flow.is_between(flow.users[n][0], segment.at) else at), flow.size[n]))
    found.append(((at, at), _while_it_runs(segment, flow)))
    return [(span, size) for span, size in found if span[0] <= span[1]]


def _while_it_runs(segment: Segment, flow: Flow) -> int:
    """Return the most bytes of what the slice makes and that is not dropped."""
    body = _without_unread(tuple(flow.program.body[k] for k in segment.nodes), segment, flow.program)
    ranges = LiveRanges.of(replace(flow.program, body=body))
    written = {flow.program.root(n) for node in body for n in writes(node)} - set(segment.copied)
    blocks = [
        Piece(flow.size[n], (ranges.spans[n][0], ranges.points if n in segment.dropped else ranges.spans[n][1]))
        for n in written & flow.size.keys()
    ]
    return most_live(blocks) - sum(flow.size[n] for n in segment.dropped & written)


# -- the program
def with_segments(program: Program, chosen: Sequence[Segment]) -> Program:
    """Return the program with segments run again."""
    names = all_names(program)
    containers = dict(program.containers)
    before: dict[int, list[Node]] = {}
    moved: list[tuple[int, dict[str, str]]] = []  # what nodes from one on read in place of what was dropped
    for segment in sorted(chosen, key=lambda s: s.at):
        body = tuple(program.body[k] for k in segment.nodes)
        written = {program.root(n) for node in body for n in writes(node)}
        own = {n: names.fresh(f"{n}_again") for n in sorted(written | set(segment.copied))}
        for n in segment.copied:
            containers[own[n]] = containers[n].local(own[n])
            copy = assign(containers[own[n]], program.containers[n], "set", names, own[n])
            before.setdefault(segment.first, []).append(copy)
        places = _places(program, own, names)
        containers |= _made(program, places, containers)
        slice_ = renamed(_without_unread(body, segment, program), places)
        before.setdefault(segment.at, []).extend(_moved(slice_, moved, segment.at))
        moved.append((segment.at, {n: p for n, p in places.items() if program.root(n) in segment.dropped}))
    out: list[Node] = []
    for k, node in enumerate(program.body):
        out += before.get(k, ())
        out += _moved((node,), moved, k)
    return drop_dead(without_unread(replace(program, body=tuple(out), containers=containers)))


def _moved(block: Block, moved: Sequence[tuple[int, dict[str, str]]], k: int) -> Block:
    """Return nodes that stand at some position, with reads of what was dropped before it."""
    places = {n: p for at, found in moved if at <= k for n, p in found.items()}
    return renamed(block, places) if places else block


def _places(program: Program, own: dict[str, str], names) -> dict[str, str]:
    """Return the new names of containers, and of the views of their memory."""
    views = {
        n: names.fresh(f"{n}_again")
        for n, c in program.containers.items()
        if c.view_of is not None and program.root(n) in own
    }
    return {**own, **views}


def _made(program: Program, places: dict[str, str], known: dict[str, Container]) -> dict[str, Container]:
    """Return the containers of new names, as temporaries."""
    found = {}
    for n, p in places.items():
        if p not in known:
            container = renamed_container(program.containers[n], places, {})
            found[p] = container if container.view_of is not None else container.local(p)
    return found


def _without_unread(body: Block, segment: Segment, program: Program) -> Block:
    """Return the slice without stores that neither it nor what comes later reads."""
    needed, out = set(segment.dropped), []
    for node in reversed(body):
        if isinstance(node, Leaf):
            node = drop_stores(node, lambda s, needed=frozenset(needed): program.root(s.container) not in needed)
        needed |= {program.root(n) for n in reads(node)}
        out.append(node)
    return tuple(reversed(out))


def without_unread(program: Program) -> Program:
    """Drop stores to temporaries that no node reads, from where nobody reads them any more."""
    later: set[str] = set(program.arguments)
    out: list[Node] = []
    for node in reversed(program.body):
        if isinstance(node, Leaf):
            node = drop_stores(node, lambda s, later=frozenset(later): _is_dead(s.container, program, later))
            if not node.stores:
                continue
        later |= {program.root(n) for n in reads(node)}
        out.append(node)
    return replace(program, body=tuple(reversed(out)))


def _is_dead(name: str, program: Program, later: Collection[str]) -> bool:
    root = program.root(name)
    return root not in later and program.containers[root].transient
