"""Lock files: held inside, free outside, and not inherited by forked processes."""

import fcntl
import os
import time

import pytest

from sdgrad.runtime.compile.file_lock import is_whole, locked, make_once


def is_free(path):
    with open(f"{path}.lock", "w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def is_free_soon(path):
    """True if it is free within ten seconds: a compiler that another thread starts has it until it is executed."""
    deadline = time.monotonic() + 10
    while not is_free(path):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.001)
    return True


def test_a_lock_is_held_inside(tmp_path):
    path = tmp_path / "folder" / "program"
    with locked(path):
        assert not is_free(path)
    assert is_free_soon(path)


def test_a_lock_is_released_after_an_error(tmp_path):
    with pytest.raises(ValueError), locked(tmp_path / "program"):
        raise ValueError
    assert is_free_soon(tmp_path / "program")


@pytest.mark.parametrize("left", ["", "ha"])
def test_what_is_made_once_is_made_again_where_a_part_is_left(left, tmp_path):
    target, made = tmp_path / "folder" / "object.o", []
    for _ in range(2):
        make_once(target, target, lambda part: made.append(part.write_text("whole")))
    assert len(made) == 1 and is_whole(target)
    target.write_text(left)
    assert not is_whole(target)
    make_once(target, target, lambda part: made.append(part.write_text("other")))
    assert len(made) == 2 and target.read_text() == "other"
    assert sorted(p.name for p in target.parent.iterdir()) == ["object.o", "object.o.lock", "object.o.size"]


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
        assert is_free_soon(path)
    finally:
        os.close(end)
        os.waitpid(child, 0)
        for handle in (ready, tell, wait):
            os.close(handle)
