"""What `clearway plan buffers` and `plan switch` plan for: with a plan no data is lost, and the rest is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import REPOSITORY, Cli

import clearway
from clearway import _clearway
from clearway.plan import buffers
from clearway.plan.limits import CREDITED, resolved, starting, without_bound
from clearway.plan.networks import network

#: 40 senders answer one receiver three times; the transport and other tables follow.
INCAST = """\
name = "planned"
transport = {transport}
[topology]
kind = "star"
hosts = 41
[[traffic]]
name = "burst"
kind = "incast"
senders = 40
size = "64 KB"
rounds = 3
connections = "per-round"
"""


def scenario(folder: Path, transport: str, more: str = "") -> Path:
    path = folder / "s.toml"
    path.write_text(INCAST.format(transport=transport) + more)
    return path


@pytest.mark.parametrize(
    ("transport", "more"),
    [
        *((f'"{name}"', "") for name in CREDITED),
        ('{ name = "expresspass", credit_queue = 2, alpha = 1.0, bucket = "1400 B" }', ""),
        ('{ name = "expresspass", randomize_size = false, release = "queue" }', ""),
        ('"expresspass"', '[switch]\nmarking = "by-rate"\n'),
        ('"expresspass"', '[host]\nprocessing_delay = { uniform = ["0 us", "20 us"] }\n'),
        ('"naive-credit"', '[network]\npayload = "9000 B"\n'),
    ],
)
def test_a_run_with_the_planned_buffer_loses_no_data(cli: Cli, tmp_path: Path, transport: str, more: str) -> None:
    path = scenario(tmp_path, transport, more)
    done = cli("plan", "buffers", path, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["inputs"]["flows"] == 40, "the senders of the incast"
    most = max(port["safe"]["bytes"] for port in found["ports"])
    run = clearway.run(path, set={"switch.buffer": f"{most:.0f} B"})
    assert run.summary["ended"] == "complete"
    assert run.ports["drops_buffer"].sum() == 0
    queues = dict(zip(run.ports["port"], run.ports["queue_max_bytes"], strict=True))
    for port in found["ports"]:
        assert queues[port["port"]] <= port["safe"]["bytes"]


#: Tables of a scenario -> the key, the value, and what would be right, in the refusal of `plan buffers`.
REFUSED = {
    '"dctcp"': 'transport.name = "dctcp": its data does not wait for credits; buffers are planned for expresspass',
    '"hpcc"': 'transport.name = "hpcc"',
    '"ec4"': 'transport.name = "ec4"',
    '"blast"': 'transport.name = "blast"',
    '{ name = "expresspass", low_priority = 1.0 }': "transport.low_priority = 1: data without credits waits",
    '{ name = "expresspass", retry = "20 us" }': 'transport.retry = "20 us": requests and stops',
    '{ name = "expresspass", retry_backoff = false }': "transport.retry_backoff = false: requests and stops",
    '{ name = "expresspass", early_stop = true }': "transport.early_stop = true: requests after an early stop",
    '"expresspass"\n[network]\nrouting = "spray"': 'network.routing = "spray": data must return over',
    '"expresspass"\n[network]\nrouting = "ecmp"': 'network.routing = "ecmp"',
    '"expresspass"\n[network]\nframing = "ns-2"': 'network.framing = "ns-2": credits and data are counted as Ethernet',
    '"expresspass"\n[network]\noverhead = "20 B"\nwire_min = "40 B"': 'network.wire_min = "40 B": the smallest frame',
    '"expresspass"\n[switch]\ncredit_share = 0.5': "switch.credit_share = 0.5: eq. (1) is for a link that credits have",
    '"expresspass"\n[switch]\nshared_buffer = "1 MB"': 'switch.shared_buffer = "1 MB": a queue may hold less',
    '"expresspass"\n[switch]\npfc = true': "switch.pfc = true: a port that is paused holds more",
    '"expresspass"\n[host]\nbuffer = "100 KB"': 'host.buffer = "100 KB": a host would lose data; write "unlimited"',
    '"expresspass"\n[host]\nqueue = "100 KB"': 'host.queue = "100 KB": a host would hold or lose data; leave it out',
    '"expresspass"\n[[switch.class]]\nname = "a"\n[[switch.class]]\nname = "b"': "switch.class = a, b: eq. (1)",
    '"expresspass"\n[[switch.credit_class]]\nname = "a"\n[[switch.credit_class]]\nname = "b"': "switch.credit_class",
    '"expresspass"\n[[fault]]\nlink = ["h0", "s0"]\ndown = "1 ms"': "fault: data that waited for a link that was down",
    '"expresspass"\n[[loss]]\nprobability = 0.01': "loss: what is lost is sent and asked for again",
}


@pytest.mark.parametrize("tables", REFUSED)
def test_buffers_that_no_bound_is_known_for_are_refused_in_one_line(cli: Cli, tmp_path: Path, tables: str) -> None:
    transport, _, more = tables.partition("\n")
    path = scenario(tmp_path, transport, more)
    why = without_bound(_clearway.Scenario.load(path))
    assert (why or "").startswith(REFUSED[tables])
    if "switch" in tables or '"dctcp"' in tables:
        done = cli("plan", "buffers", "s.toml")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"clearway: s.toml: {why}\n"


def test_a_second_transport_of_the_traffic_is_refused_with_its_entry(tmp_path: Path) -> None:
    path = scenario(
        tmp_path,
        '"expresspass"',
        '[[traffic]]\nname = "old"\nkind = "permutation"\nsize = "1 KB"\ntransport = "cubic"\n',
    )
    assert 'traffic.old.transport.name = "cubic"' in (without_bound(_clearway.Scenario.load(path)) or "")


def test_loss_of_a_topology_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "net.toml").write_text(
        'hosts = 2\nswitches = 1\nrate = "10 Gbps"\ndelay = "1 us"\n[[link]]\na = ["h0", "h1"]\nb = "s0"\nloss = 0.1\n'
    )
    assert (without_bound(network([str(tmp_path / "net.toml")])) or "").startswith("loss: ")


def test_the_flows_of_a_port_are_those_of_the_largest_burst() -> None:
    of = {"incast": 64, "fig01-partition-aggregate": 512, "shuffle": 39, "websearch": 0, "permutation": 0}
    for name, flows in of.items():
        assert starting(_clearway.Scenario.load(REPOSITORY / "scenarios" / f"{name}.toml")) == flows, name


def test_a_scenario_without_delays_of_hosts_is_not_planned_for_those_of_the_paper(cli: Cli, tmp_path: Path) -> None:
    found = json.loads(cli("plan", "buffers", scenario(tmp_path, '"expresspass"'), "--json").stdout)
    assert found["inputs"]["host_delay_s"] == [0.0, 0.0]
    shape = json.loads(cli("plan", "buffers", "star", "hosts=41", "--json").stdout)
    assert shape["inputs"]["host_delay_s"] == pytest.approx([0.0, 5.1e-6])


def sonic(cli: Cli, path: Path | str, *options: str) -> dict[str, Any]:
    done = cli("plan", "switch", "--target", "sonic", path, *options)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def test_sonic_has_the_red_and_the_flow_control_of_the_scenario(cli: Cli) -> None:
    path = REPOSITORY / "scenarios" / "rdma-incast.toml"
    config = sonic(cli, path)
    said = resolved(_clearway.Scenario.load(path))["switch"]
    assert (said["red_kmin"], said["red_kmax"], said["red_pmax"], said["red_rate"]) == (
        "5 KB", "200 KB", 0.01, "40 Gbps",
    )  # fmt: skip
    profile = config["WRED_PROFILE"]["clearway_red_100G"]
    # At 2.5 times the rate for which they are given.
    assert (profile["green_min_threshold"], profile["green_max_threshold"]) == ("12500", "500000")
    assert profile["green_drop_probability"] == "1"
    assert config["QUEUE"]["Ethernet0|3"]["wred_profile"] == "clearway_red_100G"
    assert config["BUFFER_POOL"]["ingress_lossless_pool"]["size"] == "32000000"
    group = config["BUFFER_PROFILE"][config["BUFFER_PG"]["Ethernet0|3"]["profile"]]
    assert (group["dynamic_th"], group["size"], group["xon_offset"]) == ("-3", "4096", "3072")
    # DCQCN's notifications go before its data; nothing has credits.
    assert config["DSCP_TO_TC_MAP"]["CLEARWAY"]["48"] == "6"
    assert config["DSCP_TO_TC_MAP"]["CLEARWAY"]["46"] == "3"
    assert config["QUEUE"]["Ethernet0|6"] == {"scheduler": "clearway_notices"}
    assert config["SCHEDULER"]["clearway_notices"] == {"type": "STRICT"}
    assert "Ethernet0|5" not in config["QUEUE"]


def test_sonic_has_thresholds_headroom_and_limits_that_a_scenario_sets(cli: Cli, tmp_path: Path) -> None:
    red = (
        '[switch]\nmarking = "red"\nred_kmin = "150 KB"\nred_kmax = "1500 KB"\nred_pmax = 0.2\nred_rate = "10 Gbps"\n'
        'pfc = true\npfc_headroom = "40 KB"\npfc_alpha = 0.25\npfc_reserve = "5 KB"\npfc_resume_offset = "2 KB"\n'
    )
    config = sonic(cli, scenario(tmp_path, '"dcqcn"', red))
    profile = config["WRED_PROFILE"]["clearway_red_10G"]
    assert profile["green_min_threshold"] == "150000"
    assert profile["green_max_threshold"] == "1500000"
    assert profile["green_drop_probability"] == "20"
    group = config["BUFFER_PROFILE"]["clearway_pg_10G_40000"]
    assert (group["xoff"], group["dynamic_th"], group["size"], group["xon"]) == ("40000", "-2", "5000", "2000")
    lossy = '[switch]\nmarking = "30760 B"\nbuffer = "100 packets"\n'
    config = sonic(cli, scenario(tmp_path, '"dctcp"', lossy), "--cell", "1538")
    assert config["WRED_PROFILE"]["clearway_K_10G"]["green_max_threshold"] == "30760"
    limit = config["BUFFER_PROFILE"][config["BUFFER_QUEUE"]["Ethernet0|0"]["profile"]]
    assert limit["static_th"] == str(100 * 1538)
    assert "BUFFER_PG" not in config


def test_sonic_marks_nothing_where_the_scenario_does_not(cli: Cli, tmp_path: Path) -> None:
    config = sonic(cli, scenario(tmp_path, '"expresspass"'))
    assert "WRED_PROFILE" not in config
    assert "wred_profile" not in config["QUEUE"]["Ethernet0|0"]
    assert config["QUEUE"]["Ethernet0|5"] == {"scheduler": "clearway_credits_10G"}


#: Target, options and tables of a scenario -> what the refusal of `plan switch` says.
UNSAID = [
    ("sonic", '"hpcc"', 'transport.name = "hpcc": its switches do more than mark and pause'),
    ("sonic", '"pacc"', 'transport.name = "pacc"'),
    ("sonic", '"hull"', 'transport.name = "hull"'),
    ("sonic", '"rcp"', 'transport.name = "rcp"'),
    ("sonic", '"ec4"', 'transport.name = "ec4"'),
    (
        "sonic",
        '"dctcp"\n[switch]\nmarking = "20 packets"',
        'switch.marking = "20 packets": switches compare bytes with K',
    ),
    (
        "sonic",
        '"dctcp"\n[switch]\nbuffer = "250 slots"',
        'switch.buffer = "250 slots": a static limit is a number of bytes',
    ),
    ("sonic", '"dctcp"\n[switch]\nbuffer = "unlimited"', 'switch.buffer = "unlimited"'),
    ("sonic", '"dctcp"\n[switch]\nshared_buffer = "1 MB"', 'switch.shared_buffer = "1 MB": limits are static'),
    ("sonic", '"dcqcn"\n[switch]\nred_pmax = 0.015', "switch.red_pmax = 0.015: SONiC has whole per cents"),
    ("sonic", '"dcqcn"\n[switch]\npfc_alpha = 0.1', "switch.pfc_alpha = 0.1: SONiC has powers of two"),
    ("sonic", '"dcqcn"\n[switch]\npfc_response = "1 us"', 'switch.pfc_response = "1 us": headroom is without it'),
    ("sonic", '"dctcp"\n[[switch.class]]\nname = "a"\n[[switch.class]]\nname = "b"', "switch.class = a, b"),
    ("sonic --pfc", '"dctcp"', "switch.pfc = false: --pfc says otherwise"),
    ("sonic --no-pfc", '"dcqcn"', "switch.pfc = true: --no-pfc says otherwise"),
    ("sonic", '"expresspass"\n[switch]\ncredit_share = 0.5', "switch.credit_share = 0.5"),
    ("sonic", '"expresspass"\n[switch]\nshared_buffer = "1 MB"', 'switch.shared_buffer = "1 MB"'),
    ("sonic", '"expresspass"\n[switch]\ncredit_queue_bytes = true', "switch.credit_queue_bytes = true"),
    ("sonic", '"expresspass"\n[switch]\ncredit_drop = "random"', 'switch.credit_drop = "random"'),
    ("linux-tc", '"dctcp"', 'transport.name = "dctcp": linux-tc sets credit classes'),
    (
        "linux-tc",
        '"expresspass"\n[switch]\nmarking = "by-rate"',
        'switch.marking = "by-rate": the script marks with --ecn',
    ),
    ("linux-tc --ecn", '"expresspass"', 'switch.marking = "off": --ecn would mark'),
    (
        "linux-tc --ecn",
        '"expresspass"\n[switch]\nmarking = "red"',
        'switch.marking = "red": RED of Linux goes by an average',
    ),
]


@pytest.mark.parametrize(("target", "tables", "said"), UNSAID)
def test_what_a_target_cannot_say_is_refused_in_one_line(
    cli: Cli, tmp_path: Path, target: str, tables: str, said: str
) -> None:
    transport, _, more = tables.partition("\n")
    scenario(tmp_path, transport, more)
    done = cli("plan", "switch", "s.toml", "--target", *target.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"clearway: s.toml: {said}")
    assert done.stderr.count("\n") == 1


def test_linux_takes_the_threshold_of_the_scenario(cli: Cli, tmp_path: Path) -> None:
    scenario(tmp_path, '"expresspass"', '[switch]\nmarking = "30 KB"\n')
    done = cli("plan", "switch", "s.toml", "--target", "linux-tc", "--ecn")
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("port s0-0 ")]
    assert line.split()[9] == "30000"


@pytest.mark.parametrize("command", ["buffers", "switch"])
def test_the_help_says_what_can_be_planned_for(cli: Cli, command: str) -> None:
    said = " ".join(cli("plan", command, "--help").stdout.split())
    assert "is refused" in said
    assert "expresspass" in said or "`plan buffers`" in said


def test_a_plan_of_a_scenario_is_that_of_its_own_credits_and_hosts(tmp_path: Path) -> None:
    path = scenario(tmp_path, '{ name = "expresspass", credit_queue = 5 }', '[host]\nprocessing_delay = "2 us"\n')
    found = buffers.plan(network([str(path)])).inputs
    assert (found["credit_queue"], found["host_delay_s"]) == (5, pytest.approx((2e-6, 2e-6)))
