"""Rewrite a lowered function: expressions and statements that a recorder has to see become calls of operators.

The operators are methods of one object, which the function reaches as the free variable :data:`OPERATORS`. A loop, a
``while`` and a branch become a ``for`` over a handler, which runs the body as often as it takes to record it::

    if c: y = a                     b = operators.branch(c, ("y",), ("y",))
                                    for arm in b:
                                        with b:
                                            if b.sets: (y,) = b.enter(locals())
                                            if arm: y = a
                                            b.leave(locals())
                                    if b.recorded: (y,) = b.after(locals())

Nothing moves into another scope, so that ``yield``, ``nonlocal``, ``del`` and ``locals()`` mean what they did.
"""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Sequence
from typing import Any, cast

from sdgrad.convert.liveness import mark
from sdgrad.convert.lowering import PREFIX, RESULT, STOPPING, lowered, lowered_in_parts, stops
from sdgrad.convert.outlining import Outlining
from sdgrad.convert.scopes import bound, captured, locals_of, own_nodes
from sdgrad.convert.source import Definition
from sdgrad.convert.special_methods import SpecialMethods, looks_at_the_frame, unpacked
from sdgrad.convert.texts import is_print, shown, shows, told
from sdgrad.convert.trees import (
    OPERATORS,
    attribute_of,
    binds,
    computes,
    constants,
    is_plain,
    located,
    method_call,
    named,
    names_of,
    operator_call,
    thunk,
)

COMPARISONS = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip


def rewrite(definition: Definition, owner: str | None) -> Definition:
    """Return the converted definition: a function of the same name and arguments, in place.

    :param owner: the class in which it is written.
    """
    return Rewriter(owner, [locals_of(definition)]).function(definition)


class Rewriter(SpecialMethods):
    """Rewrite one function and those inside of it."""

    def __init__(self, owner: str | None, scopes: list[frozenset[str]]) -> None:
        self.owner = owner.lstrip("_") if owner else ""
        self.scopes = scopes
        self.numbers = itertools.count()
        self.globals: set[str] = set()  # names that are declared global: no locals of this function
        self.generates = self.of_class = False  # a body that stops and goes on: what does so cannot run twice

    # -- functions
    def function(self, node: Any) -> Any:
        """Rewrite the body of a definition whose scope is on the stack."""
        if isinstance(node, ast.Lambda):
            node.body = self.visit(node.body)
            return node
        self.generates = any(isinstance(n, STOPPING) for n in own_nodes(node.body))
        self.globals = {n for d in own_nodes(node.body) if isinstance(d, ast.Global) for n in d.names}
        body = lowered_in_parts(node.body) if self.generates else lowered(node.body)
        always = frozenset(captured(body)) | (bound(body) if self.generates else frozenset())
        mark(body, frozenset(), always)
        node.body = Outlining(self.globals, self._fresh).block(self.block(body))
        return node

    def _inner(self, node: Any) -> Any:
        for field in ("decorator_list", "bases"):
            if hasattr(node, field):
                setattr(node, field, [self.visit(n) for n in getattr(node, field)])
        node.args.defaults = [self.visit(d) for d in node.args.defaults]
        node.args.kw_defaults = [self.visit(d) if d is not None else None for d in node.args.kw_defaults]
        inner = Rewriter(None, [*self.scopes, locals_of(node)])
        inner.owner, inner.numbers = self.owner, self.numbers
        return inner.function(node)

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _inner

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        node.bases = [self.visit(b) for b in node.bases]
        inner = Rewriter(node.name, [*self.scopes, bound(node.body)])
        inner.of_class, inner.numbers = True, self.numbers
        mark(node.body, frozenset(), frozenset())
        node.body = inner.block(node.body)
        return node

    # -- statements
    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Rewrite the statements of a block."""
        out: list[ast.stmt] = []
        for statement in statements:
            new = self.visit(statement)
            out += new if isinstance(new, list) else [new]
        return out or [ast.Pass()]

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for field, held in ast.iter_fields(node):
            if isinstance(held, list) and held and isinstance(held[0], ast.stmt):
                setattr(node, field, self.block(held))
            elif isinstance(held, list):
                setattr(node, field, [self.visit(v) if isinstance(v, ast.AST) else v for v in held])
            elif isinstance(held, ast.AST):
                setattr(node, field, self.visit(held))
        return node

    def _is_left_to_python(self, node: ast.stmt) -> bool:
        return self.of_class or self.generates and stops(node)

    def visit_If(self, node: ast.If) -> Any:
        if self._is_left_to_python(node):
            node.test = self._operator("truth", node.test, at=node.test)
            return self.generic_visit(node)
        names = self._names(node, [*node.body, *node.orelse])
        test = self.visit(node.test)
        body, orelse = self.block(node.body), self.block(node.orelse)
        arm = self._fresh("arm")
        choice = ast.If(named(arm), body, [] if len(orelse) == 1 and isinstance(orelse[0], ast.Pass) else orelse)
        return self._handled(node, "branch", [test], names, arm, [choice])

    def visit_While(self, node: Any) -> Any:
        if self._is_left_to_python(node):
            node.test = self._operator("truth", node.test, at=node.test)
            return self.generic_visit(node)
        names = self._names(node, node.body)
        handler = self._fresh("while")
        truth = self._operator("condition", self.visit(node.test), at=node.test)
        test = ast.copy_location(method_call(handler, "test", truth), node.test)
        choice = ast.If(test, self.block(node.body), [])
        flags = constants(getattr(node, "sdgrad_flags", ()))
        head = constants(node.sdgrad_head)
        return self._handled(node, "while_", [flags, head], names, self._fresh("trip"), [choice], handler)

    def visit_For(self, node: Any) -> Any:
        if self._is_left_to_python(node):
            node.iter = self._operator("iterate", node.iter, at=node.iter)
            return self.generic_visit(node)
        iterable = self.visit(node.iter)
        names = self._names(node, [*node.body, ast.Expr(node.target)])
        flags = constants(getattr(node, "sdgrad_flags", ()))
        head = constants(node.sdgrad_head)
        handler = self._fresh("for")
        bound_to = constants(sorted(bound([node.target])))
        given = ast.copy_location(ast.Assign([node.target], method_call(handler, "item")), node)
        body = [*self._unconverted(given), *self.block(node.body)]
        return self._handled(node, "for_", [iterable, bound_to, flags, head], names, self._fresh("trip"), body, handler)

    def _unconverted(self, given: ast.Assign) -> list[ast.stmt]:
        """Return the assignment to the target of a loop; only subscripts in it become operators."""
        target = given.targets[0]
        return [given] if is_plain(target) else self._unpacked(target, given.value, given)

    def _names(self, node: Any, body: Sequence[ast.AST]) -> list[str]:
        """Return the names that a statement binds and that are read afterwards, or where its body begins."""
        return sorted((bound(body) - self.globals) & (node.sdgrad_after | node.sdgrad_head))

    def _handled(
        self,
        node: Any,
        kind: str,
        given: list[ast.expr],
        names: list[str],
        item: str,
        body: list[ast.stmt],
        handler: str | None = None,
    ) -> list[ast.stmt]:
        """Return the loop over a handler that runs a body."""
        handler = handler or self._fresh(kind.rstrip("_"))
        later = [n for n in names if n in node.sdgrad_after]
        targets = ast.Tuple([named(n, ast.Store()) for n in names], ast.Store())
        state = ast.Call(named("locals"), [], [])
        make = ast.Assign(
            [named(handler, ast.Store())], operator_call(kind, *given, constants(names), constants(later))
        )
        enter = ast.If(attribute_of(handler, "sets"), [ast.Assign([targets], method_call(handler, "enter", state))], [])
        leave = ast.Expr(method_call(handler, "leave", state))
        inside = [enter, *body, leave] if names else [ast.Expr(method_call(handler, "enter", state)), *body, leave]
        managed = ast.With([ast.withitem(named(handler))], inside)
        loop = ast.For(named(item, ast.Store()), named(handler), [managed], [])
        after = ast.If(
            attribute_of(handler, "recorded"), [ast.Assign([targets], method_call(handler, "after", state))], []
        )
        new = [make, loop, *([after] if names else [])]
        return [located(statement, node) for statement in new]

    def visit_Return(self, node: ast.Return) -> ast.AST:
        if getattr(node, "sdgrad_maybe", False):
            node.value = operator_call("result", ast.Call(named("locals"), [], []), ast.Constant(RESULT))
            return located(node, node)
        return self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> Any:
        if node.exc is None:
            return node
        error = self._call(node.exc, True) if isinstance(node.exc, ast.Call) else self.visit(node.exc)
        given = [error] if node.cause is None else [error, self.visit(node.cause)]
        return located(ast.Raise(operator_call("raised", *given), None), node)

    def visit_Assert(self, node: ast.Assert) -> Any:
        message = thunk(self.visit(shown(node.msg))) if node.msg is not None else ast.Constant(None)
        return located(ast.Expr(operator_call("check", self.visit(node.test), message)), node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        node.value = self.visit(node.value)
        if all(is_plain(t) for t in node.targets):
            names = names_of(node.targets[0])
            if names and (computes(node.value) or isinstance(node.value, ast.Tuple)):
                node.value = self._operator("bound", constants(names), node.value, at=node.value)
            return unpacked(node)
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Subscript | ast.Attribute):
            return self._stored(node.targets[0], node.value, node)
        value = self._fresh("value")
        out: list[ast.stmt] = [located(ast.Assign([named(value, ast.Store())], node.value), node)]
        for target in node.targets:
            out += self._unpacked(target, named(value), node)
        return out

    def _unpacked(self, target: ast.expr, value: ast.expr, at: ast.stmt) -> list[ast.stmt]:
        """Return assignments of a value to a target that holds subscripts or attributes."""
        if isinstance(target, ast.Subscript | ast.Attribute):
            return [self._stored(target, value, at)]
        if is_plain(target):
            return [located(ast.Assign([target], value), at)]
        if isinstance(target, ast.Starred):
            return self._unpacked(target.value, value, at)
        assert isinstance(target, (ast.Tuple, ast.List))
        parts = [self._fresh("part") for _ in target.elts]
        stars = [isinstance(t, ast.Starred) for t in target.elts]
        heads: list[ast.expr] = [
            ast.Starred(named(p, ast.Store()), ast.Store()) if s else named(p, ast.Store())
            for p, s in zip(parts, stars, strict=True)
        ]
        out: list[ast.stmt] = [located(ast.Assign([ast.Tuple(heads, ast.Store())], value), at)]
        for inner, part in zip(target.elts, parts, strict=True):
            out += self._unpacked(inner, named(part), at)
        return out

    def _stored(self, target: ast.Subscript | ast.Attribute, value: ast.expr, at: ast.stmt) -> ast.stmt:
        if isinstance(target, ast.Attribute):
            owner, name = self.visit(target.value), ast.Constant(self._mangled(target.attr))
            return located(ast.Expr(operator_call("set_attribute", owner, name, value)), at)
        place = (self.visit(target.value), self.visit(target.slice))
        return located(ast.Expr(operator_call("store", *place, value)), at)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if self.of_class:  # its annotations are read
            node.value = self.visit(node.value) if node.value is not None else None
            return node
        if node.value is None:
            return located(ast.Pass(), node)
        return self.visit_Assign(ast.copy_location(ast.Assign([node.target], node.value), node))

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        value = self.visit(node.value)
        operator = ast.Constant(type(node.op).__name__)
        if isinstance(node.target, ast.Name):
            old = self.visit(ast.copy_location(named(node.target.id), node.target))
            new = operator_call("update", operator, old, value)
            return located(ast.Assign([node.target], new), node)
        if isinstance(node.target, ast.Subscript):
            place = (self.visit(node.target.value), self.visit(node.target.slice))
            return located(ast.Expr(operator_call("update_item", operator, *place, thunk(value))), node)
        attribute = node.target
        place = (self.visit(attribute.value), ast.Constant(self._mangled(attribute.attr)))
        return located(ast.Expr(operator_call("update_attribute", operator, *place, thunk(value))), node)

    def visit_Try(self, node: ast.Try) -> ast.Try:
        node = cast(ast.Try, self.generic_visit(node))
        if node.handlers:
            kinds = [h.type if h.type is not None else named("BaseException") for h in node.handlers]
            guard = operator_call("guarded", thunk(ast.Tuple(list(map(copy.deepcopy, kinds)), ast.Load())))
            node.body = [located(ast.With([ast.withitem(guard)], node.body), node.body[0])]
            leaving = ast.Attribute(named(OPERATORS), "leaving", ast.Load())  # a bare 'except' would catch it
            node.handlers.insert(0, located(ast.ExceptHandler(leaving, None, [ast.Raise()]), node.handlers[0]))
        return node

    def visit_Delete(self, node: ast.Delete) -> Any:
        return node

    def visit_Global(self, node: ast.Global) -> Any:
        return [node, located(ast.Expr(operator_call("declares", constants(node.names))), node)]

    # -- expressions
    def visit_Name(self, node: ast.Name) -> ast.expr:
        node.id = self._mangled(node.id)
        if not isinstance(node.ctx, ast.Load) or node.id.startswith(PREFIX) or node.id == "super":
            return node
        if any(node.id in scope for scope in self.scopes):
            return node
        return self._operator("free", ast.Constant(node.id), node, at=node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        node.attr = self._mangled(node.attr)
        node.value = self.visit(node.value)
        if not isinstance(node.ctx, ast.Load):
            return node
        return self._operator("attribute", node.value, ast.Constant(node.attr), at=node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if not isinstance(node.ctx, ast.Load):
            return self.generic_visit(node)
        return self._operator("item", self.visit(node.value), self.visit(node.slice), at=node)

    def visit_Slice(self, node: ast.Slice) -> ast.expr:
        parts = [self.visit(p) if p is not None else ast.Constant(None) for p in (node.lower, node.upper, node.step)]
        return ast.copy_location(operator_call("slice", *parts), node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        return self._call(node, shows(node.func))

    def _call(self, node: ast.Call, is_shown: bool) -> ast.expr:
        if looks_at_the_frame(node):
            return node
        texts = [shown(a) for a in node.args] if is_shown else node.args
        node.args = [self.visit(told(a) if is_print(node.func) else a) for a in texts]
        if isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") == OPERATORS:
            return node  # of ours already
        node.keywords = [ast.copy_location(ast.keyword(k.arg, self.visit(k.value)), k) for k in node.keywords]
        new = operator_call("call", self.visit(node.func), *node.args)
        new.keywords = node.keywords
        return located(new, node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        if binds(*node.values[1:]):
            return self.generic_visit(node)
        parts = [thunk(self.visit(v)) for v in node.values]
        return self._operator("and_" if isinstance(node.op, ast.And) else "or_", *parts, at=node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        if len(node.ops) > 1 and binds(*node.comparators[1:]):
            return self.generic_visit(node)
        first = self.visit(node.left)
        rest = [self.visit(c) for c in node.comparators]
        words = [ast.Constant(COMPARISONS[type(o)]) for o in node.ops]
        if len(rest) == 1:
            return self._operator("compare", words[0], first, rest[0], at=node)
        pairs: list[ast.expr] = [ast.Tuple([w, thunk(r)], ast.Load()) for w, r in zip(words, rest, strict=True)]
        return self._operator("chain", first, *pairs, at=node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        if binds(node.body, node.orelse):
            node.test = self._operator("truth", node.test, at=node.test)
            return self.generic_visit(node)
        arms = [thunk(self.visit(a)) for a in (node.body, node.orelse)]
        return self._operator("choose", self.visit(node.test), *arms, at=node)

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        node.iter = ast.copy_location(operator_call("iterate", self.visit(node.iter)), node.iter)
        node.ifs = [ast.copy_location(operator_call("truth", self.visit(i)), i) for i in node.ifs]
        return node

    def _comprehension(self, node: Any) -> Any:
        targets = [n for g in node.generators for n in ast.walk(g.target)]
        self.scopes.append(frozenset(n.id for n in targets if isinstance(n, ast.Name)))
        node.generators = [self.visit(g) for g in node.generators]
        for field in ("elt", "key", "value"):
            if hasattr(node, field):
                setattr(node, field, self.visit(getattr(node, field)))
        self.scopes.pop()
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        node.value = self.visit(node.value)
        return node

    def visit_match_case(self, node: ast.match_case) -> ast.match_case:
        if node.guard is not None:
            node.guard = ast.copy_location(operator_call("truth", self.visit(node.guard)), node.guard)
        node.body = self.block(node.body)
        return node

    # -- small things
    def _mangled(self, name: str) -> str:
        private = self.owner and name.startswith("__") and not name.endswith("__")
        return f"_{self.owner}{name}" if private else name

    def _fresh(self, stem: str) -> str:
        return f"{PREFIX}{stem}_{next(self.numbers)}"

    def _operator(self, name: str, *args: ast.expr, at: ast.expr) -> ast.expr:
        return located(operator_call(name, *args), at)
