"""The command ``sdgrad``: what it prints, its exit status, and what it says of wrong arguments."""

import json
import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import sdgrad
from sdgrad import cli
from sdgrad.cli import diagnosis, plate
from sdgrad.cli.diagnosis import LOOKS, Finding
from sdgrad.cli.measuring import MOST, measured, peak_memory, time_text
from sdgrad.cli.options import print_json
from sdgrad.config import config
from sdgrad.errors import CompilationFailed
from sdgrad.runtime.compile import cache, cache_folder
from sdgrad.runtime.compile.file_lock import locked

HEAT = """
import numpy as np
from scale import SCALE

def loss(u, steps):
    for _ in range(steps):
        u[1:-1] = 0.5 * u[1:-1] + 0.25 * (u[:-2] + u[2:])
    return SCALE * np.sum(u**2)

def wrong(u):
    return np.unique(u)[0]

START = np.ones(6)
"""


@pytest.fixture
def heat(tmp_path):
    (tmp_path / "heat.py").write_text(HEAT)
    (tmp_path / "scale.py").write_text("SCALE = 2.0")
    return str(tmp_path / "heat.py")


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A cache of this test's own, with one program."""
    monkeypatch.setattr(cache, "_loaded", {})
    monkeypatch.setattr(cache_folder, "_found", {})
    with config.override(cache_dir=tmp_path / "cache"):
        sdgrad.grad(lambda x: np.sum(x**3))(np.ones(3))
        for thread in threading.enumerate():
            if thread.name == "sdgrad header":  # it still makes objects for other programs
                thread.join()
        yield tmp_path / "cache"


def said(capsys, *arguments, status=0):
    assert cli.main(list(arguments)) == status
    told = capsys.readouterr()
    return told.out + told.err


def listed(capsys):
    return json.loads(said(capsys, "cache", "list", "--json"))


def test_help_lists_all_commands_and_says_how_they_end(capsys):
    text = said(capsys, "--help")
    for name in ("demo", "doctor", "prepare", "cache", "explain", "check", "bench", "onnx"):
        assert f"  {name} " in text and "sdgrad" in said(capsys, name, "--help")
    assert "Exit status" in text and "_SDGRAD_COMPLETE" in text
    assert "No such command 'bogus'" in said(capsys, "bogus", status=2)
    assert "doctor" in said(capsys, status=2)
    assert "version" in said(capsys, "--version")


def test_size_and_list_of_the_cache(own, capsys):
    told = json.loads(said(capsys, "cache", "size", "--json"))
    assert told["folder"] == str(own)
    assert told["kinds"]["program"]["count"] == told["kinds"]["header"]["count"] == 1
    assert told["bytes"] == sum(kind["bytes"] for kind in told["kinds"].values()) > 1_000_000
    text = said(capsys, "cache", "size")
    assert "header" in text and "MiB" in text
    assert {e["kind"] for e in listed(capsys)} == set(told["kinds"])
    assert "program" in said(capsys, "cache", "list")


def test_what_was_not_used_for_long_is_removed_and_made_again(own, capsys):
    (program,) = [e["path"] for e in listed(capsys) if e["kind"] == "program"]
    old = time.time() - 40 * 86400
    os.utime(program, (old, old))
    assert "would remove 1 entry" in said(capsys, "cache", "clean", "--older", "30", "--dry-run")
    told = json.loads(said(capsys, "cache", "clean", "--older", "30", "--dry-run", "--json"))
    assert told["paths"] == [program] and not told["removed"]
    assert os.path.exists(program)
    assert "removed 1 entry" in said(capsys, "cache", "clean", "--older", "30")
    assert not os.path.exists(program)
    cache._loaded.clear()
    assert np.array_equal(sdgrad.grad(lambda x: np.sum(x**3))(np.ones(3)), np.full(3, 3.0))
    assert os.path.exists(program)


def test_loading_a_program_is_using_it(own, capsys):
    (program,) = [e["path"] for e in listed(capsys) if e["kind"] == "program"]
    os.utime(program, (0, 0))
    cache._loaded.clear()
    sdgrad.grad(lambda x: np.sum(x**3))(np.ones(3))
    assert os.stat(program).st_mtime > time.time() - 600


def test_nothing_is_removed_that_is_not_of_the_cache(own, capsys):
    mine = own / "photos_0123456789abcdef"
    mine.mkdir()
    (mine / "me.jpg").write_text("")
    (config.cache_folder / "notes.txt").write_text("")
    said(capsys, "cache", "clean")
    assert (mine / "me.jpg").exists() and (config.cache_folder / "notes.txt").exists()
    assert listed(capsys) == []


def test_what_is_being_made_stays(own, capsys):
    (program,) = [e["path"] for e in listed(capsys) if e["kind"] == "program"]
    with locked(Path(program)):
        said(capsys, "cache", "clean")
        assert [e["path"] for e in listed(capsys)] == [program]
    assert "removed 1 entry" in said(capsys, "cache", "clean")


def test_what_was_left_unfinished_is_removed_when_it_is_made(own):
    (made,) = config.cache_folder.glob("memory_*.o")
    left = made.with_suffix(".1.part")
    left.write_text("")
    made.unlink()
    sdgrad.grad(lambda x: np.sum(x**5))(np.ones(3))
    assert made.exists() and not left.exists()


def test_a_gradient_is_explained(heat, capsys, tmp_path):
    text = said(capsys, "explain", f"{heat}:loss", "--args", "START, 3")
    assert "gradient of loss by u" in text and "u[1:-1] = 0.5" in text
    page = tmp_path / "page.html"
    assert str(page) in said(capsys, "explain", f"{heat}:loss", "--args", "np.ones(5), 3", "--html", str(page))
    assert "<html" in page.read_text()
    assert "within" in said(capsys, "explain", f"{heat}:loss", "--args", "START, 3", "--memory-limit", "1MB")
    told = json.loads(said(capsys, "explain", f"{heat}:loss", "--args", "START, 3", "--json"))
    assert told["wrt"] == ["u"] and told["bytes_kept"] == 0
    assert any(one["line"].startswith("u[1:-1]") and one["active"] for one in told["statements"])


def test_a_gradient_is_checked(heat, capsys, monkeypatch):
    text = said(capsys, "check", f"{heat}:loss", "--args", "np.linspace(0, 1, 6)**2, 3", "--forward", "--order", "2")
    assert text.count("ok") >= 3
    told = json.loads(said(capsys, "check", f"{heat}:loss", "--args", "np.linspace(0, 1, 6)**2, 3", "--json"))
    assert told["passed"] and told["arguments"][0]["worst"]["method"] and told["arguments"][0]["verdict"] == "ok"
    monkeypatch.setattr("sdgrad.testing.check_grads", _fails)
    told = json.loads(said(capsys, "check", f"{heat}:loss", "--args", "START, 3", "--json", status=1))
    assert not told["passed"] and told["error"] == "u[0] differs"
    assert "differs" in said(capsys, "check", f"{heat}:loss", "--args", "START, 3", status=1)


def _fails(*_, **__):
    raise sdgrad.testing.GradientCheckError("u[0] differs")


def test_numbers_that_json_lacks(capsys):
    print_json({"found": [float("nan"), 1.5], "excess": (float("-inf"),)})
    assert json.loads(capsys.readouterr().out) == {"found": ["nan", 1.5], "excess": ["-inf"]}


def test_a_function_is_measured(heat, capsys):
    told = json.loads(said(capsys, "bench", f"{heat}:loss", "--args", "START, 3", "--samples", "2", "--json"))
    assert list(told["rows"]) == ["NumPy", "compiled", "gradient"] and told["gradient_over_compiled"] > 0
    assert all(row["samples"] == 2 and row["first"] > 0 < row["seconds"] for row in told["rows"].values())
    text = said(capsys, "bench", f"{heat}:loss", "--args", "START, 3", "--samples", "1", "--memory-limit", "1MB")
    assert "ratio" in text and "1.00" in text and "medians of 1" in text


def test_the_memory_of_a_call():
    """Pages that were touched count, also if they are free again when the call ends."""
    size = 64_000_000
    grown = peak_memory(lambda: float(np.ones(size // 8).sum()))
    assert grown is None or size * 0.9 < grown < size * 1.5
    assert grown is None or peak_memory(lambda: None) < size / 10


def test_long_calls_have_fewer_samples(monkeypatch):
    clock = iter(np.arange(100.0) * MOST / 2)
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    found = measured({"slow": lambda: None}, 7, lambda what: None)["slow"]
    assert found.samples == 2 and found.first == found.seconds == MOST / 2


def test_times_are_shown_in_the_unit_that_fits():
    assert [time_text(t) for t in (2.5, 0.0123456, 4.2e-6, 0.0)] == ["2.5 s", "12.3 ms", "4.2 us", "0 us"]


def test_the_demonstration(capsys, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(plate, "STEPS", 20)
    picture = tmp_path / "demo.png"
    told = json.loads(said(capsys, "demo", "--json", "--iterations", "3", "--picture", str(picture)))
    assert told["right"] and told["misfit"][1] < told["misfit"][0] and told["iterations"] == 3
    assert picture.read_bytes().startswith(b"\x89PNG")
    monkeypatch.setattr("sdgrad.testing.check_grads", _fails)
    monkeypatch.chdir(tmp_path)
    text = said(capsys, "demo", status=1)
    assert "u[0] differs" in text and "search" not in text.split("differences")[-1]
    assert not (tmp_path / "sdgrad_demo.png").exists()


@pytest.mark.parametrize(
    "named, given, message",
    [
        ("heat.py", "", "write FILE.py:FUNCTION"),
        ("nowhere.py:loss", "", "there is no file nowhere.py"),
        ("{heat}:lost", "", "did you mean 'loss'"),
        ("{heat}:loss", "np.ones(", "SyntaxError"),
        ("{heat}:loss", "missing, 3", "NameError"),
        ("{heat}:wrong", "START", "unique"),
    ],
)
def test_what_is_wrong_with_a_function(named, given, message, heat, capsys):
    assert message in said(capsys, "explain", named.format(heat=heat), "--args", given, status=1)


def test_a_sound_installation(own, capsys):
    told = json.loads(said(capsys, "doctor", "--json"))
    assert len(told) == len(LOOKS) and not [f for f in told if f["state"] == "bad"]
    assert all(f["mend"] for f in told if f["state"] == "doubtful")
    text = said(capsys, "doctor")
    assert "compiled, and right" in text and str(own) in text


def test_no_compiler(monkeypatch, capsys):
    monkeypatch.setenv("CXX", "no-such-compiler")
    monkeypatch.setattr(diagnosis, "LOOKS", (diagnosis._compiler,))
    text = said(capsys, "doctor", status=1)
    assert "bad      compiler: no C++ compiler: 'no-such-compiler' is not on PATH. Install g++, or set CXX" in text


def test_a_compiler_that_is_none(monkeypatch, capsys, tmp_path):
    script = tmp_path / "cxx"
    script.write_text("#!/bin/sh\nexit 3\n")
    script.chmod(0o755)
    monkeypatch.setenv("CXX", str(script))
    monkeypatch.setattr(diagnosis, "LOOKS", (diagnosis._compiler,))
    assert "install g++ 11 or later" in said(capsys, "doctor", status=1)


def test_which_mpi(monkeypatch, tmp_path):
    """The library is loaded in a process of its own, and one that is not there is no reason to fail."""
    package = tmp_path / "mpi4py"
    package.mkdir()
    (package / "__init__.py").write_text("class rc: pass")
    (package / "MPI.py").write_text("Get_library_version = lambda: 'Open MPI v5.0.3, package: Debian\\n'")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert diagnosis._mpi().found.startswith("Open MPI v5.0.3") and diagnosis._mpi().state == "good"
    (package / "MPI.py").write_text("raise RuntimeError('cannot load MPI library')")
    found = diagnosis._mpi()
    assert found.state == "doubtful" and "cannot load MPI library" in found.found and "openmpi" in found.mend
    monkeypatch.setattr(diagnosis.importlib.util, "find_spec", lambda name: None)
    assert diagnosis._mpi().state == "none"


def test_more_threads_than_cores(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "4096")
    found = diagnosis._threads()
    assert found.state == "doubtful" and "more threads than cores" in found.mend


def test_a_wrong_gradient(monkeypatch, capsys):
    monkeypatch.setattr(sdgrad, "grad", lambda f: lambda x: 0 * x)
    monkeypatch.setattr(diagnosis, "LOOKS", (diagnosis._gradient,))
    assert "please report this" in said(capsys, "doctor", status=1)


def test_an_error_of_a_look_is_what_is_found(monkeypatch):
    def _broken() -> Finding:
        raise CompilationFailed("no such thing")

    monkeypatch.setattr(diagnosis, "LOOKS", (_broken,))
    (found,) = diagnosis.findings()
    assert (found.what, found.state, found.found) == ("broken", "bad", "no such thing")
