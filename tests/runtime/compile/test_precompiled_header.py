"""The precompiled header: made ahead, made beside other work, and in forked processes."""

import os
import re
import threading

import dace
import numpy as np
import pytest

import sdgrad
from sdgrad import cli
from sdgrad.config import config
from sdgrad.errors import CompilationFailed
from sdgrad.runtime.compile import precompiled_header
from sdgrad.runtime.compile.cache import compile_sdfg
from sdgrad.runtime.compile.compiler import DACE_INCLUDE
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
    assert capsys.readouterr().out.count("compiled in") == len(list(precompiled_header.preparations())) == 6
    assert cli.main(["prepare"]) == 0
    said = capsys.readouterr().out
    assert said.count("is there already") == 6 and str(config.cache_folder) in said


def test_begun_beside_other_work_where_there_is_a_core_for_it(compiled, monkeypatch):
    monkeypatch.setattr(precompiled_header, "cores", lambda: 1)
    precompiled_header.begin()
    finish()
    assert not compiled
    monkeypatch.setattr(precompiled_header, "cores", lambda: 2)
    precompiled_header.begin()
    precompiled_header.begin()
    finish()
    assert len(compiled) == 1
    precompiled_header.Header.of(precompiled_header.without_parts()).make()
    assert len(compiled) == 1


def test_nothing_is_begun_for_a_gpu(compiled, monkeypatch):
    monkeypatch.setattr(precompiled_header, "cores", lambda: 2)
    with config.override(device="gpu"):
        precompiled_header.begin()
        sdgrad.prepare()
    assert not compiled


def test_an_error_is_told_where_the_header_is_needed(compiled, monkeypatch):
    def wrong(command, what):
        raise CompilationFailed(f"cannot compile {what}")

    monkeypatch.setattr(precompiled_header, "run", wrong)
    monkeypatch.setattr(precompiled_header, "cores", lambda: 2)
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


def included(header) -> list[str]:
    return re.findall(r'#include [<"](?:dace/)?([\w/]+\.h)[>"]', header.read_text())


def test_it_holds_what_the_header_of_dace_includes():
    """But for memory, which is our own, functions for environment variables, and what is for GPUs (``.cuh``)."""
    parts = set(included(DACE_INCLUDE / "dace" / "dace.h"))
    assert parts - set(included(precompiled_header.SOURCE)) == {"alloc.h", "os.h"}


PARSE = """
std::istringstream text("(1.5,-2) (broken");
text >> y[0] >> y[1];
std::ostringstream out;
out << y[0] << text.fail();
y[1] = double(std::string(out.str()).size());
"""


def test_a_tasklet_may_use_streams_and_strings():
    """The header reads and writes complex numbers without them."""
    sdfg = dace.SDFG("tasklet_with_streams")
    sdfg.add_array("x", [2], dace.complex128)
    state = sdfg.add_state()
    tasklet = state.add_tasklet(
        *("parse", {}, {"y"}, PARSE), language=dace.Language.CPP, code_global="#include <sstream>"
    )
    state.add_edge(tasklet, "y", state.add_write("x"), None, dace.Memlet("x[0:2]"))
    x = np.zeros(2, complex)
    compile_sdfg(sdfg)({"x": x})
    np.testing.assert_array_equal(x, [1.5 - 2j, 9])
