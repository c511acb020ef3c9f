"""Find which elements of a program's results depend on which elements of an argument, for given sizes and integers.

This is abstract interpretation: the program tree runs on sets of columns instead of numbers. Every container has a
boolean sparse matrix, its elements by those of the argument. Subscripts, bounds and conditions that depend on integers
alone are computed (:mod:`sdgrad.sparsity.integers`), all others are taken to be anything: the pattern may be too
large, never too small.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from sdgrad.analysis.activity import leaf_facts
from sdgrad.program.custom_call import expanded
from sdgrad.program.tree import (
    Block,
    Branch,
    Leaf,
    Let,
    Load,
    Loop,
    Node,
    NodeCall,
    Param,
    Program,
    Region,
    Scope,
    Store,
    SymbolAssign,
    reads,
    walk,
    writes,
)
from sdgrad.sparsity.integers import Integers, Unknown
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import to_ast

Matrix: TypeAlias = sp.csr_matrix


def dependencies(program: Program, source: str, result: str, given: Mapping[str, object]) -> sp.csr_matrix:
    """Return ``D[i, j]``: element ``i`` of the final ``result`` may depend on ``j`` of the initial ``source``.

    :param given: the program's arguments; sizes, and integers, are taken from them.
    """
    program = expanded(program)
    run = _Run(program, dict(_integers(program, given)))
    n = run.size(source)
    run.columns = n
    run.depends[source] = sp.identity(n, bool, "csr")
    for name in program.arguments:
        value = np.asarray(given.get(name))
        if value.dtype.kind in "iub":
            run.values[name] = np.ascontiguousarray(value).reshape(-1)
    run.block(program.body)
    return run.of(result)


def _integers(program: Program, given: Mapping[str, object]):
    for name, value in given.items():
        if name not in program.containers and isinstance(value, (int, np.integer)):
            yield name, int(value)


@dataclass
class _Run(Integers):
    """Run a program on dependences instead of numbers."""

    columns: int = 0
    depends: dict[str, Matrix] = field(default_factory=dict)  # by root container; none: on nothing

    def of(self, container: str) -> Matrix:
        """Return the dependences of a container's elements."""
        root = self.program.root(container)
        if root not in self.depends:
            self.depends[root] = sp.csr_matrix((self.size(root), self.columns), dtype=bool)
        return self.depends[root]

    # -- nodes
    def block(self, block: Block) -> None:
        for node in block:
            self.node(node)

    def node(self, node: Node) -> None:
        """Run a node; a symbol of unknown value is forgotten."""
        if isinstance(node, Leaf):
            self.leaf(node)
        elif isinstance(node, NodeCall):
            self.call(node)
        elif isinstance(node, SymbolAssign):
            try:
                self.symbols[node.symbol] = int(self.value(node.value))
            except Unknown:
                self.symbols.pop(node.symbol, None)
        elif isinstance(node, Branch):
            self.branch(node)
        elif isinstance(node, Loop):
            self.loop(node)
        else:
            self.scope(node)

    def branch(self, node: Branch) -> None:
        """Run the arms that may be taken, and join what they leave."""
        possible = []
        for condition, body in node.arms:
            try:
                holds = condition is None or bool(self.value(condition))
            except Unknown:
                possible.append(body)
                continue
            if holds:
                possible.append(body)
                break
        else:
            possible.append(())
        self.one_of(possible)

    def one_of(self, blocks: list[Block]) -> None:
        """Run each of some blocks from the same state, and join the states they leave."""
        start, ends = self.state(), []
        for body in blocks:
            self.restore(start)
            self.block(body)
            ends.append(self.state())
        self.restore(ends[0])
        for end in ends[1:]:
            self.join(end)

    def loop(self, node: Loop) -> None:
        """Run a loop's iterations one by one, or to a fixpoint if their number is unknown."""
        try:
            if node.also is not None or node.stop is None or node.last is not None:
                raise Unknown
            start, stop, step = (int(self.value(v)) for v in (node.start, node.stop, node.step))
        except Unknown:
            self.any_number_of_trips(node.body, [node.symbol])
            return
        for trip in range(start, stop + (1 if step > 0 else -1), step):
            self.symbols[node.symbol] = trip
            self.block(node.body)
        self.symbols.pop(node.symbol, None)

    def scope(self, node: Scope) -> None:
        self.nest(node.params, node.body)

    def nest(self, params: tuple[Param, ...], body: Block) -> None:
        """Run a scope's instances one by one, or to a fixpoint if their number is unknown."""
        if not params:
            self.block(body)
            return
        p = params[0]
        try:
            start, stop, step = (self.number(e) for e in (p.start, p.stop, p.step))
        except Unknown:
            self.any_number_of_trips(body, [q.name for q in params])
            return
        for trip in range(start, stop + (1 if step > 0 else -1), step):
            self.symbols[p.name] = trip
            self.nest(params[1:], body)
        self.symbols.pop(p.name, None)

    def any_number_of_trips(self, body: Block, unknown: list[str]) -> None:
        """Run a body until no further iteration adds a dependence; integers that it changes are unknown."""
        changed = {s.symbol for s in walk(body) if isinstance(s, SymbolAssign)} | set(unknown)
        for symbol in changed:
            self.symbols.pop(symbol, None)
        for name in {self.program.root(w) for n in body for w in writes(n)}:
            self.values.pop(name, None)
        while True:
            before, start = {n: m.nnz for n, m in self.depends.items()}, self.state()
            self.block(body)
            self.join(start)
            if before == {n: m.nnz for n, m in self.depends.items()}:
                return

    def state(self) -> tuple[dict, dict, dict]:
        return dict(self.depends), dict(self.values), dict(self.symbols)

    def restore(self, state: tuple[dict, dict, dict]) -> None:
        self.depends, self.values, self.symbols = (dict(x) for x in state)

    def join(self, state: tuple[dict, dict, dict]) -> None:
        """Join another state to this one: the union of dependences, the integers they agree in."""
        depends, values, symbols = state
        for name, matrix in depends.items():
            self.depends[name] = self.depends[name] + matrix if name in self.depends else matrix
        self.values = {
            n: v for n, v in self.values.items() if n in values and (v is values[n] or np.array_equal(v, values[n]))
        }
        self.symbols = {n: v for n, v in self.symbols.items() if symbols.get(n) == v}

    def call(self, node: NodeCall) -> None:
        """Let every result depend on everything the node reads."""
        found = sp.csr_matrix((1, self.columns), dtype=bool)
        for region in node.inputs.values():
            found = found + _union(self.of(region.container)[self.cells(region)])
        for region in node.outputs.values():
            root, cells = self.program.root(region.container), self.cells(region)
            self.values.pop(root, None)
            self.depends[root] = self.of(root) + _scatter(cells, np.zeros(cells.size, int), self.size(root), 1) @ found

    def cells(self, region: Region) -> np.ndarray:
        """Return the positions of a region's elements; all of the container's if its bounds are unknown."""
        try:
            ranges = [range(self.number(b), self.number(e) + 1, self.number(s)) for b, e, s in region.subset.ranges]
        except Unknown:
            return np.arange(self.size(self.program.root(region.container)))
        grid = np.meshgrid(*(np.array(r) for r in ranges), indexing="ij")
        return self.address(region.container, tuple(g.ravel() for g in grid), grid[0].size)

    # -- leaves
    def leaf(self, leaf: Leaf) -> None:
        """Run a leaf: all instances at once, or one after another if one may read what another writes."""
        try:
            env, count = self.instances(leaf.params)
        except Unknown:
            self.anything(leaf)
            return
        if leaf.sequential or self.reads_what_it_writes(leaf):
            for k in range(count):
                self.body(leaf, {n: v[k : k + 1] for n, v in env.items()}, 1)
        else:
            self.body(leaf, env, count)

    def reads_what_it_writes(self, leaf: Leaf) -> bool:
        """True if the leaf reads a container that it accumulates into."""
        root = self.program.root
        updated = {root(s.container) for s in leaf.stores if s.mode != "set"}
        return bool({root(x.container) for x in leaf.loads} & updated)

    def instances(self, params: tuple[Param, ...]) -> tuple[dict[str, np.ndarray], int]:
        """Return the values of the parameters, instance by instance, and the number of instances."""
        env: dict[str, np.ndarray] = {}
        count = 1
        for p in params:
            outer = env
            bounds = [np.broadcast_to(self.evaluate(to_ast(e), outer), count) for e in (p.start, p.stop)]
            step = self.number(p.step)
            trips = np.maximum((bounds[1] - bounds[0]) // step + 1, 0)
            env = {n: np.repeat(v, trips) for n, v in env.items()}
            total = int(trips.sum())
            first = np.repeat(np.cumsum(trips) - trips, trips)
            env[p.name] = np.repeat(bounds[0], trips) + (np.arange(total) - first) * step
            count = total
        return env, count

    def anything(self, leaf: Leaf) -> None:
        """Let all that a leaf writes depend on all that it reads: its instances are unknown."""
        found = sp.csr_matrix((1, self.columns), dtype=bool)
        for name in reads(leaf):
            found = found + _union(self.of(name))
        for name in writes(leaf):
            root = self.program.root(name)
            self.values.pop(root, None)
            self.depends[root] = self.of(root) + sp.csr_matrix(np.ones((self.size(root), 1), bool)) @ found

    def body(self, leaf: Leaf, params: Mapping[str, np.ndarray], count: int) -> None:
        """Run the straight-line code of some instances."""
        if not count:
            return
        facts = leaf_facts(leaf, self.program)
        env: dict[str, object] = dict(params)
        depends: dict[str, Matrix] = {}
        for instr in leaf.body:
            if isinstance(instr, Load):
                self.load(instr, env, depends, count)
            elif isinstance(instr, Let):
                operands = {p.operand for p in facts.partials.get(instr.name, ())}
                if instr.name in facts.unknown:
                    operands = code.names_in(instr.expr)
                parts = [depends[o] for o in operands if o in depends]
                if parts:
                    depends[instr.name] = sum(parts[1:], parts[0])
                elif facts.kinds.get(instr.name) in ("int", "bool"):
                    try:
                        env[instr.name] = self.evaluate(instr.expr, env)
                    except Unknown:
                        env.pop(instr.name, None)
            else:
                self.store(instr, env, depends, count)

    def index(self, access: Load | Store, env: Mapping[str, object], count: int) -> np.ndarray:
        """Return the positions of an access, instance by instance."""
        index = tuple(np.broadcast_to(self.evaluate(to_ast(i), env), count) for i in access.index)
        return self.address(access.container, index, count)

    def load(self, load: Load, env: dict[str, object], depends: dict[str, Matrix], count: int) -> None:
        """Take the dependences of the loaded elements, and their integers if they are known."""
        root = self.program.root(load.container)
        try:
            address = self.index(load, env, count)
            chosen = np.broadcast_to(self.evaluate(code.name(load.guard), env), count) if load.guard else None
        except Unknown:
            address, chosen = None, None
        if address is not None and (chosen is None or chosen.all()):
            try:
                env[load.name] = self.content(load.container, address)
            except Unknown:
                env.pop(load.name, None)
        matrix = self.depends.get(root)
        if matrix is None or not matrix.nnz:
            return
        if address is None:
            depends[load.name] = sp.csr_matrix(np.ones((count, 1), bool)) @ _union(matrix)
        else:
            kept = address if chosen is None else np.where(chosen, address, 0)
            depends[load.name] = matrix[np.clip(kept, 0, matrix.shape[0] - 1)]

    def store(self, store: Store, env: Mapping[str, object], depends: Mapping[str, Matrix], count: int) -> None:
        """Replace or add the dependences of the stored elements."""
        root = self.program.root(store.container)
        size = self.size(root)
        new = depends.get(store.value)
        chosen: np.ndarray | None = None
        try:
            address = self.index(store, env, count)
            if store.guard:
                chosen = np.broadcast_to(self.evaluate(code.name(store.guard), env), count)
        except Unknown:
            self.store_somewhere(root, size, new)
            return
        if chosen is not None:
            address, new = address[chosen], new[chosen] if new is not None else None
        self.remember(store, root, address, env, chosen)
        old = self.depends.get(root)
        replaces = store.mode == "set" or store.fresh
        if old is not None and old.nnz and replaces:
            stays = np.ones(size, bool)
            stays[address] = False
            old = sp.diags(stays, dtype=bool).tocsr() @ old
        if new is not None and new.nnz:
            added = (_scatter(address, np.arange(address.size), size, address.size) @ new).astype(bool)
            old = added if old is None else old + added
        if old is not None:
            self.depends[root] = old

    def store_somewhere(self, root: str, size: int, new: Matrix | None) -> None:
        """Add dependences to all elements of a container: the subscript is unknown."""
        self.values.pop(root, None)
        if new is not None:
            self.depends[root] = self.of(root) + sp.csr_matrix(np.ones((size, 1), bool)) @ _union(new)


def _scatter(rows: np.ndarray, columns: np.ndarray, height: int, width: int) -> Matrix:
    """Return a matrix with ones at some places."""
    return sp.csr_matrix((np.ones(rows.size, bool), (rows, columns)), (height, width))


def _union(matrix: Matrix) -> Matrix:
    """Return one row with everything that any row depends on."""
    columns = np.unique(matrix.indices)
    return sp.csr_matrix((np.ones(columns.size, bool), (np.zeros(columns.size, int), columns)), (1, matrix.shape[1]))
