"""OpenBLAS is told to let other threads run, and the environment stays as it was."""

import os

import pytest

from sdgrad.runtime.compile import dlopen


@pytest.mark.parametrize(("set_to", "seen"), [(None, "4"), ("20", "20")])
def test_patience(monkeypatch, set_to, seen):
    monkeypatch.delenv(dlopen.PATIENCE, raising=False)
    if set_to is not None:
        monkeypatch.setenv(dlopen.PATIENCE, set_to)
    found = []
    monkeypatch.setattr(dlopen.ctypes, "CDLL", lambda path: found.append((path, os.environ[dlopen.PATIENCE])))
    dlopen.load_library("lib.so")
    assert found == [("lib.so", seen)]
    assert os.environ.get(dlopen.PATIENCE) == set_to


def test_environment_after_a_failure(monkeypatch):
    monkeypatch.delenv(dlopen.PATIENCE, raising=False)
    with pytest.raises(OSError, match="no_such_library"):
        dlopen.load_library("/no_such_library.so")
    assert dlopen.PATIENCE not in os.environ
