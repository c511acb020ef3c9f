"""The tree of a program, and its text: a module with the functions ``program`` and ``arguments``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass
class Compound:
    """``header`` and an indented body."""

    header: str
    body: Block


Block = list["str | Compound"]

HELPERS = {
    "blend": "def blend(p, q):\n    return np.tanh(p * q) + 0.5 * p\n",
    "bump": "def bump(p):\n    t = np.sin(p)\n    return t * p\n",
    "twice": "def twice(p, q):\n    return blend(bump(p), q)\n",
    "total": (
        "def total(V, c):\n    t = 0.0\n    for e in range(V.shape[0]):\n        t += np.sin(V[e]) * c\n    return t\n"
    ),
    "relax": (
        "def relax(V, c):\n    for e in range(1, V.shape[0]):\n        V[e] = 0.5 * V[e] + np.sin(c * V[e - 1])\n"
    ),
}

ARGUMENTS = ("A", "B", "C", "X", "Y", "Z", "s", "r", "k", "mode", "idx", "start")


def lines(block: Block, indent: int = 1) -> Iterator[str]:
    """The text of statements."""
    for statement in block:
        if isinstance(statement, str):
            yield "    " * indent + statement
        else:
            yield "    " * indent + statement.header
            yield from lines(statement.body, indent + 1)


def makers(n: int, m: int, seed: int) -> dict[str, str]:
    """Expressions that make the arguments; each has random numbers of its own, so that one can be left out."""
    low = min(n, m)
    shapes = {"A": (n, m), "B": (n, m), "C": (m, n), "X": n, "Y": m, "Z": n}
    found = {}
    for k, name in enumerate(ARGUMENTS):
        rng = f"np.random.default_rng({100 * seed + k})"
        if name in shapes:
            found[name] = f"{rng}.uniform(-1.0, 1.0, {shapes[name]})"
        elif name in ("s", "r"):
            found[name] = f"float({rng}.uniform(-1.0, 1.0))"
    found["k"] = str(1 + seed % (low - 1))
    found["mode"] = str(seed % 4)
    found["idx"] = f"np.random.default_rng({100 * seed + 50}).integers(0, {low}, {n})"
    found["start"] = f"np.sort(np.random.default_rng({100 * seed + 51}).integers(0, {low + 1}, {n + 1}))"
    return found


def names_in(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", text))


def used(names: Iterable[str], text: str) -> list[str]:
    known = names_in(text)
    return [n for n in names if n in known]


def with_helpers(text: str) -> str:
    """A function, after the functions it calls."""
    needed = set(used(HELPERS, text))
    for name in reversed(HELPERS):  # a helper calls earlier ones only
        if name in needed:
            needed |= set(used(HELPERS, HELPERS[name]))
    return "\n\n".join([*(HELPERS[n] for n in HELPERS if n in needed), text])


def module(block: Block, n: int, m: int, seed: int) -> str:
    """The module of a program with these statements."""
    body = "\n".join(lines(block))
    taken = used(ARGUMENTS, body)
    made = makers(n, m, seed)
    program = with_helpers(f"def program({', '.join(taken)}):\n{body}\n")
    entries = "".join(f"        {name}={made[name]},\n" for name in taken)
    return f"import numpy as np\n\n\n{program}\n\ndef arguments():\n    return dict(\n{entries}    )\n"
