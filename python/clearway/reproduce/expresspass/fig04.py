"""Naive credits over several bottlenecks: sec. 3 argues by a picture what becomes of credits that nobody paces.

* **Fig. 3**: two receivers send credits at the full rate through one port. Of four credits in the time of two full
  frames two pass, so two data packets cross the bottleneck, and they find no queue.
* **Fig. 4 (a)**: flows 1 and 2 share link 1, then flow 0 joins them on link 2. Flow 0 is said to get twice as much as
  each.
* **Fig. 4 (b)**: a parking lot of two links. Half of the long flow's credits pass link 1, a third pass link 2; so
  link 1 is used to 83.3 %.

Unstated, and chosen here:

* **Rate and delay**: 10 Gbps, 4 us a link. For 40 ms after 10 ms of start-up, five seeds.
* **Transport**: `naive-credit` with its defaults. With credits of one size, flows lock phase at the limiters and one
  starves the other (E17-10); that is shown beside. A full credit queue drops the credit that arrives; one that drops
  at random, as the example counts, is shown beside too (E17-32).
* **Link 1** is the one that credits pass first: the long flow's last, with the second cross flow on it.
* **Use** of a link is a share of what data can take beside credits.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.figure import Figure as Picture
from matplotlib.ticker import PercentFormatter

from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid
from clearway.reproduce.quantities import CEILING, FRAME, PAYLOAD, data_drops
from clearway.result import Run

READINGS: dict[str, dict[str, Any]] = {
    "naive-credit": {"name": "naive-credit"},
    "credits of 84 B": {"name": "naive-credit", "randomize_size": False},
    "random drops": {"name": "naive-credit", "credit_drop": "random"},
}
NETWORKS: dict[str, dict[str, Any]] = {
    "one link": {"kind": "dumbbell", "pairs": 2, "rate": "10 Gbps", "delay": "4 us"},
    "multi-bottleneck": {"kind": "multi-bottleneck", "flows": 2, "rate": "10 Gbps", "delay": "4 us"},
    "parking lot": {"kind": "parking-lot", "bottlenecks": 2, "rate": "10 Gbps", "delay": "4 us"},
}
WARM_UP_MS, SPAN_MS = 10, {"quick": 40, "paper": 200}


def jobs(scale: str) -> list[Job]:
    """Every network, reading and seed."""
    return [
        Job(
            {"network": network, "transport": reading, "seed": seed},
            {
                "name": "fig04",
                "seed": seed,
                "stop": f"{WARM_UP_MS + SPAN_MS[scale]} ms",
                "topology": topology,
                "transport": transport,
                "traffic": [{"name": "flows", "kind": "long"}],
                "sample": [{"name": "throughput", "what": "throughput", "every": "10 ms"}],
            },
        )
        for network, topology in NETWORKS.items()
        for reading, transport in READINGS.items()
        for seed in stats.SEEDS
    ]


def measure(_: Job, run: Run) -> Tables:
    """Each flow's share of what data can take of a link, and the credits that met the first limiter of two flows."""
    after = run.samples.filter(pl.col("time_s") > WARM_UP_MS * 1.01e-3)
    means = after.group_by("entity").agg(pl.col("value").mean()).sort("entity")["value"].to_list()
    shares = [mean * FRAME / PAYLOAD / (10e9 * CEILING) for mean in means]
    switch = run.ports.filter(pl.col("port") == "s1->s0")
    passed = int(switch["tx_credits"].sum()) if "tx_credits" in switch.columns else 0
    dropped = int(switch["drops_credit"].sum())
    return {
        "rows": pl.DataFrame(
            [
                {
                    "first": shares[0],
                    "second": shares[1],
                    "third": shares[2] if len(shares) > 2 else float("nan"),
                    "credits_passed": passed,
                    "credits_dropped": dropped,
                    "queue_max_packets": float(run.ports["queue_max_bytes"].max()) / FRAME,  # type: ignore[arg-type]
                    "drops": data_drops(run),
                }
            ]
        )
    }


def of(tables: Tables, network: str, reading: str, expression: pl.Expr) -> stats.Estimate:
    """A measure over the seeds."""
    return stats.over_seeds(tables["rows"], expression, network=network, transport=reading)


LONG, SECOND, THIRD = pl.col("first"), pl.col("second"), pl.col("third")


def summarise(tables: Tables) -> Tables:
    """Means over the seeds."""
    rows = [
        {
            "network": network,
            "transport": reading,
            "flow_0": of(tables, network, reading, LONG).mean,
            "flow_1": of(tables, network, reading, SECOND).mean,
            "flow_2": of(tables, network, reading, THIRD).mean if network != "one link" else None,
        }
        for network in NETWORKS
        for reading in READINGS
    ]
    return {**tables, "shown": pl.DataFrame(rows)}


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    default = "naive-credit"
    arriving = pl.col("credits_passed") + pl.col("credits_dropped")
    per_window = 4 * pl.col("credits_passed") / arriving
    data = of(tables, "one link", default, (LONG + SECOND) * 2)
    queue = of(tables, "one link", default, pl.col("queue_max_packets"))
    passed = of(tables, "one link", default, per_window)
    here = claim("expresspass", "fig03-two-flow-credit-schedule")
    text = f"of 4 credits {passed:.2f} pass; {data:.2f} data packets; at most {queue:.2f} packets wait"
    counted: dict[str, judge.Measured] = {
        "credits_arriving": round(of(tables, "one link", default, 2 * arriving / pl.col("credits_passed")).mean),
        "credits_passed": round(passed.mean),
        "data_packets": round(data.mean),
        "data_queue": queue,
        "credits that pass, of four": passed,
        "data packets a window": data,
    }
    note = "credits and data packets of a window, to whole numbers"
    found = [judge.judge(here, counted, text=text, note=note)]

    ratio = of(tables, "multi-bottleneck", default, 2 * LONG / (SECOND + THIRD))
    each = {"over flow 1": LONG / SECOND, "over flow 2": LONG / THIRD}
    over = {name: of(tables, "multi-bottleneck", default, expression) for name, expression in each.items()}
    beside = of(tables, "multi-bottleneck", "credits of 84 B", 2 * LONG / (SECOND + THIRD))
    note = f"credits of 84 B: {beside:.2f}"
    here = claim("expresspass", "fig04a-naive-multibottleneck-unfairness")
    found.append(judge.judge(here, {"value": ratio, **over}, text=f"{ratio:.3g}", note=note))

    # The cross flow of link 1 sends credits as fast as the limiter lets them pass; the others that arrive are flow 0's.
    after_link1 = pl.col("credits_dropped") / pl.col("credits_passed")
    percent = {
        "link1_utilization": 100 * (LONG + THIRD),
        "flow0_credits_after_link1": 100 * after_link1,
        "flow0_credits_after_link2": 100 * LONG,
        "link1_idle": 100 * (1 - LONG - THIRD),
        "after link 2 over after link 1": LONG / after_link1,
    }
    values = {case: of(tables, "parking lot", default, expression) for case, expression in percent.items()}
    proportional = ", ".join(
        f"{of(tables, 'parking lot', 'random drops', expression):.1f}" for expression in list(percent.values())[:3]
    )
    note = (
        "after link 1: credits that arrive at the second limiter, less the cross flow's; "
        f"with random drops: {proportional} %"
    )
    here = claim("expresspass", "fig04b-naive-parking-lot-utilization")
    return [*found, judge.judge(here, values, note=note)]


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    default = "naive-credit"
    return {
        "ratio": of(tables, "multi-bottleneck", default, 2 * LONG / (SECOND + THIRD)),
        "ratio_fixed": of(tables, "multi-bottleneck", "credits of 84 B", 2 * LONG / (SECOND + THIRD)),
        "long_random": of(tables, "parking lot", "random drops", 100 * LONG),
        "link1_random": of(tables, "parking lot", "random drops", 100 * (LONG + THIRD)),
        "ratio_random": of(tables, "multi-bottleneck", "random drops", 2 * LONG / (SECOND + THIRD)),
        "waiting": of(tables, "one link", default, pl.col("queue_max_packets")).mean,
        "after1": of(tables, "parking lot", default, 100 * pl.col("credits_dropped") / pl.col("credits_passed")),
        "long": of(tables, "parking lot", default, 100 * LONG),
        "link1": of(tables, "parking lot", default, 100 * (LONG + THIRD)),
    }


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """The flows' shares, by network."""
    picture, (axes,) = grid(1, 1, width=7.0, height=3.0)
    part = tables["shown"].filter(pl.col("transport") == "naive-credit")
    for index, name in enumerate(("flow_0", "flow_1", "flow_2")):
        values = [value or 0.0 for value in part[name].to_list()]
        places = [place + 0.26 * (index - 1) for place in range(len(values))]
        axes.bar(places, values, width=0.24, color=look.color(index), label=name.replace("_", " "))
    axes.set_xticks(range(part.height), part["network"].to_list())
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set(title="Share of what data can take of a link, naive credits")
    axes.legend(frameon=False, ncols=3)
    return {"shares": picture}


FIGURE = Figure(
    name="expresspass/fig04",
    title="ExpressPass '17, Fig. 3 and 4: naive credits over one and several bottlenecks",
    doc=__doc__ or "",
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=(
        "fig03-two-flow-credit-schedule",
        "fig04a-naive-multibottleneck-unfairness",
        "fig04b-naive-parking-lot-utilization",
    ),
    shown={"shown": "Shares of what data can take of a link, means over the seeds. Flow 0 is the long one."},
    captions={"shares": "Shares of the flows under naive credits; flow 0 of the parking lot crosses both links"},
)
