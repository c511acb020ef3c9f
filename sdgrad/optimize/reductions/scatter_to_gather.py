"""Sums that a nest scatters to neighbours are gathered: each element is written once, by the instance it stands for.

The adjoint of ``b[i] = a[i - 1] + a[i] + a[i + 1]`` adds to ``a'`` in three places: three passes over memory, or none
in parallel. Shifted by its offset, each term goes to the element at ``i``; in the middle of the array all terms are
there, and around it are slabs in which each term asks whether its instance exists. (Hückelheim et al., Automatic
Differentiation for Adjoint Stencil Loops, ICPP 2019.) Where the elements were just set to zero, that is part of it.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

import sympy
from dace import data as dt

from sdgrad.optimize.reductions.stencil_terms import Group, Term, is_light, shared_parts, with_part
from sdgrad.program.leaves import mentioned, rename_instr, slice_for
from sdgrad.program.names import Names
from sdgrad.program.naming import all_names
from sdgrad.program.symbols import used_symbols
from sdgrad.program.tree import (
    SCALAR,
    Block,
    Branch,
    Container,
    Expr,
    Instr,
    Leaf,
    Let,
    Load,
    Loop,
    Node,
    Param,
    Program,
    Store,
    SymbolAssign,
    children,
    walk,
    with_children,
)
from sdgrad.rewrite.fusion import drop_stores
from sdgrad.rewrite.reduction_init import number, uses
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import free_names, sym, to_ast

Range = tuple[Expr, Expr]

MOST_CUTS = 4
WIDEST = 16  # elements between the outermost neighbours in one dimension
MOST_TERMS = 32
LEAST_CORE = 1000


def gather_neighbours(program: Program) -> Program:
    """The program with the sums of its stencils in gather form."""
    pass_ = Gatherer(program, all_names(program))
    body = pass_.block(program.body)
    return replace(program, body=body, containers={**program.containers, **pass_.made})


@dataclass
class Gatherer:
    """One program; ``made`` holds the values that are ``computed`` once, by the names they have in their leaf."""

    program: Program
    names: Names
    made: dict[str, Container] = field(default_factory=dict)
    computed: dict[str, str] = field(default_factory=dict)

    def block(self, block: Block) -> Block:
        out: list[Node] = []
        for node in block:
            if isinstance(node, Leaf):
                self.leaf(node, out)
            elif isinstance(node, (Loop, Branch)):
                out.append(with_children(node, tuple(self.block(b) for b in children(node))))
            else:
                out.append(node)
        return tuple(out)

    def leaf(self, leaf: Leaf, out: list[Node]) -> None:
        """Append what becomes of a leaf; leaves before it may lose what they set to zero."""
        rest, groups = leaf, []
        while (group := next(self.groups(rest), None)) is not None:
            groups.append(group)
            rest = drop_stores(rest, lambda s, gone=group.stores: s in gone)
        parts = [s for group in groups for s in self.prepared(leaf, group)]
        groups = [self.light(leaf, group) for group in groups]
        read = {self.program.root(i.container) for g in groups for t in g.terms for i in t.body if isinstance(i, Load)}
        written = {self.program.root(s.container) for s in rest.stores}
        at_once = bool(parts) and not written & (read | {self.program.root(g.container) for g in groups})
        first = (*parts, *rest.stores) if at_once else tuple(parts)
        if first:
            needed = {name for s in first for name in mentioned(s)}
            out.append(replace(leaf, body=(*slice_for(leaf.body, needed), *first)))
        for group in groups:
            out += self.gathered(leaf, group, out)
        if rest.stores and not at_once:
            out.append(rest)

    # -- recognition
    def groups(self, leaf: Leaf) -> Iterator[Group]:
        params = {p.name for p in leaf.params}
        bounds = free_names(*(b for p in leaf.params for b in (p.start, p.stop)))
        if leaf.sequential or not params or bounds & params or any(p.step != 1 for p in leaf.params):
            return
        read = {self.program.root(x.container) for x in leaf.loads}
        found: dict[tuple, list[Store]] = {}
        for s in leaf.stores:
            root = self.program.root(s.container)
            others = [o for o in leaf.stores if self.program.root(o.container) == root]
            plain = all(o.mode == "sum" and not o.fresh for o in others) and s.guard is None
            if plain and root not in read and not free_names(*s.index) & leaf.defined:
                shape = tuple(_param_of(e, params) or e for e in s.index)
                found.setdefault((s.container, shape), []).append(s)
        for (container, shape), stores in found.items():
            if len(stores) > 1 and (group := self.group(leaf, container, shape, stores)) is not None:
                yield group

    def group(self, leaf: Leaf, container: str, shape: Sequence[str | Expr], stores: list[Store]) -> Group | None:
        position = {e: d for d, e in enumerate(shape) if isinstance(e, str)}
        if position.keys() != {p.name for p in leaf.params} or sum(isinstance(e, str) for e in shape) != len(position):
            return None
        if any(free_names(e) & position.keys() for e in shape if not isinstance(e, str)):
            return None
        index = stores[0].index
        terms = []
        for s in stores:
            offset = {p: s.index[d] - index[d] for p, d in position.items()}
            if not all(o.is_Integer for o in offset.values()):
                return None
            body = slice_for(leaf.body, {s.value})
            terms.append(Term(s.value, body, {p: int(o) for p, o in offset.items()}))
        group = Group(container, index, position, tuple(stores), tuple(terms))
        return group if self.pays(leaf, group) else None

    def pays(self, leaf: Leaf, group: Group) -> bool:
        """Whether most elements are neighbours of as many instances as there are terms."""
        if len(group.terms) > MOST_TERMS:
            return False
        for p in leaf.params:
            least, most = group.reach(p.name)
            middle = p.stop - p.start + 1 - (most - least)
            if most - least > WIDEST or (middle - 2 * (most - least)).is_negative:
                return False
        return all(is_light(t.body) or self.has_size(leaf) for t in group.terms)

    def has_size(self, leaf: Leaf) -> bool:
        return all(p.count.is_number for p in leaf.params)

    # -- values that are not computed again for each neighbour
    def prepared(self, leaf: Leaf, group: Group) -> list[Store]:
        """Stores of them, if there are any."""
        dtype = self.program.containers[group.container].dtype
        stores = []
        for value in dict.fromkeys(shared_parts(group).values()):
            name = self.names.fresh(f"part_{group.container}")
            self.made[name] = Container(name, dt.Array(dtype, [p.count for p in leaf.params], transient=True))
            self.computed[value] = name
            stores.append(Store(name, tuple(sym(p.name) - p.start for p in leaf.params), value))
        return stores

    def light(self, leaf: Leaf, group: Group) -> Group:
        """The group with what was computed beforehand."""
        parts = shared_parts(group)

        def term(t: Term) -> Term:
            if t.value not in parts:
                return t
            part = parts[t.value]
            index = tuple(sym(p.name) - p.start for p in leaf.params)
            return replace(t, body=with_part(t, Load(part, self.computed[part], index)))

        return replace(group, terms=tuple(term(t) for t in group.terms))

    # -- the nests
    def gathered(self, leaf: Leaf, group: Group, out: list[Node]) -> list[Node]:
        middle, whole = [], []
        for p in leaf.params:
            least, most = group.reach(p.name)
            middle.append((p.start + most, p.stop + least))
            whole.append((p.start + least, p.stop + most))
        zero = self.zeroed(leaf, group, middle, out)
        if zero is not None:
            whole = [_hull(w, z) for w, z in zip(whole, zero, strict=True)]
        slabs = around(middle, whole, walked(leaf, group))
        boxes = (middle, *(part for slab in slabs for part in self.parts(leaf, group, slab, zero)))
        nests = (self.nest(leaf, group, box, zero) for box in boxes)
        return [n for n in nests if n is not None]

    def parts(self, leaf: Leaf, group: Group, slab: list[Range], zero: list[Range] | None) -> Iterator[list[Range]]:
        """A slab as a core in which no term asks whether its instance exists, and strips around; or as a whole."""
        core = slab
        inside = [[(p.start + t.offset[p.name], p.stop + t.offset[p.name]) for p in leaf.params] for t in group.terms]
        for box in (*inside, *([zero] if zero is not None else [])):
            meeting = [_meeting(a, b) for a, b in zip(core, box, strict=True)]
            if not any(_outside(a, b) for a, b in zip(slab, box, strict=True)):
                core = meeting
        if core == slab or not _is_large(core):
            yield slab
            return
        yield core
        for d, ((begin, end), (low, high)) in enumerate(zip(slab, core, strict=True)):
            for part in ((begin, low - 1), (high + 1, end)):
                if part[0] <= part[1]:
                    yield [*core[:d], part, *slab[d + 1 :]]

    def zeroed(self, leaf: Leaf, group: Group, middle: list[Range], out: list[Node]) -> list[Range] | None:
        """Where the elements have just been set to zero, if the middle is among them; it is done here instead."""
        root = self.program.root(group.container)
        at = next((k for k in range(len(out) - 1, -1, -1) if uses(out[k], root, self.program)), None)
        node = out[at] if at is not None else None
        if at is None or not isinstance(node, Leaf) or any(self.program.root(x.container) == root for x in node.loads):
            return None
        mine = [s for s in node.stores if self.program.root(s.container) == root]
        assigned = {n.symbol for n in walk(tuple(out[at + 1 :])) if isinstance(n, (SymbolAssign, Loop))}
        if len(mine) != 1 or assigned & used_symbols(node, self.program) or assigned & used_symbols(leaf, self.program):
            return None
        if (box := self.box(mine[0], node, group, leaf)) is None:
            return None
        for (first, last), (low, high) in zip(box, middle, strict=True):
            before, after = low - first, last - high
            if not (before.is_Integer and after.is_Integer and 0 <= before <= WIDEST and 0 <= after <= WIDEST):
                return None
        rest = drop_stores(node, lambda s: s is mine[0])
        out[at : at + 1] = [rest] if rest.stores else []
        return box

    def box(self, store: Store, zero: Leaf, group: Group, leaf: Leaf) -> list[Range] | None:
        """The ranges of the group's parameters in which a store sets elements to zero; None where it does not."""
        if store.container != group.container or store.mode != "set" or store.guard or number(store, zero) != 0:
            return None
        params = {p.name: p for p in zero.params}
        bounds = free_names(*(b for p in zero.params for b in (p.start, p.stop)))
        if bounds & params.keys() or any(p.step != 1 for p in zero.params):
            return None
        found: dict[str, Range] = {}
        seen: set[str] = set()
        dims = {d: p for p, d in group.position.items()}
        for d, e in enumerate(store.index):
            name = _param_of(e, params.keys())
            if d not in dims:
                if e != group.index[d]:
                    return None
            elif name is None or name in seen:
                return None
            else:
                seen.add(name)
                shift = e - sym(name) - (group.index[d] - sym(dims[d]))
                found[dims[d]] = (params[name].start + shift, params[name].stop + shift)
        return [found[p.name] for p in leaf.params]

    def nest(self, leaf: Leaf, group: Group, box: list[Range], zero: list[Range] | None) -> Leaf | None:
        """The sums of the elements in a box; None where there is nothing to do."""
        params = tuple(replace(p, start=b, stop=e) for p, (b, e) in zip(leaf.params, box, strict=True))
        if any(p.count.is_nonpositive for p in params):
            return None
        writer = Writer(self.names)
        added = []
        for term in group.terms:
            own = [(p.start + term.offset[p.name], p.stop + term.offset[p.name]) for p in leaf.params]
            if not any(_outside(b, o) for b, o in zip(box, own, strict=True)):
                added.append(writer.term(term, writer.inside(params, own)))
        if zero is None and not added:
            return None
        if zero is not None and not all(_within(b, z) for b, z in zip(box, zero, strict=True)):
            added.insert(0, writer.unless(group, writer.inside(params, zero)))
        total: ast.expr = added[0] if added else code.constant(0)
        for value in added[1:]:
            total = code.binary(ast.Add, total, value)
        name = writer.let(total)
        mode = "sum" if zero is None else "set"
        return replace(leaf, params=params, body=(*writer.body, Store(group.container, group.index, name, mode)))


@dataclass
class Writer:
    """The body of one nest."""

    names: Names
    body: list[Instr] = field(default_factory=list)
    known: dict[str, str] = field(default_factory=dict)

    def let(self, value: ast.expr) -> str:
        name = self.names.fresh("v")
        self.body.append(Let(name, value))
        return name

    def inside(self, params: Sequence[Param], box: Sequence[Range]) -> str | None:
        """A condition that holds in a box; None where that is everywhere."""
        tests: list[ast.expr] = []
        for p, (low, high) in zip(params, box, strict=True):
            here = code.name(p.name)
            if not (p.start - low).is_nonnegative:
                tests.append(ast.Compare(left=here, ops=[ast.GtE()], comparators=[to_ast(low)]))
            if not (high - p.stop).is_nonnegative:
                tests.append(ast.Compare(left=here, ops=[ast.LtE()], comparators=[to_ast(high)]))
        if not tests:
            return None
        whole = ast.BoolOp(op=ast.And(), values=tests) if len(tests) > 1 else tests[0]
        text = ast.unparse(whole)
        if text not in self.known:
            self.known[text] = self.let(whole)
        return self.known[text]

    def term(self, term: Term, when: str | None) -> ast.expr:
        """A term for the element at the nest's parameters, which is what another instance adds."""
        names = {i.name: self.names.fresh(i.name) for i in term.body if not isinstance(i, Store)}
        shift = {p: sym(p) - o for p, o in term.offset.items() if o}
        for instr in term.body:
            moved = rename_instr(instr, names, shift)
            if isinstance(moved, Load) and when is not None and moved.index != SCALAR:
                guard = code.both(moved.guard, when)
                assert guard is not None
                moved = replace(moved, guard=self.let(guard) if moved.guard else when)
            self.body.append(moved)
        value = code.name(names[term.value])
        return value if when is None else code.choose(code.name(when), value, code.constant(0))

    def unless(self, group: Group, when: str | None) -> ast.expr:
        """What the element holds where it was not set to zero."""
        name = self.names.fresh("v")
        guard = self.let(ast.UnaryOp(op=ast.Not(), operand=code.name(when))) if when is not None else None
        self.body.append(Load(name, group.container, group.index, guard))
        return code.name(name)


def walked(leaf: Leaf, group: Group) -> int:
    """Which parameter goes through memory step by step."""
    return max(range(len(leaf.params)), key=lambda k: group.position[leaf.params[k].name])


def around(middle: Sequence[Range], whole: Sequence[Range], first: int) -> Iterator[list[Range]]:
    """Slabs that make up what is around the middle, one element thick where it is known how thick they are.

    But for those that lie along ``first``, all are as long there as the middle: which terms there are does not vary.
    """
    order = [first, *(d for d in range(len(middle)) if d != first)]
    for k, d in enumerate(order):
        (begin, end), (low, high) = whole[d], middle[d]
        before, after = (begin, low - 1), (_largest(low, high + 1), end)
        for start, last in (*_elements(before), *_elements(after)):
            part = start, _smallest(last, end)  # of few elements there may be none
            yield [part if e == d else middle[e] if e in order[:k] else whole[e] for e in range(len(middle))]


def _elements(part: Range) -> list[Range]:
    """A range cut into single elements, where it is short."""
    count = part[1] - part[0] + 1
    if not count.is_Integer or count > MOST_CUTS:
        return [part]
    return [(part[0] + k, part[0] + k) for k in range(int(count))]


def _param_of(expr: Expr, params: Collection[str]) -> str | None:
    """The parameter that an index is, up to what does not vary."""
    found = free_names(expr) & set(params)
    if len(found) != 1:
        return None
    (name,) = found
    return name if not free_names(expr - sym(name)) & set(params) else None


def _within(inner: Range, outer: Range) -> bool:
    return bool((inner[0] - outer[0]).is_nonnegative and (outer[1] - inner[1]).is_nonnegative)


def _outside(first: Range, second: Range) -> bool:
    """Whether two ranges certainly have nothing in common."""
    return bool((first[0] - second[1]).is_positive or (second[0] - first[1]).is_positive)


def _meeting(a: Range, b: Range) -> Range:
    return _largest(a[0], b[0]), _smallest(a[1], b[1])


def _is_large(box: Sequence[Range]) -> bool:
    """Whether a box is known to have so many elements that conditions cost more than nests."""
    counts = [b - a + 1 for a, b in box]
    return all(n.is_number and n > 0 for n in counts) and sympy.Mul(*counts) >= LEAST_CORE


def _hull(a: Range, b: Range) -> Range:
    """The smallest range around two whose ends differ by numbers."""
    return (a[0] if (b[0] - a[0]).is_nonnegative else b[0], a[1] if (a[1] - b[1]).is_nonnegative else b[1])


def _largest(a: Expr, b: Expr) -> Expr:
    return a if (a - b).is_nonnegative else b if (b - a).is_nonnegative else sympy.Max(a, b)


def _smallest(a: Expr, b: Expr) -> Expr:
    return a if (b - a).is_nonnegative else b if (a - b).is_nonnegative else sympy.Min(a, b)
