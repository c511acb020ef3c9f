"""The text of the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import scipy

from .facts import Facts, rows
from .libraries import LIBRARIES, has, version
from .sections import Section, sections, without_rule

PAGE = Path(__file__).resolve().parents[3] / "docs" / "functions.md"
ENDING = Path(__file__).with_name("ending.md")
HEAD = Path(__file__).with_name("beginning.md")


@cache
def _rows() -> dict[str, list[Facts]]:
    return {s.title: rows(s) for s in sections()}


def _table(head: str, body: Iterable[str]) -> str:
    return "\n".join([head, "|" + "---|" * (head.count("|") - 1), *body]) + "\n"


def _mark(chosen: bool) -> str:
    return "yes" if chosen else ""


def _counts() -> Iterator[str]:
    total = [0] * 6
    for s in sections():
        found = _rows()[s.title]
        theirs = [{f.name for f in found if has(library, s.module, f.name)} for library in LIBRARIES]
        here = {f.name for f in found if f.here}
        counts = [len(found), len(here), len([f for f in found if f.gradient == "yes"]), *map(len, theirs)]
        counts.append(len(theirs[0] - here))
        total = [a + b for a, b in zip(total, counts, strict=True)]
        yield f"| [{s.title}](#{_anchor(s.title)}) | {' | '.join(map(str, counts))} |"
    yield f"| all | {' | '.join(map(str, total))} |"


def _anchor(title: str) -> str:
    return title.replace(".", "").replace(":", "").replace(" ", "-").lower()


def _row(section: Section, found: Facts) -> str:
    marks = [_mark(has(library, section.module, found.name)) for library in LIBRARIES]
    cells = [f"`{found.name}`", found.gradient or "no", found.orders, "; ".join(found.notes), *marks]
    return f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |")


def _section(section: Section) -> str:
    head = "| function | gradient | orders | differs, or is refused | JAX | autograd |"
    return f"## {section.title}\n\n" + _table(head, [_row(section, f) for f in _rows()[section.title]])


def _no_rule() -> str:
    lines = [f"- **{about}**: {', '.join(f'`{n}`' for n in names)}" for about, names in without_rule().items() if names]
    return "## Without a rule\n\nThese functions of NumPy need no rule of their own:\n\n" + "\n".join(lines) + "\n"


def page() -> str:
    """The page as it should be."""
    head = "| module | functions | here | with a gradient | in JAX | in autograd | in JAX, and not here |"
    parts = [
        HEAD.read_text().format(version=version(), numpy=np.__version__, scipy=scipy.__version__)
        + _table(head, _counts())
    ]
    parts += [_section(s) for s in sections()]
    return "\n".join([*parts, _no_rule(), ENDING.read_text()])
