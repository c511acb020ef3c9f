"""Loops in generated code that the compiler may compute in lanes.

C++ fixes the order in which numbers are added, and with it one addition at a time, which takes four cycles. DaCe says
of a reduction only that its order is free. Here this reaches the compiler: a loop over which a local number collects a
sum, a product or an extreme gets ``#pragma omp simd reduction`` (OpenMP 5.0, 2.11.3). The order is another one, and the
same in every run. The instances of a parallel map do not meet; the compiler cannot see that where arrays are many or
where one is written in several places, and asks at run time: ``#pragma GCC ivdep`` says it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sdgrad.config import config
from sdgrad.program.naming import APART

REDUCE = re.compile(
    r"^(\s*)dace::wcr_fixed<dace::ReductionType::(Sum|Product|Max|Min), (float|double|int32_t|int64_t)>"
    r"::reduce\(&(\w+), (\w+)\);$"
)
ELEMENT = re.compile(r"^\s*dace::wcr_fixed<.*>::reduce\(\w+ \+ .*, \w+\);$")
LOOP = re.compile(r"^(\s*)for \([^;]*;[^;]*;[^;]*\) \{$")
SHORT = re.compile(r"for \(\w+ \w+ = (\d+); \w+ < (\d+); ")
ASSIGNED = re.compile(r"^\s*(\w+) = ")
DECLARED = re.compile(r"^\s*(?:[\w:]+ )+(\w+)(?: = .*)?;$")
FORBIDDEN = re.compile(r"\b(for|while|do|if|goto|break|return|continue)\b|#pragma|__state|reduce\w*\(")
PARALLEL = re.compile(r"^(\s*#pragma omp parallel for)(?! simd)\b")
OBJECT = re.compile(r"^\s*dace::complex\w+ \w+(?: = .*)?;$")
"""A number of two parts: in a loop that is told to have lanes, GCC keeps one for each lane in memory."""
IVDEP = "#pragma GCC ivdep"
TASKLET = re.compile(rf"^\s*// Tasklet code \(\w+{APART}\)$")
OPERATORS = {"Sum": "+", "Product": "*", "Max": "max", "Min": "min"}
UPDATES = {
    "Sum": "{0} = {0} + {1};",
    "Product": "{0} = {0} * {1};",
    "Max": "{0} = {0} > {1} ? {0} : {1};",
    "Min": "{0} = {0} < {1} ? {0} : {1};",
}


def in_lanes(code: str) -> str:
    """Generated C++ with its parallel loops marked, and its reductions where their loops do nothing that forbids it."""
    lines = code.split("\n")
    for k in [k for k, line in enumerate(lines) if TASKLET.match(line)]:
        start = _loop_around(lines, k)
        if start is not None and PARALLEL.match(lines[start - 1]):
            if any(map(OBJECT.match, lines[start : closing_line(lines, start)])):
                continue
            lines[start - 1] = PARALLEL.sub(r"\1 simd", lines[start - 1])
        elif start is not None and not lines[start - 1].lstrip().startswith("#"):
            lines[start] = f"{LOOP.match(lines[start])[1]}{IVDEP}\n{lines[start]}"  # type: ignore[index]
    lines = "\n".join(lines).split("\n")
    for k in [k for k, line in enumerate(lines) if REDUCE.match(line)]:
        start = _loop_around(lines, k)
        pragma = "" if start is None else lines[start - 1].strip()
        if start is not None and REDUCE.match(lines[k]) and (pragma == IVDEP or not pragma.startswith("#")):
            _mark(lines, start, closing_line(lines, start), pragma == IVDEP)
    return "\n".join(lines)


def _loop_around(lines: Sequence[str], at: int) -> int | None:
    """The line that opens the innermost loop around another one."""
    depth = 0
    for k in range(at - 1, -1, -1):
        depth += lines[k].count("}") - lines[k].count("{")
        if depth < 0:
            if LOOP.match(lines[k]):
                return k
            if lines[k].strip() != "{":
                return None
            depth = 0
    return None


def closing_line(lines: Sequence[str], start: int) -> int:
    """The line that closes what another one opens."""
    depth = 0
    for k in range(start, len(lines)):
        depth += lines[k].count("{") - lines[k].count("}")
        if depth == 0:
            return k
    return len(lines)


def _mark(lines: list[str], start: int, end: int, apart: bool) -> None:
    """Rewrite the reductions of a loop, unless something else in it must keep its order.

    :param apart: its instances add to different elements of arrays.
    """
    body = range(start + 1, end)
    found = {k: m for k in body if (m := REDUCE.match(lines[k]))}
    names = {m[4] for m in found.values()}
    rest = [lines[k] for k in body if k not in found and not (apart and ELEMENT.match(lines[k]))]
    declared = {m[1] for line in rest if (m := DECLARED.match(line))}
    assigned = {m[1] for line in rest if (m := ASSIGNED.match(line))}
    mentioned = set(re.findall(r"\w+", "\n".join(rest)))
    if any(FORBIDDEN.search(line) for line in rest) or assigned - declared or names & mentioned or names & declared:
        return
    if len(found) != len(names) or _is_short(lines[start]):
        return
    for k, m in found.items():
        lines[k] = m[1] + UPDATES[m[2]].format(m[4], m[5])
    indent = LOOP.match(lines[start])[1]  # type: ignore[index]
    clauses = " ".join(f"reduction({OPERATORS[m[2]]}: {m[4]})" for m in found.values())
    if apart:
        lines[start - 1] = ""
    lines[start] = f"{indent}#pragma omp simd {clauses}\n{lines[start]}"


def _is_short(loop: str) -> bool:
    found = SHORT.search(loop)
    return found is not None and int(found[2]) - int(found[1]) < config.machine.simd_trips
