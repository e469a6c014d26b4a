"""The daemon `clearwayd` as a service: rules that come and go, privileges, messages to systemd, statistics."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from skips import skip

from clearway.testbed import Host, Network, call, lacking
from clearway.testbed.namespace import wait_until
from testbed.attacks import STALL_S, between
from testbed.conftest import Build

pytestmark = pytest.mark.testbed
ROOT = Path(__file__).resolve().parents[3]
NET_ADMIN, NET_RAW, SYS_NICE, SYS_RESOURCE = 1 << 12, 1 << 13, 1 << 23, 1 << 24
HOST = ("host", "--dev", "eth0", "--rate", "100Mbps")
PAC = ("pac", "--dev", "eth0", "--rate", "100Mbps", "--offloads", "off")
DAEMONS = pytest.mark.parametrize("words", [HOST, (*HOST, "--transport", "ec4"), PAC], ids=["host", "ec4", "pac"])


@pytest.fixture
def net(build: Build) -> Network:
    """Two hosts. Their offloads are on, so that there is something to switch off."""
    net = build()
    for host in net.hosts:
        host.run("ethtool", "-K", "eth0", "gro", "on", "gso", "on", "tso", "on")
    return net


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of journals and sockets."""
    made = tmp_path / "run"
    made.mkdir(mode=0o755)
    return made


def state(host: Host) -> str:
    """Everything at a host that a daemon may change."""
    rules = host.run("iptables-save") + host.run("iptables-legacy-save", check=False)
    rules = "\n".join(line for line in rules.splitlines() if line[:1] == "-")
    words = (("tc", "qdisc", "show"), ("tc", "class", "show", "dev", "eth0"), ("tc", "filter", "show", "dev", "eth0"))
    shown = [host.run(*line) for line in (*words, ("ethtool", "-k", "eth0"), ("ip", "link", "show", "eth0"))]
    shown.append(host.run("sysctl", "net.ipv4.tcp_tso_rtt_log", check=False))
    return "\n".join([rules, *shown])


class Running:
    """A daemon of a test with its own folder, and the messages that it sends to a service manager."""

    def __init__(
        self,
        host: Host,
        clearwayd: str,
        folder: Path,
        words: tuple[str, ...],
        program: tuple[str, ...] = (),
        **environment: str,
    ) -> None:
        self.host, self.clearwayd, self.folder = host, clearwayd, folder
        self.log = folder.parent / "log"
        address = folder.parent / "notify"
        address.unlink(missing_ok=True)
        self.messages = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.messages.bind(str(address))
        self.messages.settimeout(5)
        with self.log.open("ab") as log:
            self.process = host.namespace.start(
                *(program or (clearwayd,)),
                *words,
                "--run-dir",
                str(folder),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "NOTIFY_SOCKET": str(address), **environment},
            )
        assert b"READY=1" in self.messages.recv(4096).split(b"\n")

    def ask(self, *words: str, code: int = 0) -> str:
        """Runs another command of the daemon's program at its host."""
        done = run(self.host, self.clearwayd, *words, "--run-dir", str(self.folder))
        assert done.returncode == code, done.stderr
        return done.stdout

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Ends the daemon and returns its exit code."""
        self.process.send_signal(how)
        return self.process.wait(5)


Start = Callable[..., Running]


@pytest.fixture
def start(net: Network, clearwayd: str, folder: Path) -> Iterator[Start]:
    """Starts daemons, at the first host if nothing else is said, and kills those that are left at the end."""
    running: list[Running] = []

    def begin(*words: str, at: int = 0, program: tuple[str, ...] = (), **environment: str) -> Running:
        running.append(Running(net.hosts[at], clearwayd, folder, words, program, **environment))
        return running[-1]

    yield begin
    for daemon in running:
        daemon.process.kill()
        daemon.process.wait()
        daemon.messages.close()


def run(host: Host, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs a command at a host, whatever its exit code."""
    enter = ("nsenter", f"--net=/run/netns/{host.namespace.name}")
    return subprocess.run([*enter, *words], capture_output=True, text=True, timeout=30, check=False)


@DAEMONS
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_daemon_and_nothing_of_it_stays(
    net: Network, start: Start, folder: Path, words: tuple[str, ...], how: signal.Signals
) -> None:
    before = state(net.hosts[0])
    daemon = start(*words)
    assert state(net.hosts[0]) != before
    assert daemon.stop(how) == 0, daemon.log.read_text()
    assert daemon.messages.recv(4096) == b"STOPPING=1"
    assert state(net.hosts[0]) == before
    assert list(folder.iterdir()) == []


@DAEMONS
def test_after_a_kill_cleanup_undoes_the_rules_and_only_once(
    net: Network, start: Start, folder: Path, words: tuple[str, ...]
) -> None:
    before = state(net.hosts[0])
    daemon = start(*words)
    assert "the daemon lives; its rules stay" in daemon.ask("cleanup")
    daemon.stop(signal.SIGKILL)
    assert state(net.hosts[0]) != before
    other = run(net.hosts[1], daemon.clearwayd, "cleanup", "--run-dir", str(folder))
    assert "in another network namespace; run `nsenter --net=/run/netns/" in other.stdout, other.stderr
    assert state(net.hosts[0]) != before
    assert re.search(r"eth0: \d+ steps of process \d+ undone", daemon.ask("cleanup"))
    assert state(net.hosts[0]) == before
    assert daemon.ask("cleanup") == "nothing is left of a dead daemon\n"


def test_a_daemon_undoes_what_a_killed_one_left_and_refuses_to_run_beside_a_living_one(
    net: Network, start: Start, clearwayd: str, folder: Path
) -> None:
    before = state(net.hosts[0])
    start(*HOST).stop(signal.SIGKILL)
    second = start(*HOST)
    assert "a killed daemon's rules are undone" in second.log.read_text()
    rules = net.hosts[0].run("iptables-save", "-t", "mangle")
    assert rules.count("NFQUEUE") == 1
    third = run(net.hosts[0], clearwayd, *PAC, "--run-dir", str(folder))
    assert third.returncode == 1
    assert f"eth0: another clearwayd works on this device in this network namespace (process {second.process.pid})" in (
        third.stderr
    )
    # The same name of a NIC in another namespace is another NIC.
    assert start(*PAC, at=1).stop() == 0
    assert second.stop() == 0
    assert state(net.hosts[0]) == before


@DAEMONS
def test_a_dry_run_prints_the_rules_and_changes_nothing(
    net: Network, clearwayd: str, folder: Path, words: tuple[str, ...]
) -> None:
    host = net.hosts[0]
    before = state(host)
    done = run(host, clearwayd, *words, "--dry-run", "--run-dir", str(folder))
    assert done.returncode == 0, done.stderr
    assert state(host) == before
    assert list(folder.iterdir()) == []
    assert any(line.startswith("# Queue ") for line in done.stdout.splitlines())
    # What was printed can be pasted into a shell, and so can what undoes it.
    host.namespace.script(done.stdout)
    assert state(host) != before
    undo = [line.partition("undone by: ")[2] for line in done.stdout.splitlines()]
    host.namespace.script("".join(f"{line}\n" for line in reversed(undo) if line))
    assert state(host) == before


def test_a_folder_in_which_others_may_write_is_refused_before_anything_changes(
    net: Network, clearwayd: str, folder: Path
) -> None:
    before = state(net.hosts[0])
    folder.chmod(0o777)
    done = run(net.hosts[0], clearwayd, *HOST, "--run-dir", str(folder))
    assert done.returncode == 1
    assert f"{folder}: belongs to user 0 with mode 0777; it must belong to the user of clearwayd" in done.stderr
    assert state(net.hosts[0]) == before


def test_a_switch_is_set_up_while_its_daemon_runs(net: Network, start: Start, clearwayd: str) -> None:
    host = net.hosts[0]
    words = ("switch", "--ports", "eth0", "--rate", "100Mbps", "--ecn", "20")
    refused = run(host, clearwayd, *words, "--dry-run")
    assert (refused.returncode, "it has the qdisc `htb 1:` at its root" in refused.stderr) == (1, True)
    host.run("tc", "qdisc", "del", "dev", "eth0", "root")
    before = state(host)
    for how in (signal.SIGTERM, signal.SIGKILL):
        daemon = start(*words)
        assert "class htb 1:10" in host.run("tc", "class", "show", "dev", "eth0")
        assert "bpf" in host.run("tc", "filter", "show", "dev", "eth0", "egress")
        daemon.stop(how)
        daemon.ask("cleanup")
        assert state(host) == before


@DAEMONS
def test_only_two_capabilities_are_kept(start: Start, words: tuple[str, ...]) -> None:
    daemon = start(*words)
    own = status(Path("/proc/self"))
    # Where the daemon of a host may not raise its limit of real-time priority, it keeps the right to its own priority.
    nice = SYS_NICE if words[0] == "host" and not int(own["CapEff"], 16) & SYS_RESOURCE else 0
    for task in Path(f"/proc/{daemon.process.pid}/task").iterdir():
        held = status(task)
        for kind in ("CapInh", "CapBnd", "CapAmb"):
            assert int(held[kind], 16) == NET_ADMIN | NET_RAW, (task.name, kind)
        for kind in ("CapPrm", "CapEff"):
            assert int(held[kind], 16) == NET_ADMIN | NET_RAW | nice & int(own[kind], 16), (task.name, kind)
        assert (held["NoNewPrivs"], held["Seccomp"]) == ("1", "2")


def status(process: Path) -> dict[str, str]:
    """What the kernel says of a process or a thread."""
    return dict(line.split(":\t", 1) for line in (process / "status").read_text().splitlines())


def test_the_daemon_of_a_host_is_realtime_only_while_something_may_wait_for_it(net: Network, start: Start) -> None:
    if not int(status(Path("/proc/self"))["CapEff"], 16) & (SYS_NICE | SYS_RESOURCE):
        skip("CAP_SYS_NICE or CAP_SYS_RESOURCE", "run it with one of them")
    daemon = start(*HOST)
    start(*HOST, at=1)

    def policy() -> int:
        return os.sched_getscheduler(daemon.process.pid) & ~os.SCHED_RESET_ON_FORK

    wait_until(lambda: policy() == os.SCHED_OTHER, "nothing waits")
    assert os.getpriority(os.PRIO_PROCESS, daemon.process.pid) == -20
    moving = between(net, 4_000_000)
    wait_until(lambda: policy() == os.SCHED_FIFO, "packets are held", 10.0, 0.001)
    assert moving.wait().stall_s < STALL_S
    wait_until(lambda: policy() == os.SCHED_OTHER, "nothing waits any more")


@pytest.mark.parametrize(
    ("name", "more"),
    [("clearwayd@.service", ()), ("clearwayd@.service", ("--control", "udp")), ("clearwayd-switch.service", ())],
)
def test_the_capabilities_of_the_unit_file_are_enough(
    net: Network, clearwayd: str, start: Start, name: str, more: tuple[str, ...]
) -> None:
    if why := lacking("setpriv"):
        pytest.skip(why)
    words: tuple[str, ...] = (*HOST, *more)
    if "switch" in name:
        words = ("switch", "--ports", "eth0", "--rate", "100Mbps", "--ecn", "20")
        net.hosts[0].run("tc", "qdisc", "del", "dev", "eth0", "root")
    before = state(net.hosts[0])
    unit = (ROOT / "packaging" / name).read_text()
    (listed,) = re.findall(r"^CapabilityBoundingSet=(.*)$", unit, re.MULTILINE)
    kept = ",".join(["-all", *(f"+{word.removeprefix('CAP_').lower()}" for word in listed.split())])
    script = f'exec setpriv --bounding-set {kept} --inh-caps {kept} --no-new-privs {clearwayd} "$@"'
    daemon = start(*words, program=("sh", "-c", script, "sh"))
    assert daemon.ask("stats", "--dev", "eth0").startswith(f"{words[0]} eth0 (expresspass), process ")
    assert daemon.stop() == 0, daemon.log.read_text()
    assert state(net.hosts[0]) == before


def test_a_nic_that_is_removed_ends_the_daemon_and_its_rules(net: Network, start: Start, folder: Path) -> None:
    host = net.hosts[0]
    daemon = start(*HOST)
    host.run("ip", "link", "delete", "eth0")
    assert daemon.process.wait(5) == 1
    assert "the NIC eth0 was removed" in daemon.log.read_text()
    assert "NFQUEUE" not in host.run("iptables-save")
    assert list(folder.iterdir()) == []


def test_a_daemon_that_cannot_start_leaves_nothing(net: Network, clearwayd: str, folder: Path) -> None:
    words = ("host", "--dev", "eth9", "--rate", "100Mbps", "--log-format", "json", "--run-dir", str(folder))
    done = run(net.hosts[0], clearwayd, *words)
    assert done.returncode == 1
    (line,) = map(json.loads, done.stderr.splitlines())
    assert (line["level"], "there is no NIC eth9" in line["message"]) == ("ERROR", True)
    assert list(folder.iterdir()) == []


def test_signs_of_life_come_twice_as_often_as_the_watchdog_asks(start: Start) -> None:
    daemon = start(*HOST, WATCHDOG_USEC="400000")
    begin = time.monotonic()
    assert [daemon.messages.recv(4096) for _ in range(5)] == [b"WATCHDOG=1"] * 5
    assert time.monotonic() - begin > 0.5
    # Signs that another process is asked for are not ours to give.
    daemon.stop()
    daemon = start(*HOST, WATCHDOG_USEC="100000", WATCHDOG_PID="1")
    daemon.messages.settimeout(0.3)
    with pytest.raises(TimeoutError):
        daemon.messages.recv(4096)


def test_statistics_are_told_as_a_table_and_as_json(start: Start) -> None:
    daemon = start(*HOST)
    told = json.loads(daemon.ask("stats", "--json"))
    assert (told["mode"], told["dev"], told["transport"]) == ("host", "eth0", "expresspass")
    assert told["pid"] == daemon.process.pid
    assert told["metrics"]["credits_sent_total"] == 0
    assert 0 < told["metrics"]["process_resident_memory_bytes"] < 100e6
    assert daemon.ask("stats", "--dev", "eth0").startswith("host eth0 (expresspass), process ")
    assert "no daemon runs on this NIC" in run_error(daemon, "stats", "--dev", "eth1")
    daemon.stop()
    assert "no daemon runs in this network namespace" in run_error(daemon, "stats")


def run_error(daemon: Running, *words: str) -> str:
    """Runs a command that fails, and returns its complaint."""
    done = run(daemon.host, daemon.clearwayd, *words, "--run-dir", str(daemon.folder))
    assert done.returncode == 1
    return done.stderr


#: A line of Prometheus' text format: a name, labels, a number.
LABEL = r'[a-z_]+="(?:[^"\\\n]|\\[\\"n])*"'
SAMPLE = re.compile(rf"([a-z_:][a-z0-9_:]*)\{{({LABEL}(?:,{LABEL})*)\}} (\S+)")


def check_prometheus(text: str) -> dict[str, str]:
    """Checks Prometheus' text format, version 0.0.4, and returns the kind of each metric."""
    assert text.endswith("\n")
    kinds: dict[str, str] = {}
    seen: set[str] = set()
    name = ""
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name, _, sentence = line.removeprefix("# HELP ").partition(" ")
            assert name not in kinds, "all samples of a metric stand together"
            assert sentence.strip().endswith("."), line
        elif line.startswith("# TYPE "):
            typed, kinds[name] = line.removeprefix("# TYPE ").split(" ")
            assert typed == name
            assert kinds[name] == ("counter" if name.endswith("_total") else "gauge")
        else:
            sample = SAMPLE.fullmatch(line)
            assert sample, line
            assert sample[1] == name
            assert f"{sample[1]}{{{sample[2]}}}" not in seen, line
            seen.add(f"{sample[1]}{{{sample[2]}}}")
            float(sample[3])
    return kinds


@DAEMONS
def test_prometheus_reads_the_endpoint(net: Network, start: Start, tmp_path: Path, words: tuple[str, ...]) -> None:
    host = net.hosts[0]
    daemon = start(*words, "--metrics", "127.0.0.1:9464")
    answer = host.run("curl", "-si", "http://127.0.0.1:9464/metrics")
    head, _, text = answer.replace("\r\n", "\n").partition("\n\n")
    assert head.startswith("HTTP/1.1 200 OK\n")
    assert "Content-Type: text/plain; version=0.0.4; charset=utf-8" in head
    kinds = check_prometheus(text)
    assert kinds["clearway_process_cpu_seconds_total"] == "counter"
    assert kinds["clearway_uptime_seconds"] == "gauge"
    assert run(host, "curl", "-sf", "http://127.0.0.1:9464/").returncode == 22
    assert run(host, "curl", "-s", "--max-time", "2", f"http://{host.address}:9464/metrics").returncode == 7
    daemon.stop()
    path = tmp_path / "metrics.sock"
    daemon = start(*words, "--metrics", f"unix:{path}")
    assert check_prometheus(host.run("curl", "-s", "--unix-socket", str(path), "http://x/metrics")) == kinds
    daemon.stop()
    assert not path.exists()


def test_clients_that_say_nothing_or_read_nothing_hold_up_neither_the_daemon_nor_its_statistics(
    net: Network, start: Start, tmp_path: Path, folder: Path
) -> None:
    path = tmp_path / "metrics.sock"
    daemon = start(*HOST, "--metrics", f"unix:{path}", WATCHDOG_USEC="200000")
    (stats,) = folder.glob("*.sock")
    clients = []
    for number in range(60):
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        client.setblocking(False)
        try:
            client.connect(str(path if number % 2 else stats))
            client.send(b"GET /metrics HTTP/1.1\r\n" if number % 4 == 1 else b"\0" * 5000)
        except (BlockingIOError, BrokenPipeError):
            pass
        clients.append(client)
    for _ in range(10):
        assert daemon.messages.recv(4096) == b"WATCHDOG=1"
    assert json.loads(daemon.ask("stats", "--json"))["metrics"]["loop_longest_gap_seconds"] < 1
    for client in clients:
        client.close()
    ask = ("curl", "-s", "--unix-socket", str(path), "http://x/metrics")
    wait_until(lambda: "uptime" in net.hosts[0].run(*ask), "statistics")
    assert len(list(Path(f"/proc/{daemon.process.pid}/fd").iterdir())) < 30
    assert daemon.stop() == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("host",), "--dev: is missing; write name of a NIC"),
        (("host", "--dev", "../x"), "write one that `ip link` shows"),
        (("host", "--dev", "eth0", "--rate", "100"), '--rate "100": has no unit; write a rate as a number and one of'),
        (("host", "--dev", "eth0", "--transport", "ec5"), 'write "expresspass" or "ec4"; did you mean "ec4"?'),
        (("host", "--dev", "eth0", "--set", "w_int=1"), 'did you mean "w_init"?'),
        (("host", "--dev", "eth0", "--set", "w_init=2"), '--set w_init = "2": must be from 0.0001 to 1'),
        (("host", "--dev", "eth0", "--metrics", "0.0.0.0:9464"), "is not of this machine's loopback"),
        (("host", "--dev", "eth0", "--run-dir", "x"), "is no absolute path"),
        (("pac", "--dev", "eth0", "--set", "levels=17"), '--set levels = "17": must be from 1 to 16'),
        (("switch", "--ports", "eth0,,"), '"" is empty'),
        (("switch", "--ports", "eth0"), "--rate: is missing, and so is a rate of eth0"),
        (("host", "--dve", "eth0"), "unexpected argument '--dve' found"),
        (("hots",), "'host'"),
        (("object", "ecm", "--output", "/tmp/x"), '"ecm": there is no such program; did you mean "ecn"?'),
    ],
)
def test_a_wrong_command_line_is_refused_with_what_would_be_right(
    clearwayd: str, words: tuple[str, ...], said: str
) -> None:
    done = subprocess.run([clearwayd, *words], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[host", "clearwayd.toml:1: is not TOML: "),
        ("[hots]\n", 'clearwayd.toml:1: hots: is no table of settings; did you mean "host"?'),
        ("[host]\nrate = 100\n", "clearwayd.toml:2: host.rate = 100: has no unit; write a rate as"),
        ("[host]\n\nratte = 100\n", 'clearwayd.toml:3: host.ratte: unknown key; did you mean "rate"?'),
        ("[host.set]\nw_init = 2\n", "clearwayd.toml:2: host.set.w_init = 2: must be from 0.0001 to 1"),
        ("[host]\nmetrics = 1\n", 'clearwayd.toml:2: host.metrics = 1: write "127.0.0.1:9464"'),
    ],
)
def test_a_wrong_file_is_refused_with_its_line_and_what_would_be_right(
    clearwayd: str, tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / "clearwayd.toml"
    path.write_text(text)
    words = (clearwayd, "host", "--dev", "eth0", "--config", str(path))
    done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_example_configuration_is_right_for_every_kind_of_daemon(
    net: Network, clearwayd: str, folder: Path
) -> None:
    path = ROOT / "packaging/clearwayd.toml"
    tables = tomllib.loads(path.read_text())
    assert set(tables) == {"host", "pac", "switch"}
    for words in (HOST, PAC):
        done = run(net.hosts[0], clearwayd, *words, "--config", str(path), "--dry-run", "--run-dir", str(folder))
        assert done.returncode == 0, done.stderr
    switch = ("switch", "--config", str(path), "--dry-run", "--run-dir", str(folder))
    done = run(net.hosts[0], clearwayd, *switch)
    assert (done.returncode, "there is no such NIC" in done.stderr) == (1, True), done.stderr


@pytest.mark.parametrize("name", ["clearwayd@eth0.service", "clearwayd-switch.service"])
def test_the_unit_files_are_right_and_leave_little_exposed(clearwayd: str, tmp_path: Path, name: str) -> None:
    if shutil.which("systemd-analyze") is None:
        skip("systemd-analyze", "apt-get install systemd")
    unit = ROOT / "packaging" / name.replace("@eth0", "@")
    placed = tmp_path / name
    placed.write_text(unit.read_text().replace("/usr/local/sbin/clearwayd", clearwayd))
    assert call("systemd-analyze", "verify", "--man=no", str(placed)) == ""
    shown = call("systemd-analyze", "security", "--offline=true", "--no-pager", str(placed))
    exposure = re.search(r"Overall exposure level for \S+: ([0-9.]+)", shown)
    assert exposure
    assert float(exposure[1]) <= 3.5


def test_logs_are_json_if_that_is_asked_for(start: Start) -> None:
    daemon = start(*HOST, "--log-format", "json")
    daemon.stop()
    lines: list[dict[str, Any]] = [json.loads(line) for line in daemon.log.read_text().splitlines()]
    ready = next(line for line in lines if line["message"] == "ready")
    assert (ready["mode"], ready["dev"], ready["transport"]) == ("host", "eth0", "expresspass")
    assert next(line for line in lines if line["message"] == "stops")["signal"] == "SIGTERM"


def test_the_page_lists_every_metric_of_every_kind_of_daemon(net: Network, start: Start, tmp_path: Path) -> None:
    metrics: dict[str, tuple[str, str, list[str], set[str]]] = {}
    path = tmp_path / "metrics.sock"
    ports = ("switch", "--ports", "eth0", "--rate", "100Mbps")
    # Some metrics of PAC are of acknowledgements that programs in the kernel take.
    in_kernel = (*PAC, "--kernel-path", "acks")
    for words in (HOST, PAC, in_kernel, ports, (*ports, "--user-space", "true")):
        if words is ports:
            net.hosts[0].run("tc", "qdisc", "del", "dev", "eth0", "root")
        daemon = start(*words, "--metrics", f"unix:{path}")
        text = net.hosts[0].run("curl", "-s", "--unix-socket", str(path), "http://x/metrics")
        assert daemon.stop() == 0
        helps = dict(re.findall(r"^# HELP (\S+) (.*)$", text, re.MULTILINE))
        for name, kind in check_prometheus(text).items():
            _, _, daemons, labels = metrics.setdefault(name, (kind, helps[name], [], set()))
            daemons.extend({words[0]} - {*daemons})
            if name != "clearway_info":
                labels.update(re.findall(rf'^{name}{{dev="[^"]*",([a-z_]+)=', text, re.MULTILINE))
    order = sorted(metrics.items(), key=lambda item: (len(item[1][2]), item[1][2] != ["host"], item[1][2] != ["pac"]))
    table = "| metric | kind | of | meaning |\n|---|---|---|---|\n"
    for name, (kind, meaning, daemons, labels) in order:
        by = f" by `{'`, `'.join(sorted(labels))}`" if labels else ""
        table += f"| `{name}`{by} | {kind} | {', '.join(daemons)} | {meaning} |\n"
    page = ROOT / "docs/how-to/clearwayd.md"
    text = page.read_text()
    head, mark, rest = text.partition("<!-- metrics -->\n\n")
    written = head + mark + table + rest[rest.index("\n\n") + 1 :]
    if written != text:
        page.write_text(written)
        pytest.fail("docs/how-to/clearwayd.md was not up to date; this test has written its table anew: commit it")


def test_the_first_run_of_the_page_gives_the_goodput_that_it_says(clearwayd: str, tmp_path: Path) -> None:
    if why := lacking("iperf3", "iptables", "ethtool"):
        pytest.skip(why)
    page = (ROOT / "docs/how-to/clearwayd.md").read_text()
    (block,) = re.findall(r"^```bash\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    (tmp_path / "clearwayd").symlink_to(clearwayd)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "RUNTIME_DIRECTORY": str(tmp_path / "run")}
    # The daemons end where a line fails, so that the test ends then and says which.
    words = ("bash", "-eu", "-c", f"trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n{block}")
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, env=environment)
    finally:
        for name in ("cw-left", "cw-right"):
            call("ip", "netns", "delete", name, check=False)
    assert done.returncode == 0, done.stderr
    received = re.search(r"([0-9.]+) Mbits/sec +receiver", done.stdout)
    assert received, done.stdout
    # The bound is wide: other programs of a busy machine take the processor from the daemons.
    assert 40 < float(received[1]) < 92
    assert re.search(r"credits_used_total +[1-9]", done.stdout)
    assert 'peers{state="clearway"}' in done.stdout
