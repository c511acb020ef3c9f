"""Lock files: held inside, free outside, and not inherited by forked processes."""

import fcntl
import os

import pytest

from sdgrad.runtime.compile.file_lock import locked


def is_free(path):
    with open(f"{path}.lock", "w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def test_a_lock_is_held_inside(tmp_path):
    path = tmp_path / "folder" / "program"
    with locked(path):
        assert not is_free(path)
    assert is_free(path)


def test_a_lock_is_released_after_an_error(tmp_path):
    with pytest.raises(ValueError), locked(tmp_path / "program"):
        raise ValueError
    assert is_free(tmp_path / "program")


def test_a_forked_process_does_not_hold_the_lock(tmp_path):
    """It lives on while the parent releases the lock."""
    path, (ready, tell), (wait, end) = tmp_path / "program", os.pipe(), os.pipe()
    with locked(path):
        child = os.fork()
        if not child:
            os.close(end)
            os.write(tell, b"x")
            os.read(wait, 1)
            os._exit(0)
        os.read(ready, 1)
    try:
        assert is_free(path)
    finally:
        os.close(end)
        os.waitpid(child, 0)
        for handle in (ready, tell, wait):
            os.close(handle)
