"""Many threads: result folders don't depend on them, and a line says where a run has fewer than asked for."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import SMALL, Cli
from rich.console import Console

import clearway
from clearway.command.threads import AUTO, BLOCKS_GAIN, CUT_COST, WINDOW_S, automatic, gain, runs_beside
from clearway.runner import load_scenario

#: The example of 20,000 flows, whose estimate is 25 seconds.
WEBSEARCH = Path(__file__).parents[2] / "scenarios/websearch.toml"

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


def never() -> int:
    """Fails a test that looks at the processors without need."""
    raise AssertionError("nobody has to know which processors are idle")


def test_a_long_run_takes_idle_processors_by_itself_and_says_why() -> None:
    websearch = load_scenario(WEBSEARCH)
    assert automatic(websearch, lambda: 1) == (1, "Threads: 1 (auto), since other programs keep the processors busy.")
    threads, line = automatic(websearch, lambda: 2)
    assert threads == 2
    assert line is not None
    assert line.startswith("Threads: 2 (auto), of 2 idle processors: about 1.")
    more, _ = automatic(websearch, lambda: 16)
    assert 2 < more <= 16


def test_a_short_run_and_one_that_cannot_be_cut_take_one_thread_by_themselves() -> None:
    assert automatic(load_scenario(SMALL), never) == (1, None)
    threads, line = automatic(load_scenario(WEBSEARCH, transport="ideal"), lambda: 16)
    assert threads == 1
    assert line is not None
    assert "since the transport `ideal` is told" in line
    # Links of 10 ns are crossed so soon that threads would meet a million times.
    near = load_scenario(WEBSEARCH, set={"topology.delay": "10 ns"})
    threads, line = automatic(near, lambda: 2)
    assert threads == 1
    assert line is not None
    assert "would gain little" in line


def test_the_expected_gain_is_that_of_the_heaviest_part_and_of_the_windows() -> None:
    one, cut = (load_scenario(WEBSEARCH).partition(threads) for threads in (1, 2))
    assert cut["loads"] == pytest.approx([0.5, 0.5], abs=0.01)
    assert gain(100.0, 0.0, one, cut) == pytest.approx(1 / (0.5 * CUT_COST), rel=0.02)
    width_s = cut["width_s"]
    assert width_s is not None
    windows = 1_000_000
    half = 100.0 * max(cut["loads"]) * CUT_COST
    assert gain(100.0, windows * width_s, one, cut) == pytest.approx(100 / (half + windows * WINDOW_S))


def test_what_blocks_gain_counts_for_one_thread_and_for_parts_that_are_large_enough_for_blocks() -> None:
    large = """
        transport = "uec-nscc"
        stop = "10 ms"
        [topology]
        kind = "fat-tree"
        k = 16
        rate = "400 Gbps"
        [[traffic]]
        kind = "permutation"
    """
    # 6,144 ports, and 384 for each block.
    one, two, many = (load_scenario(large).partition(threads) for threads in (1, 2, 16))
    assert (one["blocks"], many["blocks"]) == ([16], [1] * 16)
    assert [count in (7, 8) for count in two["blocks"]] == [True] * 2
    assert load_scenario(WEBSEARCH).partition(2)["blocks"] == [1, 1]
    assert gain(100.0, 0.0, one, two) == pytest.approx(1 / (max(two["loads"]) * CUT_COST))
    assert gain(100.0, 0.0, one, many) == pytest.approx(1 / (BLOCKS_GAIN * max(many["loads"]) * CUT_COST))
    assert gain(100.0, 0.0, many, many) == pytest.approx(1 / (max(many["loads"]) * CUT_COST))


def test_a_word_that_is_no_number_of_threads_is_refused_in_a_line(cli: Cli, small: Path) -> None:
    for word in ("0", "1025", "two", "1.5"):
        done = cli("run", small, "--threads", word)
        assert done.returncode == 2
        assert f"'{word}': write 'auto', or a number of threads from 1 to 1024" in done.stderr


def test_transports_are_compared_beside_each_other_with_the_same_results(tmp_path: Path) -> None:
    text = TREE.format(transport="dctcp")
    names = ["pac", "dctcp", "expresspass"]
    one, three = (clearway.compare(text, names, beside=beside, out=tmp_path / str(beside)) for beside in (1, 3))
    assert list(one.runs) == list(three.runs) == names
    for name in names:
        assert files(tmp_path / "1" / name) == files(tmp_path / "3" / name)


def test_a_callback_that_ends_one_run_ends_a_comparison_of_runs_beside_each_other() -> None:
    begun = list[str]()

    def start(name: str) -> Callable[[object], bool]:
        begun.append(name)
        return lambda _: False

    # No run is over before it asks for the first time whether it goes on. The first two begin at once, and whichever
    # has ended makes place for nobody.
    long = TREE.format(transport="dctcp").replace("flows = 60", "flows = 20000")
    found = clearway.compare(long, ["dctcp", "pac", "expresspass"], beside=2, progress=start)
    assert found.interrupted
    assert set(begun) <= {"dctcp", "pac"}
    assert all(run.interrupted for run in found.runs.values())


def test_so_many_runs_are_beside_each_other_as_processors_are_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    websearch, out = load_scenario(WEBSEARCH), Console(file=io.StringIO(), width=200)
    monkeypatch.setattr("clearway.jobs.workers.cores", lambda: 8)
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    for busy, beside in ((0, 3), (6, 2), (7, 1), (12, 1)):
        monkeypatch.setattr("clearway.machine.running", lambda busy=busy: busy)
        assert runs_beside(out, websearch, AUTO, 3) == (beside, 1)
    monkeypatch.setattr("clearway.machine.running", never)
    assert runs_beside(out, load_scenario(SMALL), AUTO, 3) == (1, 1)
    assert runs_beside(out, websearch, 2, 3) == (1, 2)
    assert "Runs: 2 at a time (auto), of 2 idle processors" in out.file.getvalue()  # type: ignore[attr-defined]
