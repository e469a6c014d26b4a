"""Small requests over plain TCP and over ExpressPass: redis at 1 to 50 connections, and an echo after idle times."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, replace

from clearway.testbed.control import Control
from clearway.testbed.counters import Watch
from clearway.testbed.experiment import Context, Experiment
from clearway.testbed.experiments.applications import redis, serve_redis
from clearway.testbed.network import Network, Shape
from clearway.testbed.results import Cell, Results, Table
from clearway.testbed.shares import CREDITED, UNDERNEATH
from clearway.testbed.sockets import echoing
from clearway.testbed.variants import CUBIC, EXPRESSPASS, Variant

#: The transports. The second one of ExpressPass spends a whole credit on each packet, as the paper has it.
PAPER = replace(EXPRESSPASS, settings=("--set", "leftover=0"))
TRANSPORTS: tuple[tuple[str, Variant], ...] = (
    ("cubic", CUBIC),
    ("expresspass", EXPRESSPASS),
    ("expresspass, a credit a packet", PAPER),
)
CONNECTIONS = (1, 5, 50)
#: The runs of each case, each in a network of its own.
RUNS = 5
#: The bytes of an echo, its number, and the time between two of them.
ECHO_BYTES, ECHOES, ECHO_GAP_S = 64, 300, 0.01
ECHO_PORT = 7000


@dataclass(frozen=True)
class Run:
    """One run: requests a second, the latencies in seconds, and the share of bytes under credits in per cent."""

    rate: float
    p50: float
    p99: float
    share: float | None
    underneath: str


def measure(cx: Context, variant: Variant) -> dict[str, Run]:
    """Each case in one network."""
    found = dict[str, Run]()
    with Network(variant.shape(Shape(hosts=2))) as net, Watch() as watch:
        server, client = net.hosts
        daemons = variant.start(net.hosts)
        serve_redis(server)
        for connections in CONNECTIONS:
            for test in ("GET", "SET"):
                requests = max(1_000, int(min(30_000, 10_000 * connections) * cx.scale))
                with Control(net.hosts, daemons) as control:
                    rate, p50, p99 = redis(server, client, test.lower(), requests, connections)
                case = f"redis {test}, {connections} connection{'s' * (connections > 1)}"
                found[case] = Run(rate, p50, p99, control.percent(), control.underneath)
        with Control(net.hosts, daemons) as control:
            times = echoes(net, max(50, int(ECHOES * cx.scale)))
        cuts = statistics.quantiles(times, n=100)
        found["echo of 64 B each 10 ms"] = Run(
            len(times) / sum(times), cuts[49], cuts[98], control.percent(), control.underneath
        )
    cx.loads.append(watch.load)
    return found


def echoes(net: Network, count: int) -> list[float]:
    """The times of so many echoes between both hosts, with an idle time before each."""
    server, client = net.hosts
    found = []
    with echoing(server.namespace, client.namespace, server.address, ECHO_PORT) as near:
        for _ in range(count):
            began, left = time.perf_counter(), ECHO_BYTES
            near.sendall(bytes(left))
            while left:
                left -= len(near.recv(left))
            found.append(time.perf_counter() - began)
            time.sleep(ECHO_GAP_S)
    return found


def run(cx: Context, results: Results) -> None:
    """Measures all transports in turns."""
    runs: dict[tuple[str, str], list[Run]] = {}
    for number in range(RUNS):
        for label, variant in TRANSPORTS:
            cx.say(f"run {number + 1} of {RUNS}: {label}")
            for case, one in measure(cx, variant).items():
                runs.setdefault((case, label), []).append(one)
    rows = list[list[Cell]]()
    for (case, label), all_runs in sorted(runs.items(), key=lambda item: order(*item[0])):
        rates = [one.rate for one in all_runs]
        shares = [one.share for one in all_runs if one.share is not None]
        row: list[Cell] = [case, label, min(shares, default=None), all_runs[0].underneath]
        row += [statistics.median(rates), min(rates), max(rates)]
        row += [statistics.median(getattr(one, key) for one in all_runs) * 1e3 for key in ("p50", "p99")]
        rows.append(row)
    results.tables["small"] = Table(
        f"Two hosts at a switch. Figures are medians of {RUNS} runs, in a network each, and the share of bytes is the "
        "least of them. Latencies are in milliseconds. An echo waits for nothing but its answer, so its rate is the "
        "inverse of its mean latency.",
        ["case", "transport", CREDITED, UNDERNEATH, "requests/s", "least", "most", "latency p50", "latency p99"],
        rows,
        digits=2,
    )
    judge(results, {key: all_runs for key, all_runs in runs.items() if key[1] != TRANSPORTS[2][0]})


def order(case: str, label: str) -> tuple[int, int]:
    """The place of a row."""
    cases = [f"redis {test}, {n} connection{'s' * (n > 1)}" for n in CONNECTIONS for test in ("GET", "SET")]
    labels = [label for label, _ in TRANSPORTS]
    return (cases.index(case) if case in cases else len(cases)), labels.index(label)


def judge(results: Results, runs: dict[tuple[str, str], list[Run]]) -> None:
    """Compares ExpressPass with plain TCP."""
    for case in dict.fromkeys(case for case, _ in runs):
        plain, ours = (runs[case, label] for label in ("cubic", "expresspass"))
        rate, p99, p50 = (
            [statistics.median(getattr(one, key) for one in all_runs) for all_runs in (plain, ours)]
            for key in ("rate", "p99", "p50")
        )
        if case.startswith("echo"):
            results.verdict(f"{case}: p50 at most 0.15 ms.", f"{p50[1] * 1e3:.2f} ms", p50[1] <= 150e-6)
            continue
        results.verdict(
            f"{case}: at least 80 % of the rate of plain TCP, and p99 at most 1.5 times its.",
            f"{rate[1] / rate[0]:.0%}, {p99[1] / p99[0]:.1f} times",
            rate[1] >= 0.8 * rate[0] and p99[1] <= 1.5 * p99[0],
        )


def notes(results: Results) -> list[str]:
    """A sentence that compares the rates with those of the rule of the paper."""
    rows = {(row[0], row[1]): float(row[4] or 0) for row in results.tables["small"].rows}
    paper = TRANSPORTS[2][0]
    gains = [
        rows[case, "expresspass"] / rows[case, paper] for case, label in rows if label == paper and rows[case, paper]
    ]
    return [
        "With a credit for each packet, as in the paper, 100 Mbit/s carry 7,707 packets a second in each direction. "
        f"What credits leave over makes these loads {min(gains):.1f} to {max(gains):.1f} times as fast."
    ]


EXPERIMENT = Experiment(
    "small",
    "Small requests",
    "redis-benchmark at 1, 5 and 50 connections, and an echo each 10 ms",
    5.0,
    run,
    needs=("iptables", "redis-server", "redis-benchmark"),
    notes=notes,
)
