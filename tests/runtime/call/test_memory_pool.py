"""The pool of large arrays: what waits in it, and what goes back to the system."""

import ctypes

import pytest
from compiled_header import loaded

SOURCE = """
#define sdgrad pool_of_this_test  // all programs of a process share theirs
#define SDGRAD_OBJECT
#include "sdgrad_memory.h"
extern "C" {
void *take(int64_t bytes, int alone) {
    try {
        return sdgrad::allocate(bytes, alone);
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}
void release(void *array) { sdgrad::release(array); }
void *scratch(int64_t bytes) { return sdgrad::scratch(bytes); }
void leave_scratch(char *memory) { sdgrad::leave_scratch(memory); }
int64_t scratch_waiting() { return sdgrad::pool.scratch ? sdgrad::pool.scratch->bytes : 0; }
void run(int within_limit) { sdgrad::running = within_limit ? &sdgrad::running : nullptr; }
void most(int64_t bytes) { sdgrad::pool.most = bytes; }
int64_t used() { return sdgrad::pool.used; }
int64_t waiting() {
    int64_t bytes = 0;
    for (sdgrad::Block *block = sdgrad::pool.first; block; block = block->next)
        bytes += block->bytes;
    return bytes;
}
}
"""
MB = 1 << 20
SPARE = 256


class Pool:
    """A pool of its own, asked in MiB."""

    def __init__(self, library):
        self.library = library
        for name in ("used", "waiting", "scratch_waiting"):
            getattr(library, name).restype = ctypes.c_int64
        library.take.restype, library.take.argtypes = ctypes.c_void_p, [ctypes.c_int64, ctypes.c_int]
        library.scratch.restype, library.scratch.argtypes = ctypes.c_void_p, [ctypes.c_int64]
        library.leave_scratch.argtypes = [ctypes.c_void_p]
        library.release.argtypes, library.most.argtypes = [ctypes.c_void_p], [ctypes.c_int64]
        library.sdgrad_free_memory()

    def take(self, size, alone=False):
        return self.library.take(size * MB, alone)

    def leave(self, *arrays):
        for array in arrays:
            self.library.release(array)

    def most(self, size):
        self.library.most(size * MB)

    @property
    def used(self):
        return self.library.used() // MB

    @property
    def waiting(self):
        return self.library.waiting() // MB


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return loaded(SOURCE, tmp_path_factory.mktemp("pool"))


@pytest.fixture
def pool(library):
    found = Pool(library)
    assert found.used == 0
    found.most(4096)
    return found


def test_memory_is_used_again(pool):
    first = pool.take(1000)
    pool.leave(first)
    assert (pool.used, pool.waiting) == (0, 1000)
    again = pool.take(1000)
    assert again == first and (pool.used, pool.waiting) == (1000, 0)
    pool.leave(again)


def test_no_more_waits_than_was_in_use_at_once_and_the_spare(pool):
    pool.leave(pool.take(300))
    assert pool.waiting == 300
    pool.leave(pool.take(200))
    assert pool.waiting == 500
    pool.leave(pool.take(100))
    assert pool.waiting == 300  # 100 and 200: what waits longest has gone
    both = pool.take(700), pool.take(20)
    assert pool.used + pool.waiting <= 720 + SPARE
    pool.leave(*both)
    assert pool.waiting <= 720 + SPARE


def test_room_is_made_before_memory_is_taken(pool):
    pool.leave(*[pool.take(90) for _ in range(3)])
    assert pool.waiting == 270
    large = pool.take(280)
    assert pool.waiting == SPARE // 90 * 90
    pool.leave(large)


def test_what_is_larger_than_may_wait_leaves_the_rest(pool):
    pool.most(SPARE)
    pool.leave(pool.take(200))
    pool.leave(pool.take(500))
    assert pool.waiting == 200


def test_what_waits_is_given_back_for_what_does_not_fit(pool):
    pool.leave(pool.take(200))
    assert pool.take(1 << 40) is None
    assert (pool.used, pool.waiting) == (0, 0)


def test_nothing_waits_beside_an_array_with_a_limit(pool):
    first, second = pool.take(20), pool.take(30)
    pool.leave(first, second)
    again = pool.take(20, alone=True)
    assert again == first and (pool.used, pool.waiting) == (20, 0)
    pool.leave(again)


def test_memory_of_libraries_does_not_add_up_within_a_limit(pool):
    """A transform asks for workspace of its own, and the next one of another size."""
    pool.library.run(True)
    first = pool.take(20)
    pool.leave(first)
    again = pool.take(20)
    assert again == first
    pool.leave(again)
    other = pool.take(30)
    assert (pool.used, pool.waiting) == (30, 0)
    pool.leave(other)
    pool.library.run(False)


def test_small_arrays_do_not_wait(pool):
    pool.leave(pool.library.take(1000, False))
    assert (pool.used, pool.waiting) == (0, 0)


def test_calls_have_the_same_memory_one_after_the_other(pool):
    first = pool.library.scratch(1000)
    pool.library.leave_scratch(first)
    again = pool.library.scratch(500)
    other = pool.library.scratch(2000)  # at the same time
    assert again == first != other
    for memory in (other, again):
        pool.library.leave_scratch(memory)
    assert pool.library.scratch_waiting() == 2000
    pool.library.sdgrad_free_memory()
    assert pool.library.scratch_waiting() == 0
