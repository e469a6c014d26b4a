"""Transfers between hosts for a long time, while daemons are killed and restarted and links go down.

All connections must end with the right bytes; then daemons must have forgotten their flows, hold no more memory than
after the first minute, and leave no rule behind.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from clearway.testbed.control import Payload, congestion_controls, counted
from clearway.testbed.counters import Watch
from clearway.testbed.daemon import Daemon
from clearway.testbed.experiment import Context, Experiment
from clearway.testbed.network import Host, Network, Shape
from clearway.testbed.results import Cell, Results, Table
from clearway.testbed.shares import CREDITED, UNDERNEATH
from clearway.testbed.traffic import Sink, Source
from clearway.testbed.variants import EXPRESSPASS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHAPE = Shape(hosts=4)
#: Seconds that a transfer may take before it counts as hung: the largest one takes 0.5 s alone on its link.
HUNG_S = 60.0
#: Bytes of a transfer, at least and at most.
SIZES = 2_000, 5_000_000
#: Seconds between two events, at least and at most.
PAUSES_S = 2.0, 8.0
#: Memory that a daemon may gain after the first minute, in bytes.
GROWTH = 2_000_000
SEED = 11
#: Seconds without a packet after which the daemons forget a flow, instead of the default of a minute.
AGE_S = 20
VARIANT = replace(EXPRESSPASS, settings=("--set", f"age={AGE_S} s"))


@dataclass
class Soak:
    """The state of a soak."""

    net: Network
    daemons: dict[Host, Daemon]
    sinks: dict[Host, Sink]
    drawn: random.Random
    running: list[tuple[Source, float]] = field(default_factory=list)
    done: int = 0
    #: Bytes that transfers from each host have moved, by its name.
    moved: dict[str, int] = field(default_factory=dict)
    #: The payload that daemons of each host have counted in lives that have ended.
    payload: dict[str, Payload] = field(default_factory=dict)
    underneath: set[str] = field(default_factory=set)
    wrong: int = 0
    hung: int = 0
    slowest_s: float = 0.0
    events: dict[str, int] = field(default_factory=dict)
    #: Hosts whose daemon is down, links that are down, and when each comes back.
    back: list[tuple[float, str, Host]] = field(default_factory=list)

    def transfer(self) -> None:
        """Starts a transfer between two hosts."""
        source, to = self.drawn.sample(self.net.hosts, 2)
        low, high = SIZES
        size = int(low * (high / low) ** self.drawn.random())
        seed = self.drawn.randrange(1 << 30)
        self.running.append((Source(source, self.sinks[to], size, seed), time.monotonic()))

    def collect(self) -> None:
        """Looks at the transfers that have ended, and counts those that hang."""
        left = []
        for transfer, began in self.running:
            took = time.monotonic() - began
            if transfer.runs and took <= HUNG_S:
                left.append((transfer, began))
                continue
            if transfer.runs:
                self.hung += 1
                transfer.kill()
                continue
            said = transfer.wait()
            self.done += 1
            name = transfer.host.name
            self.moved[name] = self.moved.get(name, 0) + int(said["bytes"])
            self.wrong += not said["same"]
            self.slowest_s = max(self.slowest_s, float(said["seconds"]))
        self.running = left

    def event(self) -> None:
        """Does something bad to a host that is whole."""
        now = time.monotonic()
        hit = [host for _, _, host in self.back]
        whole = [host for host in self.net.hosts if host not in hit]
        if not whole:
            return
        host, kind = self.drawn.choice(whole), self.drawn.choice(("kill", "stop", "restart", "link"))
        self.events[kind] = self.events.get(kind, 0) + 1
        if kind != "link":
            self.count(host)
        match kind:
            case "kill":
                self.daemons[host].kill()
                self.back.append((now + self.drawn.uniform(0, 3), "daemon", host))
            case "stop":
                self.daemons[host].stop()
                self.back.append((now + self.drawn.uniform(0, 3), "daemon", host))
            case "restart":
                self.daemons[host].restart()
            case "link":
                host.port.switch.run("ip", "link", "set", host.port.device, "down")
                self.back.append((now + self.drawn.uniform(0.05, 2), "link", host))

    def count(self, host: Host) -> None:
        """Keeps what the daemon of a host has counted, before its life ends."""
        self.payload[host.name] = self.payload.get(host.name, Payload()) + counted([self.daemons[host]])
        self.underneath |= congestion_controls(host.run("ss", "-Htin"))

    def repair(self, *, all_of_it: bool = False) -> None:
        """Brings back whatever is due."""
        now = time.monotonic()
        for entry in list(self.back):
            due, kind, host = entry
            if due <= now or all_of_it:
                self.back.remove(entry)
                if kind == "daemon":
                    self.daemons[host].start()
                else:
                    host.port.switch.run("ip", "link", "set", host.port.device, "up")


def remembered(daemon: Daemon) -> int:
    """The flows that a daemon remembers, in both directions."""
    flows = ("flows_sent{", "flows_received{")
    return int(sum(value for name, value in daemon.metrics().items() if name.startswith(flows)))


def rules(host: Host) -> str:
    """The rules and queues that a daemon could have left at a host."""
    tables = host.run("iptables-save") + host.run("iptables-legacy-save", check=False)
    left = [line for line in tables.splitlines() if line.startswith("-A")]
    return "\n".join(left)


def run(cx: Context, results: Results) -> None:
    """Soaks."""
    duration = cx.seconds(600, 20)
    memory = dict[str, list[tuple[float, int]]]()
    with Network(VARIANT.shape(SHAPE)) as net, Watch() as watch:
        daemons = dict(zip(net.hosts, VARIANT.start(net.hosts), strict=True))
        soak = Soak(net, daemons, {host: Sink(host) for host in net.hosts}, random.Random(SEED))
        began = told = sampled = time.monotonic()
        next_event = began + PAUSES_S[1]
        while (now := time.monotonic()) < began + duration:
            soak.collect()
            soak.repair()
            if len(soak.running) < 2 * len(net.hosts):
                soak.transfer()
            if now >= next_event:
                soak.event()
                next_event = now + soak.drawn.uniform(*PAUSES_S)
            if now >= sampled:
                sampled += 5
                for host, daemon in daemons.items():
                    if daemon.runs:
                        memory.setdefault(host.name, []).append((now - began, daemon.rss_bytes()))
            if now >= told:
                told += 60
                cx.say(f"{now - began:.0f} s: {soak.done:,} transfers, {sum(soak.events.values())} events")
            time.sleep(0.02)
        soak.repair(all_of_it=True)
        deadline = time.monotonic() + HUNG_S
        while soak.running and time.monotonic() < deadline + 1:
            soak.collect()
            time.sleep(0.1)
        time.sleep(AGE_S + 2)
        flows = [remembered(daemon) for daemon in daemons.values()]
        for host, daemon in daemons.items():
            soak.count(host)
            daemon.stop()
        left = "\n".join(filter(None, (rules(host) for host in net.hosts)))
    cx.loads.append(watch.load)
    report(results, soak, duration, memory, flows, left)


def report(
    results: Results,
    soak: Soak,
    duration: float,
    memory: dict[str, list[tuple[float, int]]],
    flows: list[int],
    left: str,
) -> None:
    """Fills in the results."""
    events = ", ".join(f"{count} x {kind}" for kind, count in sorted(soak.events.items()))
    results.verdict(
        f"No connection hangs in {duration / 60:.0f} minutes of kills, restarts and links that go down.",
        f"{soak.hung} of {soak.done + soak.hung:,} hung; the slowest took {soak.slowest_s:.1f} s",
        soak.hung == 0,
    )
    results.verdict("All bytes are right (SHA-256).", f"{soak.wrong} of {soak.done:,} transfers wrong", soak.wrong == 0)
    growth = {}
    for name, samples in memory.items():
        early = [rss for at, rss in samples if at <= 60] or [samples[0][1]]
        growth[name] = max(rss for _, rss in samples) - max(early)
    results.verdict(
        f"No daemon takes more than {GROWTH / 1e6:g} MB of memory beyond that of its first minute.",
        f"{max(growth.values()) / 1e6:.2f} MB at most",
        max(growth.values()) <= GROWTH,
    )
    results.verdict(
        f"All daemons have forgotten all flows {AGE_S} s after the last packet.",
        f"{sum(flows)} remembered",
        not any(flows),
    )
    results.verdict("The daemons leave no rule behind.", left or "none", not left)
    rows: list[list[Cell]] = [
        [
            name,
            soak.payload[name].of(soak.moved.get(name, 0)).percent,
            " and ".join(sorted(soak.underneath)),
            max(rss for _, rss in samples) / 1e6,
            samples[-1][1] / 1e6,
            growth[name] / 1e6,
        ]
        for name, samples in sorted(memory.items())
    ]
    results.tables["soak"] = Table(
        f"Memory of the daemons in MB. Events: {events}. {soak.done:,} transfers moved "
        f"{sum(soak.moved.values()) / 1e6:,.0f} MB. Bytes that a host sent without its daemon count as plain TCP.",
        ["host", CREDITED, UNDERNEATH, "largest", "last", "gained after a minute"],
        rows,
        digits=2,
    )
    for name, samples in memory.items():
        results.series[f"memory {name}"] = {
            "time_s": [at for at, _ in samples],
            "value": [rss / 1e6 for _, rss in samples],
        }


def draw(results: Results) -> dict[str, tuple[str, Figure]]:
    """The daemons' memory over time."""
    from clearway.testbed import pictures

    curves = {name.removeprefix("memory "): one for name, one in results.series.items()}
    figure = pictures.courses({"memory of the daemons": curves}, ["MB"])
    return {"soak": ("Memory of the daemons over time", figure)}


EXPERIMENT = Experiment(
    "soak",
    "Soak",
    "transfers under kills, restarts and link flaps; an hour by `make soak`",
    10.0,
    run,
    draw,
    needs=("iptables",),
    # Daemons are down for a part of the time, on purpose.
    asks_control=False,
)
