"""Marked stores in generated code become strips and streaming instructions: code in, code out."""

import textwrap
from dataclasses import replace

import pytest

from sdgrad.config import config
from sdgrad.runtime.compile.nontemporal_stores import around_caches

LOOP = """\
for (int64_t i = 0; i < n; i += 1) {
    double streamed0;
    streamed0 = x[i] * 2;
    y[i + 1] = streamed0;
}"""


@pytest.fixture(autouse=True)
def short_strips(monkeypatch):
    monkeypatch.setattr(config, "machine", replace(config.machine, streamed_part=64))


def block(text):
    return textwrap.dedent(text).strip()


def test_a_loop_is_strip_mined():
    assert around_caches(LOOP) == block("""
        for (int64_t i_part = 0; i_part < n; ) {
            const int64_t i_end = sdgrad::part_end(&y[i_part + 1], i_part, n, 64);
            alignas(64) double streamed0_i[64];
            for (int64_t i = i_part; i < i_end; i += 1) {
            double streamed0;
            streamed0 = x[i] * 2;
            streamed0_i[i - i_part] = streamed0;
            }
            sdgrad::stream(&y[i_part + 1], streamed0_i, i_end - i_part);
            i_part = i_end;
        }
        sdgrad::streamed();
    """)


def test_strips_that_threads_share_have_one_length():
    assert around_caches("#pragma omp parallel for\n" + LOOP).startswith(
        block("""
            #pragma omp parallel for
            for (int64_t i_part = 0; i_part < n; i_part += 64) {
                const int64_t i_end = i_part + 64 < n ? i_part + 64 : n;
        """)
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("streamed0", "other"),  # no marked store
        ("i += 1", "i += 2"),
        ("    double streamed0;\n", ""),  # a value from elsewhere
        ("    y[i + 1]", "    for (int64_t j = 0; j < n; j += 1) {\n    }\n    y[i + 1]"),  # not innermost
    ],
)
def test_other_loops_are_unchanged(old, new):
    assert old in LOOP
    code = LOOP.replace(old, new)
    assert around_caches(code) == code
