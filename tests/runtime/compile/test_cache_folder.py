"""Folders that cannot be written, full disks, and processors of another kind."""

import errno
import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import sdgrad
from sdgrad.config import config
from sdgrad.errors import ArgumentError, DiskError
from sdgrad.machine import processor
from sdgrad.runtime.compile import build, cache, cache_folder

X = np.linspace(0.2, 0.9, 5)


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    """No folder has been looked at before, and no library is loaded."""
    monkeypatch.setattr(cache_folder, "_found", {})
    monkeypatch.setattr(cache, "_loaded", {})


def cubes():
    """Another function each time."""
    return lambda x: np.sum(x**3)


def test_where_no_folder_can_be_made_one_of_this_process_serves(tmp_path):
    (tmp_path / "file").write_text("")
    with config.override(cache_dir=tmp_path / "file" / "cache"), pytest.warns(UserWarning, match="SDGRAD_CACHE_DIR"):
        np.testing.assert_allclose(sdgrad.grad(cubes())(X), 3 * X**2, rtol=1e-14)
        folder = cache_folder.cache_folder()
        assert folder.is_dir() and tmp_path not in folder.parents


def test_what_a_folder_has_that_cannot_be_written_is_used(tmp_path, monkeypatch):
    with config.override(cache_dir=tmp_path):
        right = sdgrad.grad(cubes())(X)
        monkeypatch.setattr(cache_folder, "_found", {})
        monkeypatch.setattr(cache, "_loaded", {})
        monkeypatch.setattr(cache_folder, "_is_writable", lambda _: False)
        monkeypatch.setattr(cache, "build", None)
        with pytest.warns(UserWarning, match="cannot be written"):
            assert np.array_equal(sdgrad.grad(cubes())(X), right)
        monkeypatch.setattr(cache, "build", build.build)
        np.testing.assert_allclose(sdgrad.grad(lambda x: np.sum(x**4))(X), 4 * X**3, rtol=1e-14)


def test_the_folder_of_a_process_is_removed_at_its_end(tmp_path):
    (tmp_path / "file").write_text("")
    text = """
import os
from sdgrad.runtime.compile.cache_folder import cache_folder
folder = cache_folder()
(folder / "a").write_text("b")
if os.fork() == 0:
    raise SystemExit(0)
os.wait()
print(folder, folder.exists())
"""
    given = {"SDGRAD_CACHE_DIR": str(tmp_path / "file" / "cache"), "TMPDIR": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-c", text], env=given, capture_output=True, text=True, check=True)
    assert "cannot be written" in ran.stderr
    folder, existed = ran.stdout.split()
    assert existed == "True" and folder.startswith(str(tmp_path))
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_no_folder_at_all(tmp_path, monkeypatch):
    def none(**_):
        raise FileNotFoundError("no usable temporary directory")

    (tmp_path / "file").write_text("")
    monkeypatch.setattr(cache_folder.tempfile, "mkdtemp", none)
    with (
        config.override(cache_dir=tmp_path / "file" / "cache"),
        pytest.raises(DiskError, match="neither .* nor a temporary folder"),
    ):
        sdgrad.grad(cubes())(X)


def test_a_full_disk(tmp_path, monkeypatch):
    def full(jobs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(cache, "build", full)
    with config.override(cache_dir=tmp_path), pytest.raises(DiskError, match="No space left.*sdgrad cache clean"):
        sdgrad.grad(cubes())(X)


def test_a_disk_that_is_full_for_the_compiler(tmp_path, monkeypatch):
    compiler = tmp_path / "compiler"
    compiler.write_text("#!/bin/sh\necho 'fatal error: x.o: No space left on device' >&2\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    with config.override(cache_dir=tmp_path), pytest.raises(DiskError, match="no space left.*sdgrad cache clean"):
        sdgrad.grad(cubes())(X)


def test_each_kind_of_processor_has_a_folder(tmp_path, monkeypatch):
    assert config.cache_folder.name == processor.processor()
    here = processor.processor()
    processor.processor.cache_clear()
    monkeypatch.setattr(processor, "instruction_sets", lambda: frozenset({"avx512f"}))
    assert processor.processor() != here
    processor.processor.cache_clear()


def test_programs_of_another_kind_of_processor_are_refused(tmp_path):
    program = sdgrad.compile_gradient(cubes(), X)
    path = program.save(tmp_path / "cubes.sdgrad")
    np.testing.assert_allclose(sdgrad.load(path)(X)[1], 3 * X**2, rtol=1e-14)
    with zipfile.ZipFile(path) as archive:
        parts = {n: archive.read(n) for n in archive.namelist()}
    for change, lacking in (({"instruction_sets": ["avx2", "avx9000"]}, "avx9000"), ({"machine": "pdp11"}, "pdp11")):
        facts = {**json.loads(parts["facts.json"]), **change}
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in parts.items():
                archive.writestr(name, json.dumps(facts) if name == "facts.json" else content)
        with pytest.raises(ArgumentError, match=f"lacks {lacking}. Compile"):
            sdgrad.load(path)
