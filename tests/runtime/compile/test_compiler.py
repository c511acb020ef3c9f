"""The compiler: which one, its flags, and its errors."""

import sys

import numpy as np
import pytest

import sdgrad
from sdgrad.config import config
from sdgrad.errors import CompilationFailed
from sdgrad.runtime.compile.compiler import compiler_name, flags, run
from sdgrad.runtime.compile.wide_permutations import has_doubtful_permutation


def test_levels():
    with config.override(optimization_level=1):
        assert "-O1" in flags() and "-g" not in flags()
    with config.override(debug=True):
        assert {"-O0", "-g"} <= set(flags())


def test_the_environment_chooses_the_compiler(monkeypatch):
    monkeypatch.setenv("CXX", sys.executable)
    assert compiler_name() == sys.executable
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(CompilationFailed, match="'no-such-compiler' is not on PATH"):
        compiler_name()


def test_errors_name_the_lines_that_say_error():
    script = "import sys; sys.stderr.write('note: a\\nx.cpp:1: error: b\\n'); sys.exit(1)"
    with pytest.raises(CompilationFailed) as caught:
        run([sys.executable, "-c", script], "x.cpp")
    assert str(caught.value).splitlines()[:2] == ["cannot compile x.cpp:", "x.cpp:1: error: b"]
    run([sys.executable, "-c", ""], "x.cpp")


def compiler(folder, text):
    path = folder / "compiler"
    path.write_text(text)
    path.chmod(0o755)
    return [str(path), "x.cpp", "-o", str(folder / "x.o")]


@pytest.mark.parametrize(
    "text, told",
    [
        ("no program", r"compiler' cannot be run \(Exec format error\): install g\+\+, or set CXX"),
        ("#!/bin/sh\nexit 0", "wrote nothing when it should compile 'x.cpp': install g"),
        ("#!/bin/sh\nexit 1", "does not say why: install g"),
        ("#!/bin/sh\nprintf '\\377\\376 error' >&2; exit 1", "cannot compile x.cpp:\n.* error"),
        ("#!/bin/sh\nkill -9 $$", "was killed while it compiled 'x.cpp': most likely .* want of memory"),
        ("#!/bin/sh\necho 'g++: fatal error: Killed signal terminated program cc1plus' >&2; exit 1", "was killed"),
    ],
)
def test_compilers_that_are_none(text, told, tmp_path):
    with pytest.raises(CompilationFailed, match=told):
        run(compiler(tmp_path, text), "x.cpp")


def mirrored(A):
    return np.where(np.arange(4)[:, None] >= np.arange(4), A, A.T)


def test_permutations_of_eight_doubles_are_not_trusted():
    """GCC 12 took element (2, 3) from the diagonal, where vectors hold eight doubles."""
    A = np.arange(16.0).reshape(4, 4)
    with config.override(optimization_level=3, verify="never"):
        np.testing.assert_array_equal(sdgrad.compile_forward(mirrored)(A), mirrored(A))


def test_doubtful_permutations_are_found():
    """Of ``vpermilpd`` of 512 bits, in registers and of memory: constants that mean pairs, and one that does not."""
    swapped, other = b"\x62\xf3\xfd\x48\x05\xc0\x55", b"\x62\xf3\xfd\x48\x05\xc0\xa2"
    of_memory = b"\x62\xf3\xfd\x48\x05\x44\x24\x01\xa2"  # 64 bytes after an address
    rest = bytes(8)
    assert not has_doubtful_permutation(swapped + rest) and has_doubtful_permutation(other + rest)
    assert has_doubtful_permutation(of_memory + rest)
    assert not has_doubtful_permutation(other.replace(b"\x48", b"\x28") + rest)  # of 256 bits
