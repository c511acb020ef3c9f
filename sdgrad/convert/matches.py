"""Write ``match`` statements as branches, where their patterns are values, alternatives of values, or names."""

from __future__ import annotations

import ast
import functools

OF_ITSELF = ("bool", "bytes", "bytearray", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple")
"""Classes whose pattern of one part is about the whole (PEP 634)."""
_Test = ast.expr | None  # None is always true


class _Structured(Exception):
    """A pattern looks inside of its subject."""


def as_branches(node: ast.Match, subject: str) -> list[ast.stmt] | None:
    """Return the statements that do what a ``match`` does; None if a pattern looks inside of the subject.

    :param subject: a name for what is matched, which is computed once.
    """
    try:
        found: list[ast.stmt] = []
        for case in reversed(node.cases):
            found = _case(case, subject, found)
    except _Structured:
        return None
    held = ast.Assign([ast.Name(subject, ast.Store())], node.subject)
    return [ast.fix_missing_locations(ast.copy_location(held, node)), *found]


def _case(case: ast.match_case, subject: str, otherwise: list[ast.stmt]) -> list[ast.stmt]:
    """Return one case, with what is done if it does not match."""
    test, names = _test(case.pattern, subject)
    binds = [ast.Assign([ast.Name(n, ast.Store())], ast.Name(subject, ast.Load())) for n in names]
    if names and test is not None and case.guard is not None:  # bound only where the pattern matches
        matches = f"{subject}_matches"
        asked = ast.If(test, [*binds, ast.Assign([ast.Name(matches, ast.Store())], case.guard)], [])
        chosen = ast.If(ast.Name(matches, ast.Load()), case.body, otherwise)
        parts = [ast.Assign([ast.Name(matches, ast.Store())], ast.Constant(False)), asked, chosen]
        return [ast.fix_missing_locations(ast.copy_location(p, case.pattern)) for p in parts]
    before = [ast.fix_missing_locations(ast.copy_location(b, case.pattern)) for b in binds]
    if before and case.guard is not None:  # they are bound where the guard fails, too
        return [*before, ast.copy_location(ast.If(case.guard, case.body, otherwise), case.pattern)]
    body: list[ast.stmt] = [*before, *case.body]
    tests = [t for t in (test, case.guard) if t is not None]
    if not tests:
        return body
    whole = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
    branch = ast.If(ast.copy_location(whole, case.pattern), body, otherwise)
    return [ast.fix_missing_locations(ast.copy_location(branch, case.pattern))]


@functools.singledispatch
def _test(pattern: ast.pattern, subject: str) -> tuple[_Test, list[str]]:
    """Return the condition of a pattern, and the names that it binds."""
    raise _Structured


@_test.register
def _(pattern: ast.MatchValue, subject: str) -> tuple[_Test, list[str]]:
    return ast.Compare(ast.Name(subject, ast.Load()), [ast.Eq()], [pattern.value]), []


@_test.register
def _(pattern: ast.MatchSingleton, subject: str) -> tuple[_Test, list[str]]:
    return ast.Compare(ast.Name(subject, ast.Load()), [ast.Is()], [ast.Constant(pattern.value)]), []


@_test.register
def _(pattern: ast.MatchAs, subject: str) -> tuple[_Test, list[str]]:
    test, names = (None, []) if pattern.pattern is None else _test(pattern.pattern, subject)
    return test, names if pattern.name is None else [*names, pattern.name]


@_test.register
def _(pattern: ast.MatchClass, subject: str) -> tuple[_Test, list[str]]:
    """Of its type alone, as ``float()`` and ``float(value)``."""
    whole = [p for p in pattern.patterns if isinstance(p, ast.MatchAs) and p.pattern is None]
    of_itself = isinstance(pattern.cls, ast.Name) and pattern.cls.id in OF_ITSELF
    if pattern.kwd_patterns or len(whole) < len(pattern.patterns) or whole and not of_itself:
        raise _Structured
    asked = ast.Call(ast.Name("isinstance", ast.Load()), [ast.Name(subject, ast.Load()), pattern.cls], [])
    return asked, [p.name for p in whole if p.name is not None]


@_test.register
def _(pattern: ast.MatchOr, subject: str) -> tuple[_Test, list[str]]:
    found = [_test(p, subject) for p in pattern.patterns]
    if any(names for _, names in found):
        raise _Structured
    tests = [test for test, _ in found if test is not None]
    return (ast.BoolOp(ast.Or(), tests) if len(tests) == len(found) else None), []
