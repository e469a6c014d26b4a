"""Many flows, five flows that come and go, and how a flow starts and ends.

* **Fig. 9**: 100 us there and back, flows start at random within 20 ms; measured for 100 ms (quick: 60 ms) from 40 ms
  on, in intervals of 100 ms (quick: 20 ms). 16, 256 and 2,048 flows. DCTCP: K = 65 frames, g = 1/16, least timeout 200
  us as stated, least window 2, a buffer of 250 frames; beside it the least timeout of ns-2, 200 ms. The paper's 0.04 at
  2,048 flows is printed for intervals of 100 ms.
* **Fig. 10**: a flow starts every 400 ms (quick: 60), and after 2 s one ends every 400 ms, several times what DCTCP
  takes to converge. A share is fair within 10 % of the mean of the flows that are active, over the middle half of each
  period. No host delay; beside it, for DCTCP, one of 0.9 to 6.2 us, which the later paper measured.
* **Start**: a flow of one packet alone. Piggybacked: how long after the SYN, with the request on it, the first credit
  leaves (E16-6). Persistent: how much later the data arrives than if it had left at once.
* **Buffer bound**: the largest queue of Fig. 1 of the later paper's set-up with host delays of 0.9 to 6.2 us, beside
  (d_max - d_min) worth of link time, d the delays that a port sees between a credit and its data.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.report.style import OWN
from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.expresspass import fig13, symmetric
from clearway.reproduce.expresspass.common import dumbbell
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.hotnets.common import ABOUT, EXPRESSPASS, RTO
from clearway.reproduce.look import Look, grid, powers
from clearway.reproduce.quantities import CEILING, CREDIT, FRAME, PAYLOAD, binned, data_drops, fairness, port
from clearway.result import Run

TRANSPORTS: dict[str, dict[str, Any]] = {
    "expresspass": EXPRESSPASS,
    "dctcp": {"name": "dctcp", "g": 0.0625, **RTO},
}
#: DCTCP with one change: the least timeout of ns-2, and host delays of the later paper.
LATE = "dctcp, RTO 200 ms"
HOSTS = "dctcp, host delay"
FLOWS = (16, 256, 2048)
#: Measured time and interval in ms.
SPAN_MS = {"quick": (60, 20), "paper": (100, 100)}
WARM_UP_MS = 40
#: Time between flows that join or leave, in ms.
EVERY_MS = {"quick": 60, "paper": 400}
#: The spread of host delays of the buffer bound, in us.
HOST_US = (0.9, 6.2)


def jobs(scale: str) -> list[Job]:
    """Many flows, flows that come and go, a lone flow, and the two routings."""
    found = [many(scale, name, flows, seed) for name in TRANSPORTS for flows in FLOWS for seed in stats.SEEDS]
    found += [many(scale, LATE, FLOWS[-1], seed) for seed in stats.SEEDS]
    found += [come_and_go(name, EVERY_MS[scale], seed) for name in (*TRANSPORTS, HOSTS) for seed in stats.SEEDS]
    found += [one_packet(way) for way in ("syn", "none")] + [spread(seed) for seed in stats.SEEDS]
    return found + [
        replace(job, params={**params("routing", job.params["case"], 0, job.params["seed"]), "interval_ms": 0})
        for job in symmetric.jobs("quick")
        if job.params["what"] == "routing"
    ]


def params(what: str, transport: str, flows: int, seed: int) -> dict[str, Any]:
    """The parameters that tell a run apart."""
    return {"what": what, "transport": transport, "flows": flows, "seed": seed}


def many(scale: str, name: str, flows: int, seed: int) -> Job:
    """A run of Fig. 9."""
    span, interval = SPAN_MS[scale]
    return Job(
        {**params("many", name, flows, seed), "interval_ms": interval},
        {
            "name": "hotnets-fig09",
            "seed": seed,
            "stop": f"{WARM_UP_MS + span} ms",
            "topology": dumbbell(flows, "10 Gbps"),
            "transport": {**TRANSPORTS["dctcp"], "rto_min": "200 ms"} if name == LATE else TRANSPORTS[name],
            "traffic": [{"name": "flows", "kind": "long", "spread": "20 ms"}],
            "sample": [
                {"name": "throughput", "what": "throughput", "every": "20 ms"},
                {"name": "rate", "what": "rate", "every": "20 ms", "ports": ["s0->s1"]},
            ],
        },
    )


def come_and_go(name: str, every_ms: int, seed: int) -> Job:
    """A run of Fig. 13 of the later paper under a transport of this one, with its host delays or without."""
    job = fig13.come_and_go(name.partition(",")[0], every_ms, seed)
    body = {key: value for key, value in job.scenario.items() if key != "host" or name == HOSTS}
    return Job(
        {**params("come and go", name, fig13.FLOWS, seed), "interval_ms": every_ms},
        {**body, "name": "hotnets-fig10", "transport": TRANSPORTS[name.partition(",")[0]]},
    )


def one_packet(way: str) -> Job:
    """A flow of one packet, alone."""
    flow = {"src": "h0", "dst": "h1", "size": f"{PAYLOAD} B"}
    return Job(
        {**params("start", way, 1, 1), "interval_ms": 0},
        {
            "name": "hotnets-start",
            "topology": dumbbell(1, "10 Gbps"),
            "transport": {**EXPRESSPASS, "handshake": way, "jitter": 0},
            "traffic": [{"name": "flows", "kind": "flows", "list": [flow]}],
        },
    )


def spread(seed: int) -> Job:
    """Eight senders at a star, whose hosts take 0.9 to 6.2 us for a credit."""
    return Job(
        {**params("spread", "expresspass", 8, seed), "interval_ms": 0},
        {
            "name": "hotnets-bound",
            "seed": seed,
            "stop": "20 ms",
            "topology": {"kind": "star", "hosts": 9, "rate": "10 Gbps", "delay": "4 us"},
            "host": {"processing_delay": {"uniform": [f"{HOST_US[0]} us", f"{HOST_US[1]} us"]}},
            "transport": EXPRESSPASS,
            "traffic": [{"name": "flows", "kind": "long", "pairs": [[f"h{i + 1}", "h0"] for i in range(8)]}],
        },
    )


def measure(job: Job, run: Run) -> Tables:
    """The tables that each part of the figure needs."""
    row = {
        "jain": 0.0,
        "use": 0.0,
        "queue_KB": 0.0,
        "fair": 0.0,
        "fct_us": 0.0,
        "fct_mean": 0.0,
        "uplinks": 0.0,
        "drops": 0,
    }
    row["drops"] = data_drops(run)
    what = job.params["what"]
    if what == "many":
        rates = binned(run, "throughput", WARM_UP_MS * 1e-3, job.params["interval_ms"] * 1e-3)[1]
        used = run.samples.filter((pl.col("series") == "rate") & (pl.col("time_s") > WARM_UP_MS * 1e-3 + 1e-3))
        row |= {
            "jain": fairness(rates),
            "use": float(used["value"].to_numpy().mean()) / 10e9,
            "queue_KB": float(port(run, "s0->s1")["queue_max_bytes"]) / 1e3,
        }
    elif what == "come and go":
        row |= shares(run, job.params["interval_ms"])
    elif what == "start":
        row["fct_us"] = float(run.flows["fct_s"][0]) * 1e6
    elif what == "spread":
        row["queue_KB"] = float(port(run, "s0->h0")["queue_max_bytes"]) / 1e3
    else:
        found = symmetric.measure(replace(job, params={"what": "routing"}), run)["rows"]
        row |= {"fct_mean": float(found["fct_mean"][0]), "uplinks": float(found["uplinks"][0])}
    return {"rows": pl.DataFrame([row])}


def shares(run: Run, every_ms: int) -> dict[str, float]:
    """The farthest share of an active flow from the mean, and the use of the link by a lone one."""
    rates = fig13.by_millisecond(run, every_ms * 2 * fig13.FLOWS)
    off = []
    for k in range(2 * fig13.FLOWS - 1):
        alive = [i for i in range(fig13.FLOWS) if i <= k < i + fig13.FLOWS]
        means = rates[alive, int((k + 0.25) * every_ms) : int((k + 0.75) * every_ms)].mean(axis=1)
        off.append(float(np.max(np.abs(means / means.mean() - 1))))
    lone = rates[0, every_ms // 4 : 3 * every_ms // 4].mean() * FRAME / PAYLOAD / 10e9
    return {"fair": float(np.max(off)), "use": float(lone)}


def of(tables: Tables, value: str | pl.Expr, what: str, transport: str, flows: int | None = None) -> stats.Estimate:
    """A measure over the seeds."""
    where: dict[str, object] = {"what": what, "transport": transport}
    return stats.over_seeds(tables["rows"], value, **(where if flows is None else {**where, "flows": flows}))


def summarise(tables: Tables) -> Tables:
    """Means over the seeds."""
    rows = [
        {
            "transport": name,
            "flows": flows,
            "Jain": of(tables, "jain", "many", name, flows).mean,
            "utilisation_%": of(tables, 100 * pl.col("use"), "many", name, flows).mean,
            "maximum_queue_KB": of(tables, "queue_KB", "many", name, flows).mean,
            "drops": of(tables, "drops", "many", name, flows).mean,
        }
        for name in TRANSPORTS
        for flows in FLOWS
    ]
    return {**tables, "shown": pl.DataFrame(rows)}


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    return [*many_flows(tables), *others(tables)]


def many_flows(tables: Tables) -> list[Finding]:
    """The verdicts on Fig. 9 and 10, many flows."""
    most = FLOWS[-1]
    ours, theirs = (of(tables, "jain", "many", name, most) for name in TRANSPORTS)

    def over(value: str, other: str = "dctcp") -> stats.Estimate:
        names = ("expresspass", other)
        values = (stats.per_seed(tables["rows"], value, what="many", transport=x, flows=most) for x in names)
        return stats.paired_ratio(*values)

    late = {"value": of(tables, "jain", "many", LATE, most), "ExpressPass over DCTCP": over("jain", LATE)}
    cause = judge.Change(
        "With the stated least timeout of 200 us a flow that times out soon returns; with ns-2's default of 200 ms it "
        "is silent for all of an interval, and fairness collapses.",
        late,
    )
    found = [
        judge.judge(
            claim("hotnets", "fig09-dctcp-fairness-2048"),
            {"value": theirs, "ExpressPass over DCTCP": over("jain")},
            note=f"DCTCP; ExpressPass {ours:.2f}",
            cause=cause,
        )
    ]
    used = {name: of(tables, 100 * pl.col("use"), "many", name, most) for name in TRANSPORTS}
    queue = {name: of(tables, "queue_KB", "many", name, most) for name in TRANSPORTS}
    text = "; ".join(f"{name}: {used[name].mean:.1f} %, {queue[name].mean:.1f} KB" for name in TRANSPORTS)
    here = claim("hotnets", "fig09-utilization-and-queue")
    quantities = {
        "use, ExpressPass": used["expresspass"].scaled(1 / CEILING),
        "use, DCTCP": used["dctcp"],
        "queue": queue["expresspass"],
        "queue over DCTCP's": over("queue_KB"),
    }
    found.append(judge.judge(here, quantities, text=text, note=f"{most:,} flows"))
    here = claim("hotnets", "fig10-five-flows-join-leave")
    off = {name: of(tables, "fair", "come and go", name) for name in TRANSPORTS}
    text = "farthest from the fair share: " + ", ".join(f"{name} {100 * one.mean:.1f} %" for name, one in off.items())
    cause = judge.Change(
        "Where no delay varies DCTCP's windows lock in phase and stay unequal; host delays of 0.9 to 6.2 us, as the "
        "later paper measured them, break the lock.",
        {**off, "dctcp": of(tables, "fair", "come and go", HOSTS)},
    )
    found.append(judge.judge(here, off, text=text, cause=cause))
    drops = int(tables["rows"].filter(pl.col("transport") == "expresspass")["drops"].sum())
    return [*found, judge.judge(claim("hotnets", "sec1-zero-loss"), drops, form=".0f")]


def others(tables: Tables) -> list[Finding]:
    """The verdicts on sections 2.1 and 3.1."""
    use = of(tables, 100 * pl.col("use"), "come and go", "expresspass")
    values = {
        "throughput_Gbps": use.scaled(0.1),
        "data": use,
        "credit": use.scaled(CREDIT / FRAME),
    }
    found = [judge.judge(claim("hotnets", "sec31-max-data-throughput"), values, form=".3f", note="a lone flow")]
    # Half a round trip for a packet on four links, and the time that its frames take there.
    hop = 4 * 8 / 10e3
    credit, data = 50 + hop * CREDIT, 50 + hop * FRAME
    took = {way: of(tables, "fct_us", "start", way).mean for way in ("syn", "none")}
    extra = {
        "piggybacked": round((took["syn"] - credit - data) / 100, 1),
        "persistent": round((took["none"] - data) / 100, 1),
    }
    note = "piggybacked: until the first credit leaves (E16-6); persistent: longer than data that leaves at once"
    found.append(judge.judge(claim("hotnets", "sec21-start-delay"), extra, form=".1f", note=note))
    here = claim("hotnets", "sec21-path-symmetry-neutral")
    ratio = {
        value: stats.paired_ratio(
            *(stats.per_seed(tables["rows"], value, what="routing", transport=name) for name in symmetric.ROUTINGS)
        )
        for value in ("fct_mean", "uplinks")
    }
    text = f"symmetric over ordinary: mean FCT {ratio['fct_mean']:.3f}, use of uplinks {ratio['uplinks']:.3f}"
    found.append(judge.judge(here, ratio, text=text, reading="dctcp"))
    here = claim("hotnets", "sec21-buffer-bound")
    queue = of(tables, "queue_KB", "spread", "expresspass")
    bound = (HOST_US[1] - HOST_US[0] + 16 * 8 * (CREDIT + FRAME) / 10e3) * 1e-6 * 10e9 / 8 / 1e3
    text = f"at most {queue.mean:.1f} KB; (d_max - d_min) x rate = {bound:.1f} KB"
    note = "a star of nine hosts: the spread of the hosts' delay, and 16 credits that wait at the credit queue"
    return [*found, judge.judge(here, {"queue over the bound": queue.scaled(1 / bound)}, text=text, note=note)]


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    most = FLOWS[-1]
    return {
        "ours": of(tables, "jain", "many", "expresspass", most),
        "theirs": of(tables, "jain", "many", "dctcp", most),
        "queue": of(tables, "queue_KB", "many", "expresspass", most),
        "queue_dctcp": of(tables, "queue_KB", "many", "dctcp", most),
        "off": of(tables, 100 * pl.col("fair"), "come and go", "expresspass"),
        "off_dctcp": of(tables, 100 * pl.col("fair"), "come and go", "dctcp"),
        "off_hosts": of(tables, 100 * pl.col("fair"), "come and go", HOSTS),
        "theirs_late": of(tables, "jain", "many", LATE, most),
        "use": of(tables, 100 * pl.col("use"), "come and go", "expresspass"),
        "ceiling": 100 * CEILING,
    }


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Fairness and queue against the number of flows."""
    picture, axes = grid(1, 2, width=8.6, height=2.6)
    for name, transport in TRANSPORTS.items():
        line = look.line(OWN[transport["name"]])
        part = tables["shown"].filter(pl.col("transport") == name)
        axes[0].plot(part["flows"], part["Jain"], label=name, ms=4, **line)
        axes[1].plot(part["flows"], part["maximum_queue_KB"], label=name, ms=4, **line)
    for place in axes:
        powers(place, list(FLOWS))
        place.set_xlabel("flows")
    axes[0].set(title="Jain's index", ylim=(0, 1.03))
    axes[1].set_yscale("log")
    axes[1].set(title="Maximum queue, KB")
    axes[0].legend(frameon=False)
    return {"flows": picture}


FIGURE = Figure(
    name="hotnets/fig09",
    title="ExpressPass '16, Fig. 9 and 10: many flows, flows that come and go, starts and bounds",
    doc=(__doc__ or "") + "\n" + ABOUT,
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=(
        "fig09-dctcp-fairness-2048",
        "fig09-utilization-and-queue",
        "fig10-five-flows-join-leave",
        "sec1-zero-loss",
        "sec31-max-data-throughput",
        "sec21-start-delay",
        "sec21-path-symmetry-neutral",
        "sec21-buffer-bound",
    ),
    shown={"shown": "Fig. 9: means over the seeds."},
    captions={"flows": "Fairness and maximum queue against the number of flows"},
)
