"""Find a folder for compiled programs that can be written, and say what is wrong where none can."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import tempfile
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

from sdgrad.config import config
from sdgrad.errors import DiskError

ANOTHER = "SDGRAD_CACHE_DIR, or sdgrad.config.cache_dir, is another folder"
NO_SPACE = "No space left on device"
"""What the C library, and with it a compiler, says of a full disk."""
_found: dict[Path, Path] = {}
_finding = threading.Lock()


def cache_folder() -> Path:
    """Return the folder of compiled programs: the one of the settings, or a temporary one where it cannot be written.

    :raises DiskError: no folder can be written.
    """
    wanted = config.cache_folder
    with _finding:
        if wanted not in _found:
            _found[wanted] = wanted if _is_writable(wanted) else _temporary(wanted)
        return _found[wanted]


@contextlib.contextmanager
def writing() -> Iterator[None]:
    """Say what can be done where a file in the folder cannot be written.

    :raises DiskError: instead of the system's error.
    """
    try:
        yield
    except DiskError:
        raise
    except OSError as error:
        raise cannot_write(error.strerror or str(error)) from error


def cannot_write(reason: str) -> DiskError:
    """Return the error where a file in the folder of compiled programs cannot be written."""
    return DiskError(
        f"cannot write compiled programs to {cache_folder()}: {reason}. "
        f"The command 'sdgrad cache clean' makes room there, and {ANOTHER}"
    )


def _is_writable(folder: Path) -> bool:
    """Make a folder; True if files can be written to it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)


def _temporary(wanted: Path) -> Path:
    """Return a folder that is removed at the end of this process, with links to all that another one has."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="sdgrad_"))
    except OSError as error:
        raise DiskError(
            f"neither {wanted} nor a temporary folder can be written, for compiled programs: {error}. {ANOTHER}"
        ) from error
    with contextlib.suppress(OSError):  # there may be none, or one that nobody may read
        for name in os.listdir(wanted):
            if not name.endswith(".lock"):
                (folder / name).symlink_to(wanted / name)
    atexit.register(_remove, folder, os.getpid())
    warnings.warn(
        f"{wanted} cannot be written: what is compiled now is for this process only, in {folder}. {ANOTHER}",
        stacklevel=3,
    )
    return folder


def _remove(folder: Path, owner: int) -> None:
    """Remove a temporary folder at the end of the process that made it, and not of a fork of it."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
