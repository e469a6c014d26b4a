"""Warnings on results: runs that ended early, transports on unequal networks, percentiles of few flows."""

from __future__ import annotations

import html
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Cli

import clearway
from clearway import caveats, metrics
from clearway.caveats import Known
from clearway.comparison import compare
from clearway.sweeps import record, saved
from clearway.sweeps.layout import summary_texts, traffic_texts

#: Short flows and an incast whose answers wait for each other, on one network.
MIXED = """
name = "mixed"
stop = "2 ms"
[topology]
kind = "star"
hosts = 9
rate = "10 Gbps"
[transport]
name = "dctcp"
[[traffic]]
name = "web"
kind = "poisson"
workload = "web-server"
load = 0.3
flows = 60
[[traffic]]
name = "burst"
kind = "incast"
senders = 8
size = "100 KB"
rounds = 30
"""
#: One flow that ends and one that never does.
ENDLESS = """
name = "endless"
stop = "2 ms"
[topology]
kind = "star"
hosts = 3
[[traffic]]
name = "short"
kind = "flows"
list = [{ src = "h0", dst = "h2", size = "10 KB" }]
[[traffic]]
name = "long"
kind = "long"
pairs = [["h1", "h2"]]
"""
EARLY = "ended at the stop time before all flows were delivered"
UNEQUAL = "The transports have unequal networks: "
FEW = "99th percentiles of fewer than 1,000 flows"


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> clearway.Sweep:
    place = tmp_path_factory.mktemp("mixed")
    (place / "mixed.toml").write_text(MIXED)
    axes = {"transport": ["dctcp", "expresspass"], "seed": [1, 2]}
    return clearway.sweep(place / "mixed.toml", axes, out=place / "out" / "mixed", processes=1)


def kinds(warnings: list[str]) -> list[bool]:
    """Which of the three warnings on results are there: on ends, on networks, on percentiles."""
    return [any(words in warning for warning in warnings) for words in (EARLY, UNEQUAL, FEW)]


def known(transport: str, place: tuple[object, ...] = (), **more: Any) -> Known:
    """A run of which all flows were delivered, if `more` does not say otherwise."""
    delivered = {"ended": "complete", "completed": 2000, "unfinished": 0, "flows": {"": 2000}}
    return Known(transport, place=place, **{**delivered, **more})


def switch(**keys: object) -> dict[str, Any]:
    return {"switch": keys}


# ---- a sweep says what a comparison says


def test_the_flows_of_traffic_entries_are_not_mixed_in_python(mixed: clearway.Sweep) -> None:
    assert mixed.traffic["traffic"].unique(maintain_order=True).to_list() == ["web", "burst"]
    assert mixed.sizes["traffic"].unique(maintain_order=True).to_list() == ["all", "web", "burst"]
    run = mixed.load(transport="dctcp", seed=2)
    for entry in ("web", "burst"):
        row = mixed.traffic.row(by_predicate=rows_of(entry), named=True)
        alone = metrics.fct_by_size(run.flows.filter(traffic=entry)).to_dicts()[-1]
        assert {name: row[name] for name in ("flows", "mean_s", "slowdown_p99")} == {
            name: alone[name] for name in ("flows", "mean_s", "slowdown_p99")
        }
        by_size = mixed.sizes.row(by_predicate=rows_of(entry) & (pl.col("bucket") == "all"), named=True)
        assert by_size["p99_s"] == alone["p99_s"]
    # An answer of the burst waits for seven others, and would be the tail of the web flows.
    means = {entry: mixed.traffic.filter(rows_of(entry))["slowdown_mean"].item() for entry in ("web", "burst")}
    assert means["web"] < mixed.frame.filter(transport="dctcp", seed=2)["slowdown_mean"].item() < means["burst"]
    table = mixed.summary_by_traffic(["slowdown_mean"])
    assert table.select("transport", "traffic", "n").rows()[0] == ("dctcp", "web", 2)


def rows_of(entry: str) -> pl.Expr:
    return (pl.col("transport") == "dctcp") & (pl.col("seed") == 2) & (pl.col("traffic") == entry)


def test_the_command_prints_a_table_for_each_traffic_entry_and_the_page_has_them(
    mixed: clearway.Sweep, cli: Cli, tmp_path: Path
) -> None:
    done = cli("sweep", mixed.out / "sweep.toml", "--out", mixed.out)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.endswith(" traffic:") or line.startswith("Traffic")] == [
        "All traffic:",
        "Traffic web:",
        "Traffic burst:",
    ]
    page = cli("report", mixed.out, "--out", "page.html")
    assert page.returncode == 0, page.stderr
    text = html.unescape((tmp_path / "page.html").read_text("utf-8")).replace("\xa0", " ")
    for heading in ("All traffic", "Traffic web", "Traffic burst"):
        assert f"<summary>{heading}</summary>" in text
    assert "Completion times by size, traffic burst" in text
    assert "Slowdown, 99th percentile: web" in text
    for line in (*mixed.assumptions, *mixed.warnings):
        assert line in text
        assert any(one.removeprefix("Warning: ") == line for one in lines), line


def test_a_sweep_names_the_assumptions_of_each_transport_as_a_comparison_does(
    mixed: clearway.Sweep, tmp_path: Path
) -> None:
    (tmp_path / "mixed.toml").write_text(MIXED)
    found = compare(tmp_path / "mixed.toml", ["dctcp", "expresspass"])
    assert mixed.assumptions == found.assumptions
    network, dctcp, expresspass = mixed.assumptions
    assert network.startswith("Stacks: own; buffers of 384.5 KB a port, frames of 1.46 KB payload")
    assert dctcp.startswith("dctcp: no handshake: data at once, first window 10 segments")
    assert (
        expresspass
        == "expresspass: connections open with a handshake, which asks for credits, first rate 0.5 of the link's."
    )
    assert kinds(found.warnings) == kinds(mixed.warnings) == [True, False, True]


def test_a_scenario_with_one_traffic_entry_has_one_table(small: Path, tmp_path: Path) -> None:
    found = clearway.sweep(small, {"transport": ["dctcp"]}, out=tmp_path / "one", processes=1)
    assert traffic_texts(found) == []
    assert found.sizes["traffic"].unique().to_list() == ["all"]
    assert found.traffic["traffic"].to_list() == ["burst"]
    assert kinds(found.warnings) == [False, False, True]


# ---- runs that ended early


def test_a_sweep_says_which_share_of_the_flows_stop_left_undelivered(mixed: clearway.Sweep) -> None:
    (line,) = [one for one in mixed.warnings if EARLY in one]
    assert line.startswith(f"4 of 4 runs {EARLY}: ")
    for row in mixed.frame.iter_rows(named=True):
        run = mixed.load(transport=row["transport"], seed=row["seed"])
        left = run.flows.filter(pl.col("fct_s").is_nan()).height
        assert (row["unfinished"], row["ended"]) == (left, "stopped")
        assert f"{100 * left / run.flows.height:.2f}"[:3] in line
    head, rows = summary_texts(mixed)
    at = head.index("unfinished")
    assert all(row[at].endswith(" %") for row in rows)


def test_flows_without_an_end_and_runs_that_deliver_all_are_not_warned_of(tmp_path: Path) -> None:
    axes = {"transport": ["dctcp"], "stop": ["1 ms", "2 ms"]}
    found = clearway.sweep(write(tmp_path, ENDLESS), axes, out=tmp_path / "out", processes=1)
    assert found.frame["ended"].to_list() == ["stopped", "stopped"]
    assert found.frame["unfinished"].to_list() == [0, 0]
    assert kinds(found.warnings) == [False, False, True]
    # What no flow of an entry can tell, its goodput tells.
    assert [(entry, texts[0][-1]) for entry, texts in traffic_texts(found)] == [
        ("short", "p99 slowdown"),
        ("long", "goodput"),
    ]


def test_a_comparison_and_a_single_run_warn_of_the_flows_that_stop_left(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path, MIXED)
    one = cli("run", "scenario.toml")
    assert "Warning: The run ended at the stop time before all flows were delivered: " in one.stdout
    two = cli("compare", "scenario.toml", "--transports", "dctcp,expresspass")
    assert f"Warning: 2 of 2 runs {EARLY}: " in two.stdout
    whole = cli("compare", "scenario.toml", "--transports", "dctcp,expresspass", "--set", "stop=1 s", "--out", "whole")
    assert whole.returncode == 0, whole.stderr
    assert "Warning: " not in whole.stdout


def write(place: Path, text: str) -> Path:
    (place / "scenario.toml").write_text(text)
    return place / "scenario.toml"


def test_each_way_of_ending_early_has_a_sentence_with_the_shares_of_its_transports() -> None:
    runs = [
        known("dctcp", ended="stopped", completed=90, unfinished=10),
        known("dctcp", ended="stopped", completed=80, unfinished=20),
        known("rocev2", ended="stalled", completed=3, unfinished=1),
        known("rocev2"),
        known("hpcc", ended="stopped"),
    ]
    stopped, stalled = caveats.cut_off(runs)
    assert stopped.startswith(f"2 of 5 runs {EARLY}: 10.0 to 20.0 % of the flows under dctcp did not complete.")
    assert stalled.startswith("1 of 5 runs stalled before all flows were delivered: 25.0 % of the flows under rocev2")
    assert caveats.cut_off(runs[3:]) == []


# ---- unequal networks


def test_transports_whose_switches_differ_by_default_are_named_with_the_keys(small: Path, tmp_path: Path) -> None:
    axes = {"transport": ["dctcp", "cubic", "hpcc"], "seed": [1, 2]}
    found = clearway.sweep(small, axes, out=tmp_path / "out", processes=1)
    (line,) = [one for one in found.warnings if one.startswith(UNEQUAL)]
    assert "switch.buffer is 384.5 KB under dctcp and cubic, auto under hpcc" in line
    assert "switch.pfc is false under dctcp and cubic, true under hpcc" in line
    assert "switch.shared_buffer is unset under dctcp and cubic, 32 MB under hpcc" in line
    assert "pfc_headroom" not in line
    assert "marking" not in line
    assert line in compare(small, ["dctcp", "cubic", "hpcc"]).warnings
    assert "buffers of 384.5 KB a port or buffers of 32 MB a switch with flow control (PFC)" in found.assumptions[0]


def test_a_buffer_that_is_an_axis_of_all_transports_is_no_unequal_network(small: Path, tmp_path: Path) -> None:
    axes = {"transport": ["dctcp", "expresspass"], "switch.buffer": ["100 KB", "200 KB"]}
    found = clearway.sweep(small, axes, out=tmp_path / "out", processes=1)
    assert kinds(found.warnings) == [False, False, True]


def test_a_buffer_that_goes_together_with_the_transport_is_an_unequal_network(small: Path, tmp_path: Path) -> None:
    stacks = {"deep": {"transport": "dctcp", "switch.buffer": "1 MB"}, "credits": {"transport": "expresspass"}}
    as_cases = {"axes": {"seed": [1, 2]}, "cases": {"stack": stacks}}
    as_points = {"points": [*stacks.values()]}
    for at, asked in enumerate((as_cases, as_points)):
        found = clearway.sweep(small, out=tmp_path / str(at), processes=1, **asked)  # type: ignore[arg-type]
        (line,) = [one for one in found.warnings if one.startswith(UNEQUAL)]
        assert line.startswith(f"{UNEQUAL}switch.buffer is 1 MB under dctcp, 384.5 KB under expresspass. ")


def test_a_point_that_is_missing_makes_no_network_unequal() -> None:
    small, large = switch(buffer="1 KB"), switch(buffer="2 KB")
    runs = [
        known("a", ("1 KB",), setup=small),
        known("a", ("2 KB",), setup=large),
        known("b", ("1 KB",), setup=small),
    ]
    assert caveats.unequal_networks(runs) == []
    assert len(caveats.unequal_networks([*runs, known("c", ("3 KB",), setup=switch(buffer="3 KB"))])) == 1


def test_signals_of_a_transport_and_details_of_what_differs_are_no_further_difference() -> None:
    runs = [
        known("a", setup=switch(pfc=False, marking="off", credit_queue="8 packets")),
        known("b", setup=switch(pfc=True, pfc_alpha=0.5, marking="red", red_kmin="5 KB")),
    ]
    (line,) = caveats.unequal_networks(runs)
    assert line.startswith(f"{UNEQUAL}switch.pfc is false under a, true under b. ")
    (line,) = caveats.unequal_networks(
        [known(name, setup=switch(pfc=True, pfc_alpha=at)) for name, at in [("a", 1), ("b", 2)]]
    )
    assert line.startswith(f"{UNEQUAL}switch.pfc_alpha is 1 under a, 2 under b. ")


# ---- percentiles of few flows


def test_percentiles_of_few_flows_are_told_and_marked_and_those_of_a_thousand_are_not(
    small: Path, tmp_path: Path
) -> None:
    axes = {"traffic.burst.rounds": [333, 334]}
    more = {"traffic.burst.size": "1 KB", "transport": "expresspass"}
    found = clearway.sweep(small, axes, set=more, out=tmp_path / "out", processes=1)
    assert found.frame["flows_completed"].to_list() == [999, 1002]
    assert found.warnings == [
        f"{FEW} rest on fewer than 10 of them (999 flows in 1 of 2 runs). Tables mark them with an asterisk."
    ]
    head, rows = summary_texts(found)
    assert [row[head.index("p99 FCT")].endswith("*") for row in rows] == [True, False]
    assert [row[head.index("mean FCT")].endswith("*") for row in rows] == [False, False]


def test_few_flows_are_told_by_traffic_entry(mixed: clearway.Sweep) -> None:
    (line,) = [one for one in mixed.warnings if one.startswith(FEW)]
    counts = {entry: mixed.traffic.filter(traffic=entry)["flows"].to_list() for entry in ("web", "burst")}
    told = [f"traffic {entry}: {min(of)} to {max(of)} flows in 4 of 4 runs" for entry, of in counts.items()]
    assert f"({'; '.join(told)})" in line


# ---- tables of earlier versions


def test_a_folder_of_an_earlier_version_is_read_and_says_what_it_lacks(mixed: clearway.Sweep, tmp_path: Path) -> None:
    place = tmp_path / "older"
    shutil.copytree(mixed.out, place)
    kept = record.read(place)
    runs = mixed.frame.drop("unfinished", "assumptions")
    sizes = mixed.sizes.filter(traffic="all").drop("traffic")
    for name, table in (("runs", runs), ("fct_by_size", sizes)):
        described = {column: mixed.described[name][column] for column in table.columns}
        (place / f"{name}.parquet").unlink()
        (place / f"{name}.parquet").write_bytes(saved.to_parquet(table, described))
    kept.sealed(place, [name for name in kept.files if not name.startswith("traffic.")]).write(place)
    found = clearway.load_sweep(place)
    assert found.sizes.equals(mixed.sizes.filter(traffic="all"), null_equal=True)
    assert found.frame.drop("unfinished", "assumptions").equals(runs, null_equal=True)
    assert (found.traffic.height, found.assumptions, traffic_texts(found)) == (0, [], [])
    assert found.warnings[0].startswith("The tables of this sweep were written by an earlier Clearway")
    assert kinds(found.warnings) == [False, False, True]
    assert "written by an earlier" not in " ".join(mixed.warnings)
