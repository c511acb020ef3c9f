"""Activity: which values depend on the inputs (varied) and influence the outputs (useful), to a fixpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sdgrad.analysis.access_relations import covers
from sdgrad.analysis.paths import nodes_with_paths
from sdgrad.errors import Problem
from sdgrad.program.kinds import infer, kind_of
from sdgrad.program.tree import Block, Leaf, Let, Load, Loop, NodeCall, Program, Scope, Store, children, local_names
from sdgrad.symbolic.derivatives import NoDerivative, Partial, partials

Path = tuple[int, ...]
DIFFERENTIABLE_MODES = ("set", "sum", "prod", "max", "min")


def carried(store: Store) -> str:
    """A name, no instruction's, for what a reduction's container held before: it may carry a derivative by itself."""
    return f"={store.container}"


@dataclass(frozen=True)
class LeafFacts:
    """Derivative facts of one leaf: kinds, partials by instruction name, and functions without a derivative."""

    kinds: Mapping[str, str]
    partials: Mapping[str, tuple[Partial, ...]]
    unknown: Mapping[str, str]


@dataclass(frozen=True)
class Activity:
    """Names (leaves) and containers (calls) that are varied and useful, by node path.

    ``overwritten`` are the containers a leaf or call writes that have carried a derivative before it and are useful
    after it: the cotangent of what it overwrites is zero from there on backwards.
    """

    names: Mapping[Path, frozenset[str]]
    overwritten: Mapping[Path, frozenset[str]]
    facts: Mapping[Path, LeafFacts]
    varied_end: frozenset[str]
    useful_start: frozenset[str]

    def active(self, path: Path, name: str) -> bool:
        return name in self.names.get(path, frozenset())

    def __str__(self) -> str:
        return "\n".join(f"{'.'.join(map(str, p))}: {', '.join(sorted(n))}" for p, n in sorted(self.names.items()) if n)


def leaf_facts(leaf: Leaf, program: Program) -> LeafFacts:
    kind = infer(leaf.body, program.containers)
    found: dict[str, tuple[Partial, ...]] = {}
    unknown: dict[str, str] = {}
    for let in leaf.lets:
        try:
            found[let.name] = tuple(partials(let.name, let.expr, kind))
        except NoDerivative as missing:
            unknown[let.name] = str(missing.args[0])
    return LeafFacts(kind, found, unknown)


@dataclass
class _Sweep:
    program: Program
    facts: dict[Path, LeafFacts] = field(default_factory=dict)
    varied: dict[Path, set[str]] = field(default_factory=dict)
    useful: dict[Path, set[str]] = field(default_factory=dict)
    carrying: set[str] = field(default_factory=set)  # containers that have carried a derivative somewhere so far
    before: dict[Path, set[str]] = field(default_factory=dict)  # those of them that a node gives other values
    overwritten: dict[Path, set[str]] = field(default_factory=dict)

    def root(self, name: str) -> str:
        return self.program.root(name)

    def defined(self, node) -> set[str]:
        """Containers in which a leaf or call puts other values, whatever was there."""
        if isinstance(node, Leaf):
            return {self.root(s.container) for s in node.stores if s.mode == "set" or s.fresh}
        return (
            {self.root(r.container) for r in node.outputs.values() if not r.wcr}
            if isinstance(node, NodeCall)
            else set()
        )

    # -- forward
    def forward(self, block: Block, path: Path, state: set[str]) -> set[str]:
        for k, node in enumerate(block):
            state = self.forward_node(node, (*path, k), state)
        self.carrying |= state
        return state

    def forward_node(self, node, path: Path, state: set[str]) -> set[str]:
        self.carrying |= state
        if not children(node):
            self.before.setdefault(path, set()).update(self.carrying & self.defined(node))
        if isinstance(node, Leaf):
            return self.forward_leaf(node, path, state)
        if isinstance(node, NodeCall):
            hit = {r.container for r in node.inputs.values() if self.root(r.container) in state}
            self.varied.setdefault(path, set()).update(hit)
            if hit:
                outs = {r.container for r in node.outputs.values() if self.is_float(r.container)}
                self.varied[path] |= outs
                return state | {self.root(c) for c in outs}
            return state
        return self.through(node, path, state, self.forward, local_names(node))

    def through(self, node, path: Path, state: set[str], sweep, hidden: set[str]) -> set[str]:
        """Pass a control node: arms join, loops and maps go round until nothing changes."""
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

    def is_float(self, container: str) -> bool:
        return kind_of(self.program.containers[container].dtype) in ("float", "complex")

    def forward_leaf(self, leaf: Leaf, path: Path, state: set[str]) -> set[str]:
        facts = self.facts.setdefault(path, leaf_facts(leaf, self.program))
        varied = self.varied.setdefault(path, set())
        for instr in leaf.body:
            if isinstance(instr, Load):
                if self.root(instr.container) in state and self.is_float(instr.container):
                    varied.add(instr.name)
            elif isinstance(instr, Let):
                operands = {p.operand for p in facts.partials.get(instr.name, ())}
                if instr.name in facts.unknown:
                    from sdgrad.symbolic.code import names_in

                    operands = names_in(instr.expr)
                if operands & varied:
                    varied.add(instr.name)
        varied |= {carried(s) for s in leaf.stores if s.mode != "set" and self.root(s.container) in state}
        for store in leaf.stores:
            state = self.forward_store(store, leaf, varied, state)
        return state

    def forward_store(self, store: Store, leaf: Leaf, varied: set[str], state: set[str]) -> set[str]:
        root = self.root(store.container)
        if store.value in varied and self.is_float(store.container):
            return state | {root}
        defines = (store.mode == "set" or store.fresh) and root == store.container
        if defines and root in state and covers(store, leaf, self.program.containers[root].shape):
            return state - {root}
        return state

    # -- backward
    def backward(self, block: Block, path: Path, state: set[str]) -> set[str]:
        for k in range(len(block) - 1, -1, -1):
            state = self.backward_node(block[k], (*path, k), state)
        return state

    def backward_node(self, node, path: Path, state: set[str]) -> set[str]:
        if not children(node):
            self.overwritten.setdefault(path, set()).update(state & self.before[path])
        if isinstance(node, Leaf):
            return self.backward_leaf(node, path, state)
        if isinstance(node, NodeCall):
            hit = {r.container for r in node.outputs.values() if self.root(r.container) in state}
            if hit:
                self.useful.setdefault(path, set()).update(hit | {r.container for r in node.inputs.values()})
                return state | {self.root(r.container) for r in node.inputs.values() if self.is_float(r.container)}
            return state
        return self.through(node, path, state, self.backward, local_names(node))

    def backward_leaf(self, leaf: Leaf, path: Path, state: set[str]) -> set[str]:
        facts = self.facts[path]
        useful = self.useful.setdefault(path, set())
        useful |= {s.value for s in leaf.stores if self.root(s.container) in state and self.is_float(s.container)}
        useful |= {carried(s) for s in leaf.stores if s.mode != "set" and self.root(s.container) in state}
        after = set(state)
        for s in leaf.stores:
            root = self.root(s.container)
            defines = (s.mode == "set" or s.fresh) and root == s.container
            if defines and root in after and covers(s, leaf, self.program.containers[root].shape):
                after.discard(root)
        for instr in reversed(leaf.body):
            if isinstance(instr, Let) and instr.name in useful:
                if instr.name in facts.unknown:
                    from sdgrad.symbolic.code import names_in

                    useful |= names_in(instr.expr)
                useful |= {p.operand for p in facts.partials.get(instr.name, ())}
            elif isinstance(instr, Load) and instr.name in useful and self.is_float(instr.container):
                after.add(self.root(instr.container))
        return after


def activity(program: Program, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> Activity:
    """Which values carry a derivative from ``inputs`` (at entry) to ``outputs`` (at exit)."""
    sweep = _Sweep(program)
    end = sweep.forward(program.body, (), {program.root(n) for n in inputs})
    start = sweep.backward(program.body, (), {program.root(n) for n in outputs})
    paths = sweep.varied.keys() | sweep.useful.keys()
    names = {p: frozenset(sweep.varied.get(p, set()) & sweep.useful.get(p, set())) for p in paths}
    overwritten = {p: frozenset(n) for p, n in sweep.overwritten.items() if n}
    return Activity(names, overwritten, sweep.facts, frozenset(end), frozenset(start))


def unknown_functions(program: Program, found: Activity) -> list[Problem]:
    """A problem for each active instruction whose function has no derivative."""
    problems = []
    for path, node in nodes_with_paths(program.body):
        facts = found.facts.get(path)
        for name, function in facts.unknown.items() if facts else ():
            if found.active(path, name):
                problems.append(
                    Problem(
                        f"function '{function}'",
                        "has no derivative in the table of scalar rules",
                        str(node.source),
                        "register a row with sdgrad.register_scalar_rule, or keep "
                        "its argument out of the differentiated inputs",
                    )
                )
    return problems
