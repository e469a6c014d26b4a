"""Every test that is skipped says what it needs and how to have it; the end of the tests counts them by that."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import skips
from conftest import REPOSITORY

TESTS = REPOSITORY / "python" / "tests"
#: Calls by which a test is skipped with a text that nobody checked. `why` is what `clearway.testbed.lacking` says.
UNSAID = re.compile(
    r"pytest\.skip\((?!why\)|reason\()|mark\.skipif\((?!not condition)|mark\.skip\((?!reason=skips\.reason)"
)


def test_every_test_is_skipped_by_a_call_that_asks_for_what_it_needs_and_how_to_have_it() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{number}"
        for path in sorted(TESTS.rglob("*.py"))
        if path != Path(__file__)
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if UNSAID.search(line)
    ]
    assert found == []


def test_ignored_tests_of_rust_say_what_they_need_and_how_to_have_it() -> None:
    done = subprocess.run([REPOSITORY / "tools" / "skipped"], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines
    for line in lines:
        assert re.fullmatch(r"\d+ tests? of Rust skipped: needs [^;]+; make .*test-full", line), line


def test_a_testbed_that_is_not_possible_says_how_to_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from clearway.testbed import lacking, shell

    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    shell.refused.cache_clear()
    assert shell.refused() == "needs root on Linux; run as root"
    shell.refused.cache_clear()
    monkeypatch.setenv("PATH", "/nowhere")
    assert re.fullmatch(r"needs \w+; install the Debian package \w+", lacking() or "")


def test_the_reasons_are_counted_and_the_most_frequent_comes_first() -> None:
    texts = ["Skipped: needs root; run as root", "needs hours; make test-full", "needs hours; make test-full"]
    reports = [SimpleNamespace(longrepr=("a.py", 1, text)) for text in texts]
    assert skips.summary(reports) == [
        "2 tests skipped: needs hours; make test-full",
        "1 test skipped: needs root; run as root",
    ]


def test_the_end_of_the_tests_names_the_reasons() -> None:
    command = [sys.executable, "-m", "pytest", "-n", "0", "-k", "hours or many_more", "python/tests/test_signals.py"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=120)
    assert "3 tests skipped: needs hours; make test-full, or pytest --full" in done.stdout, done.stdout + done.stderr
