"""`clearway plan buffers`: the bounds, Table 1 and Fig. 5, and the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import SMALL, Cli

from clearway import _clearway
from clearway.plan import buffers
from clearway.plan.limits import without_bound
from clearway.plan.networks import network


@pytest.mark.parametrize(("speeds", "least", "greatest"), [((10, 40), 19.4, 505.7), ((40, 100), 38.5, 989.4)])
def test_table_1_in_both_readings_is_that_of_e17_12(speeds: tuple[int, int], least: float, greatest: float) -> None:
    found = buffers.paper_plan("3-tier Clos", speeds)
    assert found.most("tor->agg", "min") / 1e3 == pytest.approx(least, abs=0.05)
    assert found.most("tor->host", "paper") / 1e3 == pytest.approx(greatest, abs=0.05)
    for reading in buffers.READINGS:
        down, core, up = (found.most(kind, reading) for kind in ("tor->host", "core->agg", "tor->agg"))
        assert down > up
        assert core > up
    assert found.most("tor->host", "safe") > found.most("tor->host", "paper")


def test_bounds_depend_on_tiers_and_not_on_numbers_of_nodes() -> None:
    large, small = (buffers.paper_plan(name, (10, 40)) for name in ("32-ary fat tree", buffers.SMALL))
    for reading in buffers.READINGS:
        for kind in ("tor->host", "tor->agg", "agg->core", "core->agg", "agg->tor"):
            assert large.most(kind, reading) == pytest.approx(small.most(kind, reading))


def test_figure_5_adds_up_and_shorter_queues_and_spreads_need_less() -> None:
    testbed = buffers.sources((10, 40), 8, 5.1e-6)
    hardware = buffers.sources((10, 40), 4, 1e-6)
    for reading in buffers.READINGS:
        parts = testbed[reading]
        assert parts["host"] + parts["credit_queue"] + parts["rest"] == pytest.approx(parts["total"])
        assert hardware[reading]["total"] < parts["total"]


@pytest.mark.parametrize(
    "words",
    [["fat-tree", "k=4", "rate=10Gbps"], ["fat-tree k=4 rate=10Gbps"], ["star", "hosts=3"], ["leaf-spine"]],
)
def test_a_shape_may_come_as_words_or_as_one_text(words: list[str]) -> None:
    assert buffers.plan(network(words), host_delay_s=(0.0, 0.0)).ports


def test_a_scenario_file_brings_its_credits_and_hosts(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(SMALL + '[host]\nprocessing_delay = { uniform = ["1 us", "3 us"] }\n[switch]\ncredit_queue = 5\n')
    found = buffers.plan(network([str(path)]))
    assert found.inputs["credit_queue"] == 5
    assert found.inputs["host_delay_s"] == pytest.approx((1e-6, 3e-6))


def test_a_topology_file_is_a_network(tmp_path: Path) -> None:
    path = tmp_path / "net.toml"
    path.write_text(
        'hosts = 3\nswitches = 1\nrate = "10 Gbps"\ndelay = "1 us"\n[[link]]\na = ["h0", "h1", "h2"]\nb = "s0"\n'
    )
    assert [port.port for port in buffers.plan(network([str(path)])).ports] == ["s0->h0", "s0->h1", "s0->h2"]


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["nowhere.toml"], "neither a file nor one of"),
        (["fat-tree", "k"], "key=value"),
        (["fat-tree", "k=5"], "k = 5"),
        (["fat-tree", "l=5"], "l"),
    ],
)
def test_what_is_no_network_is_refused_in_words(words: list[str], what: str) -> None:
    with pytest.raises(_clearway.ScenarioError, match=what):
        network(words)


def test_data_on_other_paths_than_its_credits_has_no_bound(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(SMALL + '[network]\nrouting = "spray"\n')
    assert "symmetric-ecmp" in (without_bound(network([str(path)])) or "")
    path.write_text(SMALL)
    assert without_bound(network([str(path)])) is None


def test_a_ring_has_no_bound(tmp_path: Path, cli: Cli) -> None:
    links = "".join(
        f'[[link]]\na = "h{at}"\nb = "s{at}"\n[[link]]\na = "s{at}"\nb = "s{(at + 1) % 5}"\n' for at in range(5)
    )
    path = tmp_path / "ring.toml"
    path.write_text(f'hosts = 5\nswitches = 5\nrate = "10 Gbps"\ndelay = "1 us"\n{links}')
    done = cli("plan", "buffers", str(path))
    assert done.returncode == 2
    assert "cycle" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_command_shows_classes_ports_and_json(cli: Cli) -> None:
    done = cli("plan", "buffers", "star", "hosts=4", "--flows", "3")
    assert done.returncode == 0, done.stderr
    assert "At most" in done.stdout
    assert "tor->host" in done.stdout
    found = json.loads(cli("plan", "buffers", "star", "hosts=4", "--port", "s0->h1", "--json").stdout)
    assert [port["port"] for port in found["ports"]] == ["s0->h1"]
    parts = found["ports"][0]["safe"]
    assert sum(parts[part] for part in buffers.PARTS) == pytest.approx(parts["bytes"], abs=1)
    done = cli("plan", "buffers", "star", "--port", "s0->h99")
    assert done.returncode == 2
    assert "ports are named" in done.stderr


def test_credits_smaller_than_the_limit_counts_are_refused(cli: Cli) -> None:
    done = cli("plan", "buffers", "star", "--credit-sizes", "64-84")
    assert done.returncode == 2
    assert "exceed the link" in done.stderr


def test_small_packets_that_leave_for_what_credits_left_over_are_part_of_the_safe_bound_alone(cli: Cli) -> None:
    star = network(["star hosts=8 rate=100Mbps"])
    paper = buffers.plan(star, host_delay_s=(0.0, 5.1e-6))
    linux = buffers.plan(star, host_delay_s=(0.0, 5.1e-6), leftover=6152, pairs=7)
    assert linux.most("tor->host", "paper") == paper.most("tor->host", "paper")
    # The NICs of hosts, which feed the port, may hold as much.
    assert linux.most("tor->host", "safe") - paper.most("tor->host", "safe") == pytest.approx(2 * 7 * 6152, abs=1)
    assert linux.ports[0].bounds["safe"]["leftover"] == 7 * 6152
    said = cli("plan", "buffers", "star", "hosts=8", "rate=100Mbps", "--leftover", "6152", "--pairs", "7").stdout
    assert "left over" in said
    assert "6152 B left over by each of 7 pairs" in " ".join(said.split())


def test_credits_in_datagrams_take_132_of_1670_bytes_and_so_do_signals(cli: Cli) -> None:
    star = network(["star hosts=2 rate=1Gbps"])
    found = buffers.plan(star, udp=True, flows=1, host_delay_s=(0.0, 0.0))
    assert (found.inputs["credit_bytes"], found.inputs["bucket_bytes"]) == (132, 264)
    assert found.inputs["credit_sizes_bytes"] == (132, 132)
    ethernet = buffers.plan(star, credit_sizes=(84, 84), flows=1, host_delay_s=(0.0, 0.0))
    assert found.most("tor->host", "safe") > ethernet.most("tor->host", "safe")
    assert found.ports[0].bounds["safe"]["control"] == 4 * 132
    # Eight pairs of credit and frame, of which data has its share of the link.
    assert found.ports[0].bounds["min"]["credit_queue"] == pytest.approx(8 * 1670, abs=1)
    said = cli("plan", "buffers", "star", "hosts=2", "--control", "udp").stdout
    assert "credits of 132 B" in " ".join(said.split())
