"""Write nodes of the program tree in few words, for the rules of node calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import dace
import sympy
from dace import data as dt
from dace import nodes as nd
from dace import subsets

from sdgrad.autodiff.contexts import CallContext, TangentContext
from sdgrad.program.tree import Container, Expr, Leaf, Let, Load, Node, NodeCall, Param, Region, Store
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import sym

ZERO, ONE = sympy.Integer(0), sympy.Integer(1)


def extents(region: Region) -> list[Expr]:
    """Return the sizes of an operand, dimensions of one element left out."""
    return [sympy.sympify(n) for n in region.subset.size() if n != 1]


def element(region: Region, index: Sequence[Expr]) -> tuple[Expr, ...]:
    """Return the container's subscript of an operand's element."""
    remaining = iter(index)
    return tuple(b if b == e else b + next(remaining) * s for b, e, s in region.subset.ranges)


@dataclass
class Builder:
    """Collect the nodes of one rule."""

    context: CallContext | TangentContext
    nodes: list[Node] = field(default_factory=list)

    def params(self, sizes: Sequence[Expr]) -> tuple[Param, ...]:
        """Return parameters over a rectangle of the given sizes."""
        return tuple(Param(self.context.names.fresh(f"i{k}"), ZERO, n - 1, ONE) for k, n in enumerate(sizes))

    def temporary(self, stem: str, sizes: Sequence[Expr], dtype: dace.typeclass) -> Region:
        """Make a new array, and return it as an operand."""
        container = Container(self.context.names.fresh(stem), dt.Array(dtype, list(sizes), transient=True))
        self.context.made[container.name] = container
        return Region(container.name, subsets.Range([(ZERO, n - 1, ONE) for n in sizes]))

    def dtype(self, region: Region) -> dace.typeclass:
        """Return the type of an operand's elements."""
        return self.context.container(region.container).dtype

    def leaf(
        self,
        params: Sequence[Param],
        reads: Mapping[str, tuple[Region, Sequence[Expr]]],
        text: str,
        into: Region,
        index: Sequence[Expr],
        mode: str = "set",
        fresh: bool = False,
    ) -> None:
        """Add the leaf ``into[index] <mode> text``, where ``reads`` names elements of operands."""
        names = self.context.names
        local = {k: names.fresh(k) for k in reads}
        loads = [Load(local[k], r.container, element(r, i)) for k, (r, i) in reads.items()]
        value = names.fresh("v")
        let = Let(value, code.rename_names(code.parse(text), local))
        store = Store(into.container, element(into, index), value, mode, None, fresh)
        self.nodes.append(Leaf(tuple(params), (*loads, let, store), self.context.call.source))

    def elementwise(self, into: Region, text: str, mode: str = "set", **operands: Region) -> None:
        """Add ``into[...] <mode> text`` for every element, where ``operands`` are named in the text."""
        params = self.params(extents(into))
        index = [sym(p.name) for p in params]
        self.leaf(params, {k: (r, index) for k, r in operands.items()}, text, into, index, mode)

    def call(self, node: nd.CodeNode, inputs: dict[str, Region], outputs: dict[str, Region]) -> None:
        """Add a node call."""
        self.nodes.append(NodeCall(node, inputs, outputs, self.context.call.source))

    def target(self, connector: str) -> Region:
        """Return the adjoint of an operand, ready to be added to."""
        assert isinstance(self.context, CallContext)
        before, region = self.context.target(connector)
        self.nodes += before
        return region

    def transposed(self, region: Region, conjugate: bool) -> Region:
        """Return a transposed copy of a matrix; a complex one may be conjugated."""
        rows, columns = extents(region)
        result = self.temporary(f"transposed_{region.container}", [columns, rows], self.dtype(region))
        i, j = self.params([columns, rows])
        text = "conj(a)" if conjugate else "a"
        self.leaf((i, j), {"a": (region, [sym(j.name), sym(i.name)])}, text, result, [sym(i.name), sym(j.name)])
        return result

    def product(
        self,
        a: Region,
        b: Region,
        into: Region,
        text: str = "a * b",
        mode: str = "sum",
        fresh: bool = True,
        transpose_a: bool = False,
        transpose_b: bool = False,
    ) -> None:
        """Add ``into (+)= a @ b`` for matrices, either one transposed."""
        rows, columns = extents(into)
        inner = extents(a)[0 if transpose_a else 1]
        i, j, k = self.params([rows, columns, inner])
        x, y, z = sym(i.name), sym(j.name), sym(k.name)
        reads = {"a": (a, [z, x] if transpose_a else [x, z]), "b": (b, [y, z] if transpose_b else [z, y])}
        self.leaf((i, j, k), reads, text, into, [x, y], mode, fresh)


def clear_cotangent(build: Builder, context: CallContext, connector: str) -> None:
    """Clear the cotangent of a result: the call overwrote what the result held before."""
    region = context.call.outputs[connector]
    root = context.program.root(region.container)
    whole = list(region.subset.size()) == list(context.program.containers[root].shape)
    if whole and context.adjoints.may_forget(root):
        context.adjoints.forget(root)
        return
    context.adjoints.note_selected(root, whole=False)
    build.nodes += context.adjoints.writable(root)
    build.elementwise(context.cotangent(connector), "0")
