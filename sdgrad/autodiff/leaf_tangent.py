"""Compute the tangent of a leaf: beside every active value its tangent, in the same straight-line code.

A sum of products becomes two leaves, one for each term of the product rule, so that each remains a matrix product::

    C[i, j] += A[i, k] * B[k, j]    ->    dC[i, j] += dA[i, k] * B[k, j]
                                          dC[i, j] += A[i, k] * dB[k, j]

Products, maxima and minima run in order, one instance at a time: each updates the value and its tangent.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from functools import cached_property

import dace
from dace import data as dt

from sdgrad.analysis.access_relations import injective
from sdgrad.analysis.activity import Activity
from sdgrad.analysis.needs import reduces
from sdgrad.analysis.paths import Path
from sdgrad.autodiff.shadows import Tangents
from sdgrad.program.kinds import complex_type
from sdgrad.program.leaves import as_loops, live, params_of
from sdgrad.program.reductions import identity
from sdgrad.program.tree import Container, Instr, Leaf, Let, Load, Node, Source, Store
from sdgrad.symbolic import code
from sdgrad.symbolic.derivatives import push


@dataclass
class LeafTangent:
    """Build the nodes that compute a leaf and its tangent."""

    leaf: Leaf
    path: Path
    activity: Activity
    tangents: Tangents
    dots: dict[str, str] = field(default_factory=dict)  # the tangents of local names
    terms: dict[str, list[str]] = field(default_factory=dict)  # their summands, where there are several

    def build(self) -> list[Node]:
        """Return the nodes that compute the leaf's results and their tangents."""
        running = [s for s in self.leaf.stores if reduces(s, self.path, self.activity)]
        if running:
            return self.running(running)
        apart = [s for s in self.leaf.stores if self.is_sum_of_products(s)]
        if apart and not self.loads_what_it_stored():
            return [*(n for s in apart for n in self.apart(s)), *self.together(skip=apart)]
        return self.together()

    @cached_property
    def precision(self) -> str:
        """Return the complex type of the leaf's literals."""
        return complex_type(self.leaf.body, self.tangents.program.containers)

    def is_active(self, name: str) -> bool:
        """True if a value of the leaf carries a derivative."""
        return self.activity.active(self.path, name)

    # -- one body for both
    def together(self, skip: list[Store] | None = None) -> list[Node]:
        """Return the leaf with its tangent; the tangent of stores in ``skip`` is computed elsewhere."""
        body: list[Instr] = []
        before: list[Node] = []
        for instr in self.leaf.body:
            if not isinstance(instr, Store):
                body += self.with_tangent(instr)
                continue
            body.append(instr)
            if skip is None or instr not in skip:
                first, also = self.store(instr)
                before += first
                body += also
        return [*before, replace(self.leaf, body=live(body, set()))]

    def with_tangent(self, instr: Load | Let) -> list[Instr]:
        """Return a load or definition, followed by that of its tangent."""
        if not self.is_active(instr.name):
            return [instr]
        dot = self.tangents.names.fresh(f"d_{instr.name}")
        if isinstance(instr, Load):
            self.dots[instr.name] = dot
            tangent = self.tangents.container(instr.container)
            return [instr, Load(dot, tangent.name, instr.index, instr.guard)]
        facts = self.activity.facts[self.path]
        found: list[ast.expr] = []
        for partial in facts.partials.get(instr.name, ()):
            if partial.operand in self.dots:
                dx = code.name(self.dots[partial.operand])
                found.append(push(partial, dx, facts.kinds, instr.name, self.precision))
        if not found:
            return [instr]
        self.dots[instr.name] = dot
        if len(found) == 1:
            return [instr, Let(dot, found[0])]
        names = [self.tangents.names.fresh(f"{dot}_part") for _ in found]
        self.terms[instr.name] = names
        total: ast.expr = code.name(names[0])
        for n in names[1:]:
            total = code.binary(ast.Add, total, code.name(n))
        return [instr, *(Let(n, e) for n, e in zip(names, found, strict=True)), Let(dot, total)]

    def store(self, store: Store) -> tuple[list[Node], list[Instr]]:
        """Return the tangent of a store: nodes before the leaf, and instructions after the store."""
        if store.value in self.dots:
            tangent = self.tangents.container(store.container)
            return [], [replace(store, container=tangent.name, value=self.dots[store.value])]
        root = self.tangents.program.root(store.container)
        if root not in self.activity.overwritten.get(self.path, ()) or not (store.mode == "set" or store.fresh):
            return [], []
        tangent = self.tangents.container(store.container)
        zero = self.tangents.names.fresh("v")
        nothing = Let(zero, code.constant(0))
        if store.mode == "set":
            return [], [nothing, replace(store, container=tangent.name, value=zero)]
        fill = Store(tangent.name, store.index, zero)
        return [Leaf(params_of(store, self.leaf), (nothing, fill), self.leaf.source)], []

    # -- sums of products, which are matrix products for who finds them
    def is_sum_of_products(self, store: Store) -> bool:
        """True if a store adds up products of two loaded elements: a matrix product in disguise."""
        if store.mode != "sum" or not self.is_active(store.value) or injective(store, self.leaf, len(store.index)):
            return False
        loaded = {x.name for x in self.leaf.loads}
        let = next((i for i in self.leaf.lets if i.name == store.value), None)
        return (
            let is not None
            and isinstance(let.expr, ast.BinOp)
            and isinstance(let.expr.op, ast.Mult)
            and {getattr(let.expr.left, "id", None), getattr(let.expr.right, "id", None)} <= loaded
        )

    def loads_what_it_stored(self) -> bool:
        """True if an instance loads from a container that it has stored into before."""
        root, stored = self.tangents.program.root, set()
        for instr in self.leaf.body:
            if isinstance(instr, Store):
                stored.add(root(instr.container))
            elif isinstance(instr, Load) and root(instr.container) in stored:
                return True
        return False

    def apart(self, store: Store) -> list[Node]:
        """Return one leaf for each term of a store's tangent, to run before the primal leaf."""
        body = [x for i in self.leaf.body if not isinstance(i, Store) for x in self.with_tangent(i)]
        if store.value not in self.dots:
            return []
        tangent = self.tangents.container(store.container)
        out: list[Node] = []
        for k, name in enumerate(self.terms.get(store.value, [self.dots[store.value]])):
            also = replace(store, container=tangent.name, value=name, fresh=store.fresh and k == 0)
            out.append(replace(self.leaf, body=live([*body, also], set())))
        self.dots, self.terms = {}, {}
        return out

    # -- products, maxima and minima: instance by instance
    def running(self, stores: list[Store]) -> list[Node]:
        """Return loops for reductions that are no sums, then the leaf with its other stores."""
        rest = tuple(i for i in self.leaf.body if i not in stores)
        others = live(rest, set())
        if not others:
            return self.one_by_one()
        first = tuple(i for i in self.leaf.body if not isinstance(i, Store) or i in stores)
        parts = (replace(self.leaf, body=live(first, set())), replace(self.leaf, body=others))
        return [n for part in parts for n in replace(self, leaf=part, dots={}, terms={}).build()]

    def one_by_one(self) -> list[Node]:
        """Return loops over the instances; each updates the reduced value and its tangent."""
        before: list[Node] = []
        body: list[Instr] = []
        for instr in self.leaf.body:
            if not isinstance(instr, Store):
                body += self.with_tangent(instr)
            else:
                first, also = self.update(instr)
                before += first
                body += also
        one = Leaf((), tuple(body), self.leaf.source)
        return [*before, *as_loops(self.leaf.params, (one,), self.leaf.source)]

    def update(self, store: Store) -> tuple[list[Node], list[Instr]]:
        """Return ``y <op>= v`` with its tangent: nodes before the loops, and the instructions of an instance."""
        program, tangent = self.tangents.program, self.tangents.container(store.container)
        old, dold, new, dnew = (self.tangents.names.fresh(n) for n in ("before", "d_before", "updated", "d_updated"))
        zero = code.constant(0)
        dv = code.name(self.dots[store.value]) if store.value in self.dots else zero
        loads = [
            Load(old, store.container, store.index, store.guard),
            Load(dold, tangent.name, store.index, store.guard),
        ]
        before: list[Node] = []
        if store.fresh:
            initial = identity(store.mode, program.containers[store.container].dtype)
            before += [self.start(store, store.container, initial), self.start(store, tangent.name, zero)]
        plain = replace(store, mode="set", fresh=False)
        stores = [replace(plain, value=new), replace(plain, container=tangent.name, value=dnew)]
        if store.mode == "prod":
            first, second = code.parse(f"{dold} * {store.value}"), code.binary(ast.Mult, code.name(old), dv)
            product = [Let(new, code.parse(f"{old} * {store.value}")), Let(dnew, code.binary(ast.Add, first, second))]
            return before, [*loads, *product, *stores]
        count, ties, chosen = self.extreme(store, dv, (old, dold, new, dnew))
        before += [self.start(store, count, code.constant(0 if store.fresh else 1))]
        return before, [*loads, *chosen, *stores, replace(plain, container=count, value=ties)]

    def extreme(self, store: Store, dv: ast.expr, names: tuple[str, str, str, str]) -> tuple[str, str, list[Instr]]:
        """Return a container that counts ties, its new value, and the instructions that update an extreme.

        Equal extremes share: the tangent is the mean of theirs.

        :param names: the value so far and its tangent, then both updated.
        """
        old, dold, new, dnew = names
        v, fresh = store.value, self.tangents.names.fresh
        shape = self.tangents.program.containers[store.container].shape
        count = Container(fresh(f"ties_{store.container}"), dt.Array(dace.float64, shape, transient=True))
        self.tangents.made[count.name] = count
        self.tangents.helpers[count.name] = store.container
        ties, dties, beyond, equal = (fresh(n) for n in ("ties", "ties_now", "beyond", "equal"))
        comparison = ">" if store.mode == "max" else "<"
        difference = code.binary(ast.Sub, dv, code.name(dold))
        mean = code.binary(ast.Add, code.name(dold), code.binary(ast.Div, difference, code.parse(f"({ties} + 1)")))
        chosen: list[Instr] = [
            Load(ties, count.name, store.index, store.guard),
            Let(beyond, code.parse(f"{v} {comparison} {old} or {v} != {v}")),
            Let(equal, code.parse(f"{v} == {old}")),
            Let(new, code.parse(f"{v} if {beyond} else {old}")),
            Let(dnew, code.choose(code.name(beyond), dv, code.choose(code.name(equal), mean, code.name(dold)))),
            Let(dties, code.parse(f"1 if {beyond} else ({ties} + 1 if {equal} else {ties})")),
        ]
        return count.name, dties, chosen

    def start(self, store: Store, container: str, value: ast.expr) -> Leaf:
        """Return the leaf that gives the elements of a reduction an initial value."""
        v = self.tangents.names.fresh("v")
        params = params_of(store, self.leaf)
        return Leaf(params, (Let(v, value), Store(container, store.index, v)), Source(label=container))
