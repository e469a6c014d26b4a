"""Every command where its output can't be written: a full disk, or a descriptor that nobody opened."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import SMALL
from skips import needs

import clearway
from clearway.command import COMMANDS

FULL = Path("/dev/full")
pytestmark = needs(FULL.is_char_device(), "/dev/full", "run on Linux")

#: How a shell gives the command an output that can't be written, and what the system says of it.
OUTPUTS = {">/dev/full": "No space left on device", ">&-": "Bad file descriptor"}
#: How it takes standard error away.
ERRORS = ("2>/dev/full", "2>&-")

ANSWERS = [
    ["--version"],
    ["--help"],
    [],
    *([name, "--help"] for name in COMMANDS),
    ["check", "small.toml"],
    ["check", "small.toml", "--json"],
    ["completion", "bash"],
    ["completion", "zsh"],
    ["completion", "fish"],
    ["export", "kept", "--as", "csv-flows"],
    ["list", "transports"],
    ["list", "transports", "--json"],
    ["list", "scenarios", "incast"],
    ["man"],
    ["new", "-"],
    ["plan", "buffers", "star"],
    ["plan", "buffers", "star", "--json"],
    ["plan", "switch", "star", "--target", "sonic"],
    ["plan", "stability", "pacc"],
    ["schema"],
    ["show", "star"],
    ["show", "star", "--json"],
]
#: Commands that write results, and the folders that must be there afterwards.
RESULTS = [
    (["run", "small.toml", "--out", "it"], ["it"]),
    (["run", "small.toml", "--out", "it", "--json"], ["it"]),
    (["compare", "small.toml", "--transports", "dctcp,cubic", "--out", "it"], ["it/dctcp", "it/cubic"]),
    (["compare", "small.toml", "--transports", "dctcp,cubic", "--out", "it", "--json"], ["it/dctcp", "it/cubic"]),
]
RUN, REPORT = ["run", "small.toml", "--quiet", "--out", "it"], ["report", "kept", "--quiet", "--out", "page.html"]
#: Commands that print nothing, each with what takes its streams away: a report, which takes longest, twice by default.
QUIET = [
    pytest.param(call, redirections, id=f"{' '.join(call)}-{redirections}", marks=marks)
    for redirections in (*OUTPUTS, *ERRORS, ">&- 2>&-", "<&- >&- 2>&-")
    for call, marks in (
        (RUN, ()),
        (REPORT, () if redirections in (">/dev/full", "<&- >&- 2>&-") else pytest.mark.slow),
    )
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.toml").write_text(SMALL)
    return tmp_path


@pytest.fixture
def with_results(folder: Path) -> Path:
    clearway.run(SMALL, out=folder / "kept")
    return folder


def shell(call: list[str], redirections: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs the command in a shell, which redirects its streams."""
    return subprocess.run(
        ["sh", "-c", f'"$@" {redirections}', "sh", sys.executable, "-m", "clearway", *call],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


#: The answers that are asked for by default where nobody opened the output, too: one of each kind of command. Of the
#: help on commands, which has one way out, that on `run` is asked for by default.
SOME = (
    ["--version"],
    ["run", "--help"],
    ["check", "small.toml"],
    ["list", "transports", "--json"],
    ["new", "-"],
    ["schema"],
)
UNWRITTEN = [
    pytest.param(
        call,
        output,
        id=f"{' '.join(call)}-{output}",
        marks=() if call in SOME or (output == ">/dev/full" and call[1:] != ["--help"]) else pytest.mark.slow,
    )
    for output in OUTPUTS
    for call in ANSWERS
]


@pytest.mark.parametrize(("call", "output"), UNWRITTEN)
def test_an_answer_that_cannot_be_written_is_one_line(call: list[str], output: str, with_results: Path) -> None:
    done = shell(call, output, with_results)
    assert done.stderr == f"clearway: standard output: can't be written: {OUTPUTS[output]}\n"
    assert (done.returncode, done.stdout) == (1, "")


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize(("call", "results"), RESULTS, ids=lambda value: " ".join(value))
def test_results_are_kept_where_their_table_cannot_be_written(
    call: list[str], results: list[str], output: str, folder: Path
) -> None:
    done = shell(call, output, folder)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"clearway: standard output: can't be written: {OUTPUTS[output]}"
    assert "internal error" not in done.stderr
    for name in results:
        assert clearway.load(folder / name).summary["flows_completed"] == 6


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_sweep_is_kept_where_its_table_cannot_be_written(output: str, folder: Path) -> None:
    (folder / "seeds.toml").write_text('scenario = "small.toml"\n[axes]\nseed = [1, 2]\n')
    done = shell(["sweep", "seeds.toml", "--out", "it", "-j", "1"], output, folder)
    assert done.returncode == 1, done.stderr
    assert done.stderr.splitlines()[-1] == f"clearway: standard output: can't be written: {OUTPUTS[output]}"
    assert clearway.load_sweep(folder / "it").points == 2


@pytest.mark.parametrize(("call", "redirections"), QUIET)
def test_a_command_that_prints_nothing_needs_no_output(call: list[str], redirections: str, with_results: Path) -> None:
    done = shell(call, redirections, with_results)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("redirection", ERRORS)
@pytest.mark.parametrize(("call", "results"), RESULTS, ids=lambda value: " ".join(value))
def test_a_command_needs_no_standard_error(call: list[str], results: list[str], redirection: str, folder: Path) -> None:
    done = shell(call, redirection, folder)
    assert done.returncode == 0
    assert done.stdout
    for name in results:
        assert clearway.load(folder / name).summary["flows_completed"] == 6


@pytest.mark.parametrize("redirection", ERRORS)
def test_a_mistake_keeps_its_exit_code_without_standard_error(redirection: str, folder: Path) -> None:
    assert shell(["run", "nowhere.toml"], redirection, folder).returncode == 2
    assert shell(["run", "nowhere.toml"], f">&- {redirection}", folder).returncode == 2


def test_a_mistake_is_told_first_where_the_output_cannot_be_written(folder: Path) -> None:
    done = shell(["run", "nowhere.toml"], ">/dev/full", folder)
    assert done.returncode == 2
    assert done.stderr.startswith("clearway: nowhere.toml: ")
    assert done.stderr.count("\n") == 1


def test_a_terminal_that_is_gone_ends_no_progress_bar(folder: Path) -> None:
    # The bar is drawn on a terminal alone: the test gives it one, and closes the other end at once.
    script = (
        "import os, pty, subprocess, sys\n"
        "ours, theirs = pty.openpty()\n"
        "call = [sys.executable, '-m', 'clearway', 'run', 'small.toml', '--out', 'it']\n"
        "child = subprocess.Popen(call, stderr=theirs)\n"
        "os.close(theirs); os.close(ours)\n"
        "sys.exit(child.wait())\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done
    assert clearway.load(folder / "it").summary["flows_completed"] == 6


@pytest.mark.parametrize(
    "call",
    [
        ["show", "star", "--out"],
        ["export", "kept", "--force", "--as", "csv-flows", "--out"],
        ["report", "kept", "--out"],
    ],
    ids=" ".join,
)
def test_a_device_is_no_place_for_a_file_and_stays_a_device(call: list[str], with_results: Path) -> None:
    place = with_results / "device"
    subprocess.run(["mkfifo", str(place)], check=True)
    done = shell([*call, str(place)], "", with_results)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "this is a device or a pipe; name a file" in done.stderr
    assert place.is_fifo()


#: A system whose output has no letters but those of ASCII, as a container without a locale is.
ASCII = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
SWEEP = """scenario = "small.toml"
[axes]
seed = [1, 2, 3]
"traffic.burst.senders" = [1, 3]
"""


def plainly(call: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs the command with an output that has only the letters of ASCII."""
    return subprocess.run(
        [sys.executable, "-m", "clearway", *call],
        cwd=folder,
        env={**os.environ, **ASCII, **environment},
        capture_output=True,
        encoding="ascii",
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(call, id=" ".join(call), marks=() if call in SOME or call[1:] != ["--help"] else pytest.mark.slow)
        for call in ANSWERS
    ],
)
def test_an_output_without_letters_beyond_ascii_gets_every_answer(call: list[str], with_results: Path) -> None:
    done = plainly(call, with_results)
    assert (done.returncode, done.stdout != "") == (0, True), done.stderr


def test_tables_in_ascii_keep_their_columns(folder: Path) -> None:
    (folder / "seeds.toml").write_text(SWEEP)
    done = plainly(["sweep", "seeds.toml", "--out", "it", "-j", "1"], folder)
    assert done.returncode == 0, done.stderr
    tables = [table.splitlines() for table in done.stdout.split("\n\n") if "|" in table]
    assert any("ms +- " in row or "us +- " in row for table in tables for row in table)
    for table in tables:
        assert len({tuple(at for at, mark in enumerate(row) if mark == "|") for row in table if "|" in row}) == 1


def test_json_in_ascii_is_json(folder: Path) -> None:
    (folder / "small.toml").write_text(SMALL.replace('name = "small"', 'name = "grün 𝄞"'))
    done = plainly(["check", "small.toml", "--json"], folder)
    assert "grün 𝄞" in json.dumps(json.loads(done.stdout), ensure_ascii=False)


def test_a_word_that_is_no_utf_8_is_one_line(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "clearway", "run", b"n\xff"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (
        2,
        "clearway: 'n\\xff': is no text in UTF-8, as names and values must be\n",
    )


def on_terminal(call: list[str], folder: Path, **environment: str) -> str:
    """What the command prints on a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "clearway", *call], cwd=folder, env={**os.environ, **environment}, stdout=theirs
    ) as process:
        os.close(theirs)
        said = b""
        with suppress(OSError):  # The system's way to say that the other end is closed.
            while part := os.read(ours, 4096):
                said += part
    os.close(ours)
    assert process.returncode == 0
    return said.decode()


def test_a_terminal_shows_microseconds_as_people_write_them_and_a_pipe_as_programs_read_them(folder: Path) -> None:
    call = ["run", "small.toml", "--out", "it"]
    shown = on_terminal(call, folder, LC_ALL="C.UTF-8", TERM="xterm")
    assert re.search(r"\d µs\b", shown)
    assert not re.search(r"\d us\b", shown)
    plain = on_terminal(call, folder, **ASCII, TERM="xterm")
    assert re.search(r"\d us\b", plain)
    assert plain.isascii()
    piped = shell(call, "", folder).stdout
    assert re.search(r"\d us\b", piped)
    assert "µ" not in piped


@pytest.mark.parametrize("letters", ["us", "µs", "μs"])
def test_microseconds_are_read_with_either_letter(letters: str, folder: Path) -> None:
    done = shell(["check", "small.toml", "--set", f"topology.delay='3 {letters}'", "--json"], "", folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout == shell(["check", "small.toml", "--set", "topology.delay='3 us'", "--json"], "", folder).stdout


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The numbers of a run's last table, where there is room for all of them."""
    folder = tmp_path_factory.mktemp("wide")
    (folder / "small.toml").write_text(SMALL)
    wide = plainly(["run", "small.toml", "--out", "wide"], folder, COLUMNS="200").stdout
    # The time that the processor took is another in each run.
    counted = wide.partition("\nflows completed")[2].partition("speed")[0]
    return {word for word in counted.split() if word[0].isdecimal()}


@pytest.mark.parametrize("columns", [1, 20, 32, 40, 60, 80, 200])
def test_tables_fit_into_the_columns_and_break_no_number(columns: int, numbers: set[str], folder: Path) -> None:
    assert len(numbers) > 5
    done = plainly(["run", "small.toml", "--out", "it"], folder, COLUMNS=str(columns))
    assert done.returncode == 0, done.stderr
    assert numbers <= set(done.stdout.replace("|", " ").split())
    for line in done.stdout.splitlines():
        if "|" in line or line.startswith(("-", "  ")):
            assert len(line) <= max(columns, 20), line


def test_a_pipe_is_120_columns_wide_where_nobody_says_how_wide(with_results: Path) -> None:
    widths = {
        columns: max(map(len, plainly(["list", "transports"], with_results, COLUMNS=columns).stdout.splitlines()))
        for columns in ("", "0", "wide", "90", "150")
    }
    assert widths == {"": 120, "0": 120, "wide": 120, "90": 90, "150": 150}
