"""Five flows arrive one after the other and leave again, over one 10 GbE link. The paper shows the throughput of each
and the queue, for ExpressPass and DCTCP on its testbed; here they are simulated. Fig. 16 (a, b), measured on the
same testbed, is about how long a flow takes to share a link that another one has.

Unstated, and chosen here:

* **Round trip**: 25 us, the average that the paper reports of its testbed (sec. 6.1); host delays of 0.9 to 6.2 us
  for credits (sec. 2). DCTCP: the same hosts, K = 65 frames, g = 1/16, a handshake and a first window of ten
  segments, a buffer of 250 frames.
* **Times**: a flow starts every 20 ms, and after 100 ms one ends every 20 ms, in the same order (full: every 200 ms).
* **Stable**: the coefficient of variation of a flow's throughput in bins of 1 ms, over the middle half of each period
  in which the flows stay the same.
* **Converged** (Fig. 16): both flows within 10 % of their share of what data can take, averaged over 25 us for
  ExpressPass and 5 ms for DCTCP (the printed 100 ms could not resolve 70 ms, E17-17), for three averages in a row. At
  five offsets.
* **First rates**: alpha = 1/2, w_init = 1/16, the defaults.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid
from clearway.reproduce.measures import CEILING, FRAME, PAYLOAD, Floats, binned, convergence, data_drops, port
from clearway.result import Run

TRANSPORTS: dict[str, dict[str, Any]] = {
    "expresspass": {"name": "expresspass"},
    "dctcp": {"name": "dctcp", "g": 0.0625, "handshake": True},
}
FLOWS = 5
EVERY_MS = {"quick": 20, "full": 200}
#: Fig. 16: when the second flow joins in us, steps between offsets, microseconds an average, averages that are watched.
JOIN = {"expresspass": (10_000, 5, 25, 400), "dctcp": (50_000, 700, 5_000, 60)}
NETWORK = {
    "kind": "dumbbell",
    "rate": "10 Gbps",
    "delay": "3.125 us",
    "bottleneck_rate": "10 Gbps",
    "bottleneck_delay": "6.25 us",
}
HOSTS = {"processing_delay": {"uniform": ["0.9 us", "6.2 us"]}}


def jobs(scale: str) -> list[Job]:
    """Five flows that come and go, and two of which the second joins."""
    found = [come_and_go(name, EVERY_MS[scale], seed) for name in TRANSPORTS for seed in stats.SEEDS]
    return found + [join(name, seed) for name in TRANSPORTS for seed in stats.SEEDS]


def come_and_go(name: str, every_ms: int, seed: int) -> Job:
    """Five flows that arrive and leave one after the other."""
    traffic = [
        {
            "name": f"flow{i}",
            "kind": "long",
            "pairs": [[f"h{i}", f"h{FLOWS + i}"]],
            "start": f"{i * every_ms} ms",
            "stop": f"{(FLOWS + i) * every_ms} ms",
        }
        for i in range(FLOWS)
    ]
    return Job(
        {"what": "come and go", "transport": name, "seed": seed, "every_ms": every_ms},
        {
            "name": "fig13",
            "seed": seed,
            "stop": f"{2 * FLOWS * every_ms} ms",
            "topology": {**NETWORK, "pairs": FLOWS},
            "host": HOSTS,
            "transport": TRANSPORTS[name],
            "traffic": traffic,
            "sample": [
                {"name": f"flow{i}", "what": "throughput", "traffic": f"flow{i}", "every": "1 ms"} for i in range(FLOWS)
            ],
        },
    )


def join(name: str, seed: int) -> Job:
    """A second flow joins a first; the seed chooses the offset too."""
    start, step, width, count = JOIN[name]
    at = start + (seed - 1) * step
    first, second = {"src": "h0", "dst": "h2"}, {"src": "h1", "dst": "h3", "start": f"{at} us"}
    return Job(
        {"what": "join", "transport": name, "seed": seed, "every_ms": at},
        {
            "name": "fig16-testbed",
            "seed": seed,
            "stop": f"{at + count * width} us",
            "topology": {**NETWORK, "pairs": 2},
            "host": HOSTS,
            "transport": TRANSPORTS[name],
            "traffic": [{"name": "flows", "kind": "flows", "list": [first, second]}],
            "sample": [{"name": "throughput", "what": "throughput", "every": f"{min(width, 1000)} us"}],
        },
    )


def measure(job: Job, run: Run) -> Tables:
    """Queues, use and steadiness; or when two flows had their share, in us."""
    row = {"queue_KB": 0.0, "credits": 0, "use": 0.0, "variation": 0.0, "converged_us": float("nan"), "drops": 0}
    name, params = str(job.params["transport"]), job.params
    if params["what"] == "join":
        _, _, width, count = JOIN[name]
        share = (CEILING if name == "expresspass" else 1.0) * 10e9 * PAYLOAD / FRAME / 2
        _, rates = binned(run, "throughput", params["every_ms"] * 1e-6, width * 1e-6)
        held = convergence(rates, share).held
        row["converged_us"] = held * width if held == held else float(count * width)
        return {"rows": pl.DataFrame([row])}
    trunk, back = port(run, "s0->s1"), port(run, "s1->s0")
    bins = params["every_ms"] * 2 * FLOWS
    rates = np.array([padded(binned(run, f"flow{i}", 0.0, 1e-3)[1], bins) for i in range(FLOWS)])
    every = params["every_ms"]
    spans = [slice(int((k + 0.25) * every), int((k + 0.75) * every)) for k in range(2 * FLOWS - 1)]
    alive = [[i for i in range(FLOWS) if i <= k < i + FLOWS] for k in range(2 * FLOWS - 1)]
    off = [
        float(np.std(rates[i, span]) / np.mean(rates[i, span]))
        for span, of in zip(spans, alive, strict=True)
        for i in of
    ]
    row |= {
        "queue_KB": float(trunk["queue_max_bytes"]) / 1e3,
        "credits": int(back["credit_queue_max"]),
        "use": float(rates[:, spans[0]].sum(axis=0).mean()) * FRAME / PAYLOAD / 10e9,
        "variation": float(np.mean(off)),
        "drops": data_drops(run),
    }
    tables = {"rows": pl.DataFrame([row])}
    if params["seed"] == 1:
        series = {f"flow{i}": rates[i] / 1e9 for i in range(FLOWS)}
        tables["series"] = pl.DataFrame({"time_ms": np.arange(1, rates.shape[1] + 1), **series})
    return tables


def padded(rates: Floats, bins: int) -> Floats:
    """One flow's rate in each bin of the run, zero after its end."""
    found = np.zeros(bins)
    found[: min(bins, rates.shape[1])] = rates[0, :bins]
    return found


def of(tables: Tables, value: str | pl.Expr, what: str, transport: str) -> stats.Estimate:
    """A measure over the seeds."""
    return stats.over_seeds(tables["rows"], value, what=what, transport=transport)


def summarise(tables: Tables) -> Tables:
    """Means over the seeds."""
    rows = [
        {
            "transport": name,
            "maximum_queue_KB": of(tables, "queue_KB", "come and go", name).mean,
            "maximum_credit_queue": of(tables, "credits", "come and go", name).mean,
            "use_of_a_lone_flow_%": of(tables, 100 * pl.col("use"), "come and go", name).mean,
            "variation_of_throughput_%": of(tables, 100 * pl.col("variation"), "come and go", name).mean,
            "joined_after_us": of(tables, "converged_us", "join", name).mean,
        }
        for name in TRANSPORTS
    ]
    return {**tables, "shown": pl.DataFrame(rows)}


def check(tables: Tables) -> list[Finding]:
    """The claims."""
    note = "simulated, with the testbed's round trip and host delays"
    ours, theirs = (of(tables, "queue_KB", "come and go", name) for name in TRANSPORTS)
    less = stats.paired_ratio(
        stats.per_seed(tables["rows"], "queue_KB", what="come and go", transport="expresspass"),
        stats.per_seed(tables["rows"], "queue_KB", what="come and go", transport="dctcp"),
    )
    queue = judge.number(
        claim("expresspass", "fig13-max-data-queue"),
        {"ExpressPass": ours, "DCTCP": theirs},
        trend=judge.below(less, 0.2),
        note=note,
    )
    waiting = of(tables, pl.col("credits") * 84, "come and go", "expresspass")
    use = of(tables, 100 * pl.col("use"), "come and go", "expresspass")
    data = {"data": use, "credit": stats.Estimate(100 - use.mean, 100 - use.high, 100 - use.low, use.seeds)}
    steady = {name: of(tables, "variation", "come and go", name) for name in TRANSPORTS}
    ratio = stats.paired_ratio(
        stats.per_seed(tables["rows"], "variation", what="come and go", transport="expresspass"),
        stats.per_seed(tables["rows"], "variation", what="come and go", transport="dctcp"),
    )
    text = ", ".join(f"{name}: throughput varies by {100 * one.mean:.1f} %" for name, one in steady.items())
    stable = {"steadier than DCTCP": judge.below(ratio, 1.0), "a much smaller queue": judge.below(less, 0.2)}
    return [
        queue,
        judge.number(claim("expresspass", "fig13-max-credit-queue"), waiting, form=".0f", note=note),
        judge.number(claim("expresspass", "fig13-max-data-throughput"), data, form=".2f", note="a lone flow"),
        judge.statement(claim("expresspass", "fig13-stability"), text, stable, seeds=ratio.seeds, note=note),
        *testbed(tables, note),
    ]


def testbed(tables: Tables, note: str) -> list[Finding]:
    """Fig. 16 (a, b)."""
    ours, theirs = (of(tables, "converged_us", "join", name) for name in TRANSPORTS)
    ratio = stats.paired_ratio(
        stats.per_seed(tables["rows"], "converged_us", what="join", transport="dctcp"),
        stats.per_seed(tables["rows"], "converged_us", what="join", transport="expresspass"),
    )
    slower = judge.above(ratio, 50)
    number = judge.number
    return [
        number(claim("expresspass", "fig16-testbed-convergence-expresspass"), ours, trend=slower, note=note),
        number(
            claim("expresspass", "fig16-testbed-convergence-expresspass-rtts"),
            ours.scaled(1 / 25),
            trend=slower,
            note=note,
        ),
        number(claim("expresspass", "fig16-testbed-convergence-dctcp"), theirs.scaled(1e-3), trend=slower, note=note),
        number(claim("expresspass", "fig16-testbed-convergence-ratio"), ratio, trend=slower, note=note),
    ]


def facts(tables: Tables) -> dict[str, object]:
    """The numbers of the prose."""
    return {
        "ours": of(tables, "queue_KB", "come and go", "expresspass"),
        "theirs": of(tables, "queue_KB", "come and go", "dctcp"),
        "varies_ours": of(tables, 100 * pl.col("variation"), "come and go", "expresspass"),
        "varies_theirs": of(tables, 100 * pl.col("variation"), "come and go", "dctcp"),
        "joined_ours": of(tables, "converged_us", "join", "expresspass"),
        "joined_theirs": of(tables, pl.col("converged_us") / 1e3, "join", "dctcp"),
    }


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Throughput of the five flows over time."""
    picture, axes = grid(1, 2, width=9.6, height=2.9, sharey=True)
    for place, name in zip(axes, TRANSPORTS, strict=True):
        part = tables["series"].filter(pl.col("transport") == name)
        for number in range(FLOWS):
            place.plot(part["time_ms"], part[f"flow{number}"], lw=1.4, color=look.color(number), label=f"flow {number}")
        place.set(title=name, xlabel="ms", ylim=(0, 10))
    axes[0].set_ylabel("Gbps")
    axes[0].legend(frameon=False, fontsize=8)
    return {"flows": picture}


FIGURE = Figure(
    name="expresspass/fig13",
    title="ExpressPass '17, Fig. 13 and 16 (a, b): flows that come and go, on hosts like the testbed's",
    doc=__doc__ or "",
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=(
        "fig13-max-data-queue",
        "fig13-max-credit-queue",
        "fig13-max-data-throughput",
        "fig13-stability",
        "fig16-testbed-convergence-expresspass",
        "fig16-testbed-convergence-expresspass-rtts",
        "fig16-testbed-convergence-dctcp",
        "fig16-testbed-convergence-ratio",
    ),
    shown={"shown": "Means over the seeds."},
    captions={"flows": "Throughput of five flows that arrive and leave, in bins of 1 ms"},
)
