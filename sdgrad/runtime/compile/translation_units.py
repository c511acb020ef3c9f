"""Divide large generated programs into files that compile side by side.

Their functions (:mod:`sdgrad.program.outlining`) move to files of their own, and are known by declarations elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

PART = re.compile(
    r"^#ifndef (PART_\w+)\n#define \1\n(static(?: __attribute__\(\(noinline\)\))?) (void \w+\([^\n]*\))\n"
    r".*?^\}\n#endif\n",
    re.M | re.S,
)
"""A function that may move: others are a part of loops, and inline."""
ELSEWHERE = '__attribute__((weak, visibility("hidden")))'
"""Other programs in the same library may have the same function."""
LINES, MOST = 400, 8
"""Lines of a file at least, and files of a program at most; more cores make no other code."""


def divided(code: str) -> list[str]:
    """Return a program as files: the program first; the program alone if it is small."""
    parts = list(PART.finditer(code))
    count = min(MOST, sum(p[0].count("\n") for p in parts) // LINES, len(parts))
    if count < 2:
        return [code]
    files = _shares([p[0] for p in parts], count)
    declared = "".join(f"{ELSEWHERE} {p[3]};\n" for p in parts)
    before = code[: parts[0].start()]
    inline = PART.sub("", code[parts[0].start() : parts[-1].end()])  # what is between them
    behind = code[parts[-1].end() :]
    moved = [PART.sub(lambda p: p[0].replace(p[2], ELSEWHERE, 1), "".join(own)) for own in files]
    return [f"{before}{declared}{inline}{own}{'' if k else behind}" for k, own in enumerate(moved)]


def _shares(texts: Sequence[str], count: int) -> list[list[str]]:
    """Divide texts among files, so that all have about as many lines; the order within a file stays."""
    lengths, found = [0] * count, {}
    for text in sorted(texts, key=lambda t: -t.count("\n")):
        file = min(range(count), key=lambda k: lengths[k])
        lengths[file] += text.count("\n")
        found[text] = file
    return [[t for t in texts if found[t] == k] for k in range(count)]
