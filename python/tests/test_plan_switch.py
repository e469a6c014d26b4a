"""`clearway plan switch`: what it prints, and what a kernel makes of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import Cli
from skips import skip

from clearway import _clearway
from clearway.plan import linux_tc, sonic
from clearway.plan.networks import network
from clearway.plan.stated import FlowControl, Stated
from clearway.plan.switches import Port, ports

#: Prints the HTB classes of a device as the kernel holds them: rates in bytes per second, buckets in nanoseconds.
READER = Path(__file__).parent / "htb.py"
#: tc counts buckets in whole microseconds and the kernel in ticks of 64 ns, both rounded down.
ROUNDING_S = 1.064e-6


def of(words: str, pattern: str = "p{port}") -> list[Port]:
    (found,) = ports(network([words]), pattern, 16).values()
    return found


def test_a_port_of_10_gbps_has_the_papers_settings() -> None:
    port = of("star hosts=3 rate=10Gbps")[0]
    assert (port.credit_bps, port.credit_burst, port.credit_queue) == (517_879_161, 168, 8)
    assert (port.marking_frames, port.marking_bytes) == (65, 99_970)
    assert port.data_packets * 1538 > port.data_bytes


def test_small_packets_of_linux_hosts_have_a_place_each_in_a_queue_that_counts_packets() -> None:
    star = network(["star hosts=3 rate=1Gbps"])
    (paper, *_), (linux, *_) = (
        next(iter(ports(star, "p{port}", 16, leftover=leftover).values())) for leftover in (0, 6152)
    )
    assert linux.data_bytes - paper.data_bytes >= 16 * 6152
    assert linux.data_packets - paper.data_packets >= 16 * 6152 // 84
    assert (linux.credit_bps, linux.credit_queue) == (paper.credit_bps, paper.credit_queue)


@pytest.mark.parametrize(
    ("pattern", "why"), [("x", "the same name"), ("{nobody}", "pattern"), ("{to}" * 9, "no device")]
)
def test_devices_need_names_of_their_own(pattern: str, why: str) -> None:
    with pytest.raises(_clearway.ScenarioError, match=why):
        of("star hosts=3", pattern)


def test_the_sonic_fragment_names_only_what_it_defines() -> None:
    config = sonic.config(of("star hosts=3 rate=25Gbps", "Ethernet{lane}"), 46, 256, Stated(pfc=FlowControl()))
    assert list(config["PORT_QOS_MAP"]) == ["Ethernet0", "Ethernet4", "Ethernet8"]
    assert config["DSCP_TO_TC_MAP"]["CLEARWAY"]["46"] == "5"
    for queue in config["QUEUE"].values():
        assert queue["scheduler"] in config["SCHEDULER"]
        assert queue.get("wred_profile", "clearway_K_25G") in config["WRED_PROFILE"]
    for table in ("BUFFER_PG", "BUFFER_QUEUE"):
        for entry in config[table].values():
            assert entry["profile"] in config["BUFFER_PROFILE"]
    scheduler = config["SCHEDULER"]["clearway_credits_25G"]
    assert scheduler == {"type": "STRICT", "meter_type": "bytes", "pir": "161837237", "pbs": "168"}
    assert config["WRED_PROFILE"]["clearway_K_25G"]["green_min_threshold"] == str(162 * 1538)
    group = config["BUFFER_PROFILE"][config["BUFFER_PG"]["Ethernet0|3"]["profile"]]
    assert int(group["xoff"]) == of("star hosts=3 rate=25Gbps")[0].headroom_bytes


def test_without_flow_control_data_gets_the_bound_as_its_limit() -> None:
    (port, *_), cell = of("star hosts=3"), 256
    config = sonic.config([port], 46, cell, Stated())
    assert "BUFFER_PG" not in config
    limit = config["BUFFER_PROFILE"][config["BUFFER_QUEUE"]["p0|0"]["profile"]]
    assert int(limit["static_th"]) >= port.data_bytes
    credits_ = config["BUFFER_PROFILE"][config["BUFFER_QUEUE"]["p0|5"]["profile"]]
    assert credits_["static_th"] == str(8 * cell)


def test_the_command_writes_a_file_for_each_switch(tmp_path: Path, cli: Cli) -> None:
    words = ("plan", "switch", "leaf-spine", "leaves=2", "spines=1", "hosts_per_leaf=2", "--target")
    assert cli(*words, "linux-tc", "--out", str(tmp_path)).returncode == 0
    assert cli(*words, "sonic", "--out", str(tmp_path)).returncode == 0
    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) == 6
    for path in tmp_path.glob("*.sh"):
        subprocess.run(["sh", "-n", path], check=True)
    for path in tmp_path.glob("*.json"):
        assert json.loads(path.read_text())["QUEUE"]
    done = cli(*words, "linux-tc", "--switch", "nobody")
    assert done.returncode == 2
    assert "is no switch" in done.stderr
    done = cli(*words, "linux-tc", "--pfc")
    assert done.returncode == 2


def test_a_switch_for_udp_has_the_share_of_132_of_1670_bytes_and_rules_for_both_versions_of_ip(cli: Cli) -> None:
    words = ("plan", "switch", "star", "hosts=2", "rate=100Mbps", "--target")
    text = cli(*words, "linux-tc", "--control", "udp", "--control-port", "1022").stdout
    ports_ = [line.split() for line in text.splitlines() if line.startswith("port ")]
    assert {tuple(line[2:5]) for line in ports_} == {("100000000", "7904191", "132")}
    rules = [line.split(" u32 ")[1] for line in text.splitlines() if "dport 1022" in line]
    assert [rule.rsplit(" ", 1)[1] for rule in rules] == ["1:10", "1:18", "1:10", "1:18"]
    assert "match u8 9 0xff at 29" in rules[0]
    assert "match u8 9 0xff at 49" in rules[2]
    without = cli(*words, "linux-tc").stdout
    assert "dport" not in without
    assert "5178791" in without
    done = cli(*words, "sonic", "--control", "udp")
    assert done.returncode == 2
    assert "--control: sonic's credits are told by their DSCP" in done.stderr


def why_no_kernel() -> tuple[str, str] | None:
    """What is missing to use a namespace here, if anything is, and how to have it."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "root on Linux", "run as root"
    if not shutil.which("tc") or not shutil.which("ip"):
        return "tc and ip", "apt-get install iproute2"
    name = f"clearway-{os.getpid()}"
    if subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False).returncode:
        return "network namespaces", "run where they are allowed, as in docker run --privileged"
    try:
        tries = [
            ["ip", "link", "add", "va", "type", "veth", "peer", "name", "vb"],
            ["tc", "qdisc", "add", "dev", "va", "root", "handle", "1:", "htb"],
        ]
        for words in tries:
            if subprocess.run(["ip", "netns", "exec", name, *words], capture_output=True, check=False).returncode:
                return f"a kernel that takes `{' '.join(words)}`", "load or build its module"
    finally:
        subprocess.run(["ip", "netns", "del", name], check=False)
    return None


NO_KERNEL = why_no_kernel()
Inside = Callable[..., str]


@pytest.fixture
def inside() -> Iterator[Inside]:
    """Runs commands in a namespace with two veth pairs."""
    if NO_KERNEL:
        skip(*NO_KERNEL)
    name = f"clearway-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", name], check=True)

    def run(*words: str) -> str:
        done = subprocess.run(["ip", "netns", "exec", name, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout

    try:
        for pair in range(2):
            run("ip", "link", "add", f"p{pair}", "type", "veth", "peer", "name", f"q{pair}")
        yield run
    finally:
        subprocess.run(["ip", "netns", "del", name], check=False)


@pytest.mark.parametrize("rate", ["100Mbps", "1Gbps", "10Gbps"])
def test_a_kernel_has_what_the_script_says(rate: str, tmp_path: Path, inside: Inside) -> None:
    found = of(f"star hosts=2 rate={rate}")
    path = tmp_path / "switch.sh"
    path.write_text(linux_tc.script({"s0": found}, 46, ecn=False))
    for _ in range(2):  # a second time it changes nothing
        inside("sh", str(path))
    for port in found:
        classes = {entry["class"]: entry for entry in json.loads(inside(sys.executable, str(READER), port.device))}
        assert set(classes) == {"1:1", "1:10", "1:18", "1:20"}
        for name, bps, burst in [
            ("1:1", port.rate_bps, linux_tc.port_burst(port)),
            ("1:10", port.credit_bps, linux_tc.credit_burst(port)),
            ("1:18", port.credit_bps * 2, linux_tc.signal_burst(port)),
            ("1:20", port.rate_bps, linux_tc.port_burst(port)),
        ]:
            entry = classes[name]
            assert entry["rate"] == bps // 8, "the kernel counts bytes per second"
            assert entry["ceil"] == (port.rate_bps // 8 if name == "1:18" else entry["rate"])
            assert (entry["overhead"], entry["mpu"], entry["quantum"]) == (24, 84, 1514)
            assert burst * 8 / bps - ROUNDING_S < entry["bucket_s"] <= burst * 8 / bps
        assert classes["1:10"]["prio"] == classes["1:18"]["prio"] == 0
        assert classes["1:20"]["prio"] == 1
        queues = {
            entry["handle"]: entry for entry in json.loads(inside("tc", "-j", "qdisc", "show", "dev", port.device))
        }
        assert queues["10:"]["options"] == {"limit": port.credit_queue}
        assert queues["18:"]["options"] == {"limit": linux_tc.SIGNAL_QUEUE}
        assert queues["20:"]["options"] == {"limit": port.data_packets}
        assert queues["1:"]["options"]["default"] == "0x20"
        filters = json.loads(inside("tc", "-j", "filter", "show", "dev", port.device))
        ways = [entry["options"].get("flowid") for entry in filters if "options" in entry]
        assert [way for way in ways if way] == ["1:10", "1:18", "1:10", "1:10"]
    inside("sh", str(path), "--undo")
    inside("sh", str(path), "--undo")
    for port in found:
        assert "htb" not in inside("tc", "qdisc", "show", "dev", port.device)
