"""`clearway check`: what a scenario would simulate, and remarks on what has no effect."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import REPOSITORY, SMALL, Cli

import clearway


def test_the_estimate_is_near_the_run(cli: Cli, small: Path) -> None:
    found = json.loads(cli("check", small, "--json").stdout)
    expected, run = found["estimate"], clearway.run(small)
    assert (found["scenario"], found["seed"], found["remarks"]) == ("small", 7, [])
    assert (expected["hosts"], expected["switches"], expected["links"]) == (4, 1, 4)
    assert expected["flows"] == run.summary["flows_started"] == 6
    assert expected["payload_bytes"] == run.flows["delivered_bytes"].sum()
    assert 0.3 < expected["link_transmissions"] / run.summary["link_transmissions"] < 3


def test_check_prints_tables_and_runs_nothing(cli: Cli, small: Path) -> None:
    done = cli("check", small, "--transport", "dctcp", "--set", "traffic.burst.rounds=20")
    assert done.returncode == 0, done.stderr
    assert "small: can be run" in done.stdout
    assert "star: 4 hosts, 1 switch, 4 links" in done.stdout
    assert [line.split() for line in done.stdout.splitlines() if line.startswith("burst")] == [
        ["burst", "incast", "dctcp", "60"]
    ]
    assert [path.name for path in small.parent.iterdir()] == ["small.toml"]


@pytest.mark.parametrize("path", sorted((REPOSITORY / "scenarios").glob("*.toml")), ids=lambda path: path.name)
def test_every_scenario_of_the_repository_is_checked_without_a_remark(cli: Cli, path: Path) -> None:
    done = cli("check", path)
    assert done.returncode == 0, done.stderr
    assert "Remark" not in done.stdout


def test_a_mistake_is_one_line(cli: Cli, small: Path) -> None:
    done = cli("check", small, "--transport", "DCTCP")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert 'did you mean "dctcp"?' in done.stderr


CLASSES = SMALL + '[[switch.class]]\nname = "data"\n[[switch.class]]\nname = "bulk"\npriority = 1\nweight = 3\n'
POISSON = '[[traffic]]\nname = "web"\nkind = "poisson"\nworkload = "web-search"\nload = 1\nflows = 5\n'
REMARKS = {
    "switch.class.bulk: no traffic uses this class": CLASSES,
    "switch.class.bulk.weight = 3: has no effect, since no other class has priority 1": CLASSES,
    "traffic.burst.pause = 1 us: has no effect, since there is one round": SMALL.replace(
        "rounds = 2", 'rounds = 1\npause = "1 us"'
    ),
    "traffic.web.load = 1: asks for 100.0 % of the links host->tor in payload, of which full frames can carry 94.9 %": (
        SMALL + POISSON
    ),
    "loss.0.probability = 0: has no effect": SMALL + "[[loss]]\nprobability = 0\n",
    "fault.0.down = 5 s: may come after the end": SMALL + '[[fault]]\nlink = ["h0", "s0"]\ndown = "5 s"\n',
    "sample.queue.every = 5 s: may give no sample": SMALL + '[[sample]]\nwhat = "queue"\nevery = "5 s"\n',
}


@pytest.mark.parametrize("remark", REMARKS)
def test_what_has_no_effect_is_told(cli: Cli, tmp_path: Path, remark: str) -> None:
    (tmp_path / "remarked.toml").write_text(REMARKS[remark])
    done = cli("check", "remarked.toml")
    assert done.returncode == 0, done.stderr
    assert f"Remark: {remark}" in done.stdout


def test_check_shows_how_the_network_is_cut_for_threads(cli: Cli, small: Path) -> None:
    small.write_text(SMALL.replace('kind = "star"\nhosts = 4', 'kind = "fat-tree"'))
    done = cli("check", small, "--threads", "2")
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    first = rows.index(["part", "load", "hosts", "switches"]) + 1
    parts = [row for row in rows[first : first + 4] if row and row[0].isdigit()]
    assert [row[0] for row in parts] == ["0", "1"]
    assert sum(int(row[2]) for row in parts) == 16
    assert sum(int(row[3]) for row in parts) == 20
    assert "links between parts carry" in done.stdout


def test_check_says_why_a_scenario_has_one_thread(cli: Cli, small: Path) -> None:
    done = cli("check", small, "--threads", "4", "--transport", "ideal")
    assert done.returncode == 0, done.stderr
    assert "Threads: 1 instead of 4, since the transport `ideal` is told" in done.stdout
    found = json.loads(cli("check", small, "--threads", "4", "--transport", "ideal", "--json").stdout)
    assert (found["partition"]["parts"], found["partition"]["loads"]) == (1, [1.0])


def test_check_says_that_there_is_no_more_to_cut(cli: Cli, small: Path) -> None:
    found = json.loads(cli("check", small, "--threads", "4", "--json").stdout)["partition"]
    # The star's four hosts take part in one incast, so that only its switch can lie elsewhere.
    assert (found["parts"], found["hosts"], found["switches"], found["cut_links"]) == (2, [4, 0], [0, 1], 4)
    assert sum(found["loads"]) == pytest.approx(1)
    assert "Threads: 2 instead of 4" in cli("check", small, "--threads", "4").stdout
