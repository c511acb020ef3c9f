"""Random programs of Python: what is recorded has NumPy's values, to the bit, or is refused.

``SDGRAD_RANDOM_PROGRAMS=300 pytest tests/python/test_random_programs.py`` checks more of them, and
``SDGRAD_RANDOM_PROGRAMS=1000:300`` the 300 from seed 1000 on. What fails is made small.
"""

import os
import warnings

import hypothesis
import pytest
from fuzz.reduce import reduced
from hypothesis import strategies as st

from python import random_programs
from python.random_programs import outcome, programs, sample

FIRST, COUNT = ([0] + [int(n) for n in os.environ.get("SDGRAD_RANDOM_PROGRAMS", "25").split(":")])[-2:]
PARTS = 5
REFUSED = 0.4
"""The share of programs that may be refused: mostly those that write one of two names of an array after a branch."""

OUTCOMES: dict[int, str | None] = {}


@pytest.mark.parametrize("part", range(PARTS))
def test_sample(part):
    """Values are those of NumPy, at two points, and no error is one that the user did not make."""
    texts = {seed: sample(seed) for seed in range(FIRST + part, FIRST + COUNT, PARTS)}
    found = {seed: outcome(text) for seed, text in texts.items()}
    OUTCOMES.update(found)
    wrong = {seed: said for seed, said in found.items() if said and not said.startswith("refused")}
    assert not wrong, "\n\n".join(f"seed {seed}: {said}\n{smaller(texts[seed], said)}" for seed, said in wrong.items())


def smaller(program: str, said: str) -> str:
    """The program without what its failure does not need."""

    def fails(text: str) -> bool:
        try:
            return kind(outcome(text)) == kind(said)
        except Exception:  # noqa: BLE001 (a program that does not run is none)
            return False

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        return reduced(program, fails, most=150)


def kind(said: str | None) -> str:
    """A failure without its numbers: the part before its second colon, which is the class of an error."""
    words = (said or "").split(":")
    return words[0] if words[0] == "value" else ":".join(words[:2])[:60]


def test_few_are_refused():
    if len(OUTCOMES) < COUNT:
        pytest.skip("the sample ran elsewhere")
    refused = [said for said in OUTCOMES.values() if said and said.startswith("refused")]
    assert len(refused) <= REFUSED * COUNT, "\n".join(said.splitlines()[-1] for said in refused)


@hypothesis.given(programs())
@hypothesis.settings(
    max_examples=50, derandomize=True, database=None, deadline=None, suppress_health_check=list(hypothesis.HealthCheck)
)
def test_strategy_writes_programs_that_run(program):
    names: dict = {}
    exec(compile(program, "program", "exec"), names)
    for given in (names["arguments"](), random_programs.moved(names["arguments"]())):
        assert len(random_programs.run(names["program"], given)) == 14


def test_same_seed_same_program():
    assert sample(7) == sample(7) != sample(8)


@hypothesis.given(st.integers(0, 10**6))
@hypothesis.settings(max_examples=30, derandomize=True, database=None, deadline=None)
def test_samples_run(seed):
    names: dict = {}
    exec(compile(sample(seed), "program", "exec"), names)
    random_programs.run(names["program"], names["arguments"]())


# What is wrong is found ----------------------------------------------------------------------------------


def test_wrong_values_are_found(monkeypatch):
    """One rounding error."""
    program = sample(3)
    monkeypatch.setattr(random_programs.sdgrad, "compile_forward", lambda f: lambda **given: nudged(f(**given)))
    assert outcome(program).startswith("value: of result 7")


def nudged(parts):
    return (*parts[:7], parts[7] * (1.0 + 1e-9), *parts[8:])


def test_errors_are_found(monkeypatch):
    monkeypatch.setattr(random_programs.sdgrad, "compile_forward", lambda f: lambda **given: [][3])
    assert outcome(sample(3)).startswith("crash: IndexError")


def test_refusals_are_found():
    assert outcome(sample(3).replace("return u", "u = np.unique(u)\n    return u")).startswith("refused: ")
