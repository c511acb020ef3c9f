"""Random programs of Python, as source text, and what comes of recording one: :func:`outcome`.

A program is the text of a module with two functions: ``program``, which returns all that it has computed, and
``arguments``. It is written from the productions below: ``{name}`` is one of the productions of that name. All
operations but :data:`ROUNDED` are rounded exactly and in NumPy's order, so that values are equal to the bit.
"""

from __future__ import annotations

import random
import re
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from fuzz.check import load
from fuzz.choices import Choices, Drawn, Seeded
from hypothesis import strategies as st

import sdgrad
from sdgrad.errors import ParseError

HEAD = """\
import numpy as np

def fill(a, b):
    for e in range(a.shape[0]):
        a[e] = 0.5 * a[e] + b

def same(a):
    return a

def maybe(a, b):
    if a[0] > b:
        return a
    return a * 0.5

def halved(a):
    a = a * 0.5
    a[0] = 0.25
    return a

def shifted(a):
    a[1:] = a[:-1]
    return a

def first_above(a, b):
    for k, e in enumerate(a):
        if e > b:
            return k
    return 0

class Box:
    def __init__(self, a, s):
        self.a, self.s = a, s

    def scale(self, b):
        self.a *= b
        return self.a

    def take(self, a):
        self.a, self.s = a, self.s * 0.5

def program(X, Y, k):
    u = X * 0.5
    v = Y + 0.25
    w = v
    M = np.array([[1.0, 2.0, 3.0, 4.0], [0.5, 0.25, 0.125, 0.75]]) * X[0]
    p = u[1:3]
    L = [u, v * 1.0]
    D = {"a": w, "s": 0.5}
    box = Box(X * 1.0, 2.0)
    s = {zero}
    t = 1.0
    c = {start}
    i1 = i2 = i3 = 0
"""
CLOSURES = {
    "grab()": """\
    def grab():
        return u * s
""",
    "put(": """\
    def put(b):
        nonlocal t
        t = t * 0.5 + b
        w[1] = b
        return w
""",
}
"""Functions of the program's names, where it calls them."""

TAIL = """\

def arguments():
    return dict(X=np.array([0.5, 1.25, -0.75, 0.9]), Y=np.array([1.1, -0.3, 0.2, 0.7]), k=2)
"""
RESULT = "return u, v, w, p, M, L[0], L[-1], D['a'], D['s'], box.a, box.s, s, t, c"

EXPRESSIONS = {
    "name": ("u", "v", "w", "u", "v", "w", "{row}"),
    "array": ("{name}",) * 8
    + ("{name}[::-1]", "M[{r}]", "L[0]", "L[-1]", "D['a']", "box.a", "same({name})", "maybe({name}, {number})",
       "M.reshape(4, 2)[:, 1]", "X", "np.flip({name})", "M[{r}, ::-1]", "np.asarray({name})", "shifted({name})",
       "({name} if {condition} else {name})", "box.scale(0.5)", "put({number})", "M.T[:, {r}]", "L[{r}]"),
    "new": ("{array} * {number}", "0.5 * ({array} + {array})", "{array} - {number} * {array}", "{array}.copy()",
            "np.sqrt(np.abs({array}))", "np.where({array} > {number}, {array}, {array})", "np.zeros(4)",
            "np.maximum({array}, {array})", "{array} / ({array} * {array} + 1.0)", "halved({array})", "grab()",
            "np.array([{number}, {number}, {number}, {number}], float)", "np.concatenate([p, {array}[:2]])",
            "(lambda a: a * s)({array})", "np.sin({array})", "np.array([e * 0.5 for e in {array}])",
            "np.full(4, 0.5 * {number})", "-{array}", "np.stack([{array}, {array}])[{r}]"),
    "pair": ("p", "{array}[1:3]", "{array}[::2]", "{array}[:2]", "M[:, {i}]",
             "{array}[c % 2 : c % 2 + 2]", "{array}[k - 1 : k + 1]", "p[::-1]"),
    "number": ("{array}[{i}]",) * 6
    + ("s", "t", "s * 0.5", "0.3", "1.5", "X[{i}]", "M[{r}, {i}]", "p[{r}]", "D['s']", "box.s", "k", "c", "{loop}",
       "0.5 * {loop}", "abs({number})", "min({number}, {number})", "sum(e * 0.5 for e in {array})", "float(s)",
       "({number} if {condition} else {number})", "np.sum({array})", "({array} @ {array})"),
    "i": ("0", "1", "2", "3", "-1", "-2", "{loop}", "{loop}", "c", "k", "3 - c", "-{loop}", "c - 1", "{loop} - 1",
          "first_above({array}, {number})"),
    "r": ("0", "1", "-1", "c % 2", "k - 1", "{loop} % 2"),
    "decided": ("{loop} == 1", "c == 1", "{loop} % 2 == 0", "k > 1", "(c + {loop}) % 2", "0 < {loop} < 3", "c < k"),
    "condition": ("{number} > {number}", "{number} < 0.3", "s > t", "{number} > 0.2 and {number} < 0.9", "{decided}",
                  "{decided}", "not {number} > 0.5", "-0.5 < {number} < 0.5", "{decided} or {number} > 1.0",
                  "np.any({array} > 1.0)", "X[{i}] > 0.0", "{decided} and not {decided}"),
    "trips": ("range(3)", "range(3)", "range(k)", "range(1, 4)", "range(3, 0, -1)", "range(c)", "range(0, 4, 2)",
              "reversed(range(3))", "range({loop} + 1)"),
    "place": ("{name}[{i}]", "{name}[{i}]", "{name}[{i}]", "M[{r}, {i}]", "p[{r}]", "L[{r}][{i}]", "D['a'][{i}]",
              "box.a[{i}]"),
    "op": ("+", "-", "*"),
    "scale": ("0.5", "0.25", "0.75"),
}  # fmt: skip
"""Expressions: ``loop`` is the counter of a loop, ``row`` an array that a loop runs over."""

STATEMENTS = {
    "bind": ("{name} = {array}",),
    "new": ("{name} = {new}",),
    "store": ("{place} = {scale} * {number}", "{place} {op}= {scale} * {number}"),
    "part": ("{name}[:] = {new}", "{name}[1:] = {array}[:-1]", "{name}[:2] {op}= {scale} * {name}[2:]",
             "{pair}[:] = {number}", "M[{r}] = {array}", "M[{r}] {op}= {scale} * {array}", "{name}[1:3] = p",
             "{name}[::2] = {pair}", "p[:] = {pair}", "M[:, {i}] = {pair}", "{name}[1:] {op}= {scale} * {name}[:-1]"),
    "update": ("{name} {op}= {scale} * {array}", "{name} *= {scale}", "{name} += {number} * 0.125", "p *= {scale}"),
    "swap": ("{name}, {name} = {name}, {name}", "u, v, w = w, u, v", "u, v = v, u", "L[0], L[-1] = L[-1], L[0]"),
    "exchange": ("{place}, {place} = {place}, {place}", "s, t = t, s", "{name}[:2], {name}[2:] = {name}[2:], p"),
    "number": ("s = {number}", "s += {scale} * {number}", "t = {scale} * t + {number}", "s = t = {number}",
               "D['s'] = {number}", "box.s = {number}"),
    "counter": ("c = (c + 1) % 4", "c = {loop} % 4", "c = 3 - c", "c = k"),
    "pair": ("p = {pair}", "p = p + {pair}", "p = p * {scale}"),
    "list": ("L.append({array})", "L[{r}] = {array}", "L = [a * {scale} for a in ({name}, {name}, {name})]",
             "L = [{name}, {name}]", "L = L[::-1]", "*_, {name} = L", "L.append(L.pop(0))", "{name}, {name} = L[:2]",
             "L = [a for a in L if a is not {name}] + [{name}, {array}]"),
    "object": ("D['a'] = {array}", "D = dict(D, a={array})", "box.take({array})", "box = Box({array}, {number})",
               "box.a = {array}"),
    "call": ("fill({name}, {number})", "fill({pair}, {number})", "fill(M[{r}], {number})", "put({number})",
             "shifted({name})", "shifted({name}[::-1])", "box.scale({scale})"),
    "if": ("if {condition}:{block}", "if {condition}:{block}\nelse:{block}",
           "if {condition}:{block}\nelif {condition}:{block}\nelse:{block}",
           "if (t := {number} * 0.5) > {number}:{block}"),
    "for": ("for {new_loop} in {trips}:{block}", "for {new_loop} in {trips}:{block}", "for {new_row} in M:{block}",
            "for {new_row} in ({array}, {array}):{block}", "for {new_row} in list(L):{block}",
            "for {new_loop}, s in enumerate({array}):{block}", "for s, t in zip({array}, {array}):{block}",
            "for {new_loop}, {new_row} in enumerate(M):{block}", "for {new_loop} in {trips}:{block}\nelse:{after}"),
    "while": ("g{depth} = 0\nwhile g{depth} < {most}:\n    g{depth} += 1{block}",
              "g{depth} = abs({number})\nwhile g{depth} < 2.0:\n    g{depth} = g{depth} + 0.75{block}"),
    "leave": ("if {condition}:\n    {way}", "if {condition}:{block}\n    {way}"),
    "try": ("try:{block}\nfinally:{block}",),
}  # fmt: skip
"""Statements by construct; ``block`` is indented, as is ``after`` a loop; ``way`` is how a block is left."""

CHANGING = re.compile(r"L\.append|L\[.*\] =|box\.(scale|take|a =|s =)|box =|D\['.'\] =|put\(|grab\(")
"""Productions that change lists, dicts, objects and cells. What only a run decides may not."""

ROUNDED = ("np.sin", "np.sum", " @ ")
"""What another order of operations, or another library, may round differently."""

DEEPEST = 3


@dataclass(frozen=True)
class Scope:
    """What a block can name, and how deep it is."""

    depth: int = 0
    in_loop: bool = False
    loops: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()

    def inner(self, in_loop: bool, loops: tuple[str, ...] = (), rows: tuple[str, ...] = ()) -> Scope:
        return Scope(self.depth + 1, in_loop, self.loops + loops, self.rows + rows)


@dataclass
class Writer:
    """Write a program: choose productions until nothing is left to be filled in."""

    choices: Choices
    left: int

    def __post_init__(self) -> None:
        """Weigh the constructs: a program that has much of few shows what one with a little of all hides."""
        weights = {kind: self.pick((1, 0, 1, 3)) for kind in STATEMENTS}
        self.kinds = [k for k, w in weights.items() for _ in range(w)] or ["bind", "store"]
        self.decided, self.changing = self.pick(((False, False), (False, False), (True, True), (False, True)))

    def pick(self, items):
        return items[self.choices.number(0, len(items) - 1)]

    def filled(self, text: str, scope: Scope, size: int = 0) -> str:
        """A production with productions in its places, from left to right."""
        bound: dict[str, tuple[str, ...]] = {}
        while hole := re.search(r"\{(\w+)\}", text):
            name = hole.group(1)
            if name in ("new_loop", "new_row"):
                found = f"{name[4]}{scope.depth + 1}".replace("l", "i")
                bound["loops" if name == "new_loop" else "rows"] = (found,)
            elif name in ("block", "after"):
                inside = scope.inner(
                    in_loop=scope.in_loop or name == "block" and text.startswith(("for", "while", "g")), **bound
                )
                found = "".join("\n    " + line for line in self.block(inside))
            else:
                found = self.hole(name, scope, size + 1)
            text = text[: hole.start()] + found + text[hole.end() :]
        return text

    def hole(self, name: str, scope: Scope, size: int) -> str:
        known = {
            "depth": str(scope.depth + 1),
            "most": self.pick("234"),
            "loop": self.pick(scope.loops or ("c",)),
            "row": self.pick(scope.rows or ("w",)),
            "way": self.pick(("break", "continue", RESULT) if scope.in_loop else (RESULT,)),
        }
        if name in known:
            return known[name]
        return self.filled(self.expression(name, size), scope, size)

    def expression(self, name: str, size: int) -> str:
        """Expressions in expressions in expressions are short ones."""
        if name == "condition" and self.decided and size < 2:
            name = "decided"
        options = self.allowed(EXPRESSIONS[name])
        short = [o for o in options if not re.search("{(array|number|name|condition)}.*{", o)]
        return self.pick(options if size < 4 else short or options)

    def block(self, scope: Scope) -> Iterator[str]:
        """The lines of one to three statements."""
        for k in range(3):
            if k and (self.left <= 0 or self.choices.number(0, 99) > 65):
                return
            yield from self.statement(scope)

    def statement(self, scope: Scope) -> list[str]:
        self.left -= 1
        kind = self.pick(self.kinds)
        if self.left < 0 or scope.depth >= DEEPEST and kind in ("if", "for", "while", "leave", "try"):
            kind = self.pick(("bind", "store"))
        options = self.allowed(STATEMENTS[kind]) or STATEMENTS["store"]
        return self.filled(self.pick(options), scope).split("\n")

    def allowed(self, options: tuple[str, ...]) -> tuple[str, ...]:
        """What the program may do: change objects, or go on where only a run decides; some do both, and are refused."""
        if not self.changing:
            options = tuple(o for o in options if not CHANGING.search(o))
        return tuple(o for o in options if not (self.decided and "g{depth} = abs" in o))

    def program(self) -> str:
        """The text of a module."""
        body = self.statement(Scope())
        while self.left > 0:
            body += self.statement(Scope())
        text = "".join(f"    {line}\n" for line in [*body, RESULT])
        head = HEAD.replace("{start}", self.pick(("1", "k - 1"))).replace("{zero}", self.pick(("0", "X[0]")))
        return head + "".join(f for call, f in CLOSURES.items() if call in text) + text + TAIL


@st.composite
def programs(draw, size: int = 10) -> str:
    """Texts of programs with about as many statements."""
    return Writer(Drawn(draw), size).program()


def sample(seed: int, size: int = 10) -> str:
    """One program: the same for the same seed."""
    return Writer(Seeded(random.Random(seed)), size).program()


# Checks --------------------------------------------------------------------------------------------------


def moved(arguments: dict) -> dict:
    """Other arguments, for which conditions have other outcomes."""
    return {n: 3 - v if isinstance(v, int) else -0.75 * v[::-1] for n, v in arguments.items()}


def run(function, arguments: dict) -> list[np.ndarray]:
    """What a program returns, from copies of its arguments."""
    with np.errstate(all="ignore"):
        given = {n: np.copy(v) if isinstance(v, np.ndarray) else v for n, v in arguments.items()}
        return [np.array(part) for part in function(**given)]


def outcome(program: str) -> str | None:
    """What is wrong with the values of a recorded program: ``refused: ..``, ``value: ..``, ``crash: ..``; or None."""
    with tempfile.TemporaryDirectory(prefix="sdgrad_random_") as folder:
        module = load(program, Path(folder))
        both = [module.arguments(), moved(module.arguments())]
        wanted = [run(module.program, given) for given in both]
        try:
            recorded = sdgrad.compile_forward(module.program)
            found = [run(recorded, given) for given in both]
        except ParseError as error:
            return f"refused: {error}"
        except Exception as error:  # noqa: BLE001 (whatever is raised is a finding)
            last = traceback.extract_tb(error.__traceback__)[-1]
            return f"crash: {type(error).__name__} in {last.name} of {Path(last.filename).name}: {error}"
    exact = not any(word in program for word in ROUNDED)
    return next((w for pair in zip(found, wanted, strict=True) if (w := difference(*pair, exact))), None)


def difference(found: list[np.ndarray], wanted: list[np.ndarray], exact: bool) -> str | None:
    for k, (one, other) in enumerate(zip(found, wanted, strict=True)):
        same = np.array_equal if exact else np.allclose
        tolerance = {} if exact else {"rtol": 1e-12, "atol": 1e-12}
        if one.shape != other.shape or not same(one, other, equal_nan=True, **tolerance):
            return f"value: of result {k}, found {one.tolist()}, NumPy has {other.tolist()}"
    return None
