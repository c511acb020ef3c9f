"""Keys and words: NumPy's Philox, whatever draws them: other processes, threads, programs, parts of a program."""

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

import sdgrad
from sdgrad import random
from sdgrad.errors import ArgumentError, ParseError

KEY = random.key(2**70 + 12345)
LARGE = 70_001  # more than one thread takes, and no multiple of anything


def philox(key):
    return np.random.Philox(key=key)


def as_in_programs(f, *args):
    """What a function returns when it is compiled."""
    with sdgrad.config.override(verify="never"):
        return sdgrad.compile_forward(f)(*args)


def every_draw(key):
    """Draws of every kind, enough for several threads."""
    shapes, rates = np.linspace(0.05, 30.0, LARGE), np.linspace(0.1, 50.0, LARGE)
    return (
        random.bits(key, LARGE),
        random.bits(key, LARGE, np.uint32),
        random.uniform(key, LARGE),
        random.uniform(key, LARGE, np.float32),
        random.split(key, LARGE),
        random.normal(key, LARGE),
        random.normal(key, LARGE, np.float32),
        random.exponential(key, LARGE),
        random.laplace(key, LARGE),
        random.logistic(key, LARGE),
        random.gumbel(key, LARGE),
        random.cauchy(key, LARGE),
        random.gamma(key, shapes),
        random.loggamma(key, shapes),
        random.randint(key, LARGE, -7, 1000),
        random.poisson(key, rates),
        random.binomial(key, 100, rates / 50),
    )


def digest(results):
    return hashlib.sha256(b"".join(np.ascontiguousarray(r).tobytes() for r in results)).hexdigest()


def test_seeds_and_words_are_those_of_numpy():
    for seed in (0, 7, 2**64 - 1, 2**64, 2**128 - 1):
        own = random.key(seed)
        assert own.dtype == np.uint64
        assert np.array_equal(own, philox(seed).state["state"]["key"])
        assert np.array_equal(random.bits(own, (3, 5)), philox(seed).random_raw(15).reshape(3, 5))
    assert np.array_equal(random.key(-1), random.key(2**128 - 1))
    with pytest.raises(ValueError, match="128 bits"):
        random.key(2**128)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 511, 512, 513, 1031])
def test_uniform_numbers_are_those_of_numpy(n):
    for dtype in (np.float64, np.float32):
        found = random.uniform(KEY, n, dtype)
        assert found.dtype == dtype
        assert np.array_equal(found, np.random.Generator(philox(KEY)).random(n, dtype))
    halves = np.random.Generator(philox(KEY)).integers(0, 2**32, n, np.uint32)
    assert np.array_equal(random.bits(KEY, n, np.uint32), halves)


def test_an_element_depends_on_the_key_and_its_position():
    whole = every_draw(KEY)
    assert np.array_equal(random.normal(KEY, (10, 7)).ravel(), whole[5][:70])
    assert random.normal(KEY) == whole[5][0]
    assert np.array_equal(random.gamma(KEY, np.linspace(0.05, 30.0, LARGE)[:5]), whole[12][:5])
    assert np.array_equal(random.split(KEY, (2, 3)).reshape(6, 2), whole[4][:6])


def test_single_precision_rounds_double():
    for draw in (random.normal, random.exponential, random.gumbel, random.cauchy):
        assert np.array_equal(draw(KEY, 99, np.float32), draw(KEY, 99).astype(np.float32))


def test_programs_draw_the_same_bits():
    found, expected = as_in_programs(every_draw, KEY), every_draw(KEY)
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype and np.array_equal(a, b)


SCRIPT = """
import sys
sys.path[:0] = [{folder!r}]
import sdgrad
from test_keys import KEY, as_in_programs, digest, every_draw
sdgrad.config.optimization_level = {level}
print(digest(every_draw(KEY)), digest(as_in_programs(every_draw, KEY)))
"""


@pytest.mark.parametrize(("threads", "level"), [("1", 0), ("2", 0), ("3", 2)])
def test_threads_processes_and_settings_change_no_bit(threads, level):
    script = SCRIPT.format(folder=os.path.dirname(__file__), level=level)
    env = {**os.environ, "OMP_NUM_THREADS": threads, "SDGRAD_CACHE_DIR": str(sdgrad.config.cache_root)}
    told = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True).stdout
    assert told.split() == [digest(every_draw(KEY))] * 2


def test_new_keys_differ_from_each_other_and_from_draws():
    keys = [KEY, *random.split(KEY, 300), *(random.fold_in(KEY, k) for k in range(-150, 150))]
    assert len({k.tobytes() for k in keys}) == len(keys)
    words = set(random.bits(KEY, 2000).tolist())
    assert not words & {int(w) for k in keys[1:] for w in k}


def loops(key, n):
    """Keys that a loop carries, in a ``while`` and a ``for``, and keys of its steps."""
    total, k = np.zeros(5), 0
    while np.sum(total**2) < 40.0:
        key, sub = random.split(key)
        total = total + random.normal(sub, (5,))
        k += 1
    out = np.zeros((n, 4))
    for i in range(n):
        out[i] = random.uniform(random.fold_in(key, i), 4)
    for i in range(3):
        key = random.fold_in(key, i)
        if random.bernoulli(key, 0.5):
            out = out + random.exponential(key, out.shape)
    return total, k, key, out


def test_keys_in_loops_and_branches():
    for a, b in zip(as_in_programs(loops, KEY, 6), loops(KEY, 6), strict=True):
        assert np.array_equal(a, b)


def made_inside(seed, x):
    first, second = random.split(random.key(seed))
    return x * random.normal(first), random.normal(second, (0, 3)), random.key(5)


def test_keys_made_inside():
    for seed in (3, -1, 2**63 - 1):
        a, empty, own = as_in_programs(made_inside, seed, 2.0)
        assert a == made_inside(seed, 2.0)[0]
        assert empty.shape == (0, 3) and np.array_equal(own, random.key(5))


def shifted(mu, key):
    return mu + random.normal(key, (2,))


def test_keys_of_a_batch():
    keys = random.split(KEY, 4)
    expected = np.stack([1.0 + random.normal(k, (2,)) for k in keys])
    assert np.array_equal(sdgrad.vmap(shifted, in_axes=(None, 0))(1.0, keys), expected)


@pytest.mark.parametrize("wrong", [3, np.zeros(2), random.split(KEY, 2), None, np.zeros(3, np.uint64)])
def test_what_is_no_key(wrong):
    with pytest.raises(ArgumentError, match="a key is an array of two uint64"):
        random.normal(wrong)
    with pytest.raises(ArgumentError, match="a key is an array of two uint64"):
        sdgrad.grad(lambda x: x * random.normal(wrong))(1.0)


def test_refused():
    with pytest.raises(ParseError, match="float64 or float32, not float16"):
        random.normal(KEY, 3, np.float16)
    with pytest.raises(ParseError, match="uint64 or uint32, not uint8"):
        random.bits(KEY, 3, np.uint8)
    with pytest.raises(TypeError, match="one integer"):
        random.fold_in(KEY, 0.5)
    for draw in (lambda x: random.normal(KEY, (-3,)), lambda x: x * np.sum(random.normal(KEY, -3))):
        with pytest.raises(ValueError, match="negative dimensions are not allowed"):
            sdgrad.grad(draw)(1.0)
    with pytest.raises(ValueError, match="do not fit into the shape"):
        random.gamma(KEY, np.ones(3), (2,))
    with pytest.raises(ArgumentError, match="'key' is uint64"):
        sdgrad.grad(shifted, wrt="key")(1.0, KEY)
    with pytest.raises(ParseError, match="sdgrad.random, whose keys are arguments"):
        sdgrad.grad(lambda x: x * np.random.normal())(1.0)
