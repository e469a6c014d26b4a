"""Warnings on scenarios in which a signal can't occur, or a transport is outside of what it is made for."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from conftest import REPOSITORY, Cli

import clearway
from clearway import _clearway
from clearway.comparison import headline

#: An incast whose threshold for marks is beyond what the buffer can hold.
DEAF = """
name = "deaf"
stacks = "equal"
[topology]
kind = "star"
hosts = 9
rate = "10 Gbps"
[switch]
buffer = "100 KB"
marking = "65 packets"
[transport]
name = "dctcp"
[[traffic]]
name = "burst"
kind = "incast"
senders = 8
size = "64 KB"
"""
NEVER = "reacts to marks of congestion, and none is ever given"


@pytest.fixture
def deaf(tmp_path: Path) -> Path:
    path = tmp_path / "deaf.toml"
    path.write_text(DEAF)
    return path


def test_check_run_compare_and_report_warn_in_one_line_each(cli: Cli, deaf: Path) -> None:
    checked = cli("check", deaf)
    ran = cli("run", deaf, "--out", "out/deaf")
    compared = cli("compare", deaf, "--transports", "expresspass,dctcp", "--out", "out/both")
    for done in (checked, ran, compared):
        assert done.returncode == 0, done.stderr
        lines = [line for line in done.stdout.splitlines() if line.startswith("Warning: ")]
        assert [line.startswith(f"Warning: dctcp: {NEVER}") for line in lines] == [True], lines
    page = cli("report", "out/both")
    assert page.returncode == 0, page.stderr
    found = list((deaf.parent / "out" / "report").rglob("index.html"))
    assert len(found) == 1
    assert found[0].read_text().count(NEVER) == 1


def test_check_gives_warnings_as_json(cli: Cli, deaf: Path) -> None:
    (warning,) = json.loads(cli("check", deaf, "--json").stdout)["warnings"]
    assert (warning["transport"], warning["kind"]) == ("dctcp", "marks")


def test_a_run_keeps_its_warnings_in_memory_and_in_its_folder(deaf: Path, tmp_path: Path) -> None:
    run = clearway.run(deaf, out=tmp_path / "kept")
    assert len(run.warnings) == 1
    assert NEVER in run.warnings[0]
    kept = clearway.load(tmp_path / "kept")
    assert isinstance(kept, clearway.Run)
    assert kept.warnings == run.warnings
    assert clearway.run(deaf, set={"switch.marking": "20 packets"}).warnings == []


def test_tables_have_marks_and_repeated_requests_are_no_timeouts(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    done = cli("compare", REPOSITORY / "scenarios" / "incast.toml", "--transports", "expresspass,dctcp,newreno")
    rows = {name: cells for name, *cells in (re.split(r"\s{2,}", line.strip()) for line in done.stdout.splitlines())}
    express, dctcp, newreno = rows["timeouts"]
    assert express == "0", "ExpressPass loses nothing here"
    assert int(dctcp.replace(",", "")) > 0
    assert int(newreno.replace(",", "")) > 0
    assert int(rows["requests and stops repeated"][0].replace(",", "")) > 0
    marks = rows["packets marked (ECN)"]
    assert marks[0] == marks[2] == "off"
    assert int(marks[1].replace(",", "")) > 0


def test_a_comparison_shows_trims_beside_drops_where_a_transport_has_trimming(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    pulls = REPOSITORY / "scenarios" / "pulls.toml"
    done = cli("compare", pulls, "--transports", "ndp,uec,dctcp", "--out", tmp_path / "both")
    lines = [re.split(r"\s{2,}", line.strip()) for line in done.stdout.splitlines()]
    rows = {name: cells for name, *cells in lines}
    trims = rows["packets cut to headers (trimming)"]
    assert trims[2] == "off"
    assert [name for name, *_ in lines].index("packets cut to headers (trimming)") == 1 + [
        name for name, *_ in lines
    ].index("packets dropped")
    # Each packet that was cut was sent again, and none was lost.
    assert trims[:2] == rows["retransmissions"][:2]
    assert rows["packets dropped"] == ["0", "0", "0"]
    runs = clearway.load(tmp_path / "both" / "ndp"), clearway.load(tmp_path / "both" / "dctcp")
    assert [headline(run)["trims"] for run in runs] == [int(trims[0].replace(",", "")), None]
    assert "buffers of 1 BDP a port, beyond which data is cut to headers" in done.stdout
    assert "uec: connections stand before, marks at random from 0.2 to 0.8 BDP." in done.stdout
    assert "packets cut" not in cli("compare", pulls, "--transports", "dctcp,expresspass").stdout
    page = cli("report", tmp_path / "both", "--out", tmp_path / "page.html")
    assert page.returncode == 0, page.stderr
    assert "packets cut to headers (trimming)" in (tmp_path / "page.html").read_text()


BAD = {
    "transport.paths=48": 'entropy = "mixed" needs a power of two; write one such as 64',
    "transport.ecn_min=0.9": "is above ecn_max, 0.8; marks begin at ecn_min",
    "switch.trim_to=10 B": "must be at least the smallest frame, network.wire_min = 84 B",
    "switch.trim_to=9 KB": "at most a full frame, 4.174 KB",
    "switch.bdp_max=0.1": "is below bdp_min, which is 0.2 unless set",
}


@pytest.mark.parametrize("given", BAD)
def test_bad_thresholds_and_entropies_are_one_line_before_anything_runs(cli: Cli, tmp_path: Path, given: str) -> None:
    pulls = REPOSITORY / "scenarios" / "pulls.toml"
    done = cli("run", pulls, "--transport", "uec", "--set", given, "--out", tmp_path / "none")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"clearway: --set {given.partition('=')[0]} = ")
    assert BAD[given] in done.stderr
    assert not (tmp_path / "none").exists()


def shown() -> list[tuple[Path, str]]:
    """The scenarios of the repository, each with a transport under which its own comment or its lesson shows it."""
    found = []
    for path in sorted((REPOSITORY / "scenarios").rglob("*.toml")):
        text = path.read_text()
        if "[axes]" in text or path.parent.name == "networks":
            continue
        named = re.search(r"--transports (\S+)", text)
        found += [(path, name) for name in (named[1].split(",") if named else [""])]
    return found


@pytest.mark.parametrize(("path", "transport"), shown(), ids=lambda of: of.name if isinstance(of, Path) else of)
def test_no_example_shows_a_transport_whose_signal_can_not_occur(path: Path, transport: str) -> None:
    scenario = _clearway.Scenario.load(path, transport=transport or None)
    kinds = {warning["kind"] for warning in scenario.warnings()}
    # An example may show what happens where first windows exceed the buffer, or without a lossless network.
    assert kinds.isdisjoint({"marks", "headroom", "paths", "openings"}), kinds


def test_a_sweep_warns_once_for_each_kind_and_says_at_how_many_points(cli: Cli, deaf: Path) -> None:
    (deaf.parent / "ways.toml").write_text(
        'scenario = "deaf.toml"\n[axes]\ntransport = ["dctcp", "expresspass"]\n'
        '"switch.marking" = ["64 packets", "65 packets", "20 packets"]\n'
    )
    done = cli("sweep", "ways.toml", "-j", "1")
    assert done.returncode == 0, done.stderr
    line, few = [line for line in done.stdout.splitlines() if line.startswith("Warning: ")]
    assert NEVER in line
    assert few.startswith("Warning: 99th percentiles of fewer than 1,000 flows")
    assert "at 2 of 6 points; this is the first, transport = dctcp, marking = 64 packets." in line
    found = clearway.load_sweep(deaf.parent / "out" / "ways")
    assert found.warnings == [line.removeprefix("Warning: "), few.removeprefix("Warning: ")]
    assert found.frame.filter(transport="dctcp")["marks"].to_list()[:2] == [0, 0]
    page = cli("report", "out/ways")
    assert page.returncode == 0, page.stderr
    assert NEVER in next((deaf.parent / "out" / "report").rglob("index.html")).read_text()
