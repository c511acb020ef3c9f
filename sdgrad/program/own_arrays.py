"""Leave the arguments of a program alone: it writes copies of them."""

from __future__ import annotations

from dataclasses import replace

from sdgrad.program.arrays import assign
from sdgrad.program.naming import all_names, is_returned, is_shared, is_status
from sdgrad.program.rename import renamed_program
from sdgrad.program.tree import Program, writes


def with_own_arrays(program: Program) -> Program:
    """Return the program on copies of the arguments that it writes: a derivative leaves its arguments alone."""
    written = {program.root(w) for node in program.body for w in writes(node)}
    others = (is_returned, is_status, is_shared)
    own = [n for n in program.arguments if n in written and not any(is_other(n) for is_other in others)]
    if not own:
        return program
    names = all_names(program)
    copies = {n: names.fresh(f"own_{n}") for n in own}
    found = renamed_program(program, copies)
    containers = dict(found.containers)
    before = []
    for name, copied in copies.items():
        containers[name] = program.containers[name]
        containers[copied] = containers[copied].local(copied)
        before.append(assign(containers[copied], containers[name], "set", names, name))
    return replace(found, containers=containers, body=(*before, *found.body), arguments=program.arguments)
