"""The window of measurement, traffic entries side by side, and tables that fit their console."""

from __future__ import annotations

import io
import re
from pathlib import Path

import polars as pl
import pytest
from conftest import Cli
from rich.console import Console

import clearway
from clearway.command.tables import print_runs, print_texts
from clearway.comparison import headline
from clearway.report import page
from clearway.texts import network_texts, parts, parts_texts, traffic_texts
from clearway.window import flows, in_window, traffic, window, window_texts

#: Web search beside an incast on eight hosts.
TWO = """
[topology]
kind = "star"
hosts = 8

[transport]
name = "dctcp"

[[traffic]]
name = "web"
kind = "poisson"
workload = "web-search"
load = 0.5
flows = 60

[[traffic]]
name = "burst"
kind = "incast"
senders = 7
size = "50 KB"
start = "2 ms"
"""
WINDOW = {"measure.from": "2 ms", "measure.until": "8 ms"}


@pytest.fixture(scope="module")
def whole() -> clearway.Run:
    return clearway.run(TWO)


@pytest.fixture(scope="module")
def part() -> clearway.Run:
    return clearway.run(TWO, set=WINDOW)


def printed(runs: dict[str, clearway.Run], width: int) -> str:
    out = Console(file=io.StringIO(), width=width, highlight=False)
    print_runs(out, "title", runs)
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def rows(runs: dict[str, clearway.Run]) -> dict[str, list[str]]:
    return {row[0]: row[1:] for row in network_texts(runs)[1]}


def test_a_window_changes_what_is_shown_and_not_what_happened(whole: clearway.Run, part: clearway.Run) -> None:
    assert part.hash == whole.hash
    same = [name for name in whole.ports.columns if not name.startswith("window_")]
    assert part.ports.select(same).equals(whole.ports.select(same))
    assert part.flows.equals(whole.flows)
    assert window(part) == clearway.window.Window(2e-3, 8e-3, is_set=True, end="set")


def test_flows_count_by_their_start_in_the_window(whole: clearway.Run, part: clearway.Run) -> None:
    inside = flows(part, ["start_s"])
    assert 7 < inside.height < flows(whole, ["start_s"]).height == whole.flows.height == 67
    starts = inside["start_s"]
    assert 2e-3 <= starts.min() <= starts.max() <= 8e-3  # type: ignore[operator]
    assert flows(part, ["start_s"], "burst").height == 7
    head = headline(part)
    assert head["window_flows_started"] == inside.height
    assert head["flows_started"] == 67
    assert rows({"dctcp": part})["flows completed"] == [f"{inside.height} of {inside.height}"]


def test_the_default_window_of_poisson_traffic_leaves_the_drain_out(whole: clearway.Run) -> None:
    made = window(whole)
    web = whole.flows.filter(pl.col("traffic") == "web")["start_s"]
    assert (made.from_s, made.until_s) == (web.min(), web.max())
    assert made.end == "last arrival"
    assert made.until_s < whole.summary["simulated_s"]
    inside = in_window(whole)["utilisation_max"]
    assert inside == whole.ports["window_utilisation"].max() != whole.ports["utilisation"].max()
    assert rows({"dctcp": whole})["utilisation (busiest port)"] == [f"{100 * inside:.2f} %"]
    (line,) = window_texts({"dctcp": whole})
    assert line.endswith("the starts of the first and the last flow, without the drain after them.")


def test_without_poisson_traffic_the_default_window_is_the_run(part: clearway.Run) -> None:
    run = clearway.run(TWO, set={"traffic.web.load": "0.01", "traffic.web.flows": "1"})
    assert window(run).end == "last arrival"
    burst = TWO.partition('[[traffic]]\nname = "web"')[0] + TWO[TWO.index('[[traffic]]\nname = "burst"') :]
    alone = clearway.run(burst)
    assert window(alone) == clearway.window.Window(
        2e-3, alone.summary["simulated_s"], is_set=False, end="end of the run"
    )
    assert window_texts({"dctcp": alone, "ours": part}) == [
        f"dctcp: {window_texts({'dctcp': alone})[0]}",
        "ours: Measured from 2.00 ms to 8.00 ms. Flows count by their start. What is of the whole run says so.",
    ]


def test_a_window_after_the_end_is_said_to_have_measured_nothing() -> None:
    late = clearway.run(TWO, set={"measure.from": "50 s"})
    (line,) = window_texts({"dctcp": late})
    assert re.fullmatch(r"Nothing was measured: the run ended at .* ms, before the window began\.", line)
    assert rows({"dctcp": late})["utilisation (busiest port)"] == ["-"]
    assert "Nothing was measured" in printed({"dctcp": late}, 120)


def test_traffic_entries_stand_side_by_side(whole: clearway.Run) -> None:
    table = traffic(whole)
    assert table["traffic"].to_list() == ["web", "burst"]
    assert table["flows"].to_list() == [60, 7]
    span = window(whole).length_s
    delivered = [line["delivered_bytes"] for line in whole.summary["measure"]["traffic"]]
    assert delivered[1] == 7 * 50_000
    assert table["goodput_bps"].to_list() == pytest.approx([8 * size / span for size in delivered])
    for name in ("retransmits", "timeouts"):
        assert table[name].sum() == whole.flows[name].sum() == in_window(whole)[name]
    shown = {row[0]: row for row in traffic_texts({"dctcp": whole})[1]}
    assert [*shown] == ["web", "burst"]
    assert shown["burst"][1:3] == ["dctcp", "7"]
    assert [name for name, _ in parts_texts({"dctcp": whole})] == ["web", "burst"]
    of_burst = dict(parts_texts({"dctcp": whole}))["burst"]
    assert [row[0] for row in of_burst[1]] == ["10-100 KB", "all"]


def test_losses_in_a_window_are_those_of_the_entry_and_not_of_all() -> None:
    all_of_it = {"measure.from": "0 us", "measure.until": "1 s", "switch.buffer": "40 KB", "transport.name": "newreno"}
    run = clearway.run(TWO, set=all_of_it)
    assert window(run).is_set
    lost = traffic(run)["retransmits"].to_list()
    assert lost == [int(run.flows.filter(pl.col("traffic") == name)["retransmits"].sum()) for name in ("web", "burst")]
    assert 0 < lost[1] < lost[0], "the two can be told apart"
    assert in_window(run)["retransmits"] == sum(lost)


def test_a_scenario_with_one_traffic_entry_has_no_table_by_traffic() -> None:
    run = clearway.run({"topology": {"kind": "star"}, "transport": "dctcp", "traffic": [{"kind": "incast"}]})
    assert parts({"dctcp": run}) == []
    assert parts_texts({"dctcp": run}) == []


def test_the_worst_port_is_named_beside_its_queue(whole: clearway.Run) -> None:
    (text,) = rows({"dctcp": whole})["maximum queue (worst switch port)"]
    assert re.fullmatch(r"[\d.]+ KB \(s0->h\d\)", text)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_word_is_broken(whole: clearway.Run, part: clearway.Run, width: int) -> None:
    runs = {"dctcp": whole, "expresspass-hotnets16": part, "expresspass": whole, "rdma-dctcp": part}
    text = printed(runs, width)
    words = set(text.split())
    whole_words = (
        "transport expresspass-hotnets16 rdma-dctcp goodput retransmissions (link transmissions per utilisation"
    )
    assert {*whole_words.split()} <= words
    assert whole.hash[:16] in words
    tables = [line for line in text.splitlines() if not line.startswith(("dctcp:", "expresspass", "rdma-dctcp:"))]
    numbers = [line.rstrip() for line in tables if re.search(r"\d (ms|us|KB|Gbps)\b", line)]
    assert numbers
    assert not any(re.search(r"^\s*(ms|us|KB|Gbps)(\s|$)", line) for line in tables), "a unit stands with its number"


def test_columns_that_are_left_out_are_named() -> None:
    out = Console(file=io.StringIO(), width=40, highlight=False)
    head = ["size", "transport", "mean FCT", "p50 FCT", "mean slowdown"]
    print_texts(out, (head, [["all", "dctcp", "1.00 ms", "2.00 ms", "3.00"]]), left=2)
    assert isinstance(out.file, io.StringIO)
    text = out.file.getvalue()
    assert "Left out for want of width: mean slowdown." in text
    assert "p50 FCT" in text or "p50" in text


def test_the_command_says_which_time_it_measured(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(TWO + '\n[measure]\nfrom = "2 ms"\nuntil = "8 ms"\n')
    done = cli("run", "two.toml")
    assert done.returncode == 0, done.stderr
    assert "Measured from 2.00 ms to 8.00 ms." in done.stdout
    assert "Traffic burst:" in done.stdout
    folder = next((tmp_path / "out").iterdir())
    loaded = clearway.load(folder)
    assert window(loaded).is_set
    assert "window_utilisation" in loaded.ports.columns


def test_the_report_says_which_time_it_covers_and_shows_traffic_entries(part: clearway.Run) -> None:
    html = page([part], "title")
    assert "Measured from 2.00 ms to 8.00 ms." in html
    assert "Pictures show the whole run." in html
    for name in ("web", "burst"):
        assert f"<summary>Traffic {name}, completion times by size</summary>" in html
    assert "<th >goodput</th>" in html
