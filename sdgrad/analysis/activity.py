"""Activity analysis: find the values that depend on an input (*varied*) and influence an output (*useful*).

A forward sweep propagates "varied" and a backward sweep propagates "useful", both to a fixpoint over loops. A value
that is both is *active*: it carries a derivative (Hascoet, Naumann & Pascual 2005). For the input ``x`` and the output
``s``::

    v = x[i]          active
    c = k[i]          not varied: k is no input
    w = v * c         active
    u = sin(v)        not useful, if nothing reads z
    s[0] += w
    z[i] = u
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sdgrad.analysis.access_relations import covers
from sdgrad.analysis.conflicts import runs_in_order
from sdgrad.analysis.paths import nodes_with_paths
from sdgrad.errors import Problem
from sdgrad.program.kinds import infer, kind_of
from sdgrad.program.tree import Block, Leaf, Let, Load, Loop, NodeCall, Program, Scope, Store, children, local_names
from sdgrad.runtime.libraries.communication import is_communication, messages
from sdgrad.symbolic.code import names_in
from sdgrad.symbolic.derivatives import NoDerivative, Partial, partials
from sdgrad.symbolic.inverse_pairs import whole_partial

Path = tuple[int, ...]
DIFFERENTIABLE_MODES = ("set", "sum", "prod", "max", "min")
"""Modes of stores that have an adjoint."""


def carried(store: Store) -> str:
    """Name the initial value of a reduction, which may be active on its own; no instruction has such a name."""
    return f"={store.container}"


@dataclass(frozen=True)
class LeafFacts:
    """Hold the derivative facts of a leaf: kinds of names, partials of instructions, and unknown functions."""

    kinds: Mapping[str, str]
    partials: Mapping[str, tuple[Partial, ...]]
    unknown: Mapping[str, str]


@dataclass(frozen=True)
class Activity:
    """Hold the active names of leaves and the active containers of calls, by node path.

    ``overwritten`` are containers that a leaf or call writes, with a derivative before it and useful after it. The
    adjoint of the node clears the cotangents of the overwritten elements.
    """

    names: Mapping[Path, frozenset[str]]
    overwritten: Mapping[Path, frozenset[str]]
    facts: Mapping[Path, LeafFacts]
    varied_end: frozenset[str]
    useful_start: frozenset[str]

    def active(self, path: Path, name: str) -> bool:
        """True if a name of a leaf, or a container of a call, is active."""
        return name in self.names.get(path, frozenset())

    def __str__(self) -> str:
        return "\n".join(f"{'.'.join(map(str, p))}: {', '.join(sorted(n))}" for p, n in sorted(self.names.items()) if n)


def leaf_facts(leaf: Leaf, program: Program) -> LeafFacts:
    """Differentiate the instructions of a leaf."""
    kind = infer(leaf.body, program.containers)
    found: dict[str, tuple[Partial, ...]] = {}
    unknown: dict[str, str] = {}
    known: dict[str, ast.expr] = {}
    for let in leaf.lets:
        try:
            whole = whole_partial(let.expr, known, kind)
            found[let.name] = (whole,) if whole is not None else tuple(partials(let.name, let.expr, kind))
        except NoDerivative as missing:
            unknown[let.name] = str(missing.args[0])
        known[let.name] = let.expr
    return LeafFacts(kind, found, unknown)


@dataclass
class _Sweep:
    """Propagate varied values forwards, then useful values backwards. A state is a set of containers."""

    program: Program
    facts: dict[Path, LeafFacts] = field(default_factory=dict)
    varied: dict[Path, set[str]] = field(default_factory=dict)
    useful: dict[Path, set[str]] = field(default_factory=dict)
    carrying: set[str] = field(default_factory=set)  # containers that were varied at some node so far
    before: dict[Path, set[str]] = field(default_factory=dict)  # those of them that a node overwrites
    overwritten: dict[Path, set[str]] = field(default_factory=dict)

    def root(self, name: str) -> str:
        """Return the container that owns the memory of another one."""
        return self.program.root(name)

    def defined(self, node) -> set[str]:
        """Collect the containers in which a leaf or call overwrites elements, instead of accumulating."""
        if isinstance(node, Leaf):
            return {self.root(s.container) for s in node.stores if s.mode == "set" or s.fresh}
        return (
            {self.root(r.container) for r in node.outputs.values() if not r.wcr}
            if isinstance(node, NodeCall)
            else set()
        )

    # -- forward
    def forward(self, block: Block, path: Path, state: set[str]) -> set[str]:
        """Return the varied containers after a block."""
        for k, node in enumerate(block):
            state = self.forward_node(node, (*path, k), state)
        self.carrying |= state
        return state

    def forward_node(self, node, path: Path, state: set[str]) -> set[str]:
        """Return the varied containers after a node."""
        self.carrying |= state
        if not children(node):
            self.before.setdefault(path, set()).update(self.carrying & self.defined(node))
        if isinstance(node, Leaf) and self.feeds_itself(node):
            while not (inner := self.forward_leaf(node, path, state)) <= state:
                state = state | inner
            self.before[path].update(state & self.defined(node))
        if isinstance(node, Leaf):
            return self.forward_leaf(node, path, state)
        if isinstance(node, NodeCall):
            hit = {r.container for r in node.inputs.values() if self.root(r.container) in state}
            hit |= self.messages(node)
            self.varied.setdefault(path, set()).update(hit)
            if hit:
                outs = {r.container for r in node.outputs.values() if self.is_float(r.container)}
                self.varied[path] |= outs
                return state | {self.root(c) for c in outs}
            return state
        return self.through(node, path, state, self.forward, local_names(node))

    def through(self, node, path: Path, state: set[str], sweep, hidden: set[str]) -> set[str]:
        """Propagate a state through a control node: join its arms, or iterate its loop to a fixpoint.

        :param hidden: local containers of the node.
        """
        blocks = children(node)
        if isinstance(node, (Loop, Scope)):
            while True:
                known = len(self.carrying)
                after = sweep(blocks[0], (*path, 0), set(state)) | state
                if after == state and len(self.carrying) == known:
                    return state - hidden
                state = after
        results = [sweep(b, (*path, k), set(state)) for k, b in enumerate(blocks)]
        return state.union(*results) if results else state

    def messages(self, node: NodeCall) -> set[str]:
        """Return what a communication sends and receives: another rank may need its derivative."""
        regions = node.regions if is_communication(node) else {}
        return {regions[c].container for c in messages(regions) if self.is_float(regions[c].container)}

    def is_float(self, container: str) -> bool:
        """True if a container holds real or complex numbers, which may carry a derivative."""
        return kind_of(self.program.containers[container].dtype) in ("float", "complex")

    def forward_leaf(self, leaf: Leaf, path: Path, state: set[str]) -> set[str]:
        """Return the varied containers after a leaf, and note its varied names."""
        if path not in self.facts:
            self.facts[path] = leaf_facts(leaf, self.program)
        varied = self.varied.setdefault(path, set())
        for instr in leaf.body:
            if isinstance(instr, Load):
                if self.root(instr.container) in state and self.is_float(instr.container):
                    varied.add(instr.name)
            elif isinstance(instr, Let) and self.operands(instr, path) & varied:
                varied.add(instr.name)
        varied |= {carried(s) for s in leaf.stores if s.mode != "set" and self.root(s.container) in state}
        for store in leaf.stores:
            state = self.forward_store(store, leaf, varied, state)
        return state

    def feeds_itself(self, leaf: Leaf) -> bool:
        """True if instances of a leaf run in order, and may load what those before them have stored."""
        shared = {self.root(s.container) for s in leaf.stores} & {self.root(x.container) for x in leaf.loads}
        return bool(shared) and runs_in_order(leaf)

    def operands(self, let: Let, path: Path) -> set[str]:
        """Collect the names that an instruction depends on differentiably; all names, if its derivative is unknown."""
        facts = self.facts[path]
        if let.name in facts.unknown:
            return names_in(let.expr)
        return {p.operand for p in facts.partials.get(let.name, ())}

    def forward_store(self, store: Store, leaf: Leaf, varied: set[str], state: set[str]) -> set[str]:
        """Return the varied containers after a store."""
        root = self.root(store.container)
        if store.value in varied and self.is_float(store.container):
            return state | {root}
        return state - {root} if root in state and self.kills(store, leaf) else state

    def kills(self, store: Store, leaf: Leaf) -> bool:
        """True if a store overwrites its whole container."""
        root = self.root(store.container)
        defines = (store.mode == "set" or store.fresh) and root == store.container
        return defines and covers(store, leaf, self.program.containers[root].shape)

    # -- backward
    def backward(self, block: Block, path: Path, state: set[str]) -> set[str]:
        """Return the useful containers before a block."""
        for k in range(len(block) - 1, -1, -1):
            state = self.backward_node(block[k], (*path, k), state)
        return state

    def backward_node(self, node, path: Path, state: set[str]) -> set[str]:
        """Return the useful containers before a node."""
        if isinstance(node, Leaf) and self.feeds_itself(node):
            while not (inner := self.backward_leaf(node, path, state)) <= state:
                state = state | inner
        if not children(node):
            self.overwritten.setdefault(path, set()).update(state & self.before[path])
        if isinstance(node, Leaf):
            return self.backward_leaf(node, path, state)
        if isinstance(node, NodeCall):
            hit = {r.container for r in node.outputs.values() if self.root(r.container) in state}
            hit |= self.messages(node)
            if hit:
                self.useful.setdefault(path, set()).update(hit | {r.container for r in node.inputs.values()})
                return state | {self.root(r.container) for r in node.inputs.values() if self.is_float(r.container)}
            return state
        return self.through(node, path, state, self.backward, local_names(node))

    def backward_leaf(self, leaf: Leaf, path: Path, state: set[str]) -> set[str]:
        """Return the useful containers before a leaf, and note its useful names."""
        useful = self.useful.setdefault(path, set())
        into = [s for s in leaf.stores if self.root(s.container) in state]
        useful |= {s.value for s in into if self.is_float(s.container)}
        useful |= {carried(s) for s in into if s.mode != "set"}
        before = state - {self.root(s.container) for s in into if self.kills(s, leaf)}
        for instr in reversed(leaf.body):
            if isinstance(instr, Let) and instr.name in useful:
                useful |= self.operands(instr, path)
            elif isinstance(instr, Load) and instr.name in useful and self.is_float(instr.container):
                before.add(self.root(instr.container))
        return before


def activity(program: Program, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> Activity:
    """Find the values that carry a derivative from ``inputs`` (at entry) to ``outputs`` (at exit)."""
    sweep = _Sweep(program)
    end = sweep.forward(program.body, (), {program.root(n) for n in inputs})
    start = sweep.backward(program.body, (), {program.root(n) for n in outputs})
    paths = sweep.varied.keys() | sweep.useful.keys()
    names = {p: frozenset(sweep.varied.get(p, set()) & sweep.useful.get(p, set())) for p in paths}
    overwritten = {p: frozenset(n) for p, n in sweep.overwritten.items() if n}
    return Activity(names, overwritten, sweep.facts, frozenset(end), frozenset(start))


NO_ROW = (
    "has no derivative in the table of scalar rules",
    "register a row with sdgrad.register_scalar_rule, or keep its argument out of the differentiated inputs",
)
NO_PARTIAL = (
    "no derivative is known",
    "keep the argument constant, by sdgrad.stop_gradient or by wrt= without it, or write a rule with sdgrad.custom_vjp",
)
"""What is wrong with a function, and what to do instead: it is not known, or only its derivative by an argument."""


def _unknown(facts: LeafFacts, path: Path, found: Activity) -> Iterator[tuple[str, str, tuple[str, str]]]:
    """Yield instructions of which a partial is not known, each with the function as it is written, and the reason."""
    yield from ((name, f"function '{function}'", NO_ROW) for name, function in facts.unknown.items())
    for name, partials_ in facts.partials.items():
        active = (p.unknown for p in partials_ if p.unknown and found.active(path, p.operand))
        yield from ((name, written, NO_PARTIAL) for written in active)


def unknown_functions(program: Program, found: Activity) -> list[Problem]:
    """Report each active instruction with a function that has no derivative."""
    problems = []
    for path, node in nodes_with_paths(program.body):
        facts = found.facts.get(path)
        for name, construct, (message, hint) in _unknown(facts, path, found) if facts else ():
            if found.active(path, name):
                problems.append(Problem(construct, message, str(node.source), hint))
    return problems
