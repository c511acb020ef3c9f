"""Programs that were made before are found by what they are made from: no pass runs again."""

import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest
from fresh_cache import without_programs

import sdgrad
from sdgrad import config
from sdgrad.machine.free_memory import Answers, all_of, is_room, noting
from sdgrad.specialize import compiled_halves, signature
from sdgrad.specialize.stored_programs import FOLDER
from sdgrad.symbolic.scalar_rules import RULES
from sdgrad.tape import checkpoints

X = np.linspace(0.2, 0.9, 7)


def made(factor=2.0, steps=6):
    """Another function each time, with the same program."""

    def wave(x):
        y = np.sin(factor * x)
        for _ in range(steps):
            y = y * np.cos(y) + x
        return np.sum(y * y)

    return wave


def vector(factor=2.0):
    def both(x):
        y = np.sin(factor * x) * x
        return y, np.sum(y)

    return both


@pytest.fixture(autouse=True)
def empty(tmp_path):
    with config.override(cache_dir=without_programs(tmp_path)):
        yield


@pytest.fixture
def passes(monkeypatch):
    """The names of the steps that run."""
    ran = []
    for module, name in (
        (signature, "differentiate_program"),
        (signature, "push_tangents"),
        (signature, "within"),
        (compiled_halves, "split"),
    ):
        whole = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda *args, whole=whole, name=name, **kw: (ran.append(name), whole(*args, **kw))[1]
        )
    optimized = signature.Ready.of
    monkeypatch.setattr(
        signature.Ready, "of", staticmethod(lambda *args: (ran.append("optimize"), optimized(*args))[1])
    )
    return ran


def test_a_gradient_is_made_once(passes):
    first = sdgrad.value_and_grad(made())(X)
    assert passes == ["differentiate_program", "optimize"]
    again = sdgrad.value_and_grad(made())(X)
    assert passes == ["differentiate_program", "optimize"]
    assert again[0] == first[0] and np.array_equal(again[1], first[1])
    sdgrad.value_and_grad(made(3.0))(X)
    sdgrad.value_and_grad(made())(X[:5])
    assert len(passes) == 6


def test_other_transformations_are_made_once(passes):
    calls = (
        lambda: sdgrad.jvp(vector(), (X,), (X,)),
        lambda: sdgrad.vjp(vector(), X)[1]((X, 1.5)),
        lambda: sdgrad.compile_forward(vector())(X),
        lambda: sdgrad.grad(made(), memory_limit="min")(X),
        lambda: sdgrad.grad(made(), unused="none")(X),
    )
    for call in calls:
        passes.clear()
        first = call()
        assert passes
        passes.clear()
        again = call()
        assert [p for p in passes if p == "optimize"] == []
        for a, b in zip(np.hstack(_flat(first)), np.hstack(_flat(again)), strict=True):
            assert a == b


def _flat(value):
    return [x for v in value for x in _flat(v)] if isinstance(value, tuple) else [np.ravel(value)]


def test_what_is_asked_for_and_settings_are_a_part_of_the_key(passes):
    def one(**options):
        passes.clear()
        sdgrad.grad(made(), **options)(X)
        return len(passes)

    assert one() == 2 and one() == 0
    with config.override(without=("fusion",)):
        assert one() == 2 and one() == 0
    with config.override(optimization_level=1):
        assert one() == 2 and one() == 0
    assert one() == 0


def test_rules_that_are_functions_are_not_stored(passes):
    def twice():
        @sdgrad.custom_vjp
        def f(x):
            return 2 * x

        f.defvjp(lambda x, grad_out: 5 * grad_out)
        return f

    f, g = twice(), twice()
    g.defvjp(lambda x, grad_out: 7 * grad_out)
    assert np.array_equal(sdgrad.grad(lambda x: np.sum(f(x)))(X), np.full(7, 5.0))
    assert np.array_equal(sdgrad.grad(lambda x: np.sum(g(x)))(X), np.full(7, 7.0))
    assert not (config.cache_folder / FOLDER).exists()


def test_a_rule_of_a_user_for_a_kind_of_node_is_seen(monkeypatch, passes):
    def product(x):
        return np.sum(np.linalg.solve(np.eye(7) + np.outer(x, x), x))

    right = sdgrad.grad(lambda x: product(x))(X)
    monkeypatch.setattr(signature.Origin.of.__globals__["registry"], "OF_USERS", {"Solve"})
    passes.clear()
    assert np.array_equal(sdgrad.grad(lambda x: product(x))(X), right)
    assert passes == ["differentiate_program", "optimize"]


@pytest.mark.parametrize("name", ["sin", "sine_of_a_user"])
def test_a_row_of_a_user_is_a_part_of_the_key(name, monkeypatch, passes):
    """Also one that takes the place of a row of the table, for this time only."""
    right = sdgrad.grad(made())(X)
    with monkeypatch.context() as patched:
        patched.setitem(RULES, name, dataclasses.replace(RULES["sin"], partials=("2*cos(x)",)))
        assert np.allclose(sdgrad.grad(made())(X), right) == (name != "sin")
    assert len(passes) == 4
    assert np.array_equal(sdgrad.grad(made())(X), right)
    assert len(passes) == 4


@pytest.mark.parametrize(
    "content",
    [
        *("", "{", "[]", '{"programs": 3}', '{"fitted": "x", "refused": null}'),
        '{"fitted": 0, "refused": null, "programs": [], "facts": {}}',
        '{"fitted": 0, "refused": null, "programs": [{"library": 3, "arguments": {}}], "facts": {}}',
        '{"fitted": 0, "refused": null, "programs": [{"library": "x", "arguments": []}], "facts": {}}',
    ],
)
def test_a_broken_file_is_made_again(content, passes):
    first = sdgrad.grad(made())(X)
    (file,) = (config.cache_folder / FOLDER).iterdir()
    right = file.read_text()
    file.write_text(content)
    assert np.array_equal(sdgrad.grad(made())(X), first)
    assert len(passes) == 4 and file.read_text() == right


def test_a_file_that_names_what_is_not_there_is_made_again(passes):
    first = sdgrad.grad(made())(X)
    (file,) = (config.cache_folder / FOLDER).iterdir()
    told = json.loads(file.read_text())
    for name in ("wave_grad_0123456789abcdef", "../../etc_0123456789abcdef"):
        told["programs"][0]["library"] = name
        file.write_text(json.dumps(told))
        assert np.array_equal(sdgrad.grad(made())(X), first)
    assert len(passes) == 6


def test_a_folder_that_cannot_be_written_holds_nothing(passes):
    config.cache_folder.mkdir(exist_ok=True)
    (config.cache_folder / FOLDER).write_text("no folder")
    first = sdgrad.grad(made())(X)
    assert np.array_equal(sdgrad.grad(made())(X), first)
    assert len(passes) == 4


def test_decisions_by_what_is_free_are_a_part_of_what_is_stored(monkeypatch, passes):
    def long(x):
        for _ in range(3000):
            x = np.sin(x) * 1.01
        return np.sum(x)

    x = np.linspace(0.0, 1.0, 1000)
    with config.override(verify="never"):
        first = sdgrad.grad(lambda x: long(x))(x)
        (file,) = (config.cache_folder / FOLDER).iterdir()
        told = json.loads(file.read_text())
        assert told["refused"] is None or told["refused"] > told["fitted"]
        if told["fitted"] == 0:  # nothing was asked: this loop is cheap to run again
            told["fitted"] = 1000
            file.write_text(json.dumps(told))
        passes.clear()
        assert np.array_equal(sdgrad.grad(lambda x: long(x))(x), first) and not passes
        monkeypatch.setattr("sdgrad.specialize.stored_programs.most_bytes", lambda: told["fitted"] - 1)
        sdgrad.grad(lambda x: long(x))(x)
        assert passes


def test_answers_hold_for_as_much_room():
    heard = Answers()
    with noting(heard):
        assert is_room(10, 20) and not is_room(30, 20) and is_room(5, 20)
    assert not is_room(100, 20)
    assert [heard.hold(n) for n in (9, 10, 20, 29, 30)] == [False, True, True, True, False]
    with noting(heard):
        assert all_of(20) == 20
    assert [heard.hold(n) for n in (19, 20, 21)] == [False, True, False]


def test_no_memory_is_written_to_the_file(monkeypatch):
    """A loop whose tape has no room keeps states in all of it: with other memory there is another program."""
    monkeypatch.setattr(checkpoints, "most_bytes", lambda: 40_000)
    heard = Answers()
    with noting(heard):
        assert checkpoints.most_of_room(8_000, 10_000_000, cheap=False) == 40_000
    assert heard == Answers(40_000, 40_001)


ANOTHER = """
import numpy as np, sdgrad, sys
from sdgrad.specialize import signature
if len(sys.argv) > 1:
    signature.differentiate_program = signature.push_tangents = None
def f(x, n):
    for k in range(n):
        x = np.sin(x) + k
    return np.sum(x ** 2)
print(sdgrad.grad(f)(np.linspace(0, 1, 5), 4).tolist())
print(sdgrad.jvp(lambda x: f(x, 3), (np.ones(2),), (np.ones(2),))[1])
"""


def test_the_next_process_differentiates_nothing(tmp_path):
    environment = {"SDGRAD_CACHE_DIR": str(tmp_path), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    environment["SDGRAD_OPTIMIZATION_LEVEL"] = "0"
    texts = [
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", ANOTHER, *more],
            env={**environment, "PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed, more in (("1", []), ("2", ["again"]))
    ]
    assert texts[0] == texts[1] != ""
