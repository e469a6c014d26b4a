"""`clearway export`: other simulators read what was run, and what they read gives the same run here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Cli

import clearway
from clearway import _clearway
from clearway.command.export import WORDS
from clearway.export import FORMATS, Exported, address, export

SCENARIO: dict[str, Any] = {
    "name": "small",
    "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 4},
    "transport": {"name": "hpcc"},
    "traffic": [
        {"name": "web", "kind": "poisson", "workload": "web-search", "load": 0.4, "flows": 40},
        {"name": "burst", "kind": "incast", "receiver": "h1", "senders": 5, "size": "20 KB", "start": "13.000001 us"},
    ],
}


@pytest.fixture(scope="module")
def run() -> clearway.Run:
    return clearway.run(SCENARIO)


def sent(run: clearway.Run) -> list[tuple[Any, ...]]:
    """The flows of a run, without their names."""
    frame = run.flows.sort("start_s", "src", "dst", "size_bytes")
    return list(frame.select("src", "dst", "size_bytes", "start_s", "fct_s").iter_rows())


@pytest.mark.parametrize("form", ["csv-flows", "hpcc-flows", "ns2-flows", "htsim-flows"])
def test_a_list_of_a_runs_flows_gives_the_same_completion_times(run: clearway.Run, form: str, tmp_path: Path) -> None:
    done = export(run, form)
    assert (done.flows, done.left_out) == (45, 0)
    path = tmp_path / "flows"
    path.write_text(done.text)
    unit = {"start_unit": "ps"} if form == "htsim-flows" else {}
    again = clearway.run({**SCENARIO, "traffic": [{"kind": "file", "path": str(path), **unit}]})
    assert sent(again) == sent(run)


@pytest.mark.parametrize("form", ["csv-flows", "parquet", "htsim-flows"])
def test_messages_of_a_connection_share_it_in_a_list_of_flows(form: str, tmp_path: Path) -> None:
    ends = {"src": "h0", "dst": "h5", "size": "30 KB", "connection": "a"}
    listed = [{**ends, "start": f"{us} us"} for us in (0, 0, 400)] + [{"src": "h1", "dst": "h5", "size": "9 KB"}]
    settings = {**SCENARIO, "transport": {"name": "dctcp", "handshake": True}}
    run = clearway.run({**settings, "traffic": [{"kind": "flows", "list": listed}]})
    assert run.flows["flow"].to_list() == [0, 0, 1, 0]
    path = tmp_path / "flows"
    text = export(run, form.replace("parquet", "csv-flows")).text
    if form == "parquet":
        pl.read_csv(text.encode()).write_parquet(path)
    else:
        path.write_text(text)
    unit = {"start_unit": "ps"} if form == "htsim-flows" else {}
    again = clearway.run({**settings, "traffic": [{"kind": "file", "path": str(path), **unit}]})
    assert sent(again) == sent(run)
    assert again.flows["flow"].to_list() == run.flows["flow"].to_list()


@pytest.mark.parametrize(("form", "kind"), [("hpcc-topology", "hpcc-file"), ("graphml", "graphml-file")])
def test_a_network_that_is_exported_reads_back_with_every_link(
    run: clearway.Run, form: str, kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "network"
    path.write_text(export(run, form).text)

    def links(topology: dict[str, Any]) -> dict[str, Any]:
        scenario = clearway.runner.load_scenario({**SCENARIO, "topology": topology, "traffic": SCENARIO["traffic"][:1]})
        return {key: value for key, value in _clearway.network(scenario).items() if "names" not in key}

    assert links({"kind": kind, "path": str(path)}) == links(SCENARIO["topology"])


def test_results_come_in_the_columns_of_hpccs_code(run: clearway.Run) -> None:
    done = export(run, "hpcc-fct")
    rows = [line.split() for line in done.text.splitlines()]
    assert len(rows) == done.flows == 45
    ends = [int(start) + int(fct) for *_, start, fct, _ in rows]
    assert ends == sorted(ends), "in the order in which flows end"
    # The burst's flow from h0 to h1 within a rack.
    (row,) = [row for row in rows if row[:2] == [address(0), address(1)] and row[3] == "200"]
    assert row[0] == "0b000001"
    assert row[1] == "0b000101"
    frame, overhead = 1460, 78
    packets = -(-20_000 // frame)
    rtt = 2 * 8_000 + 2 * (frame * 8 * 10**9 // 10**10)
    assert [int(value) for value in row[4:6]] == [20_000, 13_000]
    assert int(row[7]) == rtt + (20_000 + packets * overhead) * 8 * 10**9 // 10**10
    flows = run.flows.filter((run.flows["src"] == "h0") & (run.flows["traffic"] == "burst"))
    assert int(row[6]) == round(flows["acked_s"][0] * 1e9)
    large = [row for row in rows if int(row[4]) > 1_000_000]
    assert large
    assert all(int(row[6]) >= 0.99 * int(row[7]) for row in large), "none is faster than alone"


def test_source_ports_count_the_flows_of_a_pair() -> None:
    list_ = [{"src": "h0", "dst": "h1", "size": "1 KB", "start": f"{number} us"} for number in range(3)]
    run = clearway.run({**SCENARIO, "traffic": [{"kind": "flows", "list": list_}]})
    ports = [line.split()[2:4] for line in export(run, "hpcc-fct").text.splitlines()]
    assert ports == [["10000", "100"], ["10001", "100"], ["10002", "100"]]


def test_flows_that_did_not_end_are_left_out_and_counted() -> None:
    run = clearway.run({**SCENARIO, "stop": "20 us"})
    done = export(run, "hpcc-fct")
    assert done.flows + done.left_out == len(run.flows)
    assert done.left_out > 0
    assert len(done.text.splitlines()) == done.flows


def test_the_command_writes_and_prints(cli: Cli, run: clearway.Run, tmp_path: Path) -> None:
    run.save(tmp_path / "ran")
    done = cli("export", "ran", "--as", "hpcc-fct", "--out", "fct.txt")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "Wrote fct.txt with 45 flows\n"
    assert (tmp_path / "fct.txt").read_text() == export(run, "hpcc-fct").text
    assert cli("export", "ran", "--as", "hpcc-fct", "--out", "fct.txt").returncode == 2, "it is there"
    assert cli("export", "ran", "--as", "csv-flows").stdout == export(run, "csv-flows").text
    done = cli("export", "ran", "--as", "csv-flows", "--start-unit", "us")
    assert (done.returncode, "is for htsim-flows alone" in done.stderr) == (2, True)


def test_help_and_module_name_the_same_formats(run: clearway.Run) -> None:
    assert list(WORDS) == list(FORMATS)
    with pytest.raises(clearway.Error, match="format 'fct': write one of hpcc-fct"):
        export(run, "fct")


def test_a_flow_that_htsim_cannot_read_is_refused(run: clearway.Run) -> None:
    large = run.flows.with_columns(size_bytes=run.flows["size_bytes"] * 0 + 2**31)
    from dataclasses import replace

    with pytest.raises(clearway.Error, match="too large for htsim"):
        export(replace(run, flows=large), "htsim-flows")
    assert isinstance(export(run, "htsim-flows", start_unit="us"), Exported)
