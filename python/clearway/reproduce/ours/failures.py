"""A link to a core switch fails under Ultra Ethernet's window control (NSCC), with six ways to choose paths. No paper
compares them on the same failures.

* **Network**: a fat tree of three tiers with links of 100 Gbps and 1 us: 16 hosts (paper: 128). Switches trim. A frame
  is 4150 bytes on the wire, of which 64 are headers.
* **Permutation**: each host sends 25 MB to another one, drawn by the seed. **Incast**: 12 flows (paper: 32) from other
  pods bring 32 MB in total to the first host.
* **Failures** of the link between the first aggregation switch and the first core switch, from 200 us on: *down*, of
  which routing never takes notice, or after 1 ms; *flapping*, five times down for 200 us with 200 us between, too short
  to be noticed; *slow*, a tenth of its rate, of which routing takes no notice either.
* **Ways to choose paths**: senders that choose an entropy value for each packet, oblivious of what comes back, with a
  bitmap of bad values, by recycling good ones (REPS), and by the mixture that is the default; switches that send each
  packet to the shortest of their queues (adaptive); one path for each flow (ECMP).
* **Whole again**: the time from the failure until flows that cross the core from or to the pod with the failed link
  have 90 % of what they had before, or of what the links that are left carry, and keep it until they end. Averages
  over 100 us count, scaled to the flows that have not ended. An incast has no such time: with or without a failure,
  the few flows that are left at its end do not fill its receiver's link.
* **Seeds**: five. Every failure is compared with the same run without it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.reproduce import stats
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid
from clearway.reproduce.quantities import Floats, binned
from clearway.result import Run

#: The size of the tree: k^3/4 hosts.
K = {"quick": 4, "paper": 8}
SENDERS = {"quick": 12, "paper": 32}
INCAST_BYTES = 32_000_000
RATE_BPS = 100e9
#: The share of the link that payload of full frames takes.
PAYLOAD = 4086 / 4150
FAILS_S = 200e-6
#: The interval of samples, and of the average that decides whether flows are whole again.
EVERY_S, AVERAGE_S = 20e-6, 100e-6
LINK = ["agg0", "core0"]

#: The settings of each way to choose paths: those of the transport and those of the network.
POLICIES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "oblivious": ({"entropy": "oblivious"}, {}),
    "bitmap": ({"entropy": "bitmap"}, {}),
    "REPS": ({"entropy": "reps"}, {}),
    "mixed": ({"entropy": "mixed"}, {}),
    "adaptive": ({}, {"routing": "adaptive"}),
    "ECMP": ({}, {"routing": "ecmp"}),
}


def at(us: int) -> str:
    """A time, as scenarios have it."""
    return f"{us} us"


#: The failures of each kind.
FAILURES: dict[str, list[dict[str, Any]]] = {
    "none": [],
    "down": [{"link": LINK, "down": at(200), "noticed": "never"}],
    "down, noticed after 1 ms": [{"link": LINK, "down": at(200), "noticed": "1 ms"}],
    "flapping": [
        {"link": LINK, "down": at(200 + 400 * n), "up": at(400 + 400 * n), "noticed": "1 ms"} for n in range(5)
    ],
    "slow": [{"link": LINK, "down": at(200), "rate": "10 Gbps"}],
}
#: The capacity of the failed link that is left, as a share.
LEFT = {"none": 1.0, "down": 0.0, "down, noticed after 1 ms": 0.0, "flapping": 1.0, "slow": 0.1}
TRAFFIC = ("permutation", "incast")


def jobs(scale: str) -> list[Job]:
    """Every failure under every way to choose paths, with both kinds of traffic."""
    return [
        job(scale, traffic, failure, policy, seed)
        for traffic in TRAFFIC
        for failure in FAILURES
        for policy in POLICIES
        for seed in stats.SEEDS
    ]


def job(scale: str, traffic: str, failure: str, policy: str, seed: int) -> Job:
    """The job of one run."""
    transport, network = POLICIES[policy]
    k, senders = K[scale], SENDERS[scale]
    pod = k * k // 4
    if traffic == "permutation":
        entry: dict[str, Any] = {"name": "flows", "kind": "permutation", "size": "25 MB"}
    else:
        chosen = [f"h{pod + (3 * n) % (k**3 // 4 - pod)}" for n in range(senders)]
        flows = [{"src": src, "dst": "h0", "size": f"{INCAST_BYTES // senders} B"} for src in chosen]
        entry = {"name": "flows", "kind": "flows", "list": flows}
    body: dict[str, Any] = {
        "name": "failures",
        "seed": seed,
        "stop": "100 ms",
        "network": {"payload": "4086 B", "overhead": "64 B", "wire_min": "64 B", **network},
        "topology": {"kind": "fat-tree", "k": k, "rate": "100 Gbps", "delay": "1 us"},
        "transport": {"name": "uec-nscc", **transport},
        "traffic": [entry],
        "sample": [{"name": "throughput", "what": "throughput", "every": "20 us"}],
    }
    if FAILURES[failure]:
        body["fault"] = FAILURES[failure]
    return Job({"traffic": traffic, "failure": failure, "policy": policy, "seed": seed}, body)


def measure(job: Job, run: Run) -> Tables:
    """Completion times, what was lost and sent again, and the time until the pod is whole again."""
    k = job.scenario["topology"]["k"]
    fct = run.flows["fct_s"].fill_null(math.inf).fill_nan(math.inf).to_numpy() * 1e3
    row = {
        "mean": float(np.mean(fct)),
        "maximum": float(np.max(fct)),
        "unfinished": float(np.isinf(fct).mean()),
        "lost": float(run.ports["drops_down"].sum()),
        "again": float(run.flows["retransmits"].sum()),
        "whole_us": whole_again(run, k, LEFT[job.params["failure"]]),
    }
    return {"rows": pl.DataFrame([row])}


def whole_again(run: Run, k: int, left: float) -> float:
    """The time from the failure until flows that cross the failed link's pod have what they had or what is left, in us.

    Infinite if they have not before the last of them ends; NaN if none crosses.
    """
    pod = k * k // 4
    flows = run.flows.with_columns(
        pl.col("src").str.slice(1).cast(pl.Int64).floordiv(pod).alias("from"),
        pl.col("dst").str.slice(1).cast(pl.Int64).floordiv(pod).alias("to"),
        pl.col("fct_s").fill_null(math.inf).fill_nan(math.inf),
    )
    ways = [flows.filter((pl.col(near) == 0) & (pl.col(far) != 0)) for near, far in (("from", "to"), ("to", "from"))]
    chosen = {f"flows/{flow}" for way in ways for flow in way["flow"]}
    if not chosen:
        return math.nan
    names, rates = binned(run, "throughput", 0.0, EVERY_S)
    total = rates[[index for index, name in enumerate(names) if name in chosen]].sum(axis=0)
    ends = EVERY_S * np.arange(1, len(total) + 1)
    usual, possible = np.zeros_like(total), np.zeros_like(total)
    for way in ways:
        lasting = way.sort("fct_s", descending=True)
        active = (lasting["fct_s"].to_numpy()[None, :] >= ends[:, None]).sum(axis=1)
        wanted = np.array([wants(lasting.head(count)) for count in range(way.height + 1)])[active]
        usual += wanted
        possible += np.minimum(wanted, pod - 1 + left)
    return settled(total, usual, possible * RATE_BPS * PAYLOAD)


def wants(flows: pl.DataFrame) -> int:
    """The number of links that flows can fill: one for each host that sends, and one for each that receives."""
    return min(flows["src"].n_unique(), flows["dst"].n_unique())


def settled(total: Floats, usual: Floats, possible: Floats) -> float:
    """The time from the failure until the last average below nine tenths of what is expected, in us.

    `total` has the rate of each interval of `EVERY_S`, in bits/s; `usual` the links that its flows can fill, to which
    what they had before the failure is scaled, and `possible` the rate that links which are left carry.
    """
    start, width = round(FAILS_S / EVERY_S), round(AVERAGE_S / EVERY_S)
    before = total[start - width : start].mean() / usual[start - width : start].mean()
    expected = 0.9 * np.minimum(before * usual, possible)
    weights = np.ones(width) / width
    below = np.convolve(total - expected, weights, "valid")[start - width :] < 0
    some = usual[start:] > 0
    last = int(np.flatnonzero(some)[-1]) + 1 if some.any() else 0
    found = np.flatnonzero(below[:last])
    if found.size == 0:
        return 0.0
    end = int(found[-1]) + 1
    return math.inf if end >= last else 1e6 * end * EVERY_S


def of(tables: Tables, value: str, traffic: str, failure: str, policy: str) -> list[float]:
    """A measure of one failure, one value a seed."""
    return stats.per_seed(tables["rows"], value, traffic=traffic, failure=failure, policy=policy)


def longer(tables: Tables, value: str, traffic: str, failure: str, policy: str) -> stats.Estimate:
    """A completion time over that of the same seed without a failure; NaN if flows did not complete."""
    return stats.paired_ratio(of(tables, value, traffic, failure, policy), of(tables, value, traffic, "none", policy))


def or_never(found: stats.Estimate) -> str:
    """A ratio as text; words where flows did not complete."""
    return "some never end" if math.isnan(found.mean) else found.text(".3g")


def whole(tables: Tables, traffic: str, failure: str, policy: str) -> list[float]:
    """The times until flows are whole again, of the seeds in which any flow crosses the pod."""
    return [one for one in of(tables, "whole_us", traffic, failure, policy) if not math.isnan(one)]


def whole_text(times: list[float]) -> str:
    """The median of times until flows are whole again and the longest; how many never were."""
    never = sum(math.isinf(one) for one in times)
    if not times or never == len(times):
        return "never" if times else "-"
    middle = float(np.median([one for one in times if math.isfinite(one)]))
    after = f", never in {never} of {len(times)}" if never else f", at most {max(times):.0f}"
    return f"{middle:.0f}{after}"


def summarise(tables: Tables) -> Tables:
    """A row for each failure and way to choose paths."""
    rows = []
    for traffic in TRAFFIC:
        for failure in FAILURES:
            for policy in POLICIES:
                where = (traffic, failure, policy)
                none = failure == "none"
                mean = stats.estimate(of(tables, "mean", *where)).text(".3g", "ms")
                most = stats.estimate(of(tables, "maximum", *where)).text(".3g", "ms")
                rows.append(
                    {
                        "traffic": traffic,
                        "failure": failure,
                        "paths": policy,
                        "mean_FCT": mean if none else or_never(longer(tables, "mean", *where)),
                        "longest_FCT": most if none else or_never(longer(tables, "maximum", *where)),
                        "flows_unfinished": f"{100 * float(np.mean(of(tables, 'unfinished', *where))):.3g} %",
                        "lost_at_the_link": stats.estimate(of(tables, "lost", *where)).text(".0f"),
                        "sent_again": stats.estimate(of(tables, "again", *where)).text(".0f"),
                        "whole_again_after_us": "-"
                        if none or traffic == "incast"
                        else whole_text(whole(tables, *where)),
                    }
                )
    return {**tables, "shown": pl.DataFrame(rows)}


def key(*words: str) -> str:
    """The name of a fact: words with underscores."""
    return "_".join(word.replace(", ", "_").replace(" ", "_").lower() for word in words)


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names: how much longer the longest flow takes, and when flows are whole again."""
    found: dict[str, object] = {}
    for traffic in TRAFFIC:
        for failure in list(FAILURES)[1:]:
            for policy in POLICIES:
                where = (traffic, failure, policy)
                found[key(*where)] = or_never(longer(tables, "maximum", *where))
                found[key(*where, "whole")] = whole_text(whole(tables, *where))
                found[key(*where, "lost")] = f"{float(np.mean(of(tables, 'lost', *where))):.0f}"
    return found


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """The longest flow under each failure over that without it, by way to choose paths."""
    picture, axes = grid(1, 2, width=8.6, height=3.1, sharey=True)
    names = list(FAILURES)[1:]
    for place, traffic in zip(axes, TRAFFIC, strict=True):
        for number, policy in enumerate(POLICIES):
            found = [longer(tables, "maximum", traffic, failure, policy) for failure in names]
            spots = [spot + 0.12 * (number - 2.5) for spot in range(len(names))]
            color = look.color(number)
            middle = [one.mean for one in found]
            bars = [[one.mean - one.low for one in found], [one.high - one.mean for one in found]]
            place.errorbar(spots, middle, yerr=bars, fmt="o", color=color, label=policy, markersize=4, linewidth=1)
        place.set_xticks(range(len(names)), [name.replace(", ", ",\n") for name in names])
        place.axhline(1, color="0.5", linewidth=0.8)
        place.set(title=traffic, yscale="log")
        place.set_yticks((1, 2, 4, 8), ("1", "2", "4", "8"))
        place.minorticks_off()
    axes[0].set_ylabel("longest flow, over that\nwithout a failure")
    axes[1].legend(frameon=False, fontsize=7, ncols=2)
    return {"longest": picture}


FIGURE = Figure(
    name="ours/failures",
    title="A core link fails: what each way to choose paths loses, and how soon it is whole again",
    doc=__doc__ or "",
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=lambda _: [],
    facts=facts,
    draw=draw,
    shown={
        "shown": "Completion times over those of the same seeds without a failure, with 95 % intervals (in ms where "
        "there is none); packets lost at the link that was down, and data packets sent again; the median of the times "
        "until flows are whole again, and the longest."
    },
    captions={"longest": "The longest completion time over that of the same seeds without a failure"},
)
