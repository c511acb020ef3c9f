"""Names bound to names: ``c = b`` and ``a, b = b, a``.

DaCe's frontend makes ``c`` another name of ``b``'s array, and a later ``c = c * 2`` then writes into it. Where either
name is bound more than once, the assignment becomes a copy. A copy differs from Python's second name where one of them
is written in place while the other is still read; that is refused.
"""

from __future__ import annotations

import ast
import functools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sdgrad.errors import ParseError
from sdgrad.frontend.bindings import LOOPS, augmented, name_of, number_bindings, shared_with
from sdgrad.frontend.kinds import changing, real_from_the_start
from sdgrad.frontend.ranks import rank, ranks
from sdgrad.frontend.syntax import blocks, bound_values, definition, each_statement, statement

READ_ONLY = {"range", "len", "abs", "min", "max", "sum", "float", "int", "bool", "complex", "round", "enumerate", "zip"}
"""Functions of Python that programs call."""
WRITING = {"fill", "sort", "partition", "put", "copyto", "place", "putmask", "fill_diagonal", "put_along_axis", "at"}
"""Methods that write their array, and functions of NumPy that write their first argument."""


@dataclass(frozen=True)
class Event:
    """A name bound, written in place, or read, in the order of the text; an assignment done, or a loop left."""

    kind: str
    name: str
    node: ast.AST


def separate_names(
    function: ast.FunctionDef, called: Collection[str], dimensions: Mapping[str, int], types: Mapping[str, str]
) -> None:
    """Rewrite a function so that no name that is bound more than once shares an array with another.

    :param called: functions of the user that the function calls. Where a name is bound to what they return, and
        elsewhere too, DaCe takes it to be defined twice.
    :param dimensions: of arguments, where they are known.
    :param types: kinds of arguments, where they are known.
    """
    function.body = each_statement(function.body, _single_targets)
    before = ranks(function, dimensions)
    function.body = each_statement(function.body, lambda node: _one_by_one(node, before))
    own_parameters(function, ranks(function, dimensions))
    number_bindings(function, ranks(function, dimensions), changing(function, types))
    real_from_the_start(function, types)
    known, in_place = ranks(function, dimensions), {t.id for t in augmented(function) if isinstance(t, ast.Name)}
    bound = Counter(a.arg for a in function.args.args)
    bound.update(e.name for e in events(function.body) if e.kind == "bind")
    several = {n for n, k in bound.items() if k > 1}
    function.body = each_statement(function.body, lambda node: _with_result(node, several, called))
    for node in ast.walk(function):
        pair = _pair(node) if isinstance(node, ast.Assign) else None
        if not isinstance(node, ast.Assign) or pair is None:
            continue
        dimensions_of, again = known.get(pair[1]), max(bound[n] for n in pair) > 1
        if again or dimensions_of in (0, None) and in_place & set(pair):  # numbers are never two names' own, arrays are
            if dimensions_of != 0:
                refuse_shared_writes(function, node, pair, f"Copy it: {pair[0]} = {pair[1]}.copy()")
            node.value = ast.copy_location(ast.UnaryOp(op=ast.UAdd(), operand=node.value), node.value)


def _with_result(node: ast.stmt, several: Collection[str], called: Collection[str]) -> list[ast.stmt]:
    """``y = f(x)`` as ``result = f(x)`` and a copy, for names in ``several`` and functions in ``called``."""
    value = node.value if isinstance(node, ast.Assign) else None
    callee = value.func if isinstance(value, ast.Call) else None
    calls = isinstance(callee, ast.Name) and callee.id in called or isinstance(callee, ast.Call)
    if not isinstance(node, ast.Assign) or not calls or len(node.targets) != 1:
        return [node]
    target = node.targets[0]
    targets = target.elts if isinstance(target, ast.Tuple) else [target]
    copies: list[ast.stmt] = []
    for k, t in enumerate(targets):
        if isinstance(t, ast.Name) and t.id in several:
            name = f"{t.id}_of_call_{node.lineno}_{node.col_offset}"
            copies.append(statement(f"{t.id} = +{name}", node))
            targets[k] = ast.copy_location(ast.Name(name, ast.Store()), t)
    node.targets = [target if isinstance(target, ast.Tuple) else targets[0]]
    return [node, *copies]


def _pair(node: ast.Assign) -> tuple[str, str] | None:
    """Target and value of an assignment of one name to another."""
    target = node.targets[0]
    if len(node.targets) == 1 and isinstance(target, ast.Name) and isinstance(node.value, ast.Name):
        return target.id, node.value.id
    return None


@functools.cache
def returns_a_part(function: Any) -> bool:
    """Whether a function returns one of its arguments, or a part of one."""
    tree = definition(function)
    if tree is None:
        return False
    arguments = {a.arg for a in tree.args.args} - set(bound_values(tree))
    returned = [n.value for n in ast.walk(tree) if isinstance(n, ast.Return) and n.value is not None]
    parts = [e for v in returned for e in (v.elts if isinstance(v, ast.Tuple) else [v])]
    return any(shared_with(e, {}) in arguments for e in parts)


def refuse_shared_results(function: ast.FunctionDef, called: Mapping[str, Any]) -> None:
    """Functions may return an argument, or a part of one, of which a graph makes a copy.

    :param called: functions of the user that the function may call.
    :raises ParseError: the difference can be seen: one of both is written while the other is read.
    """
    for node in ast.walk(function):
        call = node.value if isinstance(node, ast.Assign) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id not in called:
            continue
        if not returns_a_part(called[call.func.id]):
            continue
        assert isinstance(node, ast.Assign)
        for argument in call.args:
            of, name = shared_with(argument, {}), name_of(node)
            if of is not None and name is not None and of != name:
                refuse_shared_writes(function, node, (name, of), f"Copy it: {name} = {ast.unparse(call)}.copy()")


def _single_targets(node: ast.stmt) -> list[ast.stmt]:
    """``a = b = x`` as ``a = x`` and ``b = a``; a number as often as it is assigned."""
    if not isinstance(node, ast.Assign) or len(node.targets) == 1:
        return [node]
    first = next((t for t in node.targets if isinstance(t, ast.Name)), ast.Name(f"held_{node.lineno}", ast.Store()))
    plain = isinstance(node.value, ast.Constant)
    targets = [t for t in node.targets if t is not first]
    values = [node.value if plain else ast.Name(first.id, ast.Load()) for _ in targets]
    parts = [ast.Assign(targets=[first], value=node.value)]
    parts += [ast.Assign(targets=[t], value=v) for t, v in zip(targets, values, strict=True)]
    return [ast.copy_location(p, node) for p in parts]


def own_parameters(function: ast.FunctionDef, known: Mapping[str, int]) -> None:
    """Parameters that are bound again get a variable of their own: DaCe writes into what the caller has given.

    Arrays that are written in place as well are left to :func:`number_bindings`.
    """
    for name in [a.arg for a in function.args.args]:
        if known.get(name) == 0:  # numbers cannot be changed in place
            function.body = each_statement(function.body, functools.partial(_plain, name=name))
        if not binds_parameter(function, name):
            continue
        if known.get(name) != 0 and any(e.kind == "write" and e.name == name for e in events(function.body)):
            continue
        fresh = f"{name}_here"
        for node in ast.walk(function):
            if isinstance(node, ast.Name) and node.id == name:
                node.id = fresh
        function.body.insert(0, statement(f"{fresh} = +{name}", function.body[0]))


def binds_parameter(function: ast.FunctionDef, name: str) -> bool:
    return any(isinstance(n, ast.Assign) and _binds(n, name) for n in ast.walk(function))


def _plain(node: ast.stmt, name: str) -> list[ast.stmt]:
    """``t += x`` as ``t = t + x``."""
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
        value = ast.BinOp(left=ast.Name(name, ast.Load()), op=node.op, right=node.value)
        node = ast.copy_location(ast.Assign(targets=[node.target], value=value), node)
    return [node]


def _binds(node: ast.Assign, name: str) -> bool:
    targets = [e for t in node.targets for e in (t.elts if isinstance(t, (ast.Tuple, ast.List)) else [t])]
    return any(isinstance(t, ast.Name) and t.id == name for t in targets)


def _one_by_one(node: ast.stmt, known: Mapping[str, int]) -> list[ast.stmt]:
    """``a, b = x, y`` as single assignments, through temporaries where a value may be changed before its turn."""
    if not isinstance(node, ast.Assign):
        return [node]
    target, value = node.targets[0], node.value
    if len(node.targets) != 1 or not isinstance(target, ast.Tuple) or not isinstance(value, ast.Tuple):
        return [node]
    if len(target.elts) != len(value.elts) or any(isinstance(e, ast.Starred) for e in (*target.elts, *value.elts)):
        return [node]
    first: list[ast.stmt] = []
    then: list[ast.stmt] = []
    for k, (t, v) in enumerate(zip(target.elts, value.elts, strict=True)):
        earlier = {n.id for e in target.elts[:k] for n in ast.walk(e) if isinstance(n, ast.Name)}
        written = any(isinstance(e, ast.Subscript) for e in target.elts[:k])  # which may be seen by other names
        reads = any(isinstance(n, ast.Subscript) for n in ast.walk(v))
        is_part = isinstance(v, ast.Subscript) and (rank(v, known) or _has_slice(v))  # a view, not what it shows now
        if not is_part and (earlier & {n.id for n in ast.walk(v) if isinstance(n, ast.Name)} or written and reads):
            name = f"held_{node.lineno}_{k}"
            fresh = ast.UnaryOp(op=ast.UAdd(), operand=v) if isinstance(v, (ast.Name, ast.Subscript)) else v
            first.append(ast.Assign(targets=[ast.Name(name, ast.Store())], value=fresh))
            v = ast.UnaryOp(op=ast.UAdd(), operand=ast.Name(name, ast.Load()))
        then.append(ast.Assign(targets=[t], value=v))
    return [ast.copy_location(s, node) for s in (*first, *then)]


def _has_slice(value: ast.Subscript) -> bool:
    return any(isinstance(n, ast.Slice) for n in ast.walk(value.slice))


def events(body: list[ast.stmt]) -> Iterator[Event]:
    """What happens to names in some statements, loops and branches once through."""
    for node in body:
        yield from _events_of(node)


def place_of(node: ast.AST, among: Sequence[Event]) -> int:
    """Where an assignment is done."""
    return next(k for k, e in enumerate(among) if e.kind == "done" and e.node is node)


def _events_of(node: ast.AST) -> Iterator[Event]:
    """Reads before writes within a statement; loops and branches once through."""
    if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
        if node.value is not None:
            yield from _events_of(node.value)
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            yield from _target(target, isinstance(node, ast.AugAssign))
        yield Event("done", "", node)
    elif isinstance(node, ast.For):
        yield from _events_of(node.iter)
        yield from _target(node.target, False)
        yield from events(node.body)
        yield Event("left", "", node)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield Event("read", node.id, node)
    elif isinstance(node, ast.Call):
        for child in ast.iter_child_nodes(node):
            yield from _events_of(child)
        for written in _may_write(node):
            yield Event("write", written, node)
    elif not isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Lambda)):
        for child in ast.iter_child_nodes(node):
            yield from _events_of(child)


def _target(target: ast.expr, augmented: bool) -> Iterator[Event]:
    if isinstance(target, ast.Name):
        yield Event("write" if augmented else "bind", target.id, target)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for element in target.elts:
            yield from _target(element, augmented)
    elif isinstance(target, ast.Subscript):
        yield from _events_of(target.slice)
        base: ast.expr = target
        while isinstance(base, (ast.Subscript, ast.Attribute)):
            base = base.value
        if isinstance(base, ast.Name):
            yield Event("write", base.id, target)


def _may_write(call: ast.Call) -> Iterator[str]:
    """Arguments that a call may write in place: those of a function that is not NumPy's, ``out``, and some more."""
    given: list[ast.expr] = [k.value for k in call.keywords if k.arg == "out"]
    if isinstance(call.func, ast.Name) and call.func.id not in READ_ONLY:
        given += [*call.args, *(k.value for k in call.keywords)]
    elif isinstance(call.func, ast.Attribute) and call.func.attr in WRITING:
        given += [call.func.value, *call.args[:1]]
    for value in given:
        while isinstance(value, (ast.Subscript, ast.Attribute, ast.Starred)):
            value = value.value
        if isinstance(value, ast.Name):
            yield value.id


def refuse_shared_writes(function: ast.FunctionDef, node: ast.Assign, pair: tuple[str, str], hint: str) -> None:
    """Raise where a copy would not do for an assignment that gives (part of) one array two names."""
    written: set[str] = set()

    def see(happening: Iterable[Event]) -> None:
        for event in happening:
            if event.kind == "write" and event.name in pair:
                written.add(event.name)
            if event.kind == "read" and event.name in pair and written - {event.name}:
                (other,) = written - {event.name}
                raise ParseError(
                    f"line {node.lineno}: '{ast.unparse(node)}' gives one array two names; '{other}' is written in "
                    f"place and '{event.name}' is read after that. {hint}"
                )

    apart = False  # one of the names certainly has another array
    for block, place, owner in _around(function, node):
        for statement_after in block[place + 1 :]:
            if not apart:
                see(events([statement_after]))
            apart = apart or name_of(statement_after) in pair
        if isinstance(owner, LOOPS):
            again = apart  # on the way round to the assignment
            see(_events_of(owner.test) if isinstance(owner, ast.While) and not again else ())
            for statement_before in block[:place]:
                see(events([statement_before]) if not again else ())
                again = again or name_of(statement_before) in pair
            if not again:
                see(_events_of(node.value) if block[place] is node else events([block[place]]))
            apart = apart and not any(isinstance(n, ast.Break) for n in ast.walk(owner))


def _around(function: ast.FunctionDef, node: ast.stmt) -> list[tuple[list[ast.stmt], int, ast.AST]]:
    """The blocks that hold a statement, the innermost first: where it is in them, and what holds them."""
    found: list[tuple[list[ast.stmt], int, ast.AST]] = []
    owner: ast.AST = function
    while owner is not node:
        block, place = next(
            (b, k)
            for b in blocks(owner)  # type: ignore[arg-type]
            for k, s in enumerate(b)
            if any(n is node for n in ast.walk(s))
        )
        found.insert(0, (block, place, owner))
        owner = block[place]
    return found
