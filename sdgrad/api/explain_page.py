"""Write an explanation as one HTML page: the summary, the bytes, and the program beside its adjoint."""

from __future__ import annotations

import html
from collections.abc import Iterable

from sdgrad.api.explain_statements import AGAIN, FREE, STORED, UNDONE, Statement, Value
from sdgrad.api.memory_picture import svg
from sdgrad.memory.report import Timeline

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 78rem; padding: 0 1rem; color: #1c2430; }
h1 { font-size: 1.4rem; }
code, pre { font: 13px/1.4 ui-monospace, monospace; }
pre { margin: 0; white-space: pre-wrap; }
table { border-collapse: collapse; width: 100%; table-layout: fixed; }
td, th { border-top: 1px solid #d4dae3; padding: .5rem; text-align: left; vertical-align: top; width: 50%; }
.line { font-weight: 600; }
.where { color: #66707f; font-size: .85rem; }
ul { margin: .3rem 0; padding-left: 1.2rem; }
.stored { color: #a8320c; }
.free { color: #1c7a3f; }
.again { color: #8a6100; }
.idle td { color: #8a93a1; }
summary { cursor: pointer; color: #66707f; font-size: .85rem; }
input { font: inherit; width: 20rem; max-width: 100%; padding: .3rem .5rem; }
@media (prefers-color-scheme: dark) {
  body { background: #14181f; color: #dde3ec; }
  td, th { border-color: #333c49; }
  .stored { color: #ff9a76; } .free { color: #7fd49b; } .again { color: #e2bd5c; }
}
"""
SEARCH = """
document.getElementById("search").addEventListener("input", function (event) {
  var wanted = event.target.value.toLowerCase();
  document.querySelectorAll("tr.statement").forEach(function (row) {
    row.hidden = !row.textContent.toLowerCase().includes(wanted);
  });
});
"""
"""Hides the statements that do not have the text in the field."""
CLASSES = {STORED: "stored", FREE: "free", AGAIN: "again", UNDONE: "again"}


def page(title: str, summary: Iterable[str], drawn: str, tape: Iterable[Value], statements: Iterable[Statement]) -> str:
    """Return one HTML page without anything from outside.

    :param summary: lines about the whole.
    :param drawn: what :func:`picture` returns; nothing where bytes are not known.
    """
    head = f"<title>{html.escape(title)}</title><style>{STYLE}</style>"
    lines = "".join(f"<li>{html.escape(line.strip())}</li>" for line in summary)
    kept = "".join(f"<li class='stored'>{html.escape(str(v))}</li>" for v in tape)
    rows = "\n".join(map(_row, statements))
    return (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'>{head}</head>"
        f"<body><h1>{html.escape(title)}</h1><ul>{lines}</ul><ul>{kept}</ul>{drawn}"
        "<p>Statements run down on the left; their adjoints run up on the right. "
        "<label>Show statements with <input id='search' type='search'></label></p>"
        f"<table><tr><th>program</th><th>its adjoint</th></tr>\n{rows}\n</table>"
        f"<script>{SEARCH}</script></body></html>\n"
    )


def picture(memory: Timeline, limit: int | None) -> str:
    """Return the picture of the bytes over the program."""
    most = memory.always + int(memory.live.max(initial=0))
    within = f", of a limit of {limit:,}" if limit is not None else ""
    head = f"<p>Memory beside the arguments, at most {most:,} bytes{within}; forward, then backward:</p>"
    return head + svg(memory, limit)


def _row(s: Statement) -> str:
    """Return a statement and its adjoint as a row of the page's table; their code is folded."""
    left = (
        f"<div class='line'><code>{html.escape(s.line)}</code></div><div class='where'>{html.escape(s.place)}</div>"
        f"{_folded(s.primal)}"
    )
    if not s.active:
        return f"<tr class='statement idle'><td>{left}</td><td>no derivative passes</td></tr>"
    needs = "".join(f"<li class='{CLASSES[v.how]}'>{html.escape(str(v))}</li>" for v in s.values)
    right = f"<ul>{needs or '<li>needs no value</li>'}</ul><div class='where'>{html.escape(s.schedule)}</div>"
    return f"<tr class='statement'><td>{left}</td><td>{right}{_folded(s.adjoint)}</td></tr>"


def _folded(code: tuple[str, ...]) -> str:
    """Return code that a click unfolds."""
    if not code:
        return ""
    name = f"{len(code)} line{'s' * (len(code) > 1)} of code"
    return f"<details><summary>{name}</summary><pre>{html.escape(chr(10).join(code))}</pre></details>"
