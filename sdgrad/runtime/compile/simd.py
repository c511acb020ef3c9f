"""Mark loops of generated C++ for vectorization: reductions by OpenMP's ``simd``, parallel loops by GCC's ``ivdep``.

C++ fixes the order of floating-point additions, so a sum takes the latency of an addition (four cycles) for each term.
The reductions of a program may be reordered; the pragma tells the compiler (OpenMP 5.0, 2.11.3)::

    for (int i = 0; i < n; i += 1) {            #pragma omp simd reduction(+: acc)
        ..                                      for (int i = 0; i < n; i += 1) {
        ..::reduce(&acc, v);                        ..
    }                                               acc = acc + v;
                                                }

The order is the same in every run. The instances of a parallel map are independent. The compiler cannot prove that for
many arrays and would test for overlap at run time; ``#pragma GCC ivdep`` asserts it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sdgrad.config import config
from sdgrad.program.naming import APART

EXTREME = re.compile(r"dace::wcr_fixed<dace::ReductionType::(Max|Min), (float|double|dace::float16)>::reduce\(")
REDUCE = re.compile(
    r"^(\s*)(?:dace::wcr_fixed<dace::ReductionType::(?P<kind>Sum|Product|Max|Min), (?:float|double|int32_t|int64_t)>"
    r"::reduce|(?P<own>\w+)_into<(?:float|double)>)\(&(?P<into>\w+), (?P<value>\w+)\);$"
)
ELEMENT = re.compile(r"^\s*(?:dace::wcr_fixed<.*>::reduce|\w+_into<\w+>)\(\w+ \+ .*, \w+\);$")
LOOP = re.compile(r"^(\s*)for \([^;]*;[^;]*;[^;]*\) \{$")
SHORT = re.compile(r"for \(\w+ \w+ = (\d+); \w+ < (\d+); ")
ASSIGNED = re.compile(r"^\s*(\w+) = ")
DECLARED = re.compile(r"^\s*(?:[\w:]+ )+(\w+)(?: = .*)?;$")
FORBIDDEN = re.compile(r"\b(for|while|do|if|goto|break|return|continue)\b|#pragma|__state|reduce\w*\(|_into<")
PARALLEL = re.compile(r"^(\s*#pragma omp parallel for)(?! simd)\b")
OBJECT = re.compile(r"^\s*dace::complex\w+ \w+(?: = .*)?;$")
"""The declaration of a complex number: in a ``simd`` loop GCC keeps an array of them in memory, one for each lane."""
IVDEP = "#pragma GCC ivdep"
TASKLET = re.compile(rf"^\s*// Tasklet code \(\w+{APART}\)$")
OPERATORS = {"Sum": "+", "Product": "*", "Max": "max", "Min": "min"}
UPDATES = {
    "Sum": "{0} = {0} + {1};",
    "Product": "{0} = {0} * {1};",
    "Max": "{0} = {0} > {1} ? {0} : {1};",
    "Min": "{0} = {0} < {1} ? {0} : {1};",
    "sdgrad_maximum": "{0} = sdgrad_maximum({0}, {1});",
    "sdgrad_minimum": "{0} = sdgrad_minimum({0}, {1});",
}


def keeping_nan(code: str) -> str:
    """Replace DaCe's reductions to extremes, which lose what is not a number."""
    return EXTREME.sub(lambda m: f"sdgrad_{m[1].lower()}imum_into<{m[2]}>(", code)


def in_lanes(code: str) -> str:
    """Mark the parallel loops of generated C++, and the reductions whose loops allow another order."""
    lines = code.split("\n")
    for k in [k for k, line in enumerate(lines) if TASKLET.match(line)]:
        start = _loop_around(lines, k)
        if start is not None:
            _mark_parallel(lines, start)
    lines = "\n".join(lines).split("\n")
    for k in [k for k, line in enumerate(lines) if REDUCE.match(line)]:
        start = _loop_around(lines, k)
        if start is not None and REDUCE.match(lines[k]):
            _mark_reductions(lines, start)
    return "\n".join(lines)


def _loop_around(lines: Sequence[str], at: int) -> int | None:
    """Find the line that opens the innermost loop around a line; None if a branch or function is in between."""
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
    """Find the line that closes the block that a line opens."""
    depth = 0
    for k in range(start, len(lines)):
        depth += lines[k].count("{") - lines[k].count("}")
        if depth == 0:
            return k
    return len(lines)


def _mark_parallel(lines: list[str], start: int) -> None:
    """Mark a loop over independent instances: ``simd`` if threads share it, ``ivdep`` if it has no pragma."""
    before = lines[start - 1]
    if PARALLEL.match(before):
        if not any(map(OBJECT.match, lines[start : closing_line(lines, start)])):
            lines[start - 1] = PARALLEL.sub(r"\1 simd", before)
    elif not before.lstrip().startswith("#"):
        lines[start] = f"{_indent(lines[start])}{IVDEP}\n{lines[start]}"


def _mark_reductions(lines: list[str], start: int) -> None:
    """Rewrite the reductions of a loop for ``simd``; unchanged if another statement depends on their order."""
    pragma = lines[start - 1].strip()
    independent = pragma == IVDEP  # then instances add to different elements of arrays
    if pragma.startswith("#") and not independent or _is_short(lines[start]):
        return
    body = range(start + 1, closing_line(lines, start))
    found = {k: m for k in body if (m := REDUCE.match(lines[k]))}
    rest = [lines[k] for k in body if k not in found and not (independent and ELEMENT.match(lines[k]))]
    if not _allows_another_order([m["into"] for m in found.values()], rest):
        return
    for k, m in found.items():
        lines[k] = m[1] + UPDATES[m["own"] or m["kind"]].format(m["into"], m["value"])
    clauses = " ".join(f"reduction({m['own'] or OPERATORS[m['kind']]}: {m['into']})" for m in found.values())
    if independent:
        lines[start - 1] = ""
    lines[start] = f"{_indent(lines[start])}#pragma omp simd {clauses}\n{lines[start]}"


def _allows_another_order(accumulators: Sequence[str], rest: Sequence[str]) -> bool:
    """True if each accumulator has one update, and the rest of the body is straight-line code on names of its own."""
    names = set(accumulators)
    declared = {m[1] for line in rest if (m := DECLARED.match(line))}
    assigned = {m[1] for line in rest if (m := ASSIGNED.match(line))}
    mentioned = set(re.findall(r"\w+", "\n".join(rest)))
    if len(accumulators) != len(names) or names & (mentioned | declared):
        return False
    return assigned <= declared and not any(map(FORBIDDEN.search, rest))


def _indent(loop: str) -> str:
    """Return the white space before a loop."""
    found = LOOP.match(loop)
    assert found is not None
    return found[1]


def _is_short(loop: str) -> bool:
    """True if a loop is known to have too few iterations for lanes to pay."""
    found = SHORT.search(loop)
    return found is not None and int(found[2]) - int(found[1]) < config.machine.simd_trips
