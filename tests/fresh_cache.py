"""Folders for compiled programs that hold none, but what all programs share: to compile that takes seconds."""

from pathlib import Path

from sdgrad.config import config
from sdgrad.runtime.compile.cache_contents import KINDS
from sdgrad.runtime.compile.precompiled_header import preparations

SHARED = ("header", "answer", "object", "library")
"""Kinds of entries that are made once for a machine; a size beside one says that it is whole."""


def kind_of(name: str) -> str | None:
    """The kind of an entry of the cache, by its name."""
    return next((kind for pattern, kind in KINDS if pattern.fullmatch(name.removesuffix(".size"))), None)


def without_programs(folder: Path) -> Path:
    """Link what programs share from this run's folder to another one, and return that.

    What has the current settings is made first where this run has not made it.
    """
    for _, shared in preparations():
        shared.make()
    there = config.cache_folder
    with config.override(cache_dir=folder):
        here = config.cache_folder
    here.mkdir(parents=True, exist_ok=True)
    for entry in there.iterdir():
        if kind_of(entry.name) in SHARED and not (here / entry.name).exists():
            (here / entry.name).symlink_to(entry)
    return folder
