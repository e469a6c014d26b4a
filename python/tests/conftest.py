"""A small scenario, and the command: within the process of the tests, or in one of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import skips
import within
from hypothesis import settings

REPOSITORY = Path(__file__).parent.parent.parent

#: Three senders answer one receiver over a switch; small enough to run in a moment.
SMALL = """\
name = "small"
seed = 7
transport = "expresspass"

[topology]
kind = "star"
hosts = 4

[[traffic]]
name = "burst"
kind = "incast"
senders = 3
size = "64 KB"
rounds = 2
"""

#: Two flows that never end: to be interrupted.
ENDLESS = """\
name = "endless"
stop = "1000 s"
transport = "dctcp"

[topology]
kind = "star"
hosts = 3

[[traffic]]
kind = "long"
pairs = [["h1", "h0"], ["h2", "h0"]]
"""

#: The seconds after which a long test is stopped.
HOURS = 4 * 3600

# How long a drawn case takes is no result: on a busy machine any of them may take a second.
settings.register_profile("any-machine", deadline=None)
settings.load_profile("any-machine")

Cli = Callable[..., subprocess.CompletedProcess[str]]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the slow tests too")
    parser.addoption("--full", action="store_true", help="run the slow and the long tests too")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "slow: a test of many seconds, whose subject quicker ones touch too; run with --slow or --full"
    )
    config.addinivalue_line("markers", "full: a long test, run with --full")
    config.addinivalue_line("markers", "testbed: a test as root on network namespaces, run with -m testbed -n 0")
    config.addinivalue_line("markers", "packages: a test as root of the packages in dist, run by make test-packages")
    hear_ctrl_c()


def hear_ctrl_c() -> None:
    """Undoes that Ctrl-C is ignored, which programs inherit that a shell without job control put into the background.

    Else tests would wait without end for the programs that they start and interrupt.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("full"):
            if config.getoption("--full"):
                item.add_marker(pytest.mark.timeout(HOURS))
            else:
                item.add_marker(pytest.mark.skip(reason=skips.reason("hours", "make test-full, or pytest --full")))
        elif item.get_closest_marker("slow") and not (config.getoption("--slow") or config.getoption("--full")):
            item.add_marker(pytest.mark.skip(reason=skips.reason("minutes", "make test-slow, or pytest --slow")))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in skips.summary(terminalreporter.stats.get("skipped", [])):
        terminalreporter.write_line(line)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A small scenario in a folder of its own."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Runs the command in the test's folder, within this process: most of a short call is the start of Python.

    How the command starts is for the tests of `start.py`, of streams and of signals, which call `python -m clearway`.
    """
    return lambda *words: within.run(list(map(str, words)), tmp_path)


@pytest.fixture
def process(tmp_path: Path) -> Cli:
    """Runs the command in the test's folder, in a process of its own."""

    def call(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "clearway", *map(str, arguments)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)

    return call
