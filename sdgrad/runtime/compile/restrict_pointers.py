"""Copy the pointers of a program's state to local variables, which stores to arrays cannot alias.

In C++ a byte may alias any object. After a store to an array of bytes the compiler reads every pointer of the state
again, and does not vectorize the loop::

    for (..) __state->tape[i] = ..          double * const tape = __state->tape;
                                            for (..) tape[i] = ..
"""

from __future__ import annotations

import re

STATE = re.compile(r"^struct \w+_state_t \{\n(.*?)^\};", re.M | re.S)
FIELD = re.compile(r"^\s*([\w:]+) \* __restrict__ (\w+);$", re.M)
INTERNAL = re.compile(r"^(void __program_\w+_internal\([^\n]*\)\n\{\n)(.*?)(^\}$)", re.M | re.S)


def local_pointers(code: str) -> str:
    """Load the state's pointers once, at the start of the main function; unchanged if the state has none.

    Pointers that the function itself assigns stay in the state.
    """
    state = STATE.search(code)
    types = {name: kind for kind, name in FIELD.findall(state[1])} if state is not None else {}

    def local(found: re.Match) -> str:
        """Rewrite the main function."""
        given = set(re.findall(r"__state->(\w+) = ", found[2]))
        used = sorted((set(re.findall(r"__state->(\w+)", found[2])) & types.keys()) - given)
        head = "".join(f"    {types[n]} * const {n} = __state->{n};\n" for n in used)
        body = re.sub(r"__state->(\w+)", lambda m: m[1] if m[1] in used else m[0], found[2])
        return f"{found[1]}{head}{body}{found[3]}"

    return INTERNAL.sub(local, code, count=1)
