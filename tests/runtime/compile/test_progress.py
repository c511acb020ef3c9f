"""The status line: one for all work, on terminals only."""

import sys

import pytest

from sdgrad.runtime.compile.progress import working


class Terminal:
    def __init__(self, is_terminal):
        self.is_terminal = is_terminal

    def isatty(self):
        return self.is_terminal


class Line:
    """A status line that records what it shows."""

    def __init__(self, text):
        self.status, self.seen = text, [text]

    def update(self, text):
        self.status = text
        self.seen.append(text)

    def start(self):
        self.seen.append("start")

    def stop(self):
        self.seen.append("stop")


@pytest.fixture
def lines(monkeypatch):
    made = []

    class Console:
        def __init__(self, file):
            pass

        def status(self, text):
            made.append(Line(text))
            return made[-1]

    monkeypatch.setattr("rich.console.Console", Console)
    return made


def test_inner_work_replaces_the_text_for_a_while(lines, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal(True))
    with working("outer"):
        with working("inner"):
            assert lines[0].status == "inner"
        assert lines[0].status == "outer"
    assert len(lines) == 1 and lines[0].seen[-1] == "stop"


def test_nothing_is_shown_without_a_terminal(lines, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal(False))
    with working("outer"):
        pass
    assert not lines
