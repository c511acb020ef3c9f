"""Names that share an array with others and are bound again: each binding that stands for itself gets its own name.

``v = f(x); w = v[1:]; v = g(x)`` leaves ``w`` a part of the first array. DaCe writes the second one over it, and where
the first is a view it refuses. Here the second becomes ``v_binding_2`` wherever no read can see both; what is left to
copies is in :mod:`~sdgrad.frontend.aliases` and :mod:`~sdgrad.frontend.rebound`.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sdgrad.frontend.ranks import rank
from sdgrad.frontend.syntax import blocks, is_numpy

VIEWS = {"reshape", "transpose", "ravel", "view", "squeeze", "swapaxes", "moveaxis", "broadcast_to", "asarray"}
VIEWS |= {"expand_dims", "atleast_1d", "atleast_2d", "flip", "flipud", "fliplr", "diagonal", "rollaxis"}
"""Functions and methods of NumPy whose result may be (a part of) their operand."""
LOOPS = (ast.For, ast.While)


def root(value: ast.expr) -> ast.Subscript | None:
    """The subscript that a value is, or is an attribute or method of: it may have no memory of its own."""
    while isinstance(value, (ast.Attribute, ast.Call)):
        value = value.func if isinstance(value, ast.Call) else value.value
    return value if isinstance(value, ast.Subscript) else None


def shared_with(value: ast.expr, dimensions: Mapping[str, int]) -> str | None:
    """The name of the array that a value is, or may be a part of.

    :param dimensions: of names: with as many indices ``A[i, j]`` is a number, and so has no name in common with it.
    """
    if rank(value, dimensions) == 0:
        return None
    while True:
        if isinstance(value, ast.Name):
            return value.id
        if isinstance(value, (ast.Subscript, ast.Attribute)):
            value = value.value
        elif isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in VIEWS:
            of_numpy = is_numpy(value.func.value)
            if of_numpy and not value.args:
                return None
            value = value.args[0] if of_numpy else value.func.value
        else:
            return None


def name_of(node: ast.AST) -> str | None:
    """The one name that an assignment binds."""
    target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
    return target.id if isinstance(target, ast.Name) else None


def number_bindings(function: ast.FunctionDef, dimensions: Mapping[str, int], also: Collection[str] = ()) -> None:
    """Rewrite a function so that names which share an array with others are bound once, where that can be.

    :param also: more names that are to be.
    """
    pairs = [(name_of(n), shared_with(n.value, dimensions)) for n in ast.walk(function) if isinstance(n, ast.Assign)]
    shared = {n for bound, of in pairs if bound is not None and of is not None for n in (bound, of)}
    arguments = {a.arg for a in function.args.args}
    text = Text(function)
    for name in sorted(shared | set(also)):
        stores = [n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == name]
        found = list(bindings(function, name))
        simple = {id(b.statement.targets[0]) for b in found} | text.augmented
        if any(isinstance(n.ctx, ast.Store) and id(n) not in simple for n in stores):
            continue  # bound by a loop, or as one of several
        keep = 0 if name in arguments else 1
        for k in range(len(found) - 1, keep - 1, -1):  # what later ones read is not left to earlier ones
            if found[k].stands_alone(text, name):
                found[k].rename(name, f"{name}_binding_{k + 2 - keep}")


def augmented(function: ast.FunctionDef) -> Iterator[ast.expr]:
    return (n.target for n in ast.walk(function) if isinstance(n, ast.AugAssign))


class Text:
    """A function's names, and what comes after what, as long as only names change."""

    def __init__(self, function: ast.FunctionDef) -> None:
        nodes = list(in_order(function))
        self.order = {id(n): k for k, n in enumerate(nodes)}
        self.names = [n for n in nodes if isinstance(n, ast.Name)]
        self.augmented = {id(t) for t in augmented(function)}


@dataclass(frozen=True)
class Binding:
    """An assignment to a name: statement ``place`` of a block, which is held by ``owners``, outermost first."""

    block: list[ast.stmt]
    place: int
    owners: Sequence[ast.stmt]

    @property
    def statement(self) -> ast.Assign:
        found = self.block[self.place]
        assert isinstance(found, ast.Assign)
        return found

    def stands_alone(self, text: Text, name: str) -> bool:
        """Whether all reads that may see it are in its block, after it, and see nothing else."""
        first = next(k for k, s in enumerate(self.block) if name_of(s) == name)
        inside = {id(n) for s in self.block[first + 1 :] for n in ast.walk(s)}
        end = max(text.order[id(n)] for s in self.block for n in in_order(s))
        for read in text.names:
            if read.id != name or id(read) in inside:
                continue
            if isinstance(read.ctx, ast.Store) and id(read) not in text.augmented:
                continue
            if any(isinstance(o, LOOPS) and any(n is read for n in ast.walk(o)) for o in self.owners):
                return False
            if text.order[id(read)] > end and not self.excludes(read):
                return False
        return True

    def excludes(self, read: ast.AST) -> bool:
        """Whether a read is in another branch."""
        for owner in self.owners:
            held = [b for b in blocks(owner) if any(n is read for s in b for n in ast.walk(s))]
            own = [b for b in blocks(owner) if any(n is self.statement for s in b for n in ast.walk(s))]
            if isinstance(owner, ast.If) and held and held[0] is not own[0]:
                return True
        return False

    def rename(self, name: str, fresh: str) -> None:
        target = self.statement.targets[0]
        assert isinstance(target, ast.Name)
        target.id = fresh
        for s in self.block[self.place + 1 :]:
            for n in ast.walk(s):
                if isinstance(n, ast.Name) and n.id == name:
                    n.id = fresh


def bindings(node: ast.FunctionDef | ast.stmt, name: str, owners: Sequence[ast.stmt] = ()) -> Iterator[Binding]:
    """Assignments to a name, in the order of the text."""
    for block in blocks(node):
        for k, statement in enumerate(block):
            if name_of(statement) == name:
                yield Binding(block, k, owners)
            if not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
                yield from bindings(statement, name, (*owners, statement))


def in_order(node: ast.AST) -> Iterator[ast.AST]:
    """Statements and expressions, in the order of the text."""
    if isinstance(node, (ast.stmt, ast.expr)):  # contexts and operators are the same objects everywhere
        yield node
    for child in ast.iter_child_nodes(node):
        yield from in_order(child)
