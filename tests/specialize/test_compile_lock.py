"""While programs are made the garbage collector looks less often, and as often as before when they are there."""

import gc

import pytest

from sdgrad.specialize.compile_lock import SELDOM, Making


@pytest.fixture(autouse=True)
def thresholds():
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_as_before_when_the_last_leaves():
    gc.set_threshold(700, 10, 10)
    making = Making()
    with making:
        with making:
            assert gc.get_threshold() == (*SELDOM, 10)
        assert gc.get_threshold() == (*SELDOM, 10)
    assert gc.get_threshold() == (700, 10, 10)


def test_also_after_an_error():
    gc.set_threshold(700, 10, 10)
    with pytest.raises(ZeroDivisionError), Making():
        raise ZeroDivisionError
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("own", [(0, 10, 10), (90_000, 60, 10)], ids=["off", "less often"])
def test_what_the_user_wants_less_of_stays(own):
    gc.set_threshold(*own)
    with Making():
        assert gc.get_threshold() == own
