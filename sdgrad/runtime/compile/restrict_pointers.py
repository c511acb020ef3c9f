"""Pointers of a program's state as local ones: what is stored through others cannot change them.

Bytes may be part of anything, in C++: after a store to an array of them the compiler reads every pointer of the state
again, and a loop that does so is not computed in lanes.
"""

from __future__ import annotations

import re

STATE = re.compile(r"^struct \w+_state_t \{\n(.*?)^\};", re.M | re.S)
FIELD = re.compile(r"^\s*([\w:]+) \* __restrict__ (\w+);$", re.M)
INTERNAL = re.compile(r"^(void __program_\w+_internal\([^\n]*\)\n\{\n)(.*?)(^\}$)", re.M | re.S)


def local_pointers(code: str) -> str:
    """Generated C++ whose main function reads the pointers of its state once."""
    state = STATE.search(code)
    types = {name: kind for kind, name in FIELD.findall(state[1])} if state is not None else {}

    def local(found: re.Match) -> str:
        given = set(re.findall(r"__state->(\w+) = ", found[2]))  # memory, on the way
        used = sorted((set(re.findall(r"__state->(\w+)", found[2])) & types.keys()) - given)
        head = "".join(f"    {types[n]} * const {n} = __state->{n};\n" for n in used)
        body = re.sub(r"__state->(\w+)", lambda m: m[1] if m[1] in used else m[0], found[2])
        return f"{found[1]}{head}{body}{found[3]}"

    return INTERNAL.sub(local, code, count=1)
