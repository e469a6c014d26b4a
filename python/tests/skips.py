"""Tests that are skipped: each says what it needs and how to have it, and the end of the tests counts them by that."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable
from typing import Any, NoReturn

import pytest


def skip(needs: str, how: str) -> NoReturn:
    """Skips the test: it needs something that is not here, and there is a way to have it."""
    pytest.skip(reason(needs, how))


def needs(condition: object, what: str, how: str) -> pytest.MarkDecorator:
    """A mark that skips tests unless a condition holds."""
    return pytest.mark.skipif(not condition, reason=reason(what, how))


def program(name: str, package: str | None = None) -> str:
    """The path of a program; the test is skipped where there is none."""
    return shutil.which(name) or skip(name, f"apt-get install {package or name}")


def reason(what: str, how: str) -> str:
    """What a test needs, and how to have it, as `summary` counts them."""
    return f"needs {what}; {how}"


def summary(reports: Iterable[Any]) -> list[str]:
    """A line for each reason for which tests were skipped, the most frequent one first."""
    reasons = (report.longrepr[2] for report in reports)
    found = Counter(text.removeprefix("Skipped: ") for text in reasons)
    return [f"{count} test{'s' * (count != 1)} skipped: {text}" for text, count in found.most_common()]
