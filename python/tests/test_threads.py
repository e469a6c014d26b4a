"""Many threads: result folders don't depend on them, and a line says where a run has fewer than asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import SMALL, Cli

import clearway

#: Poisson traffic, an incast in rounds and a failing link on a fat tree, with samples and a window of measurement.
TREE = """\
name = "tree"
seed = 11
transport = "{transport}"

[topology]
kind = "fat-tree"

[measure]
from = "100 us"

[[traffic]]
name = "web"
kind = "poisson"
workload = "web-search"
load = 0.3
flows = 60

[[traffic]]
name = "burst"
kind = "incast"
senders = 5
size = "20 KB"
rounds = 3

[[fault]]
link = ["tor0", "agg0"]
down = "300 us"
up = "900 us"

[[sample]]
what = "queue"
every = "50 us"

[[sample]]
what = "throughput"
traffic = "web"
every = "50 us"
"""


def files(path: Path) -> dict[str, bytes]:
    """The files of a result folder, the summary without what the run cost."""
    found = {file.name: file.read_bytes() for file in path.iterdir() if file.name != "summary.json"}
    summary = json.loads((path / "summary.json").read_text("utf-8"))
    del summary["measured"], summary["checksum"]
    return found | {"summary.json": json.dumps(summary).encode()}


@pytest.mark.parametrize("transport", ["dctcp", "expresspass", "hpcc", "pacc"])
def test_a_result_folder_has_the_same_bytes_with_one_two_and_three_threads(tmp_path: Path, transport: str) -> None:
    found = []
    for threads in (1, 2, 3):
        out = tmp_path / str(threads)
        clearway.run(TREE.format(transport=transport), out=out, threads=threads)
        found.append(files(out))
    assert len(found[0]) > 4
    assert found[0] == found[1] == found[2]


def test_the_command_gives_the_bytes_of_one_thread(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "tree.toml").write_text(TREE.format(transport="dctcp"))
    for threads in (1, 2):
        done = cli("run", "tree.toml", "--threads", str(threads), "--out", f"out{threads}", "--quiet")
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert files(tmp_path / "out1") == files(tmp_path / "out2")


def test_transports_are_compared_with_threads(tmp_path: Path) -> None:
    text = TREE.format(transport="dctcp")
    one, two = (
        clearway.compare(text, ["dctcp", "pac"], threads=threads, out=tmp_path / str(threads)) for threads in (1, 2)
    )
    assert {name: run.hash for name, run in one.runs.items()} == {name: run.hash for name, run in two.runs.items()}


def test_a_run_on_one_thread_says_why(cli: Cli, small: Path) -> None:
    done = cli("run", small, "--threads", "2", "--transport", "ideal", "--out", "told")
    assert done.returncode == 0, done.stderr
    assert "Threads: 1 instead of 2, since the transport `ideal` is told" in done.stderr
    assert files(small.parent / "told") == files_of_one(small, "ideal")


def files_of_one(scenario: Path, transport: str) -> dict[str, bytes]:
    """The files of a run with one thread."""
    out = scenario.parent / "one"
    clearway.run(scenario, transport=transport, out=out)
    return files(out)


@pytest.mark.parametrize("threads", [0, -1])
def test_a_number_of_threads_below_one_is_refused(threads: int) -> None:
    with pytest.raises(clearway.ScenarioError, match=f"threads = {threads}: must be at least 1"):
        clearway.run(SMALL, threads=threads)


def test_more_threads_than_processors_give_the_same_and_a_line(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "tree.toml").write_text(TREE.format(transport="dctcp"))
    found = cli("check", "tree.toml", "--threads", "1024")
    assert "though there" in found.stdout
    one, many = (clearway.run(TREE.format(transport="dctcp"), threads=threads) for threads in (1, 20))
    assert one.hash == many.hash
