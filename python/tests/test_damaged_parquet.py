"""Damaged Parquet files: errors of one line, and nothing else on standard error, though Polars panics over some."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import polars as pl
import pytest
from conftest import SMALL, Cli

import clearway
from clearway import _clearway, tables
from clearway.folder import file_hash
from clearway.panics import silenced

SCENARIO = """\
transport = "dctcp"
topology = { kind = "star", hosts = 4 }
traffic = [{ kind = "file", path = "flows.parquet" }]
"""
PLACE = 'list.toml:3: traffic.0.path = "flows.parquet": '
#: What Polars' errors begin with that were panics.
PANIC = "called `Result::unwrap()`"
#: Seeds of damage over which Polars panics, and ends its process.
PANICS, ABORTS = 5, 330


def flow_list(folder: Path) -> bytes:
    rows = range(200)
    columns = {
        "src": [f"h{row % 3}" for row in rows],
        "dst": [f"h{(row % 3 + 1) % 4}" for row in rows],
        "start_us": [float(row) for row in rows],
        "size_bytes": [1000 + row for row in rows],
    }
    pl.DataFrame(columns).write_parquet(folder / "flows.parquet")
    return (folder / "flows.parquet").read_bytes()


def damaged(whole: bytes, seed: int) -> bytes:
    """The bytes of a file with random damage of one kind."""
    draw, content = random.Random(seed), bytearray(whole)
    place = draw.randrange(len(content))
    kind = seed % 6
    if kind == 0:
        content[place] ^= 1 << draw.randrange(8)
    elif kind == 1:
        content[place] = draw.randrange(256)
    elif kind == 2:
        del content[place:]
    elif kind == 3:
        del content[place : place + draw.randrange(100)]
    elif kind == 4:
        content[place:place] = draw.randbytes(20)
    else:  # the description of the columns, at the end
        content[len(content) - 1 - draw.randrange(600)] = draw.randrange(256)
    return bytes(content)


def refusals(folder: Path, seeds: Iterable[int]) -> dict[int, str]:
    """What is said of the damaged lists that are refused, by seed."""
    whole, said = flow_list(folder), {}
    for seed in seeds:
        (folder / "flows.parquet").write_bytes(damaged(whole, seed))
        try:
            _clearway.Scenario.parse(SCENARIO, "list.toml", folder)
        except clearway.Error as error:
            said[seed] = str(error)
    return said


@pytest.mark.slow
def test_damaged_lists_of_flows_are_refused_in_one_line_each(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = refusals(tmp_path, [*range(30), ABORTS])
    assert len(said) > 15
    assert [text for text in said.values() if "\n" in text or not text.startswith(PLACE)] == []
    assert PANIC in said[PANICS]
    assert said[ABORTS] == f"{PLACE}is no whole Parquet file: it ends the process that reads it"
    assert capfd.readouterr().err == ""


@pytest.mark.full
def test_hundreds_of_damaged_lists_of_flows_are_refused_in_one_line_each(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    said = refusals(tmp_path, range(600))
    assert len(said) > 300
    assert [text for text in said.values() if "\n" in text or not text.startswith(PLACE)] == []
    assert capfd.readouterr().err == ""


def test_damaged_tables_of_a_run_are_refused_in_one_line_each(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    clearway.run(SMALL, out=tmp_path / "run")
    whole = (tmp_path / "run" / "flows.parquet").read_bytes()
    file = tmp_path / "flows.parquet"
    said = []
    for seed in range(200):
        file.write_bytes(damaged(whole, seed))
        try:  # with the hash of the damaged file, as one who edits both would have it
            tables.read_parquet(file, file_hash(file))
        except ValueError as error:
            said.append(str(error))
    assert len(said) > 100
    assert [text for text in said if "\n" in text] == []
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("seed", [PANICS, ABORTS])
def test_the_command_prints_one_line_over_a_list_that_ends_its_reader(tmp_path: Path, cli: Cli, seed: int) -> None:
    (tmp_path / "list.toml").write_text(SCENARIO)
    (tmp_path / "flows.parquet").write_bytes(damaged(flow_list(tmp_path), seed))
    for command in ("check", "run"):
        done = cli(command, "list.toml")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"clearway: {PLACE}is no whole Parquet file: ")
        assert done.stderr.count("\n") == 1


@silenced()
def fail() -> None:
    os.write(2, b"a panic\n")
    raise ValueError("damaged")


def test_what_others_print_meanwhile_is_kept_unless_the_reader_fails(capfd: pytest.CaptureFixture[str]) -> None:
    with silenced():
        os.write(2, b"a warning\n")
        assert capfd.readouterr().err == ""
    assert capfd.readouterr().err == "a warning\n"
    with pytest.raises(ValueError, match="damaged"):
        fail()
    os.write(2, b"after it\n")
    assert capfd.readouterr().err == "after it\n"


def test_a_reader_needs_no_standard_error(tmp_path: Path) -> None:
    script = (
        "import os; os.close(2)\n"
        "from clearway.panics import silenced\n"
        "with silenced(): print('read')\n"
        "try:\n    os.fstat(2)\nexcept OSError: print('closed')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout == "read\nclosed\n"
