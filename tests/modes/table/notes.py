"""What differs from NumPy and what is refused, read from the rules and from the tables of known differences."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from sdgrad.record.functions.scipy_special import OF_COMPLEX, OF_COMPLEX_IN_DOUBLE, TEMPLATES
from sdgrad.record.functions.table import FUNCTIONS, WITHOUT_EFFECT
from sdgrad.symbolic.rows import UNKNOWN
from sdgrad.symbolic.scalar_rules import RULES

from ..known import KNOWN
from ..lines import Line

LIMITS = Path(__file__).resolve().parents[3] / "docs" / "limits.md"
OF_THE_ARRAY = {*WITHOUT_EFFECT, "out", "casting", "signature", "extobj", "self"}
"""Parameters that no rule needs."""
DEEPEST, LONGEST = 2, 130
CALLED = r"((numpy|scipy|ndarray)[\w.…]*(\(…\))?|…)"
"""How a message begins with what is called."""


# The rule's own text -----------------------------------------------------------------------------------


def _inner(rule: Any) -> Any:
    return inspect.unwrap(rule) if callable(rule) else None


@cache
def _tree(function: Any) -> ast.FunctionDef | None:
    try:
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    return tree if isinstance(tree, ast.FunctionDef) else None


def always_raises(function: Any, rule: Any = None) -> bool:
    """True of a rule that only says what to write instead."""
    tree = _tree(_inner(rule or FUNCTIONS.get(function)))
    body = [s for s in tree.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))] if tree else []
    return len(body) == 1 and isinstance(body[0], ast.Raise)


def _refusals(function: Any, depth: int = 0) -> Iterator[str]:
    """The messages of the errors that a rule and its helpers raise for what is not recorded."""
    tree = _tree(function)
    if tree is None:
        return
    values = {**inspect.getclosurevars(function).globals, **inspect.getclosurevars(function).nonlocals}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Raise)
            and isinstance(node.exc, ast.Call)
            and ast.unparse(node.exc.func) == "ParseError"
        ):
            yield _message(node.exc.args[0], values)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and depth < DEEPEST:
            helper = values.get(node.func.id)
            if inspect.isfunction(helper) and helper.__module__ == function.__module__ and not _is_rule(helper):
                yield from _refusals(helper, depth + 1)


def _is_rule(helper: Any) -> bool:
    return hasattr(helper, "__wrapped__") or helper in [_inner(r) for r in FUNCTIONS.values()]


def _message(node: ast.expr, values: dict[str, Any]) -> str:
    """The text of an error; what only a call knows is left open."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_message(v, values) for v in node.values)
    if isinstance(node, ast.FormattedValue):
        known = values.get(node.value.id) if isinstance(node.value, ast.Name) else None
        return known if isinstance(known, str) else "…"
    if isinstance(node, ast.Name) and isinstance(values.get(node.id), str):
        return values[node.id]
    return "…"


def _shortened(message: str) -> str:
    """A message without the function's name in front of it."""
    text = re.sub(rf"^{CALLED}(:| (?=(of|along|is|in|has)\b))\s*", "", message)
    text = re.sub(r"^(is not recorded|has no derivative here)[:,]? ?", "", text)
    text = re.sub(r"^(\w+=)… is not recorded", r"some \1 are not recorded", text).replace("|", "\\|")
    text = re.sub(r"^… (?=(must|are) )", "some arguments ", text)
    text = re.sub(r": [^:.;]*…$", "", text).strip()
    while len(text) > LONGEST and (parts := re.match(r"(.+)[.:;] .*", text)):
        text = parts[1]
    return "" if text == "…" else text


# Parameters --------------------------------------------------------------------------------------------


def _parameters(function: Any) -> dict[str, inspect.Parameter] | None:
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return None


def left_out(function: Any, rule: Any) -> list[str]:
    """The parameters of a function that its rule does not take."""
    theirs, own = _parameters(function), _parameters(_inner(rule))
    if function is None or isinstance(function, (np.ufunc, type)) or theirs is None or own is None:
        return []
    if any(p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in own.values()):
        return []
    named = [n for n, p in theirs.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    return [n for n in named[1:] if n not in own and n not in OF_THE_ARRAY]


# Derivatives that nobody knows -------------------------------------------------------------------------


def _call(text: str) -> ast.expr:
    return ast.parse(re.sub(r"\{(\d)\}", r"argument\1", text), mode="eval").body


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _known_orders(text: str, by: frozenset[str], depth: int = 3) -> int:
    """The order of the first derivative that is unknown, by some variables; 3 if there is none up to the second."""
    found = depth
    for node in ast.walk(_call(text)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in RULES):
            continue
        row = RULES[node.func.id]
        moved = [k for k, a in enumerate(node.args) if _names(a) & by]
        inside = frozenset({*(row.arguments[k] for k in moved), "y"})
        for partial in (row.partials[k] for k in moved if k < row.arity):
            if partial == UNKNOWN:
                return 1
            if partial is not None and depth > 1:
                found = min(found, 1 + _known_orders(partial, inside, depth - 1))
    return found


def unknown_arguments(function: Any) -> dict[int, int]:
    """Arguments of a special function of SciPy, from 1, of which a derivative is unknown: 1 the first, 2 the second."""
    text = TEMPLATES.get(getattr(function, "__name__", ""), "") if isinstance(function, np.ufunc) else ""
    places = sorted(set(map(int, re.findall(r"\{(\d)\}", text))))
    orders = {k + 1: _known_orders(text, frozenset({f"argument{k}"})) for k in places}
    return {k: order for k, order in orders.items() if order < 3}


# All together ------------------------------------------------------------------------------------------


@cache
def _limits() -> str:
    return LIMITS.read_text().partition("## Functions")[2].partition("\n## ")[0]


def _in_limits(function: Any) -> bool:
    name = re.escape(getattr(function, "__name__", "") or "nothing")
    return name not in dir(builtins) and re.search(rf"`(\w+\.)*{name}(\([^`]*\))?`", _limits()) is not None


def _applies(text: str, function: Any) -> bool:
    """False of a refusal of complex numbers, of a function that is only of real ones, or has an expression for both."""
    if not isinstance(function, np.ufunc) or not text.startswith("of complex numbers"):
        return bool(text)
    return function.__name__ not in {*OF_COMPLEX, *OF_COMPLEX_IN_DOUBLE} and any("D" in t for t in function.types)


def _known_differences(lines: Iterable[Line]) -> list[str]:
    cells = [f"{line.text} special" for line in lines]
    return [why for call, _, why in KNOWN if any(re.search(call, c) for c in cells)]


def notes_of(
    function: Any, lines: Iterable[Line] = (), unknown: dict[int, int] | None = None, rule: Any = None
) -> tuple[str, ...]:
    """What to know before a function is called."""
    rule = rule or FUNCTIONS.get(function)
    found = []
    if never := [str(k) for k, order in (unknown or {}).items() if order == 1]:
        found.append(f"no derivative by argument{'s' * (len(never) > 1)} {', '.join(never)}")
    if rule is not None:
        if missing := left_out(function, rule):
            found.append("without " + ", ".join(f"`{n}=`" for n in missing))
        found += [text for text in map(_shortened, _refusals(_inner(rule))) if _applies(text, function)]
    row = RULES.get(getattr(function, "__name__", ""))
    if row is not None and row.kink:
        found.append(f"kink: {row.kink}")
    found += _known_differences(lines)
    if _in_limits(function):
        found.append("[limits](limits.md#functions)")
    return tuple(dict.fromkeys(found))
