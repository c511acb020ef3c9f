"""Generate non-temporal stores (:mod:`sdgrad.optimize.locality.nontemporal_stores` marks them).

Compilers have no portable pragma for them. So the loop is strip-mined: an ordinary loop writes each strip to a buffer
on the stack, and streaming instructions copy it from there (``sdgrad_stream.h``)::

    for (i = 0; i < n; i += 1) {        for (i_part = 0; i_part < n; i_part += 512) {
        y[i] = v;                           double v_i[512];
    }                                       for (i = i_part; i < i_end; i += 1) { v_i[i - i_part] = v; }
                                            sdgrad::stream(&y[i_part], v_i, i_end - i_part);
                                        }

Declines for loops that are not of this form.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sdgrad.config import config
from sdgrad.program.naming import STREAMED
from sdgrad.runtime.compile.simd import closing_line

STORE = re.compile(rf"^(\s*)(\w+)\[(.+)\] = ({STREAMED}\d+_*);$")
LOOP = re.compile(r"^(\s*)for \((\w+) (\w+) = (.+?); \3 < (.+?); \3 \+= 1\) \{$")
DECLARED = r"^\s*([\w:<>]+(?: [\w:<>]+)*) {};$"
PRAGMA = re.compile(r"^\s*#pragma omp parallel")


def around_caches(code: str) -> str:
    """Strip-mine the innermost loops of generated C++ that have marked stores."""
    lines = code.split("\n")
    for k in reversed([k for k, line in enumerate(lines) if LOOP.match(line)]):
        end = closing_line(lines, k)
        body = lines[k + 1 : end]
        if any(STORE.match(line) for line in body) and not any(LOOP.match(line) for line in body):
            lines[k : end + 1] = _in_parts(lines[k : end + 1], k > 0 and PRAGMA.match(lines[k - 1]) is not None)
    return "\n".join(lines)


@dataclass(frozen=True)
class Streamed:
    """A marked store in a loop: its line in the body, the element type, the target, the subscript and the value."""

    line: int
    indent: str
    dtype: str
    target: str
    index: str
    value: str

    def place(self, counter: str, start: str) -> str:
        """Return the address of the strip's first element."""
        begin = re.sub(rf"\b{counter}\b", start, self.index)
        return f"&{self.target}[{begin}]"


def _stores(body: Sequence[str]) -> list[Streamed] | None:
    """List the marked stores of a body; None if a value is not declared once in it."""
    found = []
    for k, line in enumerate(body):
        if (store := STORE.match(line)) is None:
            continue
        declared = [d for x in body if (d := re.match(DECLARED.format(store[4]), x))]
        if len(declared) != 1:
            return None
        found.append(Streamed(k, store[1], declared[0][1], store[2], store[3], store[4]))
    return found


def _in_parts(loop: Sequence[str], shared: bool) -> list[str]:
    """Strip-mine a loop; unchanged if a value is not declared in it.

    :param shared: True if threads share the iterations. Then strips have one length; else they end at cache lines.
    """
    head, body = LOOP.match(loop[0]), list(loop[1:-1])
    assert head is not None
    stores = _stores(body)
    if stores is None:
        return list(loop)
    indent, kind, at, first, stop = head.groups()
    start, end, length = f"{at}_part", f"{at}_end", config.machine.streamed_part
    for s in stores:
        body[s.line] = f"{s.indent}{s.value}_{at}[{at} - {start}] = {s.value};"
    aligned = f"sdgrad::part_end({stores[0].place(at, start)}, {start}, {stop}, {length})"
    fixed = f"{start} + {length} < {stop} ? {start} + {length} : {stop}"
    step = f"{start} += {length}" if shared else ""
    return [
        f"{indent}for ({kind} {start} = {first}; {start} < {stop}; {step}) {{",
        f"{indent}    const {kind} {end} = {fixed if shared else aligned};",
        *(f"{indent}    alignas(64) {s.dtype} {s.value}_{at}[{length}];" for s in stores),
        f"{indent}    for ({kind} {at} = {start}; {at} < {end}; {at} += 1) {{",
        *body,
        f"{indent}    }}",
        *(f"{indent}    sdgrad::stream({s.place(at, start)}, {s.value}_{at}, {end} - {start});" for s in stores),
        *([f"{indent}    sdgrad::streamed();"] if shared else [f"{indent}    {start} = {end};"]),
        f"{indent}}}",
        *([] if shared else [f"{indent}sdgrad::streamed();"]),
    ]
