"""Random nests of loops, branches and early exits: the converted function does the same steps as the written one."""

import linecache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdgrad.convert.functions import converted
from sdgrad.convert.operators import Handler, Operators

CONDITIONS = ("len(log) % 2", "len(log) % 3 == 1", "0 < len(log) < 9", "not len(log) % 5", "len(log) > 7 or n")


def simple(in_loop):
    kinds = ["log.append({k})", "x = {k}", "log.append(x)", "return x, {k}"]
    return kinds + (["break", "continue"] if in_loop else [])


@st.composite
def blocks(draw, depth=3, in_loop=False):
    """The lines of a block."""
    lines = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["simple", "simple", "if", "else", "for", "while", "try"] if depth else ["simple"]))
        k = draw(st.integers(0, 99))
        if kind == "simple":
            lines.append(draw(st.sampled_from(simple(in_loop))).format(k=k))
            continue
        inner = [f"    {s}" for s in draw(blocks(depth - 1, in_loop or kind in ("for", "while")))]
        other = [f"    {s}" for s in draw(blocks(depth - 1, in_loop))]
        if kind in ("if", "else"):
            lines += [
                f"if {draw(st.sampled_from(CONDITIONS))}:",
                *inner,
                *(["else:", *other] if kind == "else" else []),
            ]
        elif kind == "try":
            lines += ["try:", *inner, "finally:", "    log.append('finally')"]
        else:
            head = "for x in range(3):" if kind == "for" else f"while len(log) < {k} and tick():"
            lines += [head, *inner, *(["else:", *other] if draw(st.booleans()) else [])]
    return lines


class Steps(Exception):
    pass


def run(f, n):
    """The steps of a run, and its result; a loop without an end is cut off."""
    log, ticks = [], iter(range(40))

    def tick():
        if next(ticks, None) is None:
            raise Steps
        return True

    try:
        return log, f(log, tick, n)
    except Steps:
        return log, "cut off"


class Twice(Operators):
    """Run each body twice, as a recorder does, with the names put back before."""

    def branch(self, condition, names, later):
        return Again(condition, names)


class Again(Handler):
    """Try an arm, forget what it bound, and run it for good."""

    def __init__(self, condition, names):
        self.condition, self.names, self.trial, self.before = bool(condition), names, True, {}
        self.sets = True

    def __iter__(self):
        self.trial = True
        yield self.condition
        self.trial = False
        yield self.condition

    def enter(self, state):
        if self.trial:
            self.before = {n: state.get(n) for n in self.names}
            log = state["log"]
            self.log, self.length = log, len(log)
        else:
            del self.log[self.length :]
        return tuple(self.before[n] for n in self.names)


def function_of(lines):
    text = "\n".join(["def f(log, tick, n):", "    x = -1", *(f"    {s}" for s in lines), ""])
    name = f"<random {hash(text)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace = {}
    exec(compile(text, name, "exec"), namespace)
    return namespace["f"]


@settings(max_examples=150, deadline=None, derandomize=True)
@given(blocks())
def test_the_same_steps(lines):
    f = function_of(lines)
    new = converted(f, Operators())
    assert new is not None
    for n in (0, 1):
        assert run(new, n) == run(f, n)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(blocks())
def test_a_body_may_run_again(lines):
    f = function_of([s for s in lines if "tick" not in s] if not any("while" in s for s in lines) else ["return n"])
    assert run(converted(f, Twice()), 1) == run(f, 1)


def test_the_source_of_a_function_that_changed_is_not_taken():
    f = function_of(["return x"])
    name = f.__code__.co_filename
    linecache.cache[name] = (0, None, ["def g(log, tick, n):\n", "    return 5\n"], name)
    assert converted(f, Operators()) is None
    with pytest.raises(TypeError):
        f()
