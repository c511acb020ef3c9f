"""NVIDIA's compiler, here a script that stands for it."""

import pytest

from sdgrad.errors import CompilationFailed
from sdgrad.runtime.compile import nvcc


@pytest.fixture
def toolkit(tmp_path, monkeypatch):
    script = tmp_path / "bin" / "nvcc"
    script.parent.mkdir()
    script.write_text(f"#!/bin/sh\necho '#$ TOP={tmp_path}' >&2\n")
    script.chmod(0o755)
    (tmp_path / "lib64").mkdir()
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.setattr(nvcc, "architecture", lambda: "sm_90")
    return tmp_path.resolve()


def test_the_toolkit_is_that_of_the_compiler(toolkit):
    assert nvcc.home() == toolkit
    assert nvcc.links()[0] == f"-L{toolkit / 'lib64'}" and f"-I{toolkit / 'include'}" in nvcc.host_flags()


def test_the_command_for_kernels(toolkit):
    command = nvcc.compile_command("k.cu", "k.o", ["-DX"])
    assert command[:5] == [nvcc.nvcc(), "-c", "k.cu", "-o", "k.o"]
    assert "-arch=sm_90" in command and command[-1] == "-DX"
    assert nvcc.describe().endswith(" sm_90")


def test_without_a_compiler(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    with pytest.raises(CompilationFailed, match="no CUDA compiler: 'nvcc' is not in"):
        nvcc.nvcc()
