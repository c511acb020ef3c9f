"""Stores in generated code that go around the cache (:mod:`sdgrad.optimize.locality.nontemporal_stores` says which).

Compilers have no word for them that could stand in any loop. So a loop runs part by part: each part is written to a few
lines of memory on the stack, by a loop that is compiled as ever, and from there to where it belongs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sdgrad.config import config
from sdgrad.program.naming import STREAMED
from sdgrad.runtime.compile.simd import closing_line

STORE = re.compile(rf"^(\s*)(\w+)\[(.+)\] = ({STREAMED}\d+_*);$")
LOOP = re.compile(r"^(\s*)for \((\w+) (\w+) = (.+?); \3 < (.+?); \3 \+= 1\) \{$")
DECLARED = r"^\s*([\w:<>]+(?: [\w:<>]+)*) {};$"
PRAGMA = re.compile(r"^\s*#pragma omp parallel")


def around_caches(code: str) -> str:
    """Generated C++ with marked stores as such, where they stand in a simple loop."""
    lines = code.split("\n")
    for k in reversed([k for k, line in enumerate(lines) if LOOP.match(line)]):
        end = closing_line(lines, k)
        body = lines[k + 1 : end]
        if any(STORE.match(line) for line in body) and not any(LOOP.match(line) for line in body):
            lines[k : end + 1] = _in_parts(lines[k : end + 1], k > 0 and PRAGMA.match(lines[k - 1]) is not None)
    return "\n".join(lines)


def _in_parts(loop: Sequence[str], shared: bool) -> list[str]:
    """A loop part by part.

    :param shared: threads share out its trips: then parts have one length.
    """
    head = LOOP.match(loop[0])
    assert head is not None
    indent, kind, at, first, stop = head.groups()
    start, end = f"{at}_part", f"{at}_end"
    body, buffers, ends = list(loop[1:-1]), [], []
    for k, line in enumerate(body):
        if (found := STORE.match(line)) is None:
            continue
        declared = [d for x in body if (d := re.match(DECLARED.format(found[4]), x))]
        if len(declared) != 1:
            return list(loop)
        begin = re.sub(rf"\b{at}\b", start, found[3])
        place = f"&{found[2]}[{begin}]"
        buffer = f"{found[4]}_{at}"
        buffers.append((f"{indent}    alignas(64) {declared[0][1]} {buffer}[{config.machine.streamed_part}];", place))
        body[k] = f"{found[1]}{buffer}[{at} - {start}] = {found[4]};"
        ends.append(f"{indent}    sdgrad::stream({place}, {buffer}, {end} - {start});")
    aligned = f"sdgrad::part_end({buffers[0][1]}, {start}, {stop}, {config.machine.streamed_part})"
    fixed = f"{start} + {config.machine.streamed_part} < {stop} ? {start} + {config.machine.streamed_part} : {stop}"
    step = f"{start} += {config.machine.streamed_part}" if shared else ""
    return [
        f"{indent}for ({kind} {start} = {first}; {start} < {stop}; {step}) {{",
        f"{indent}    const {kind} {end} = {fixed if shared else aligned};",
        *(declaration for declaration, _ in buffers),
        f"{indent}    for ({kind} {at} = {start}; {at} < {end}; {at} += 1) {{",
        *body,
        f"{indent}    }}",
        *ends,
        *([f"{indent}    sdgrad::streamed();"] if shared else [f"{indent}    {start} = {end};"]),
        f"{indent}}}",
        *([] if shared else [f"{indent}sdgrad::streamed();"]),
    ]
