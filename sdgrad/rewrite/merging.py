"""Merge the bodies of leaves over one iteration domain: what one stores and a later one loads stays in a register."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import dace

from sdgrad.program.kinds import kind_of
from sdgrad.program.leaves import dedupe, rename_instr, rename_params
from sdgrad.program.tree import Instr, Leaf, Let, Load, Program, Store
from sdgrad.rewrite.elements import Elements
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import same
from sdgrad.symbolic.kinds import expression

DTYPES = {t.to_string(): t for t in (*dace.dtypes.INTEGER_TYPES, dace.bool_)}  # by the name of their cast


def merge(first: Leaf, second: Leaf, program: Program) -> Leaf:
    """Fuse two leaves: forward the values that the first stores to the loads of the second."""
    return Merger(program).merge(first, second)


class Merger:
    """Merges leaves, one after another: a leaf that it has merged before is not looked through again.

    :ivar merged: the bodies of such leaves, by the number of the leaf, which is its own as long as it is here.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.merged: dict[int, tuple[Leaf, Merging]] = {}

    def merge(self, first: Leaf, second: Leaf) -> Leaf:
        """Fuse two leaves: forward the values that the first stores to the loads of the second."""
        _, merging = self.merged.pop(id(first), (first, None))
        if merging is None:
            merging = Merging(self.program)
            merging.extend(first.body)
        merging.names.clear()
        merging.extend(rename_params(second, first.params))
        source = first.source if first.source.line else second.source
        leaf = replace(first, body=dedupe(merging.body), source=source)
        self.merged[id(leaf)] = leaf, merging
        return leaf


@dataclass
class Merging:
    """The body of a fused leaf under construction.

    :param held: elements whose value is in a register, by container and subscript.
    :param names: the names of the leaf being added, renamed.
    :param defined: every name with its definition.
    :param kinds: of numbers, by name.
    :param stores: those of the body, by container.
    """

    program: Program
    body: list[Instr] = field(default_factory=list)
    held: dict[str, Elements[str]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    defined: dict[str, Instr] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    stores: dict[str, Elements[Store]] = field(default_factory=dict)

    def extend(self, body: Iterable[Instr]) -> None:
        """Append instructions, one after another."""
        for instr in body:
            self.add(instr)

    def add(self, instr: Instr) -> None:
        """Append an instruction; a load of a held element becomes its register."""
        if self.names and instr.names & self.names.keys():
            renamed = rename_instr(instr, self.names, {})
            instr = renamed if isinstance(renamed, Store) else replace(renamed, name=instr.name)  # type: ignore[union-attr]
        if isinstance(instr, Store):
            self.store(instr)
        elif isinstance(instr, Load) and (value := self.held_at(instr.container, instr.index)) is not None:
            if instr.guard is None:
                self.names[instr.name] = value
            else:
                self.define(Let(instr.name, code.choose(code.name(instr.guard), code.name(value), code.constant(0))))
        else:
            self.define(instr)

    def define(self, instr: Load | Let) -> None:
        """Append a definition under a unique name; an equal definition is not repeated."""
        self.names.pop(instr.name, None)
        if instr.name in self.defined:
            if isinstance(instr, Let) and str(self.defined[instr.name]) == str(instr):
                return
            fresh = next(n for k in range(len(self.defined) + 1) if (n := f"{instr.name}_m{k}") not in self.defined)
            self.names[instr.name] = fresh
            instr = replace(instr, name=fresh)
        self.defined[instr.name] = instr
        if isinstance(instr, Load):
            self.kinds[instr.name] = kind_of(self.program.containers[instr.container].dtype)
        else:
            self.kinds[instr.name] = expression(instr.expr, self.kinds)
        self.body.append(instr)

    def store(self, instr: Store) -> None:
        """Append a store. An unconditional one replaces earlier ones to the same element."""
        earlier = self.assignment_of(instr) if instr.mode == "set" and instr.guard is not None else None
        if earlier is not None:
            instr = self.choice(instr, earlier)
        if (held := self.held.get(instr.container)) is not None:
            held.forget(instr.index)
        stores = self.stores.setdefault(instr.container, Elements())
        if instr.mode == "set" and instr.guard is None:
            if gone := stores.take(instr.index):
                self.body = [i for i in self.body if not any(i is g for g in gone)]
            self.body.append(instr)
            self.held.setdefault(instr.container, Elements()).put(instr.index, self.converted(instr))
        else:
            self.body.append(instr)
        stores.put(instr.index, instr)

    def held_at(self, container: str, index: tuple) -> str | None:
        """Return the register of an element; None if there is none."""
        held = self.held.get(container)
        return None if held is None else held.last(index)

    def assignment_of(self, store: Store) -> Store | None:
        """Return the unconditional assignment to the element of a store. None if there is none."""
        plain = (i for i in self.body if isinstance(i, Store) and i.mode == "set" and i.guard is None)
        return next((i for i in plain if _same_element(i, store)), None)

    def converted(self, store: Store) -> str:
        """Return the stored value as a later load sees it: in the type of the array."""
        dtype = self.program.containers[store.container].dtype
        if kind_of(dtype) in ("float", "complex") and self.kinds.get(store.value, "int") in ("int", "bool"):
            return self.as_real(store.value, dtype)
        if kind_of(dtype) not in ("int", "bool") or self.dtype_of(store.value) == dtype:
            return store.value
        name = f"{store.value}_as_{dtype.to_string().strip('_')}"
        self.define(Let(name, code.call(f"dace.{dtype.to_string()}", code.name(store.value))))
        return self.names.get(name, name)

    def as_real(self, value: str, dtype: dace.typeclass) -> str:
        """Return an integer as the real number that an array of reals has: a division of it is another one."""
        name, instr = f"{value}_as_real", self.defined.get(value)
        constant = code.number_of(instr.expr) if isinstance(instr, Let) else None
        real = code.constant(float(constant)) if constant is not None else None
        self.define(Let(name, real or code.call(f"dace.{dtype.to_string()}", code.name(value))))
        return self.names.get(name, name)

    def dtype_of(self, name: str) -> dace.typeclass | None:
        """Return the type of a load or cast. None for any other value."""
        instr = self.defined.get(name)
        if isinstance(instr, Load):
            return self.program.containers[instr.container].dtype
        if isinstance(instr, Let) and isinstance(instr.expr, ast.Call):
            return DTYPES.get(code.callee(instr.expr))
        return None

    def choice(self, guarded: Store, earlier: Store) -> Store:
        """Combine a guarded store with an earlier unconditional one to a store of a choice."""
        name = next(n for k in range(len(self.defined) + 1) if (n := f"{guarded.value}_or{k}") not in self.defined)
        assert guarded.guard is not None
        self.define(
            Let(name, code.choose(code.name(guarded.guard), code.name(guarded.value), code.name(earlier.value)))
        )
        return replace(guarded, value=name, guard=None)


def _same_element(first: Store, second: Store) -> bool:
    """True if two stores go to the same element in each instance."""
    return first.container == second.container and same(first.index, second.index)
