"""Compiler commands and the sources that a build adds."""

from pathlib import Path

import dace
from dace import data as dt

from sdgrad.runtime.compile.build import Needs, entries, is_device, link_command, sources_of, spared_headers


def graph(storage=dace.StorageType.Default):
    sdfg = dace.SDFG("graph")
    sdfg.add_array("x", [3], dace.float64, storage=storage)
    return sdfg


def test_programs_that_are_compiled_together_need_the_flags_of_all():
    found = Needs.of_all([Needs(["-Ia"], ["-lx"], ["-DP", "-DQ"]), Needs(["-Ia", "-Ib"], ["-ly"], ["-DQ"])])
    assert found == Needs(["-Ia", "-Ib"], ["-lx", "-ly"], ["-DQ"])


def test_parts_of_the_header_are_left_out_unless_they_are_used():
    plain, special = spared_headers(graph(), ["x = sin(y);"]), spared_headers(graph(), ["x = hermite(2, y);"])
    assert "-D__DACE_STREAM_H" in plain and "-DSDGRAD_NO_SPECIAL_FUNCTIONS" in plain
    assert set(plain) - set(special) == {"-DSDGRAD_NO_SPECIAL_FUNCTIONS"}
    with_stream = graph()
    with_stream.add_stream("s", dace.float64)
    assert "-D__DACE_STREAM_H" not in spared_headers(with_stream, [])


def test_programs_with_kernels():
    assert is_device(graph(dace.StorageType.GPU_Global)) and not is_device(graph())


def test_arguments_are_passed_by_their_addresses():
    found = entries("f", {"x": dt.Array(dace.float64, [3]), "n": dt.Scalar(dace.int32)}, ["n"])
    assert "__program_f((f_state_t*)handle, (double * __restrict__ )p[0], *(int *)p[1]);" in found
    assert "__start_f(int n)" in found and "__dace_init_f(n);" in found


def test_sources_of_a_program(tmp_path):
    for name in ("src/cpu/b.cpp", "src/cpu/a.cpp", "sample/main.cpp", "src/sample/c.cpp"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert [Path(s).name for s in sources_of(tmp_path)] == ["a.cpp", "b.cpp"]


def test_a_library_is_linked_from_sources():
    command = link_command(["-DX"], ["a.cpp"], Path("a.so"), ["-ly"])
    assert command[1] == "-DX" and "-shared" in command and command[-4:] == ["a.cpp", "-o", "a.so", "-ly"]
