"""The load of Poisson traffic: the share of payload that links carry is the one that the scenario asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Cli

import clearway
from clearway.texts import network_texts
from clearway.window import tiers

#: A network each, with the tier that is the busiest, and loads of links that no tier is filled by.
NETWORKS: dict[str, tuple[dict[str, Any], str, dict[str, float]]] = {
    "star": ({"kind": "star", "hosts": 8}, "host->tor", {"hosts": 0.4}),
    "dumbbell": ({"kind": "dumbbell", "pairs": 4}, "tor->tor", {"hosts": 0.2, "uplinks": 0.4}),
    "leaf-spine, 1:1": (
        {"kind": "leaf-spine", "leaves": 4, "spines": 4, "hosts_per_leaf": 4, "uplink_rate": "10 Gbps"},
        "host->tor",
        {"hosts": 0.4, "uplinks": 0.4},
    ),
    "leaf-spine, 3:1": (
        {"kind": "leaf-spine", "leaves": 4, "spines": 4, "hosts_per_leaf": 12, "uplink_rate": "10 Gbps"},
        "tor->agg",
        {"uplinks": 0.4},
    ),
    "fat tree": ({"kind": "fat-tree", "k": 4}, "host->tor", {"hosts": 0.4, "uplinks": 0.4}),
    "three tiers, the upper one oversubscribed": (
        {
            "kind": "clos3",
            "pods": 4,
            "tors_per_pod": 2,
            "aggs_per_pod": 2,
            "hosts_per_tor": 4,
            "cores": 2,
            "uplinks_per_agg": 1,
            "agg_rate": "20 Gbps",
            "core_rate": "10 Gbps",
        },
        "agg->core",
        {"uplinks": 0.12},
    ),
}
#: The tier of the links that a load is about, in a network with tiers; its name in other networks.
TIERS = {"hosts": ("host->tor", "tor->host"), "uplinks": ("tor->agg", "agg->tor", "tor->tor")}


def made(topology: dict[str, Any], load_of: str, load: float = 0.5, **traffic: Any) -> dict[str, Any]:
    """Poisson arrivals on a network whose links are as fast as those of hosts unless it says otherwise."""
    return {
        "topology": {"rate": "10 Gbps", **topology},
        "transport": {"name": "dctcp"},
        "traffic": [{"name": "web", "kind": "poisson", "load": load, "load_of": load_of, **traffic}],
    }


def reached(run: clearway.Run, names: tuple[str, ...]) -> list[float]:
    """The share of payload on the links of some tiers, in either direction."""
    return tiers(run).filter(pl.col("tier").is_in(names))["payload_share"].to_list()


@pytest.mark.parametrize("name", NETWORKS)
def test_the_busiest_tier_carries_the_load_within_two_per_cent(name: str) -> None:
    topology, busiest, _ = NETWORKS[name]
    run = clearway.run(made(topology, "bottleneck", size="15 KB", flows=20_000))
    found = tiers(run)
    assert found.filter(pl.col("tier") == busiest)["asked"].item() == pytest.approx(0.5)
    assert found["asked"].max() == pytest.approx(0.5)
    # Every tier, and so also those that the load is not about.
    for row in found.to_dicts():
        assert row["payload_share"] == pytest.approx(row["asked"], rel=0.02), row
        assert row["payload_share"] <= row["payload_share_max"] <= 1, row


@pytest.mark.full
@pytest.mark.parametrize("name", NETWORKS)
def test_the_named_links_carry_the_load_under_a_published_workload(name: str) -> None:
    topology, _, loads = NETWORKS[name]
    for load_of, load in loads.items():
        run = clearway.run(made(topology, load_of, load, workload="web-server", flows=100_000))
        shares = reached(run, TIERS[load_of])
        assert shares
        assert shares == pytest.approx([load] * len(shares), rel=0.02), load_of


def test_a_load_of_some_hosts_is_about_the_links_that_they_can_cross() -> None:
    topology = NETWORKS["leaf-spine, 3:1"][0]
    run = clearway.run(made(topology, "hosts", 0.3, size="15 KB", flows=10_000, hosts=list(range(12))))
    found = {row["tier"]: row for row in tiers(run).to_dicts()}
    # One rack of four: its links carry four times the mean of all, and no uplink carries anything.
    assert found["host->tor"]["asked"] == pytest.approx(0.3 / 4)
    assert found["host->tor"]["payload_share"] == pytest.approx(0.3 / 4, rel=0.03)
    assert found["tor->agg"]["asked"] == found["tor->agg"]["payload_share"] == 0


def test_what_links_carried_stands_beside_what_was_asked_for() -> None:
    run = clearway.run(made(NETWORKS["leaf-spine, 1:1"][0], "hosts", size="15 KB", flows=2_000))
    rows = {row[0]: row[1] for row in network_texts({"dctcp": run})[1] if row[0].startswith("payload share")}
    up, down = (f"{100 * share:.2f} %" for share in reached(run, TIERS["hosts"]))
    assert rows["payload share of links host->tor and tor->host"] == f"{up}, {down} (50.00 % asked)"
    assert list(rows)[1:] == ["payload share of links tor->agg and agg->tor"]
    # Traffic that does not arrive at a rate has no load.
    burst = clearway.run({**made({"kind": "star"}, "hosts"), "traffic": [{"kind": "incast", "senders": 4}]})
    assert tiers(burst).height == 0
    assert not [row for row in network_texts({"dctcp": burst})[1] if row[0].startswith("payload share")]


def test_the_estimate_names_the_shares_that_a_run_asks_for(cli: Cli, tmp_path: Path) -> None:
    scenario = made(NETWORKS["leaf-spine, 3:1"][0], "uplinks", 0.6, size="1 MB", flows=20)
    (tmp_path / "web.toml").write_text(clearway.run(scenario).scenario)
    done = cli("check", "web.toml")
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if "payload share of links" in line]
    assert "host->tor 26.11 %, tor->agg 60.00 %" in line
