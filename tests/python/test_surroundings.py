"""What a function asks of its surroundings may change between two calls: files, the environment, contexts, clocks."""

import array
import contextvars
import json
import logging
import os
import pathlib
import secrets
import sys
import time
import types
import uuid
from os import environ

import numpy as np
import pytest

import sdgrad
from sdgrad.errors import ParseError

GAIN = contextvars.ContextVar("GAIN", default=2.0)
GAINS = contextvars.ContextVar("GAINS")


@pytest.fixture
def gain(tmp_path, monkeypatch):
    """Return what sets the gain everywhere it is read from."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["program"])

    def put(value):
        monkeypatch.setenv("GAIN", str(value))
        sys.argv[1:] = [str(value)]
        pathlib.Path("gain.txt").write_text(f"{value}\n")
        pathlib.Path("gain.json").write_text(json.dumps({"gain": value}))
        np.save("gain.npy", np.array([value]))
        GAIN.set(value)
        GAINS.set(np.array([value]))

    return put


def opened():
    with open("gain.txt") as file:
        return float(file.read())


def of_json():
    with pathlib.Path("gain.json").open() as file:
        return json.load(file)["gain"]


READ = {
    "environ.get": lambda: float(os.environ.get("GAIN", "1")),
    "environ[]": lambda: float(environ["GAIN"]),
    "getenv": lambda: float(os.getenv("GAIN")),
    "argv": lambda: float(sys.argv[1]),
    "a context": lambda: GAIN.get(),
    "an array of a context": lambda: GAINS.get()[0],
    "open": opened,
    "json": of_json,
    "read_text": lambda: float(pathlib.Path("gain.txt").read_text()),
    "np.load": lambda: np.load("gain.npy")[0],
    "np.loadtxt": lambda: np.loadtxt("gain.txt"),
    "the size of a file": lambda: 1.0 * os.path.getsize("gain.txt"),
}


@pytest.mark.parametrize("name", READ)
def test_changes_are_noticed(name, gain):
    read = READ[name]
    gradient = sdgrad.grad(lambda x: x * read())
    for value in (2.0, 2.0, 35.5, 2.0):
        gain(value)
        assert gradient(1.0) == read()


def test_whether_there_is_a_file(tmp_path):
    path = tmp_path / "switch"
    gradient = sdgrad.grad(lambda x: x * (2.0 if os.path.exists(path) else 3.0))
    assert gradient(1.0) == 3.0
    path.touch()
    assert gradient(1.0) == 2.0


def test_the_level_of_a_logger():
    logger = logging.getLogger("sdgrad.test_surroundings")
    gradient = sdgrad.grad(lambda x: x * (2.0 if logger.isEnabledFor(logging.DEBUG) else 3.0))
    for level, expected in ((logging.INFO, 3.0), (logging.DEBUG, 2.0), (logging.INFO, 3.0)):
        logger.setLevel(level)
        assert gradient(1.0) == expected


@pytest.mark.parametrize("held", [memoryview(bytearray([2])), array.array("d", [2.0])], ids=["memoryview", "array"])
def test_memory_that_is_no_array(held):
    gradient = sdgrad.grad(lambda x: x * held[0])
    for value in (2, 5, 2):
        held[0] = value
        assert gradient(1.0) == value


def test_imports_in_functions(monkeypatch):
    module = types.ModuleType("module_of_gains")
    monkeypatch.setitem(sys.modules, "module_of_gains", module)

    def imported(x):
        from module_of_gains import GAIN as gain  # type: ignore[import-not-found]

        return x * gain

    gradient = sdgrad.grad(imported)
    for value in (2.0, 5.0, 2.0):
        module.GAIN = value
        assert gradient(1.0) == value


def test_clocks_are_asked_at_each_call():
    gradient = sdgrad.grad(lambda x: x * time.perf_counter())
    before = time.perf_counter()
    first, second = gradient(1.0), gradient(1.0)
    assert before < first < second < time.perf_counter()


def test_text_of_a_clock(capsys):
    def timed(x):
        start = time.time()
        y = x * x
        print(f"took {time.time() - start:.3f} s")
        return y

    assert sdgrad.grad(timed)(3.0) == 6.0
    assert "took" in capsys.readouterr().out


@pytest.mark.parametrize("draw", [uuid.uuid4, lambda: os.urandom(8), lambda: secrets.token_hex(4)])
def test_what_is_drawn_is_refused(draw):
    with pytest.raises(ParseError, match="draws other numbers at each call"):
        sdgrad.grad(lambda x: x * len(str(draw())))(1.0)
