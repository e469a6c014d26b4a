"""Networks of namespaces: hosts on one switch, or on two with a link between, all links of one rate.

A switch is a bridge in a namespace of its own, whose ports `clearwayd switch` shapes. A host has one
NIC, `eth0`, which is shaped to the link's rate too: a veth pair itself has no rate. Segmentation and checksum
offloads are off everywhere, so that frames on the links are frames of Ethernet with true checksums, and no frame asks
for addresses, because all of them are known beforehand.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from clearway.testbed.allowed import allow
from clearway.testbed.daemon import Daemon, tail
from clearway.testbed.namespace import Namespace, Owner, remove_leftovers, signals_wait, wait_until
from clearway.testbed.shell import TestbedError, lacking

#: Bytes that a frame takes on the link besides those that Linux counts: preamble, check sequence, gap.
OVERHEAD = 24
#: The least frame and the largest one on the link, in bytes.
LEAST, LARGEST = 84, 1538
OFFLOADS = "tso off gso off gro off tx off rx off"


@dataclass(frozen=True)
class Shape:
    """The network that is wanted."""

    #: Hosts `h1`, `h2`, ...; with two switches the first half is on the first one.
    hosts: int = 2
    switches: int = 1
    #: Rate of every link in bit/s.
    rate_bps: int = 100_000_000
    #: Data packets that a port of a switch can hold.
    data_packets: int = 250
    #: Credits that a port of a switch can hold.
    credits: int = 8
    #: Ports of switches mark a packet that takes part in ECN if more packets than this wait; `None` marks nothing.
    marking: int | None = None
    #: If true, the NICs of hosts have the rate of the links; else only ports of switches do.
    cards: bool = True
    congestion_control: str = "cubic"
    #: If true, the TCP of hosts uses ECN.
    ecn: bool = False
    mtu: int = 1500
    #: If true, hosts have IPv6 addresses too: fd00::N for host N.
    ipv6: bool = False
    #: The way of control frames between hosts, for which switches are set up: `ethernet` or `udp`.
    control: str = "ethernet"

    def __post_init__(self) -> None:
        if not 2 <= self.hosts <= 64:
            raise TestbedError(f"hosts = {self.hosts}: must be 2 to 64")
        if self.switches not in (1, 2):
            raise TestbedError(f"switches = {self.switches}: must be 1 or 2")
        if not 1_000_000 <= self.rate_bps <= 10_000_000_000:
            raise TestbedError(f"rate_bps = {self.rate_bps}: must be 1 Mbit/s to 10 Gbit/s")

    @property
    def ideal_goodput_bps(self) -> float:
        """The goodput of TCP under credits: 1448 bytes of 1622 on the link, where the MTU is 1500 bytes."""
        data = self.mtu + 14 + OVERHEAD
        return self.rate_bps * (self.mtu - 52) / (data + LEAST)

    @property
    def plain_goodput_bps(self) -> float:
        """The goodput of TCP without credits: 1448 bytes of 1538 on the link, where the MTU is 1500 bytes."""
        return self.rate_bps * (self.mtu - 52) / (self.mtu + 14 + OVERHEAD)


@dataclass(frozen=True)
class Port:
    """A port of a switch."""

    switch: Switch
    device: str


class Switch:
    """A bridge in a namespace."""

    def __init__(self, namespace: Namespace, network: Network) -> None:
        self.namespace, self.network, self.shape = namespace, network, network.shape
        #: The daemon that sets the ports up.
        self.daemon: Daemon
        self.ports: list[Port] = []
        namespace.ip("link add br0 type bridge stp_state 0 mcast_snooping 0\nlink set br0 up\n")

    @property
    def name(self) -> str:
        """The name of the switch in its network: `s1` or `s2`."""
        return self.namespace.place

    def run(self, *words: str, **options: Any) -> str:
        """Runs a command at the switch, and returns what it printed."""
        return self.namespace.run(*words, **options)

    def attach(self, device: str) -> Port:
        """Makes a device, which is in the switch's namespace, a port that is not shaped yet."""
        self.namespace.script(
            f"sysctl -qw net.ipv6.conf.{device}.disable_ipv6=1\nethtool -K {device} {OFFLOADS}\n"
            f"ip link set {device} mtu {self.shape.mtu} master br0 up\n"
        )
        port = Port(self, device)
        self.ports.append(port)
        return port

    def is_up(self) -> bool:
        """True if every port forwards."""
        links = json.loads(self.run("bridge", "-j", "link", "show"))
        return len([link for link in links if link["state"] == "forwarding"]) == len(self.ports)

    def start(self) -> None:
        """Makes the ports those of an ExpressPass switch, as long as the network is there."""
        shape = self.shape
        words = ["switch", "--ports", ",".join(port.device for port in self.ports)]
        words += ["--rate", f"{shape.rate_bps // 1_000_000}Mbps", "--data-queue", str(shape.data_packets)]
        words += ["--credit-queue", str(shape.credits)]
        if shape.marking is not None:
            words += ["--ecn", str(shape.marking)]
        if shape.control != "ethernet":
            words += ["--control", shape.control]
        self.daemon = self.network.start_daemon(self.namespace, *words)


class Host:
    """A host with one NIC."""

    device = "eth0"

    def __init__(self, namespace: Namespace, number: int, network: Network) -> None:
        self.namespace, self.number, self.network = namespace, number, network
        self.address = f"10.0.0.{number}"
        self.address6 = f"fd00::{number:x}"
        self.mac = f"02:00:00:00:00:{number:02x}"
        self.port: Port

    @property
    def name(self) -> str:
        """The name of the host in its network: `h1`, `h2`, ..."""
        return self.namespace.place

    def run(self, *words: str, **options: Any) -> str:
        """Runs a command at the host, and returns what it printed."""
        return self.namespace.run(*words, **options)

    def start(self, *words: str, log: str | None = None, **options: Any) -> subprocess.Popen[bytes]:
        """Starts a command at the host, which ends with the network at the latest.

        Its output goes to the file `log` in the network's folder of logs, if a name is given.
        """
        with contextlib.ExitStack() as stack:
            if log is not None:
                file = stack.enter_context((self.network.logs / log).open("ab"))
                options = {"stdout": file, "stderr": subprocess.STDOUT, **options}
            options.setdefault("stdin", subprocess.DEVNULL)
            process = self.namespace.start(*words, **options)
        self.network.processes.append(process)
        return process

    def daemon(self, *words: str) -> Daemon:
        """Starts `clearwayd` with these words at the host and returns it when it is ready."""
        return self.network.start_daemon(self.namespace, *words)

    def is_up(self) -> bool:
        """True if the link of the NIC is up."""
        (link,) = json.loads(self.run("ip", "-j", "link", "show", "dev", "eth0"))
        return bool(link["operstate"] == "UP")

    def sysctl(self, **values: object) -> None:
        """Sets sysctls of the host; a name is written with `__` for a dot, without `net.ipv4.`"""
        lines = [f"net.ipv4.{name.replace('__', '.')}={value}" for name, value in values.items()]
        self.run("sysctl", "-qw", *lines)


class Network:
    """A network, as a context: it is there inside the `with` block.

    `logs` is a folder for the logs of daemons and other programs. It is removed with the network unless the block ends
    by an exception; then its place and the ends of the logs are added to the exception.
    """

    def __init__(self, shape: Shape | None = None) -> None:
        self.shape = shape or Shape()
        self.hosts: list[Host] = []
        self.switches: list[Switch] = []
        self.processes: list[subprocess.Popen[bytes]] = []
        self.daemons: list[Daemon] = []
        self.logs: Path
        self._owner: Owner

    @property
    def nodes(self) -> list[Host | Switch]:
        """All hosts and switches."""
        return [*self.hosts, *self.switches]

    def start_daemon(self, namespace: Namespace, *words: str) -> Daemon:
        """Starts `clearwayd` with these words in a namespace, and returns it when it is ready."""
        log = self.logs / f"{namespace.place}-{words[0]}-{len(self.daemons)}.log"
        daemon = Daemon(namespace, words, log, self.logs / f"run-{len(self.daemons)}")
        self.daemons.append(daemon)
        daemon.start()
        return daemon

    def __enter__(self) -> Network:
        why = lacking()
        if why is not None:
            raise TestbedError(f"a testbed {why}")
        remove_leftovers()
        self._owner = Owner()
        self.logs = self._owner.folder
        try:
            self._build()
        except BaseException as error:
            self._remove(error)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove(error)

    def _build(self) -> None:
        shape = self.shape
        for name in {"cubic", shape.congestion_control}:
            allow(name)
        self.switches = [Switch(Namespace(self._owner, f"s{n + 1}"), self) for n in range(shape.switches)]
        if shape.switches == 2:
            first, second = self.switches
            first.namespace.ip(f"link add t1 type veth peer name t1 netns {second.namespace.name}\n")
            first.attach("t1")
            second.attach("t1")
        for number in range(1, shape.hosts + 1):
            host = Host(Namespace(self._owner, f"h{number}"), number, self)
            near = self.switches[(number - 1) * shape.switches // shape.hosts]
            self._connect(host, near)
            self.hosts.append(host)
        for switch in self.switches:
            switch.start()
        for host in self.hosts:
            self._introduce(host)
        # The kernel tells a bridge, and the queue of a NIC, up to a second later that a link is up.
        for node in self.nodes:
            wait_until(node.is_up, f"{node.name}: its links are up")

    def _connect(self, host: Host, switch: Switch) -> None:
        shape, device = self.shape, f"p{host.number}"
        host.namespace.ip(
            f"link add eth0 type veth peer name {device} netns {switch.namespace.name}\n"
            f"link set eth0 address {host.mac} mtu {shape.mtu}\n"
        )
        host.namespace.script(
            f"sysctl -qw net.ipv6.conf.all.disable_ipv6={int(not shape.ipv6)} net.ipv6.conf.all.accept_dad=0 "
            f"net.ipv6.conf.default.accept_dad=0 net.ipv4.tcp_congestion_control={shape.congestion_control} "
            f"net.ipv4.tcp_ecn={int(shape.ecn)} net.ipv4.tcp_no_metrics_save=1\n"
            f"ethtool -K eth0 {OFFLOADS}\n"
            f"ip address add {host.address}/24 dev eth0\n"
            + (f"ip address add {host.address6}/64 dev eth0 nodad\n" if shape.ipv6 else "")
            + "ip link set eth0 up\n"
        )
        host.port = switch.attach(device)
        if shape.cards:
            host.namespace.tc("".join(f"{line}\n" for line in card_lines("eth0", shape)))

    def _introduce(self, host: Host) -> None:
        """Tells a host the addresses of all others, and every switch the port that leads to the host."""
        others = [other for other in self.hosts if other is not host]
        lines = [f"neigh add {one.address} lladdr {one.mac} dev eth0 nud permanent" for one in others]
        if self.shape.ipv6:
            lines += [f"neigh add {one.address6} lladdr {one.mac} dev eth0 nud permanent" for one in others]
        host.namespace.ip("".join(f"{line}\n" for line in lines))
        for switch in self.switches:
            device = host.port.device if host.port.switch is switch else "t1"
            switch.run("bridge", "fdb", "replace", host.mac, "dev", device, "master", "static", "sticky")

    def _remove(self, error: BaseException | None) -> None:
        """Ends all processes and removes all namespaces; keeps the logs if there is an error, and says where."""
        with signals_wait():
            # Whatever daemons have set in the kernel goes with their namespaces.
            for daemon in self.daemons:
                daemon.close()
            for process in self.processes:
                process.kill()
                process.wait()
            self._owner.release()
            if not isinstance(error, Exception) or not any(self.logs.iterdir()):
                shutil.rmtree(self.logs, ignore_errors=True)
            else:
                ends = "".join(f"\n--- {path.name}\n{tail(path)}" for path in sorted(self.logs.iterdir()))
                error.add_note(f"The logs are kept in {self.logs}; they end with:{ends}")


def card_lines(device: str, shape: Shape) -> list[str]:
    """The `tc` commands that give a host's NIC the rate of its link."""
    burst = burst_bytes(shape)
    size = f"overhead {OVERHEAD} mpu {LEAST} quantum 1514"
    return [
        f"qdisc add dev {device} root handle 1: htb default 20",
        f"class add dev {device} parent 1: classid 1:20 htb rate {shape.rate_bps}bit ceil {shape.rate_bps}bit "
        f"burst {burst} cburst {burst} {size}",
        f"qdisc add dev {device} parent 1:20 handle 20: pfifo limit 1000",
    ]


def burst_bytes(shape: Shape) -> int:
    """The bucket of a port: one frame, or what passes in the 100 us by which HTB's timer may be late."""
    return max(LARGEST, round(shape.rate_bps * 100e-6 / 8))
