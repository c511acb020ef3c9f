"""Lower ``return``, ``break``, ``continue`` and the ``else`` of loops to flags and branches.

What follows a statement that may leave its block moves into a branch that runs if it did not leave. An ``if`` of which
one arm always leaves takes the rest into its other arm, and needs no flag (Erosa and Hendren 1994).
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sdgrad.convert.matches import as_branches
from sdgrad.convert.scopes import own_nodes

PREFIX = "_sdgrad_"
RESULT, DONE = f"{PREFIX}result", f"{PREFIX}done"


@dataclass(frozen=True)
class Exit:
    """Say whether a block is left early: always, or where one of some flags is set."""

    always: bool = False
    flags: frozenset[str] = frozenset()

    def either(self, other: Exit) -> Exit:
        """Return what holds after a choice between two blocks."""
        return Exit(self.always and other.always, self.flags | other.flags)


THROUGH = Exit()


@dataclass
class Lowering:
    """Lower the statements of one function."""

    numbers: Iterator[int] = field(default_factory=itertools.count)
    loops: list[tuple[str, str]] = field(default_factory=list)  # flags of break and continue, innermost last
    used: set[str] = field(default_factory=set)

    def block(self, statements: Sequence[ast.stmt]) -> tuple[list[ast.stmt], Exit]:
        """Return statements without early exits, and how they would have been left."""
        out: list[ast.stmt] = []
        for k, statement in enumerate(statements):
            new, left = self.statement(statement)
            out += new
            rest = statements[k + 1 :]
            if isinstance(statement, ast.With) and rest:  # what is entered may keep an exception
                left = Exit(False, left.flags)
            if left.always:
                return out, left
            if left.flags and rest:
                inner, after = self.block(rest)
                last = out[-1]
                taken = self._other_arm(last, new)
                if taken is not None:
                    taken += inner
                else:
                    out.append(_unless(left.flags, inner, statement))
                return out, Exit(after.always, left.flags | after.flags)
            if left.flags:
                return out, left
        return out, THROUGH

    @staticmethod
    def _other_arm(last: ast.stmt, new: list[ast.stmt]) -> list[ast.stmt] | None:
        """Return the arm of an ``if`` that goes on, if the other one always leaves."""
        return getattr(last, "sdgrad_other", None) if new and last is new[-1] else None

    def statement(self, node: ast.stmt) -> tuple[list[ast.stmt], Exit]:
        """Lower one statement."""
        if isinstance(node, ast.Return):
            value = node.value if node.value is not None else ast.Constant(None)
            return self._leave(node, DONE, _assign(RESULT, value, node))
        if isinstance(node, (ast.Break, ast.Continue)) and self.loops:
            return self._leave(node, self.loops[-1][isinstance(node, ast.Continue)])
        if isinstance(node, ast.If):
            return self._if(node)
        if isinstance(node, (ast.For, ast.While)):
            return self._loop(node)
        if isinstance(node, ast.Match):
            branches = as_branches(node, f"{PREFIX}match_{next(self.numbers)}")
            return self._structured(node) if branches is None else self.block(branches)
        if isinstance(node, (ast.With, ast.Try)):
            return self._structured(node)
        return [node], THROUGH

    def _leave(self, node: ast.stmt, flag: str, *before: ast.stmt) -> tuple[list[ast.stmt], Exit]:
        self.used.add(flag)
        return [*before, _assign(flag, ast.Constant(True), node)], Exit(True, frozenset({flag}))

    def _if(self, node: ast.If) -> tuple[list[ast.stmt], Exit]:
        (body, first), (orelse, second) = self.block(node.body), self.block(node.orelse)
        new: Any = ast.copy_location(ast.If(node.test, body, orelse), node)
        if first.always != second.always:
            other, passing = (new.orelse, second) if first.always else (new.body, first)
            if not passing.flags:
                new.sdgrad_other = other
        return [new], first.either(second)

    def _loop(self, node: Any) -> tuple[list[ast.stmt], Exit]:
        number = next(self.numbers)
        broken, skipped = f"{PREFIX}break_{number}", f"{PREFIX}continue_{number}"
        self.loops.append((broken, skipped))
        body, left = self.block(node.body)
        self.loops.pop()
        if skipped in self.used:
            body.insert(0, _assign(skipped, ast.Constant(False), node))
        stops = left.flags - {skipped}
        if stops and isinstance(node, ast.For):  # trips that are written out go on to the last one
            body = [_unless(stops, body, node)]
        new = _with_body(node, body)
        new.sdgrad_flags = tuple(sorted(stops))
        before = [_assign(broken, ast.Constant(False), node)] if broken in self.used else []
        outer = Exit(False, left.flags - {broken, skipped})
        if not node.orelse:
            return [*before, new], outer
        orelse, after = self.block(node.orelse)
        guarded = [_unless(stops, orelse, node)] if stops else orelse
        return [*before, new, *guarded], Exit(after.always and broken not in left.flags, outer.flags | after.flags)

    def _structured(self, node: ast.With | ast.Try | ast.Match) -> tuple[list[ast.stmt], Exit]:
        if isinstance(node, ast.With):
            body, left = self.block(node.body)
            return [ast.copy_location(ast.With(node.items, body), node)], left
        if isinstance(node, ast.Match):
            arms = [self.block(case.body) for case in node.cases]
            cases = [ast.match_case(c.pattern, c.guard, b) for c, (b, _) in zip(node.cases, arms, strict=True)]
            flags = frozenset().union(*(left.flags for _, left in arms))
            last = node.cases[-1]
            total = isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None and last.guard is None
            return [ast.copy_location(ast.Match(node.subject, cases), node)], Exit(
                total and all(left.always for _, left in arms), flags
            )
        return self._try(node)

    def _try(self, node: ast.Try) -> tuple[list[ast.stmt], Exit]:
        body, left = self.block(node.body)
        orelse, after = self.block(node.orelse)
        if left.flags and orelse:
            orelse = [_unless(left.flags, orelse, node)]
        handled = [self.block(h.body) for h in node.handlers]
        handlers = [
            ast.copy_location(ast.ExceptHandler(h.type, h.name, b), h)
            for h, (b, _) in zip(node.handlers, handled, strict=True)
        ]
        final, last = self.block(node.finalbody)
        flags = frozenset().union(*(e.flags for e in (left, after, last, *(e for _, e in handled))))
        always = last.always or ((left.always or after.always) and all(e.always for _, e in handled))
        new = ast.copy_location(ast.Try(body, handlers, orelse, final), node)
        return [new], Exit(always, flags)


def _with_body(node: Any, body: list[ast.stmt]) -> Any:
    if isinstance(node, ast.While):
        return ast.copy_location(ast.While(node.test, body, []), node)
    return ast.copy_location(ast.For(node.target, node.iter, body, []), node)


def _assign(name: str, value: ast.expr, at: ast.stmt) -> ast.stmt:
    new = ast.Assign([ast.Name(name, ast.Store())], value)
    return ast.copy_location(new, at)


def _unless(flags: frozenset[str], body: list[ast.stmt], at: ast.stmt) -> ast.stmt:
    names: list[ast.expr] = [ast.Name(f, ast.Load()) for f in sorted(flags)]
    test = names[0] if len(names) == 1 else ast.BoolOp(ast.Or(), names)
    new = ast.If(ast.UnaryOp(ast.Not(), test), body or [ast.Pass()], [])
    return ast.copy_location(new, at)


def lowered(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return a function's statements without early exits; at the end it returns ``RESULT`` if that is bound.

    A function that only returns at its end stays as it is.
    """
    lowering = Lowering()
    last = body[-1] if body and isinstance(body[-1], ast.Return) else None
    statements, left = lowering.block(body[:-1] if last is not None else body)
    if DONE not in lowering.used:
        return [*statements, *([last] if last is not None else [])]
    lowering = Lowering()
    statements, left = lowering.block(body)
    first = _assign(DONE, ast.Constant(False), body[0])
    end: Any = ast.copy_location(ast.Return(ast.Name(RESULT, ast.Load())), body[-1])
    end.sdgrad_maybe = not left.always
    return [first, *statements, end]


STOPPING = (ast.Yield, ast.YieldFrom, ast.Await)


def lowered_in_parts(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return a generator's statements: those that neither stop nor leave it are lowered, and may run twice."""
    return _parts(body, itertools.count())


def stops(node: ast.stmt) -> bool:
    """True if a statement of a generator, lowered in parts, stops or leaves it, or a loop around it."""
    return any(isinstance(n, (*STOPPING, ast.Return, ast.Break, ast.Continue)) for n in own_nodes([node]))


def _parts(body: Sequence[ast.stmt], numbers: Iterator[int]) -> list[ast.stmt]:
    out: list[ast.stmt] = []
    for statement in body:
        lowering = Lowering(numbers)
        new, left = ([statement], THROUGH) if _yields(statement) else lowering.statement(statement)
        if left.flags or any(map(stops, new)):
            for holder in (statement, *getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
                for name in ("body", "orelse", "finalbody"):
                    if getattr(holder, name, None):
                        setattr(holder, name, _parts(getattr(holder, name), numbers))
            new = [statement]
        out += new
    return out


def _yields(node: ast.stmt) -> bool:
    return any(isinstance(n, STOPPING) for n in own_nodes([node]))
