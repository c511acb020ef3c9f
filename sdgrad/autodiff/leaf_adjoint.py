"""Reverse a leaf: one leaf over the same parameters, with its straight-line code differentiated backwards.

``y[i] = f(x[j])`` becomes, with adjoints ``X`` and ``Y`` and the values of ``f'`` replayed in registers::

    g = Y[i]
    Y[i] = 0            (a sum ``y[i] += f(x[j])`` keeps Y[i])
    X[j] += f'(x) * g

What is known to be zero is not stored: the clearing is left out if nobody can see it, and the first sum into an
adjoint that is zero becomes an assignment.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from sdgrad.analysis.access_relations import covers, injective
from sdgrad.analysis.conflicts import overwrites_itself, runs_in_order
from sdgrad.analysis.needs import active_loads, reduces
from sdgrad.autodiff.leaf_builder import LeafBuilder
from sdgrad.autodiff.reduction_adjoint import extreme_cotangent, product_cotangent
from sdgrad.autodiff.selection import Condition, Cotangent, Doubt, added, pulled, settled
from sdgrad.program.kinds import complex_type, kind_of
from sdgrad.program.leaves import backwards, dedupe, live, params_of
from sdgrad.program.tree import Leaf, Let, Load, Node, Store
from sdgrad.symbolic import code
from sdgrad.symbolic.derivatives import Partial, pull
from sdgrad.symbolic.expr import same


class LeafAdjoint(LeafBuilder):
    """Build the adjoint of one leaf."""

    def build(self) -> list[Node]:
        """Return the nodes that run the leaf backwards; none if no cotangent arrives."""
        self.body = list(self.plan.replay)
        forgotten = [name for s in reversed(self.leaf.stores) if (name := self.seed(s))]
        self.chain()
        stores = self.contributions(set(forgotten))
        for name in forgotten:
            if not any(s.container == self.adjoints.container(name).name for s in stores):
                self.adjoints.forget(name)
        if not stores:
            return [*self.before, *self.after]
        kept = dedupe(live((*self.body, *stores), set()))
        main = Leaf(self.leaf.params, kept, self.leaf.source, schedule=self.leaf.schedule)
        if overwrites_itself(self.leaf):
            main = backwards(main)
        return [*self.before, main, *self.after]

    def is_active(self, name: str) -> bool:
        """True if a value of the leaf, or a container, carries a derivative here."""
        return self.activity.active(self.path, name)

    # -- seeds
    def seed(self, store: Store) -> str | None:
        """Take the cotangent of a stored value; return the container's name if its adjoint is zero from here on."""
        program = self.adjoints.program
        if kind_of(program.containers[store.container].dtype) in ("bool", "int"):
            return None
        if self.adjoints.is_zero(store.container):
            if self.is_passed_on(store):
                self.clear(store)
            return None
        defines = store.mode == "set" or store.fresh
        if self.is_active(store.value) or reduces(store, self.path, self.activity):
            self.take(store)
        if not defines:
            return None
        # of several instances that write one element the last counts: it takes the cotangent, and leaves none
        taken = store.mode == "set" and self.is_active(store.value)
        again = taken and not injective(store, self.leaf, len(store.index))
        whole = not again and covers(store, self.leaf, program.containers[store.container].shape)
        if whole and self.adjoints.may_forget(store.container) and program.root(store.container) == store.container:
            return store.container
        if again or program.root(store.container) in self.activity.overwritten.get(self.path, ()):
            self.clear(store)
        return None

    def is_passed_on(self, store: Store) -> bool:
        """True if an instance may add to the cotangent of an element that an instance before it has overwritten."""
        root = self.adjoints.program.root(store.container)
        if store.mode != "set" or root not in self.activity.overwritten.get(self.path, ()):
            return False
        loaded = {self.adjoints.program.root(x.container) for x in active_loads(self.leaf, self.path, self.activity)}
        return root in loaded and runs_in_order(self.leaf)

    def take(self, store: Store) -> None:
        """Load the cotangent of a stored value, according to the store's mode."""
        adjoint = self.adjoints.read(store.container)
        if store.mode in ("max", "min"):
            return extreme_cotangent(self, store)
        if store.mode == "prod":
            return product_cotangent(self, store)
        g = self.names.fresh(f"g_{store.container}")
        self.seeds[g] = store.container
        self.body.append(Load(g, adjoint.name, store.index, store.guard))
        self.add(store.value, self.seen(self.as_kind_of(g, store), store))

    def as_kind_of(self, g: str, store: Store) -> str:
        """Return the cotangent in the stored value's type: of a real value in a complex container, the real part."""
        stored = kind_of(self.adjoints.program.containers[store.container].dtype)
        if stored == "complex" and self.activity.facts[self.path].kinds.get(store.value) != "complex":
            return self.let(code.call("real", code.name(g)))
        return g

    def clear(self, store: Store) -> None:
        """Set the cotangent of what a store overwrote to zero, in the leaf or after it."""
        self.adjoints.note_selected(store.container, whole=False)
        self.before += self.adjoints.writable(store.container)
        adjoint = self.adjoints.container(store.container)
        self.redirect(store.container)
        if store.fresh and not injective(store, self.leaf, len(store.index)):
            # every instance reads the cotangent of the sum: it is cleared when all have
            zero = self.names.fresh("g")
            body = (Let(zero, code.constant(0)), Store(adjoint.name, store.index, zero))
            self.after.append(Leaf(params_of(store, self.leaf), body, self.leaf.source))
            return
        self.clears.append(Store(adjoint.name, store.index, "0", "set", store.guard))

    # -- chain rule through the body
    def chain(self) -> None:
        """Apply the chain rule to the leaf's definitions, last one first."""
        facts = self.activity.facts[self.path]
        precision = complex_type(self.leaf.body, self.adjoints.program.containers)
        for instr in reversed(self.leaf.body):
            if not isinstance(instr, Let) or not self.is_active(instr.name) or instr.name not in self.cotangents:
                continue
            g = self.total(instr.name)
            for partial in facts.partials.get(instr.name, ()):
                if self.is_active(partial.operand):
                    strong = self.strong_zero and g.doubt.hides(partial)
                    value = self.let(pull(partial, code.name(g.name), facts.kinds, instr.name, strong, precision))
                    self.add(partial.operand, self.passed(g, value, partial))

    def passed(self, g: Cotangent, value: str, partial: Partial) -> Cotangent:
        """Return the contribution to an operand; without the strong zero, with no condition but the partial's own."""
        if self.strong_zero:
            return pulled(g, value, partial, self.weight(partial))
        own = Condition.of(partial.guard) if partial.guard is not None else None
        guarded = Cotangent(value, (own,), exact=False) if own is not None else Cotangent(value)
        return replace(self.settled(guarded, partial.operand), when=())

    def weight(self, partial: Partial) -> str | None:
        """Return the partial, if it is the name of a real value without a derivative."""
        name = partial.factor.id if isinstance(partial.factor, ast.Name) else None
        is_real = self.activity.facts[self.path].kinds.get(name or "") != "complex"
        return name if name is not None and is_real and not self.is_active(name) else None

    def total(self, name: str) -> Cotangent:
        """Return the sum of a value's cotangents."""
        total = added(self.cotangents[name], self.let, self.zero(name))
        self.cotangents[name] = [total]
        return total

    def settled(self, cotangent: Cotangent, name: str) -> Cotangent:
        """Return the cotangent of a value with its conditions applied."""
        return settled(cotangent, self.let, self.zero(name))

    # -- accumulation into the operands
    def contributions(self, forgotten: set[str]) -> list[Store]:
        """Return the stores of the adjoint leaf: cleared elements first, then what operands receive."""
        wanted = [x for x in active_loads(self.leaf, self.path, self.activity) if x.name in self.cotangents]
        stores: list[Store] = []
        clears = list(self.clears)
        for group in self.groups(wanted):
            load = group[0]
            parts = [p for x in group for p in self.cotangents[x.name]]
            self.cotangents[load.name] = parts
            value = self.settled(self.total(load.name), load.name)
            stores.append(self.accumulate(load, value.name, clears, forgotten, wanted))
            self.note(load, stores[-1], value)
        for clear in clears:
            zero = self.let(code.constant(0))
            stores.insert(0, Store(clear.container, clear.index, zero, "set", clear.guard))
        # what is added to an element that is also assigned comes after: indices may meet at run time
        return sorted(stores, key=lambda s: s.mode != "set")

    def note(self, load: Load, store: Store, value: Cotangent) -> None:
        """Record whether every element of an operand's adjoint has been selected."""
        adjoints = self.adjoints
        if value.when or value.doubt == Doubt.ARMS:
            adjoints.note_arms([load.container])
        if (
            adjoints.is_whole(load.container)
            or not value.is_whole
            or adjoints.program.root(load.container) != load.container
        ):
            return
        probe = Store(load.container, load.index, value.name)
        if store.guard is None and covers(probe, self.leaf, adjoints.program.containers[load.container].shape):
            adjoints.note_selected(load.container, whole=True)

    def groups(self, loads: list[Load]) -> list[list[Load]]:
        """Group the loads of one element."""
        found: list[list[Load]] = []
        for load in loads:
            for group in found:
                if (
                    group[0].container == load.container
                    and group[0].guard == load.guard
                    and same(group[0].index, load.index)
                ):
                    group.append(load)
                    break
            else:
                found.append([load])
        return found

    def accumulate(self, load: Load, value: str, clears: list[Store], forgotten: set[str], wanted: list[Load]) -> Store:
        """Return the store of an operand's cotangent: an assignment where the adjoint is zero, else a sum."""
        adjoints, root = self.adjoints, self.adjoints.program.root(load.container)
        if load.container in forgotten and self.overwritten_in_place(load):
            self.before += adjoints.writable(load.container)
            self.redirect(load.container)
            return Store(adjoints.container(load.container).name, load.index, value, "set")
        if root not in forgotten and (first := self.first_contribution(load, value, wanted)) is not None:
            return first
        if root in forgotten:
            # the leaf overwrites the container as a whole and reads other elements of it: clear, then add
            self.clear_whole(root)
            forgotten.discard(root)
        self.before += adjoints.writable(load.container)
        adjoint = adjoints.container(load.container).name
        for clear in clears:
            if clear.container == adjoint and same(clear.index, load.index) and load.guard is None:
                clears.remove(clear)
                return self.replace_by(clear, value)
        return Store(adjoint, load.index, value, "sum", load.guard)

    def first_contribution(self, load: Load, value: str, wanted: list[Load]) -> Store | None:
        """Return the store that defines all of an adjoint known to be zero; None if something else is in it.

        It is an assignment if each instance has an element to itself, else a sum that starts from zero.
        """
        program, adjoints, container = self.adjoints.program, self.adjoints, load.container
        if not adjoints.is_zero(container) or program.root(container) != container or load.guard is not None:
            return None
        if any(
            program.root(x.container) == container and not (x.container == container and same(x.index, load.index))
            for x in wanted
        ):
            return None
        probe = Store(container, load.index, value)
        if not covers(probe, self.leaf, program.containers[container].shape) or not adjoints.may_forget(container):
            return None
        adjoints.writable(container, zero=False)
        once = injective(probe, self.leaf, len(load.index))
        return Store(adjoints.container(container).name, load.index, value, "set" if once else "sum", None, not once)

    def overwritten_in_place(self, load: Load) -> bool:
        """True if the leaf overwrites the very element that it loads."""
        return any(
            s.container == load.container and same(s.index, load.index) and s.guard is None for s in self.leaf.stores
        )

    def redirect(self, container: str) -> None:
        """Read a seed from its working copy, now that it has one."""
        name = self.adjoints.container(container).name
        self.body = [
            replace(i, container=name) if isinstance(i, Load) and self.seeds.get(i.name) == container else i
            for i in self.body
        ]

    def clear_whole(self, root: str) -> None:
        """Clear all that the leaf overwrites in a container."""
        for store in self.leaf.stores:
            if store.container == root:
                self.clear(store)

    def replace_by(self, clear: Store, value: str) -> Store:
        """Return ``x = 0; x += value`` as one store; with a guarded clearing the old value stays elsewhere."""
        if clear.guard is None:
            return Store(clear.container, clear.index, value, "set")
        old = self.names.fresh("g_old")
        self.body.append(Load(old, clear.container, clear.index))
        kept = self.let(code.choose(code.name(clear.guard), code.constant(0), code.name(old)))
        total = self.let(code.binary(ast.Add, code.name(kept), code.name(value)))
        return Store(clear.container, clear.index, total, "set")
