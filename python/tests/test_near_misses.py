"""Mistakes of newcomers: each is one line that says what is wrong and what would be right, and the exit code is 2."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import SMALL, Cli

import clearway

MISSES = {
    "run table.csv": "table.csv: is a table; a list of flows is named by a scenario",
    "run flows.parquet": "flows.parquet: is a table",
    "run empty.toml": "empty.toml: is empty",
    "run noise.toml": "noise.toml:1: is not UTF-8",
    "run folder": "folder: is a directory; name a text file",
    "run kept": "kept: is a folder of results; `clearway report kept` shows them, and kept/scenario.toml made them",
    "check kept": "kept: is a folder of results",
    "compare kept --transports dctcp,cubic": "kept: is a folder of results",
    "sweep swept": "swept: is a folder of results; `clearway report swept` shows them, and swept/sweep.toml made them",
    "run star": "star: is a shape of networks, not a scenario; `clearway show star` draws it",
    "check fat-tree": "`clearway new --shape fat-tree` writes a scenario with it",
    "run graphml-file": "graphml-file: there is no such file or example",
    "report incast": "incast: is an example, and no folder of results; `clearway run incast` runs it",
    "export buffers --as csv-flows": "buffers: is an example, and no folder of results; `clearway sweep buffers`",
    "report table.csv": "table.csv: is a file; name a folder of results",
    "run small.toml --out /": "/: this is the current folder, or one around it",
    "run small.toml --out table.csv": "table.csv: there is a file of this name; name a folder",
    "run small.toml --set buffer=1MB": '--set buffer: unknown key; did you mean "switch.buffer" or "host.buffer"?',
    "run small.toml --set senders=3": '--set senders: unknown key; did you mean "traffic.burst.senders"?',
    "run small.toml --set seeed=3": '--set seeed: unknown key; did you mean "seed"?',
    "run small.toml --set switch.buffer=1Mb": 'did you mean "1 MB"?',
    "run small.toml --set stop=1": "--set stop = 1: has no unit",
    "run small.toml --seed x": "'x' is no whole number",
    "run small.toml --seed 1 --seed 2": "--seed: is given twice; give it once (see ",
    "run small.toml --transport dctpc": 'did you mean "dctcp"?',
    "compare small.toml --transports dctcp --transports cubic": (
        "--transports: is given twice; give it once, with commas between the names (see "
    ),
    "compare small.toml --transports dctcp,dctcp": "names a transport twice",
    "plan stability pacc --rate 1Gbps --rate 2Gbps": "--rate: is given twice",
    "export kept --as csv": "'csv' is not one of 'hpcc-fct'",
    "export kept": "Missing option '--as'. Choose from: hpcc-fct, hpcc-flows,",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what a newcomer may name in place of what is wanted."""
    folder = tmp_path_factory.mktemp("place")
    (folder / "small.toml").write_text(SMALL)
    for name in ("table.csv", "flows.parquet"):
        (folder / name).write_text("src,dst\n1,2\n")
    (folder / "empty.toml").touch()
    (folder / "noise.toml").write_bytes(b"\xff\x00")
    (folder / "folder").mkdir()
    clearway.run(SMALL, out=folder / "kept")
    clearway.sweep(SMALL, {"seed": [1, 2]}, processes=1, out=folder / "swept")
    return folder


@pytest.mark.parametrize("call", MISSES)
def test_a_mistake_is_one_line_that_says_what_would_be_right(call: str, place: Path, cli: Cli, tmp_path: Path) -> None:
    for entry in place.iterdir():
        (tmp_path / entry.name).symlink_to(entry)
    done = cli(*call.split())
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert MISSES[call] in done.stderr
    assert "\t" not in done.stderr


def test_flags_and_options_that_may_be_given_again_are_taken(cli: Cli, small: Path) -> None:
    done = cli("run", small, "-q", "-q", "--set", "seed=3", "--set", "switch.buffer=1 MB", "--out", "it")
    assert (done.returncode, done.stderr) == (0, "")


def test_python_names_whole_keys_too(small: Path) -> None:
    with pytest.raises(clearway.ScenarioError, match=r'did you mean "traffic.burst.senders"\?'):
        clearway.run(small, set={"senders": 3})


def test_no_example_speaks_of_another_command_by_its_number() -> None:
    from clearway.examples import examples

    assert [one.name for one in examples().values() if "second command" in one.text() + one.shows] == []
