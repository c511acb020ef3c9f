"""List and remove what the cache holds: compiled programs, headers, objects, and how programs are called."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sdgrad.runtime.compile.file_lock import unless_locked

OF_PROCESSOR = re.compile(r"\w+-[0-9a-f]{8}")
"""The name of a folder for a kind of processor: nothing else in the chosen folder is looked at."""
FOLDERS = {"made": "call of a program", "loaded": "saved program"}
KINDS = (
    (re.compile(r"header_[0-9a-f]{16}"), "header"),
    (re.compile(r"linker_[0-9a-f]+"), "answer"),
    (re.compile(r".*_[0-9a-f]{16}"), "program"),
    (re.compile(r".*\.part"), "unfinished file"),
    (re.compile(r".*\.o"), "object"),
    (re.compile(r".*\.so"), "library"),
)
"""By the whole name, the first that fits; what fits none (rates of the machine, locks) is no entry."""


@dataclass(frozen=True)
class Entry:
    """A file or folder of the cache.

    :param size: in bytes.
    :param used: when it was last written, or loaded by a process; in seconds, as :func:`time.time` counts them.
    """

    path: Path
    kind: str
    size: int
    used: float

    def remove(self) -> bool:
        """Remove it; processes that have loaded it keep what they have. False if one is making it just now."""
        with unless_locked(self.path) as free:
            if free and self.path.is_dir() and not self.path.is_symlink():
                shutil.rmtree(self.path, ignore_errors=True)
            elif free:
                self.path.unlink(missing_ok=True)
        return free


def entries(root: Path) -> list[Entry]:
    """Return what the folder of compiled programs holds for all kinds of processors; the least used first."""
    return sorted(_entries(root), key=lambda e: e.used)


def total(found: Iterable[Entry]) -> int:
    """Return the bytes of entries."""
    return sum(e.size for e in found)


def touch(library: Path) -> None:
    """Note that a program has been loaded, where the cache can be written."""
    with contextlib.suppress(OSError):
        os.utime(library.parent)


def _entries(root: Path) -> Iterator[Entry]:
    for folder in _listed(root):
        if not OF_PROCESSOR.fullmatch(folder.name):
            continue
        for path in _listed(folder):
            kind = next((kind for name, kind in KINDS if name.fullmatch(path.name)), None)
            inside = FOLDERS.get(path.name)
            found = [(p, inside) for p in _listed(path)] if inside else [(path, kind)] if kind else []
            for one, what in found:
                with contextlib.suppress(OSError):  # another process has removed it
                    yield Entry(one, str(what), _size(one), one.stat().st_mtime)


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _size(path: Path) -> int:
    """Return the bytes of a file, or of the files in a folder; those that are linked to several names are shared."""
    if not path.is_dir():
        return path.stat().st_size
    return sum(p.stat().st_size for p in path.rglob("*") if p.is_file())
