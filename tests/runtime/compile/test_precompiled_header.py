"""The precompiled header: made ahead, made beside other work, and in forked processes."""

import os
import threading

import numpy as np
import pytest

import sdgrad
from sdgrad import cli
from sdgrad.config import config
from sdgrad.errors import CompilationFailed
from sdgrad.runtime.compile import precompiled_header
from sdgrad.runtime.compile.file_lock import locked


@pytest.fixture
def compiled(monkeypatch, tmp_path):
    """The calls of the compiler for a header, which only leave an empty file, in a cache that has none."""
    seen = []

    def run(command, what):
        seen.append(command)
        open(command[-1], "w").close()

    monkeypatch.setattr(precompiled_header, "run", run)
    monkeypatch.setattr(precompiled_header, "_begun", set())
    with config.override(cache_dir=tmp_path):
        yield seen


def finish():
    """Wait for what runs beside."""
    for thread in threading.enumerate():
        if thread.name == "sdgrad header":
            thread.join()


def test_prepared_once_for_each_set_of_parts_and_flags(compiled):
    sdgrad.prepare()
    sdgrad.prepare()
    special = [f"-D{precompiled_header.NO_SPECIAL}" in command for command in compiled]
    assert special == [True, False]
    with config.override(optimization_level=1):
        sdgrad.prepare()
    assert len(compiled) == 4


def test_the_command_says_what_it_did(compiled, capsys):
    assert cli.main(["prepare"]) == 0
    assert capsys.readouterr().out.count("compiled in") == 3
    assert cli.main(["prepare"]) == 0
    said = capsys.readouterr().out
    assert said.count("is there already") == 3 and str(config.cache_folder) in said


def test_begun_beside_other_work_where_there_is_a_core_for_it(compiled, monkeypatch):
    monkeypatch.setattr(precompiled_header, "_cores", lambda: 1)
    precompiled_header.begin()
    finish()
    assert not compiled
    monkeypatch.setattr(precompiled_header, "_cores", lambda: 2)
    precompiled_header.begin()
    precompiled_header.begin()
    finish()
    assert len(compiled) == 1
    precompiled_header.Header.of(precompiled_header.without_parts()).make()
    assert len(compiled) == 1


def test_nothing_is_begun_for_a_gpu(compiled, monkeypatch):
    monkeypatch.setattr(precompiled_header, "_cores", lambda: 2)
    with config.override(device="gpu"):
        precompiled_header.begin()
        sdgrad.prepare()
    assert not compiled


def test_an_error_is_told_where_the_header_is_needed(compiled, monkeypatch):
    def wrong(command, what):
        raise CompilationFailed(f"cannot compile {what}")

    monkeypatch.setattr(precompiled_header, "run", wrong)
    monkeypatch.setattr(precompiled_header, "_cores", lambda: 2)
    precompiled_header.begin()
    finish()
    with pytest.raises(CompilationFailed, match=r"dace\.h"):
        sdgrad.prepare()


def test_what_an_ended_process_left_is_removed(compiled):
    made = precompiled_header.Header.of(precompiled_header.without_parts())
    made.target.parent.mkdir(parents=True)
    left = made.target.with_suffix(".1.part")
    left.touch()
    made.make()
    assert made.target.exists() and not left.exists()


def test_a_forked_process_does_not_wait_for_itself(tmp_path):
    """It is forked while a thread holds the lock: it has the handle, and nobody who closes it."""
    inside, leave = threading.Event(), threading.Event()

    def hold():
        with locked(tmp_path / "what"):
            inside.set()
            leave.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    inside.wait()
    child = os.fork()
    if not child:
        with locked(tmp_path / "what"):
            os._exit(7)
    leave.set()
    holder.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_a_gradient_begins_it(monkeypatch):
    begun = []
    monkeypatch.setattr(precompiled_header, "begin", lambda: begun.append(1))

    def square(x):
        return np.sum(x * x)

    assert np.allclose(sdgrad.grad(square)(np.arange(3.0)), [0, 2, 4])
    assert begun
