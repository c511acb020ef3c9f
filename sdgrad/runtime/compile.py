"""Compilation with a cache on disk, keyed by content, shared by processes."""
from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import dace
from dace.codegen.compiled_sdfg import CompiledSDFG
from dace.config import Config as DaceConfig

from sdgrad.config import config

_loaded: dict[str, CompiledSDFG] = {}


def content_key(sdfg: dace.SDFG) -> str:
    """A hash of everything that decides the compiled code: graph, settings, DaCe's version."""
    settings = [dace.__version__, config.blas, config.optimization_level, config.debug,
                DaceConfig.get("compiler", "cpu", "args")]
    text = sdfg.hash_sdfg() + json.dumps(settings, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One process at a time in a build folder."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{folder}.lock", "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def compile_sdfg(sdfg: dace.SDFG) -> CompiledSDFG:
    """The loaded program of a graph; compiled only where no process has done so before."""
    key = content_key(sdfg)
    if key not in _loaded:
        sdfg.name = f"{sdfg.name[:40]}_{key}"
        folder = config.cache_folder / sdfg.name
        sdfg.build_folder = str(folder)
        with _locked(folder), config.compiling():
            DaceConfig.set("compiler", "use_cache", value=True)
            _loaded[key] = sdfg.compile()
    return _loaded[key]
