"""Say where files for states of loops lie, and how much room there is."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

VARIABLE = "SDGRAD_DISK_FOLDER"
"""What compiled programs look for (``sdgrad_disk.h``)."""
USUAL = "/var/tmp"  # on a disk, where /tmp may be in memory
SHARE = 0.9
"""Of the free room, that files may take."""


def disk_folder(given: Path | None) -> Path:
    """Return the folder of the files.

    :param given: by the user; None: ``TMPDIR``, or ``/var/tmp``.
    """
    return Path(given or os.environ.get("TMPDIR") or USUAL).expanduser().absolute()


def free_disk(given: Path | None) -> int:
    """Return the bytes that files may take in the folder."""
    try:
        return int(SHARE * shutil.disk_usage(disk_folder(given)).free)
    except OSError:  # the call says what is wrong with the folder
        return 1 << 62


def tell_programs(given: Path | None) -> None:
    """Let compiled programs of this process know the folder."""
    os.environ[VARIABLE] = str(disk_folder(given))
