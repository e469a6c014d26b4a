"""A second flow joins a first one at a 10 GbE switch that limits credits: naive credits share the link within a round
trip, CUBIC and DCTCP do not. The paper measured it on a testbed and shows throughput over time; here it is
simulated.

Unstated, and chosen here:

* **Flows**: two; the second joins after 20 ms (windows: 40 ms), at five offsets within a round trip (windows: within
  2 ms).
* **Round trip**: 25 us without queues, the average that the paper reports for its testbed (sec. 6.1).
* **Converged**: the first round trip from which on the mean of the next 200 is within 10 % of its share for both
  flows, at 20 starts in a row. A round trip holds 20 frames, and credits are dropped at random, so that shorter means
  can't show 10 %. Counted from the moment at which the second flow asks for its connection, less the round trip of
  its handshake.
* **Buffer**: 250 full frames. DCTCP: K = 65 frames, g = 1/16. Both start with a handshake and ten segments.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.report.style import OWN
from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid
from clearway.reproduce.quantities import CEILING, FRAME, PAYLOAD, binned, settles
from clearway.result import Run

RTT_US = 25
#: Transport -> its table, when the second flow joins in us, step between offsets, round trips that are watched.
SETTINGS: dict[str, tuple[dict[str, Any], int, int, int]] = {
    "naive-credit": ({"name": "naive-credit"}, 20_000, 5, 800),
    "dctcp": ({"name": "dctcp", "handshake": True}, 40_000, 400, 8_000),
    "cubic": ({"name": "cubic", "handshake": True}, 40_000, 400, 8_000),
}
WINDOW, HOLD = 200, 20


def jobs(scale: str) -> list[Job]:
    """Each transport at each offset."""
    more = 1 if scale == "quick" else 4
    return [job(name, seed, more) for name in SETTINGS for seed in stats.SEEDS]


def job(name: str, seed: int, more: int) -> Job:
    """One run; the seed also chooses the offset."""
    transport, start, step, count = SETTINGS[name]
    start_us = start + (seed - 1) * step
    stop_us = start_us + RTT_US * count * more
    first, second = {"src": "h0", "dst": "h2"}, {"src": "h1", "dst": "h3", "start": f"{start_us} us"}
    return Job(
        {"transport": name, "seed": seed, "start_us": start_us},
        {
            "name": "fig02",
            "seed": seed,
            "stop": f"{stop_us} us",
            "topology": {
                "kind": "dumbbell",
                "pairs": 2,
                "rate": "10 Gbps",
                "delay": "3.125 us",
                "bottleneck_rate": "10 Gbps",
                "bottleneck_delay": "6.25 us",
            },
            "transport": transport,
            "traffic": [{"name": "flows", "kind": "flows", "list": [first, second]}],
            "sample": [{"name": "throughput", "what": "throughput", "every": f"{RTT_US} us"}],
        },
    )


def measure(job: Job, run: Run) -> Tables:
    """Round trips until both flows have their share, without that of the handshake; NaN if never."""
    ceiling = CEILING if job.params["transport"] == "naive-credit" else 1.0
    share = ceiling * 10e9 * PAYLOAD / FRAME / 2
    _, rates = binned(run, "throughput", job.params["start_us"] * 1e-6, RTT_US * 1e-6)
    found = settles(rates, share, window=WINDOW, hold=HOLD)
    rtts = max(0.0, found - 1) if found == found else float(rates.shape[1])
    return {"rows": pl.DataFrame([{"rtts": rtts, "converged": found == found}])}


def summarise(tables: Tables) -> Tables:
    """Means over the offsets."""
    rows = [
        {
            "transport": name,
            "round_trips": stats.over_seeds(tables["rows"], "rtts", transport=name).mean,
            "milliseconds": stats.over_seeds(tables["rows"], pl.col("rtts") * RTT_US / 1e3, transport=name).mean,
            "converged_runs": sum(stats.per_seed(tables["rows"], "converged", transport=name)),
        }
        for name in SETTINGS
    ]
    return {**tables, "shown": pl.DataFrame(rows)}


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    times = {name: stats.over_seeds(tables["rows"], "rtts", transport=name) for name in SETTINGS}
    naive = stats.per_seed(tables["rows"], "rtts", transport="naive-credit")
    longer = {
        f"{name} over naive credits": stats.paired_ratio(
            [one + 1 for one in stats.per_seed(tables["rows"], "rtts", transport=name)], [one + 1 for one in naive]
        )
        for name in ("cubic", "dctcp")
    }
    text = ", ".join(f"{name} {one:.0f} RTT" for name, one in times.items())
    note = "simulated with the testbed's round trip of 25 us"
    return [
        judge.judge(claim("expresspass", "fig02-naive-one-rtt-convergence"), times["naive-credit"], note=note),
        judge.judge(claim("expresspass", "fig02-convergence-ordering"), longer, text=text, note=note),
    ]


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    return {name.replace("-", "_"): stats.over_seeds(tables["rows"], "rtts", transport=name) for name in SETTINGS}


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Round trips by transport."""
    picture, (axes,) = grid(1, 1, width=6.0, height=2.6)
    names = list(SETTINGS)
    values = [max(1.0, stats.over_seeds(tables["rows"], "rtts", transport=name).mean) for name in names]
    axes.barh(names, values, color=[look.color(OWN[name]) for name in names])
    axes.set_xscale("log")
    axes.set(xlabel="round trips until both flows have their share")
    return {"convergence": picture}


FIGURE = Figure(
    name="expresspass/fig02",
    title="ExpressPass '17, Fig. 2: naive credits share a link within a round trip",
    doc=__doc__ or "",
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=("fig02-naive-one-rtt-convergence", "fig02-convergence-ordering"),
    shown={"shown": "Round trips until both flows are within 10 % of their share, means over five offsets."},
    captions={"convergence": "Round trips until two flows share a link, after the second asked for its connection"},
)
