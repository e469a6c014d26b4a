"""ExpressPass, EC4, PACC and the transports in use today beside NDP, EQDS and Ultra Ethernet, on the same traffic: a
comparison for whoever chooses a transport for a fabric of 100 to 800 Gbps. All runs are points of one sweep file,
`fabric.toml` beside the code of this figure, which `clearway sweep` runs on a cluster.

* **Systems**: ExpressPass, also with its end told (`tell_end`), EC4, PACC, HPCC, DCQCN, DCTCP, NDP, EQDS, and Ultra
  Ethernet with window control (NSCC), with receiver credits (RCCC), and with both. Each has the constants of its own
  paper, scaled by its own rule, and the switches that its authors ask for: buffers of 384.5 KB a port at 10 Gbps that
  grow with the rate for DCTCP and credits, 32 MB a switch with priority flow control for RDMA, trimming at 1.5
  bandwidth-delay products for what came after. Connections are open.
* **Network**: fat trees of 128 and 1,024 hosts with links of 1 us; payload of 4,096 bytes.
* **Incasts**: 8 to 512 flows of 256 KB to one host, which start together. **Permutation**: 2 MB from each host to
  another one. *Last flow*: its completion time over the least that the link at its end allows for all.
* **Web search** and **Hadoop** at loads of 0.3, 0.5 and 0.8 of the hosts' links: 10,000 and 50,000 flows, on both
  trees, so that those of 1,024 hosts have an eighth as many flows for each host. Slowdown is against an idle network,
  over all flows.
* **Queue**: the largest of any port of a switch. **Waste**: credits that found nothing to send, of those that arrived.
  **Trims** and **drops**: of packets of data, over all of those sent. **Fairness**: Jain's index of the rates of the
  flows of a burst.
* **Seeds**: five, and three for web search and Hadoop on 1,024 hosts; all systems see the same flows.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway import metrics
from clearway.report.style import LOOKS
from clearway.reproduce import stats
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend
from clearway.reproduce.quantities import data_drops
from clearway.result import Run
from clearway.sweeps import file

RATES = (100, 400, 800)
INCASTS = (8, 32, 128, 512)
LOADS = (30, 50, 80)
WORKLOADS = ("web-search", "hadoop")
BURSTS = (*(f"incast-{senders}" for senders in INCASTS), "permutation")
SYSTEMS = (
    "expresspass", "expresspass-end-told", "ec4", "pacc", "hpcc", "dcqcn", "dctcp", "ndp", "eqds", "uec-nscc",
    "uec-rccc", "uec",
)  # fmt: skip
#: The looks of systems on this page: those of Ultra Ethernet share a colour, and so do no others but ExpressPass with
#: and without its end told. By `LOOKS` alone four systems of this page would have the colour of ExpressPass.
OWN_LOOKS = LOOKS | {"eqds": 32, "uec-nscc": 2, "uec-rccc": 11}
#: The measures of a run, as its row names them.
MEASURES = ("last", "p50", "p99", "max", "queue_KB", "waste", "trims", "drops", "jain", "unfinished")
#: The number of seeds that web search and Hadoop have on 1,024 hosts.
SEEDS_ON_LARGE = 3
#: The size of a quick run: a tree of 16 hosts, one rate, and a hundredth of the flows.
QUICK_K, QUICK_GBPS, QUICK_SIZE = 4, 400, 0.01
QUICK_LOADS = ("incast-8", "incast-32", "permutation", "web-search-50", "hadoop-50")


@cache
def points() -> list[tuple[Mapping[str, str], dict[str, Any]]]:
    """Every point of the sweep file: the names of its cases, and its scenario."""
    spec = file.read(Path(__file__).with_suffix(".toml"))
    assert isinstance(spec.scenario, Mapping)
    found: list[tuple[Mapping[str, str], dict[str, Any]]] = []
    for choice in spec.choices():
        scenario: dict[str, Any] = {"name": "fabric", **copy.deepcopy(dict(spec.scenario))}
        for setting, value in {**spec.fixed, **choice.settings}.items():
            put(scenario, setting, value)
        found.append((choice.names, scenario))
    return found


def put(scenario: dict[str, Any], setting: str, value: object) -> None:
    """Sets a key of a scenario, as `--set` does for the keys of the sweep file."""
    above, _, last = setting.rpartition(".")
    if setting == "transport":
        above, last = "transport", "name"
    if not above:
        scenario[last] = value
    elif above == "traffic.flows":
        scenario["traffic"][0][last] = value
    else:
        scenario.setdefault(above, {})[last] = value


def job(names: Mapping[str, str], scenario: dict[str, Any], size: float = 1.0) -> Job:
    """The job of a point, with a share of the flows of web search or Hadoop."""
    scenario = copy.deepcopy(scenario)
    traffic = scenario["traffic"][0]
    if "flows" in traffic:
        traffic["flows"] = round(size * traffic["flows"])
    hosts = scenario["topology"]["k"] ** 3 // 4
    gbps = int(scenario["topology"]["rate"].split()[0])
    params = {"hosts": hosts, "Gbps": gbps, "load": names["load"], "system": names["system"], "seed": scenario["seed"]}
    return Job(params, scenario)


def jobs(scale: str) -> list[Job]:
    """All points of the sweep; at the scale `quick` those of one rate, on a small tree."""
    if scale == "paper":
        return [job(names, scenario) for names, scenario in points()]
    chosen = []
    for names, scenario in points():
        topology = scenario["topology"]
        if topology["k"] == 8 and topology["rate"] == f"{QUICK_GBPS} Gbps" and names["load"] in QUICK_LOADS:
            chosen.append(job(names, {**scenario, "topology": {**topology, "k": QUICK_K}}, QUICK_SIZE))
    return chosen


def at(size: float) -> list[Job]:
    """All points, with a share of their flows of web search and Hadoop, and fewer seeds of these on 1,024 hosts."""
    return [
        job(names, scenario, size)
        for names, scenario in points()
        if scenario["topology"]["k"] == 8 or names["load"] in BURSTS or scenario["seed"] <= SEEDS_ON_LARGE
    ]


def measure(job: Job, run: Run) -> Tables:
    """Slowdowns and what they cost, for the flows of a run."""
    done = metrics.completed(run.flows)
    slowdown, fct = done["slowdown"].to_numpy(), done["fct_s"].to_numpy()
    sent = float(run.flows["data_packets"].sum())
    row = {
        "p50": metrics.percentile(slowdown, 50),
        "p99": metrics.percentile(slowdown, 99),
        "max": float(np.max(slowdown)) if len(slowdown) else float("nan"),
        "last": last_flow(job, run),
        "unfinished": 1 - done.height / run.flows.height,
        "queue_KB": float(metrics.switch_ports(run.ports)["queue_max_bytes"].max()) / 1e3,  # type: ignore[arg-type]
        "waste": metrics.credit_waste(run.flows),
        "trims": float(run.ports["trims"].sum()) / sent if "trims" in run.ports.columns else 0.0,
        "drops": data_drops(run) / sent,
        "jain": metrics.jain_index(done["size_bytes"].to_numpy() / fct),
    }
    return {"rows": pl.DataFrame([row])}


def last_flow(job: Job, run: Run) -> float:
    """The time until the last flow of a burst has arrived over the least that its link allows; NaN if one did not, and
    for other loads.
    """
    if job.params["load"] not in BURSTS or run.flows["fct_s"].is_nan().any():
        return float("nan")
    one = int(run.flows["size_bytes"].max())  # type: ignore[arg-type]
    total = one if job.params["load"] == "permutation" else int(run.flows["size_bytes"].sum())
    ends = float((run.flows["start_s"] + run.flows["fct_s"]).max())  # type: ignore[arg-type]
    rate_bps = 1e9 * float(job.params["Gbps"])
    return ends * rate_bps / (8 * total)


def of(tables: Tables, value: str, hosts: int, gbps: int, load: str, system: str) -> stats.Estimate:
    """A measure over the seeds."""
    return stats.over_seeds(tables["rows"], value, hosts=hosts, Gbps=gbps, load=load, system=system)


def text(found: stats.Estimate, form: str = ".3g") -> str:
    """An estimate in few characters: the mean and half of its interval."""
    if np.isnan(found.mean):
        return "-"
    return f"{found.mean:{form}} ± {found.mean - found.low:.2g}"


def places(tables: Tables, *loads: str) -> list[tuple[int, int, str]]:
    """The hosts, rates and loads that were run, of these loads."""
    rows = (
        tables["rows"]
        .select("hosts", "Gbps", "load")
        .unique(maintain_order=True)
        .sort("hosts", "Gbps", maintain_order=True)
    )
    return [(hosts, gbps, load) for hosts, gbps, load in rows.iter_rows() if load.startswith(loads)]


def wide(tables: Tables, value: str, *loads: str, factor: float = 1.0) -> pl.DataFrame:
    """A measure with a column for each system."""
    return pl.DataFrame(
        [
            {"hosts": hosts, "Gbps": gbps, "load": load}
            | {system: text(of(tables, value, hosts, gbps, load, system).scaled(factor)) for system in SYSTEMS}
            for hosts, gbps, load in places(tables, *loads)
        ]
    )


def summarise(tables: Tables) -> Tables:
    """A table for each measure, with the systems beside each other."""
    return {
        **tables,
        "last": wide(tables, "last", *BURSTS),
        "p50": wide(tables, "p50", *WORKLOADS),
        "p99": wide(tables, "p99", *WORKLOADS),
        "max": wide(tables, "max", *WORKLOADS),
        "queue": wide(tables, "queue_KB", *BURSTS, *WORKLOADS),
        "jain": wide(tables, "jain", *BURSTS),
        "waste": wide(tables, "waste", *BURSTS, *WORKLOADS, factor=100),
        "trims": wide(tables, "trims", *BURSTS, *WORKLOADS, factor=100),
        "drops": wide(tables, "drops", *BURSTS, *WORKLOADS, factor=100),
        "unfinished": wide(tables, "unfinished", *BURSTS, *WORKLOADS, factor=100),
    }


class NotRun:
    """A number that this scale has no run for, in whatever form the prose asks for it."""

    def __format__(self, form: str) -> str:
        return "(not run at this scale)"


def facts(tables: Tables) -> dict[str, object]:
    """Every measure of every system, as `p99_web_search_50_400_uec`: on the smaller tree, and after `large_`
    on that of 1,024 hosts.
    """
    ran = places(tables, *BURSTS, *WORKLOADS)
    smaller = measured(tables, min(hosts for hosts, _, _ in ran))
    return smaller | {f"large_{name}": value for name, value in measured(tables, 1024).items()}


def measured(tables: Tables, hosts: int) -> dict[str, object]:
    """Every measure of every system on a tree, under its name."""
    found: dict[str, object] = {}
    ran = places(tables, *BURSTS, *WORKLOADS)
    for load in (*BURSTS, *(f"{workload}-{load}" for workload in WORKLOADS for load in LOADS)):
        for gbps in RATES:
            for system in SYSTEMS:
                for value in MEASURES:
                    name = f"{value}_{load}_{gbps}_{system}".replace("-", "_")
                    has = (hosts, gbps, load) in ran
                    found[name] = of(tables, value, hosts, gbps, load, system).mean if has else NotRun()
    return found


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """The 99th percentile of slowdowns by load, and the last flow of incasts by the number of flows."""
    rates = sorted({gbps for _, gbps, _ in places(tables, *BURSTS)})
    hosts = min(hosts for hosts, _, _ in places(tables, *BURSTS))
    tails, rows = grid(len(WORKLOADS), len(rates), width=3.4 * len(rates) + 1.4, height=5.6, sharex=True, sharey="row")
    for number, workload in enumerate(WORKLOADS):
        for column, gbps in enumerate(rates):
            place = rows[number * len(rates) + column]
            lines(tables, look, place, "p99", hosts, gbps, {load / 100: f"{workload}-{load}" for load in LOADS})
            place.set(title=f"{workload}, {gbps} Gbps", yscale="log")
            plain(place, (2, 5, 10, 20, 50, 100, 200))
        rows[number * len(rates)].set_ylabel("p99 slowdown")
    for place in rows[-len(rates) :]:
        place.set_xlabel("load")
    legend(tails, rows[0], columns=4)
    bursts, row = grid(1, len(rates), width=3.4 * len(rates) + 1.4, height=3.2, sharey=True)
    for place, gbps in zip(row, rates, strict=True):
        lines(tables, look, place, "last", hosts, gbps, {senders: f"incast-{senders}" for senders in INCASTS})
        place.set(title=f"incast, {gbps} Gbps", xscale="log", yscale="log", xlabel="flows")
        place.set_xticks(INCASTS, [str(senders) for senders in INCASTS])
        plain(place, (1, 2, 3, 4, 6))
    row[0].set_ylabel("last flow / least")
    legend(bursts, row[0], columns=4)
    return {"tails": tails, "incast": bursts}


def plain(place: Any, values: tuple[int, ...]) -> None:
    """Writes these values beside a logarithmic axis, as people write them."""
    place.set_yticks(values, [str(value) for value in values])
    place.minorticks_off()


def lines(
    tables: Tables, look: Look, place: Any, value: str, hosts: int, gbps: int, loads: Mapping[float, str]
) -> None:
    """A line with its band for each system, over loads that were run."""
    ran = {
        load for at_hosts, at_gbps, load in places(tables, *BURSTS, *WORKLOADS) if (at_hosts, at_gbps) == (hosts, gbps)
    }
    x = [spot for spot, load in loads.items() if load in ran]
    for system in SYSTEMS:
        found = [of(tables, value, hosts, gbps, loads[spot], system) for spot in x]
        told = system == "expresspass-end-told"
        style = look.line(OWN_LOOKS["expresspass" if told else system])
        if told:
            style = {**style, "ls": ":"}
        place.plot(x, [one.mean for one in found], label=system, **style)
        low, high = [max(one.low, 1e-3) for one in found], [one.high for one in found]
        place.fill_between(x, low, high, color=style["color"], alpha=0.15, linewidth=0)


FIGURE = Figure(
    name="ours/fabric",
    title="Which transport for a fabric of 100 to 800 Gbps?",
    doc=__doc__ or "",
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=lambda _: [],
    facts=facts,
    draw=draw,
    at=at,
    sizes=(1.0,),
    shown={
        "last": "The last flow of a burst: its completion time over the least that its link allows. Means over five "
        "seeds (three for web search and Hadoop on 1,024 hosts) ± half of the 95 % interval, here and below; - where "
        "some flow did not complete.",
        "p50": "Median slowdown.",
        "p99": "99th percentile of slowdowns.",
        "max": "Largest slowdown.",
        "queue": "Largest queue at a switch, in KB.",
        "jain": "Jain's index of the rates of the flows of a burst.",
        "waste": "Credits that found nothing to send, in % of those that arrived; - without credits.",
        "trims": "Packets that were trimmed, in % of packets of data sent.",
        "drops": "Packets of data that were dropped, in % of those sent.",
        "unfinished": "Flows that did not complete within 1 s, in %.",
    },
    captions={
        "tails": "99th percentile of slowdowns by load, with 95 % bands; below is better",
        "incast": "Incasts: the last flow over the least that the link allows, with 95 % bands; below is better",
    },
)
