"""Random programs: a fixed sample of them is differentiated right, and the fuzzer finds what is planted."""

import dataclasses
import random
import re

import hypothesis
import numpy as np
import pytest
from fuzz import check
from fuzz.check import failure, kind
from fuzz.grammar import FEATURES, programs, sample
from fuzz.reduce import reduced
from fuzz.ways import WAYS, Unusable, Way, by_function
from fuzz.workers import Worker

from sdgrad.symbolic.scalar_rules import RULES

NOT_YET = {"data_slices"}
"""Constructs that are refused: slices of which only a run knows that their lengths agree."""

PARTS, PROGRAMS_IN_A_PART, STATEMENTS = 10, 5, 8

SINES = """\
import numpy as np

def program(A, X, s):
    for i in range(1, 3):
        A[i, :] = A[i - 1, :] * s
        X[i] += np.sin(X[i - 1])
    return np.sum(A * A) + np.sum(X * X)

def arguments():
    return dict(A=np.linspace(-1.0, 1.0, 12).reshape(3, 4), X=np.linspace(0.1, 0.9, 3), s=0.5)
"""


@pytest.mark.parametrize("part", range(PARTS))
def test_sample(part):
    """Value and gradient are those of NumPy; every tenth program has a limit of memory."""
    features = [f for f in FEATURES if f not in NOT_YET]
    first = PROGRAMS_IN_A_PART * part
    texts = {seed: sample(seed, features, STATEMENTS) for seed in range(first, first + PROGRAMS_IN_A_PART)}
    found = {seed: outcome(text, "function" if seed % 10 else "limited") for seed, text in texts.items()}
    wrong = [f"seed {seed}:\n{texts[seed]}\n{message}" for seed, message in found.items() if message]
    assert not wrong, "\n\n".join(wrong)


def outcome(program: str, way: str) -> str | None:
    try:
        return failure(program, way=WAYS[way])
    except Unusable:
        return None


def test_sample_is_usable():
    """What the rules write runs in NumPy, and nearly all of it has a value to compare."""
    usable = sum(_runs(sample(seed)) for seed in range(200))
    assert usable >= 190


@hypothesis.given(programs())
@hypothesis.settings(
    max_examples=30, derandomize=True, database=None, deadline=None, suppress_health_check=list(hypothesis.HealthCheck)
)
def test_strategy_writes_programs_that_run(program):
    compile(program, "program", "exec")
    assert _runs(program)


def _runs(program: str) -> bool:
    """Whether there is a value to compare with; errors of the program itself are raised."""
    names: dict = {}
    exec(program, names)
    with np.errstate(all="ignore"):
        value = names["program"](**names["arguments"]())
    return bool(np.isfinite(value)) and abs(value) < check.LARGEST


def test_same_seed_same_program():
    assert sample(7) == sample(7) != sample(8)


def test_features_are_left_out():
    left_out = ("while", "break", "continue", "return", "trips")
    texts = [sample(seed, [f for f in FEATURES if f not in left_out]) for seed in range(100)]
    assert not any(word in text for text in texts for word in ("while ", "break", "continue", "start["))
    assert all(text.partition("def program")[2].partition("def arguments")[0].count("return") == 1 for text in texts)


def test_strategy_shrinks():
    """The smallest program with a sine in a loop has little else."""
    loop_has_sine = re.compile(r"for i in.*\n        .*np\.sin\(").search
    settings = hypothesis.settings(
        database=None, max_examples=500, deadline=None, suppress_health_check=list(hypothesis.HealthCheck)
    )
    search = {"settings": settings, "random": random.Random(0)}
    small = hypothesis.find(programs(size=3), lambda text: loop_has_sine(text) is not None, **search)
    assert small.partition("def program")[2].partition("def arguments")[0].count("\n") < 9


# What is wrong is found ----------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_right_program(way):
    assert failure(SINES, way=WAYS[way]) is None


@pytest.mark.parametrize("name, index", [("X", 1), ("A", (0, 2)), ("s", ())])
def test_wrong_gradient_is_found(name, index):
    """One element that is off by a hundred-thousandth."""

    def wrong(function, names, arguments, right=by_function):
        value, gradients = right(function, names, arguments)
        found = {n: np.array(g) for n, g in zip(names, gradients, strict=True)}
        found[name][index] *= 1.0 + 1e-5
        return value, tuple(found.values())

    message = failure(SINES, way=Way(wrong))
    assert kind(message) == "gradient" and f"gradient: 1 wrong\n  {name}" in message


def test_wrong_rule_is_found(monkeypatch):
    """The engine is told that the derivative of the sine is the sine."""
    monkeypatch.setitem(RULES, "sin", dataclasses.replace(RULES["sin"], partials=("sin(x)",)))
    assert kind(failure(SINES)) == "gradient"


def test_wrong_value_is_found():
    def wrong(function, names, arguments, right=by_function):
        value, gradients = right(function, names, arguments)
        return value + 1e-6, gradients

    assert kind(failure(SINES, way=Way(wrong))) == "value"


def test_refusal_is_found():
    message = failure(SINES.replace("np.sum(A * A)", "np.unique(X)[0]"))
    assert message.startswith("refused: ParseError")


def test_kinks_are_no_failures():
    """At a tie the engine takes one half, as central differences do; at a jump there is nothing to compare."""
    jump = SINES.replace("return np", "t = X[0] if X[0] > 0.1 else 2.0 * X[0]\n    return t + np")
    with pytest.raises(Unusable, match="a kink|a derivative"):
        failure(jump)


def test_what_does_not_run_is_unusable():
    with pytest.raises(Unusable, match="NameError"):
        failure(SINES.replace("np.sin(", "nowhere("))


def test_processes_that_end_or_hang_are_failures():
    worker = Worker(timeout=30.0)
    try:
        assert worker.check("import os\nos._exit(3)").message == "crash: the process ended with 3"
        assert worker.check(SINES).status == "ok"
        worker.timeout = 1.0
        assert worker.check("while True:\n    pass").message.startswith("timeout")
    finally:
        worker.close()


def test_reduction():
    """Every statement and argument that a failure does not need is left out."""
    small = reduced(SINES, lambda text: "np.sin(" in text.partition("def arguments")[0] and _compiles(text))
    program = small.partition("def arguments")[0]
    assert "np.sin" in program and program.count("\n") < 6 and "A" not in program


def _compiles(text: str) -> bool:
    try:
        compile(text, "program", "exec")
    except SyntaxError:
        return False
    return True
