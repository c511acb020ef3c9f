"""Several graphs by one call of the compiler."""

import os
import re
import subprocess
import sys
from pathlib import Path

import dace
import numpy as np
import pytest
from fresh_cache import without_programs

from sdgrad.config import config
from sdgrad.errors import CompilationFailed
from sdgrad.runtime import INCLUDE
from sdgrad.runtime.compile import build, cache
from sdgrad.runtime.compile.cache import compile_graphs


def doubled(name: str, factor: float, code: str = "", text: str | None = None) -> dace.SDFG:
    """``b = factor * a``, with C++ of its own."""
    sdfg = dace.SDFG(name)
    sdfg.add_array("a", [3], dace.float64)
    sdfg.add_array("b", [3], dace.float64)
    state = sdfg.add_state()
    state.add_mapped_tasklet(
        "scale",
        {"i": "0:3"},
        {"x": dace.Memlet("a[i]")},
        text or f"y = {factor} * x;",
        {"y": dace.Memlet("b[i]")},
        language=dace.Language.CPP,
        external_edges=True,
    )
    sdfg.append_global_code(code)
    return sdfg


@pytest.fixture
def commands(monkeypatch, tmp_path):
    """The calls of the compiler for programs, in a cache that has none."""
    seen, run = [], build.run
    monkeypatch.setattr(build, "run", lambda command, what, *files: seen.append(what) or run(command, what, *files))
    with config.override(cache_dir=without_programs(tmp_path)):
        yield seen


def results(sdfgs) -> list[float]:
    found = []
    for library in compile_graphs(sdfgs):
        a, b = np.ones(3), np.zeros(3)
        library({"a": a, "b": b})
        found.append(b[0])
    return found


def test_several_by_one_call(commands):
    assert results([doubled("one", 2.5), doubled("two", 3.5), doubled("again", 2.5)]) == [2.5, 3.5, 2.5]
    assert len([c for c in commands if c != "dace.h"]) == 1
    assert results([doubled("one", 2.5), doubled("other", 4.5)]) == [2.5, 4.5]
    assert len([c for c in commands if c != "dace.h"]) == 2


def test_names_in_common(commands):
    """What cannot be compiled together is compiled alone."""
    pair = [doubled(n, f, f"static double shared = {f};", "y = shared * x;") for n, f in (("one", 5.5), ("two", 6.5))]
    assert results(pair) == [5.5, 6.5]


def test_the_wrong_one_is_named(commands):
    with pytest.raises(CompilationFailed, match=r"generated for 'wrong_\w+' does not compile.*fault of sdgrad") as told:
        compile_graphs([doubled("right", 7.5), doubled("wrong", 8.5, "", "y = no_such_name * x;")])
    assert len(str(told.value).splitlines()) == 1
    report = Path(str(told.value).rsplit(" ", 1)[1]).read_text()
    assert "error: " in report and "y = no_such_name * x;" in report
    assert results([doubled("right", 7.5)]) == [7.5]


def test_special_functions_are_there_for_those_who_call_them(commands):
    (found,) = results([doubled("bessel", 1.0, "", "y = std::cyl_bessel_j(0, x);")])
    assert np.isclose(found, 0.7651976865579666)


SAME = """
import numpy as np
from benchmarks.kernels import load
from dace.config import Config
from sdgrad import value_and_grad
from sdgrad.convert.callables import bind_arguments
from sdgrad.optimize import optimize

Config.set("progress", value=False)  # it is printed where the programs are, on a slow machine
for name in ("durbin", "channel_flow", "longformer"):
    kernel = load(name)
    f, arguments = kernel.numpy_version, kernel.inputs(kernel.sizes["medium"], np.random.default_rng(0))
    signature, _, _, request = value_and_grad(f, wrt=kernel.wrt).question(bind_arguments(f, arguments, {}))
    print(optimize(signature.differentiated(request).program))
"""


def test_the_next_process_makes_the_same_program():
    """Sets of names have another order in each process; programs are found on disk by what they are."""
    texts = []
    for seed in "123":
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[3])}
        command = [sys.executable, "-W", "ignore", "-c", SAME]
        texts.append(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert "tape_" in texts[0]
    assert texts[0] == texts[1] == texts[2]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"name": 1}', '{"arguments": 3, "initial": [], "symbols": []}'])
def test_a_broken_description_of_a_program_is_made_again(content, commands, monkeypatch):
    monkeypatch.setattr(cache, "_loaded", {})
    assert results([doubled("described", 9.5)]) == [9.5]
    (described,) = config.cache_folder.glob("described_*/interface.json")
    described.write_text(content)
    cache._loaded.clear()
    assert results([doubled("described", 9.5)]) == [9.5]
    assert described.read_text().startswith('{"name": "described_')
    assert len([c for c in commands if c != "dace.h"]) == 1


@pytest.mark.parametrize("damage", [lambda b: b[: len(b) // 2], lambda b: b"", lambda b: b"0" * len(b)])
def test_a_damaged_library_is_compiled_again(damage, commands, monkeypatch):
    """After a power cut, say; to load one that is too short would end the process."""
    monkeypatch.setattr(cache, "_loaded", {})
    name = f"damaged{len(damage(b'ab'))}{damage(b'ab') == b'00'}"
    with monkeypatch.context() as unloaded:  # the system does not read a file again that is loaded
        unloaded.setattr(cache, "_just_built", lambda *_: None)
        compile_graphs([doubled(name, 9.5)])
    (library,) = config.cache_folder.glob(f"{name}_*/*.so")
    right = library.read_bytes()
    library.write_bytes(damage(right))
    cache._loaded.clear()
    arguments = doubled(name, 9.5).arglist()
    assert library.stat().st_size == len(right) or cache.library_of(library.stem, arguments) is None
    assert results([doubled(name, 9.5)]) == [9.5]
    assert library.stat().st_size == len(right)
    assert len([c for c in commands if c != "dace.h"]) == 2


def test_what_is_compiled_and_no_library_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(cache, "_loaded", {})
    monkeypatch.setattr(cache, "build", lambda jobs: (jobs[0].folder.mkdir(parents=True), jobs[0].target.touch()))
    with config.override(cache_dir=tmp_path), pytest.raises(CompilationFailed, match="cannot be loaded.*set CXX"):
        compile_graphs([doubled("no_library", 3.5)])


def test_the_sources_that_make_code_are_a_part_of_the_key():
    """The folders of these import from no other ones, but for settings, errors, and texts."""
    folders = [INCLUDE.parents[1] / name for name in cache.WRITERS]
    sources = [f.read_text() for folder in folders for f in folder.rglob("*.py")]
    imported = {name for s in sources for name in re.findall(r"^\s*from sdgrad\.(\w+)", s, re.M)}
    assert imported == {*cache.WRITERS, "config", "errors", "machine"}
